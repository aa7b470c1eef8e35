"""A model that goes on learning from new sentences: what `crftrain update` does, step by step.

1. the model is read; its names are the first of the new vocabulary, so that all its labels keep their numbers    model, encode
2. old sentences to mix in (--replay), then the new ones, are encoded; names that the model has not are counted   encode
3. a weight for each of the old model's, and for what the sentences show besides; the old ones are the start      layout, warmstart
4. trained as `learn` does, and written in place of the old model when all of it is on disk                       learn, model

The objective is that of the sentences at hand under the old model's lambda and l1, unless others are given. In c/n, n
counts all sentences that the model has been learnt from. Without new sentences nothing is learnt, and the model is
written as it is.

A method that descends from wherever it is by looking at one sentence after the other needs only the new ones. A method that goes to
the optimum forgets what is not in its data: it needs the old sentences too, and then finds the optimum of both.
"""

import math
import os
import time
from dataclasses import replace
from functools import partial

from ..errors import DataError, ModelError, TrainingError
from ..model import model
from ..text.encode import CorpusBuilder
from ..text.read import source_names
from .constrained import learn_legally
from .events import SILENT, Log, Observers
from .learn import trained_and_saved
from .strength import Strength
from .train import train


def update(settings, observer=SILENT):
    """Go on learning settings.init from settings.paths as the settings ask; the Outcome, or None without new sentences.

    settings.lambdas and settings.l1s are empty where the model's own are wanted.
    """
    replay = settings.replay
    model.check_writable(settings.model)
    started, old = time.perf_counter(), model.load(settings.init)
    if imported(old) and os.path.exists(settings.model) and os.path.samefile(settings.init, settings.model):
        raise ModelError(settings.init, f"a {old.facts['kind']}, which is not replaced by one of ours", "-m and another name")
    with Log.to(settings.log) as log:
        vocabulary = copied(old.vocabulary)
        observer = Observers(log, observer)
        builder = CorpusBuilder(vocabulary)
        n_replayed = _read(builder, replay, settings)
        if replay and not n_replayed:
            raise DataError(source_names(replay), "no sentences", "what the model was learnt from")
        known = builder.names
        n_new = _read(builder, settings.paths, settings)
        observer.say(_counted(n_new, n_replayed, known, builder.names))
        if not n_new:
            model.save(settings.model, old.vocabulary, old.layout, old.w, old.facts)
            return None
        settings, n = with_strengths(settings, old, n_new, n_replayed)
        if old.temperature != 1:
            observer.say(f"{settings.init}: its temperature is not kept, for it was that of other weights")
        corpus = builder.take()
        if vocabulary.legal is not None:
            corpus, _ = learn_legally(corpus, vocabulary, vocabulary.legal.said, lambda i, k: f"sentence {i + 1}, token {k + 1}")
        return trained_and_saved(
            partial(train, corpus, vocabulary, started=started), settings, observer, init=old, more_facts={"n_learnt": n}
        )


def imported(model):
    """Whether it is another program's, which says nothing of its training: lambda is 1/n then, n what is learnt from now."""
    return "kind" in model.facts


def with_strengths(settings, old, n_new, n_replayed=0):
    """(The settings with the old model's strengths and kinds of weights, the number of sequences learnt from then)."""
    n = (n_replayed if imported(old) else _fact(settings, old, "n_learnt", "n_sequences")) + n_new
    settings = replace(
        settings,
        features=old.facts.get("features", "observed"),
        transitions=old.facts.get("transitions", "full"),
        lambdas=_strength(settings, old, settings.lambdas, n, "lambda"),
        l1s=_strength(settings, old, settings.l1s, n, "l1"),
    )
    if refusals := settings.algorithm.check(settings.options, settings.lambdas[0].number, settings.l1s[0].number):
        raise TrainingError(settings.init, f"{refusals[0]} (lambda {settings.lambdas[0]}, l1 {settings.l1s[0]})")
    return settings, n


def copied(vocabulary):
    """The same names in tables that may grow."""
    tables = {name: getattr(vocabulary, name) for name in ("attributes", "pair_attributes")}
    return replace(vocabulary, labels=[*vocabulary.labels], **{name: table.keep(range(len(table))) for name, table in tables.items()})


def _read(builder, paths, settings):
    return sum(builder.add_file(path, encoding=settings.encoding) for path in paths)


def _counted(n_new, n_replayed, known, names):
    """What the user is told of the new sentences."""
    if not n_new:
        return "no new sentences: the weights stay as they are"
    labels, attributes = (now - before for now, before in zip(names, known, strict=True))
    replayed = f", {n_replayed:,} old ones" if n_replayed else ""
    return f"{n_new:,} new sequences{replayed}; new to the model: {labels:,} labels, {attributes:,} attributes"


def _strength(settings, old, given, n, name):
    """The one strength given, as a number, or the old model's; an algorithm without penalties has none."""
    if imported(old) and not given:
        return (Strength(1 / n if name == "lambda" and "l2" in settings.algorithm.solves else 0.0),)
    penalised = settings.algorithm.solves & {"l2", "l1"}
    return (Strength(given[0].at(n) if given else _fact(settings, old, name) if penalised else 0.0),)


def _fact(settings, old, *names):
    """The first of these numbers that the old model has among its facts."""
    value = next((old.facts[name] for name in names if name in old.facts), None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
        raise ModelError(settings.init, f"no {names[-1]} among its facts", "a model that crftrain learn wrote")
    return value
