"""From training files to a model file: what `crftrain learn` does.

1. the place of the model is tried, the files are read and encoded            text
2. a model is trained                                                         train
3. it is written                                                              model
"""

import time
import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from ..errors import CrftrainWarning, SettingsError
from ..model import model
from ..text import template as templates
from ..text.encode import read_corpus
from ..text.forms import detected
from ..text.read import source_name
from . import lines
from .constrained import learn_legally
from .events import SILENT, Log, Observers, last_event
from .heldout import HeldOutData
from .kept import Kept
from .temperature import fitted
from .train import describe, numbered, train, train_numbered

ODD = 100  # tokens of what is the only sentence


def learn(settings, observer=SILENT, cluster=None):
    """Train as the settings ask, on a cluster.Cluster or here, and write the model; returns the Outcome of the chosen point."""
    model.check_writable(settings.model)
    with Log.to(settings.log) as log:
        kept, started = Kept(settings), time.perf_counter()
        observer = Observers(log, observer, kept)
        if settings.template_search:
            settings = replace(settings, template=_found(settings, observer))
        if cluster is not None and not _reads_here(settings):
            training = _read_there(cluster, settings, observer, started)
            kept.vocabulary, way = training.vocabulary, partial(train_numbered, training)
        else:
            corpus, kept.vocabulary = read(settings, observer, kept)
            way = partial(train, corpus, kept.vocabulary, started=started, cluster=cluster)
        init = model.load(settings.init) if settings.init else None
        return trained_and_saved(way, settings, observer, init=init, groups=kept.groups)


def _reads_here(settings):
    """Whether what workers sum over is read here and sent; folds are made of a corpus that is here."""
    return settings.ship or settings.folds or (settings.searches and not settings.dev)


def _read_there(cluster, settings, observer, started):
    """A Training without a corpus: workers read the files."""
    from .part import Part
    from .parted import parted, recipes

    made = recipes(replace(settings, paths=cluster.paths(settings.paths)), settings.shards or cluster.n_workers, observer)
    return parted(cluster.place(Part, made), made, replace(settings, threads=cluster.threads), started)


def look(settings, observer=SILENT):
    """Everything that `learn` does before it trains: it reads, counts, and says what memory that takes."""
    model.check_writable(settings.model)
    training = prepare(settings, observer)
    heldout = HeldOutData.read(settings.dev, training.vocabulary, encoding=settings.encoding) if settings.dev else None
    observer.say(describe(settings, training, heldout))


def trained_and_saved(way, settings, observer, **more):
    """Steps 2 and 3; the Outcome. way: train of a corpus and its vocabulary, or of what is numbered already."""
    heldout = partial(HeldOutData.read, settings.dev, encoding=settings.encoding) if settings.dev else None
    with observer.busy():
        trained, outcome = way(settings, observer, heldout=heldout, **more)
        if settings.calibrate:
            trained = calibrated(trained, settings, observer)
        outcome.model_bytes = trained.save(settings.model, rescue=True)
        strengths = {name: trained.facts[name] for name in ("lambda", "l1")}
        observer.end({**last_event(outcome, outcome.model_bytes), **strengths})
    return outcome


def calibrated(trained, settings, observer):
    """The model with the temperature that held-out data say."""
    heldout = HeldOutData.read(settings.calibrate, trained.vocabulary, encoding=settings.encoding)
    trained = replace(trained, w=trained.w.astype(np.float32).astype(np.float64))  # as it is saved
    temperature, before, after = fitted(trained, heldout)
    observer.say(f"{settings.calibrate}: temperature {temperature:.4g}, -log p of a sequence {before:.4f} -> {after:.4f}")
    return replace(trained, extras={**trained.extras, "temp": {"temperature": temperature}})


def _found(settings, observer):
    """The Template that a search over lines finds."""
    with observer.busy():
        return lines.search(settings, observer, lambda template: read(replace(settings, template=template)))


def asked(settings, observer):
    """How the training files are read, in the words of read_corpus."""
    template = settings.template
    if template and not isinstance(template, templates.Template):
        template = templates.load(template, settings.dialect)
    settings = _with_format(settings, observer)
    how = {"template": template, "format": settings.vocabulary_format, "label_column": settings.label_column}
    return {**how, "encoding": settings.encoding, "form": settings.form}


def _with_format(settings, observer):
    """The settings with the format that the first file has, where it is to be found out."""
    if settings.format != "auto":
        return settings
    found = None if settings.comments or settings.tabs else detected(settings.paths[0])
    if found:
        observer.say(f"{settings.paths[0]}: read as --format {found}")
    settings = replace(settings, format=found or "conll")
    for refusal in settings.odd_form(lambda name: f"--{name}"):
        raise SettingsError("", refusal)
    return settings


def read(settings, observer=SILENT, kept=None):
    """(Corpus, Vocabulary) of the training files; `kept` is to remember of them."""
    kept = kept or Kept(settings)
    look, told = kept.look if kept.wanted else None, observer.reading
    corpus, vocabulary = read_corpus(settings.paths, **asked(settings, observer), min_freq=settings.min_freq, look=look, told=told)
    _doubt(settings, corpus)
    if settings.rules:
        corpus, legal = learn_legally(corpus, vocabulary, settings.rules, kept.place, settings.on_illegal)
        kept.keep(legal)
    if told := templates.choice(vocabulary.template):
        observer.say(told)
    return corpus, vocabulary


def _doubt(settings, corpus):
    """Warnings of what can be learnt from, and is seldom meant."""
    first = source_name(settings.paths[0])
    if corpus.n_sequences == 1 and corpus.n_tokens > ODD:
        told = f"{first}: one sentence of {corpus.n_tokens:,} tokens; a blank line ends a sentence"
        warnings.warn(told, CrftrainWarning, stacklevel=2)
    if not len(corpus.nodes.attr):
        why = f"none occurs {settings.min_freq:,} times (--min-freq)" if settings.min_freq > 1 else "the lines have none"
        why = "items have tabs between them, and no line has a tab" if settings.format == "items" and settings.min_freq <= 1 else why
        warnings.warn(f"{first}: no token has an attribute to learn from: {why}", CrftrainWarning, stacklevel=2)
    if twice := next((path for k, path in enumerate(settings.paths) if path in settings.paths[:k] and path != "-"), None):
        warnings.warn(f"{twice} is named twice, and counts twice", CrftrainWarning, stacklevel=2)


def prepare(settings, observer=SILENT):
    """Read, encode and number: a Training."""
    started = time.perf_counter()
    corpus, vocabulary = read(settings, observer)
    return numbered(settings, corpus, vocabulary, started)
