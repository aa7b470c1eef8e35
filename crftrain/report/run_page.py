"""The page of `learn --report`: with held-out data all that a report on them has; else the run, the features and the model."""

from ..model.model import load
from .card import card, heaviest
from .html import page, section, tag
from .model_report import learning, report


def run_page(settings, events, command):
    """The page as text; events: those of the log, command: what was typed."""
    if settings.dev:
        return report(settings.model, settings.dev, log=events, gold="yes", encoding=settings.encoding, command=command)
    model = load(settings.model)
    sections = [
        ("learning", "Learning", learning(events)),
        ("features", "Features", section("features", "The heaviest features", heaviest(model))),
        ("model", "Model", section("model", "The model", card(model, settings.model, command))),
    ]
    facts = model.facts
    lead = f"{facts.get('n_sequences', 0):,} sentences, {facts.get('n_tokens', 0):,} tokens, {len(model.vocabulary.labels):,} labels"
    return page(f"Learning {settings.model}", tag("p", lead, class_="note"), sections, scripts=["charts.js"])
