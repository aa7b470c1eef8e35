"""From training files to a model file: what `crftrain learn` does, step by step.

1. the place of the model is tried, the files are read and encoded            read, template, encode
2. weights are counted; how much memory they take is said before it is taken  layout
3. for each regularisation strength: train, warm-started from the last one    train, optimizers
4. the chosen weights are written                                             model
"""

import json
import math
import sys
import time
import zlib
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace

import numpy as np

from .. import __version__
from ..chain._occurrence_list import listed_bytes
from ..chain._problem import Problem
from ..chain.layout import arrange, number
from ..chain.memory import free_memory
from ..errors import CrftrainError, TrainingError
from ..model import model
from ..model.warmstart import initial_weights
from ..tagging.tag import HeldOutData
from ..text import template as templates
from ..text.encode import read_corpus
from . import checkpoint
from .folds import cross_validate
from .loop import HeldOut, Limits, Plateau, fit

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Everything `learn` was asked for."""

    paths: tuple
    algorithm: object
    options: dict
    model: str = "model.bin"
    template: str | None = None
    lambdas: tuple = ()
    l1s: tuple = ()
    dev: str | None = None
    select: str = "score"
    patience: int | None = None
    passes: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    tol: float | None = None
    threads: int = 1
    seed: int = 1
    features: str = "observed"
    transitions: str = "full"
    min_freq: int = 0
    format: str = "conll"
    encoding: str = "utf-8"
    label_column: int = -1
    folds: int | None = None
    trace: bool = False
    log: str | None = None
    init: str | None = None
    checkpoint: str | None = None
    checkpoint_every: int = 1
    resume: str | None = None


class Log:
    """JSON lines for scripts and benchmarks; what is unknown is null, never NaN."""

    def __init__(self, file=None):
        self.file = file

    @classmethod
    def to(cls, path):
        """A log in a file; without a path nothing is logged."""
        try:
            return cls(open(path, "w", encoding="utf-8") if path else None)
        except OSError as error:
            raise CrftrainError(path, f"the log cannot be written: {error.strerror}") from None

    def write(self, event, **values):
        if self.file:
            print(json.dumps({"event": event, **{key: _plain(value) for key, value in values.items()}}), file=self.file, flush=True)

    def close(self):
        if self.file:
            self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


@dataclass
class Training:
    """A corpus ready to be learnt from."""

    corpus: object
    vocabulary: object
    dense: int
    layout: object
    encode_seconds: float

    @property
    def facts(self):
        """The numbers that logs and models speak of."""
        return {
            "n_sequences": self.corpus.n_sequences,
            "n_tokens": self.corpus.n_tokens,
            "n_labels": len(self.vocabulary.labels),
            "n_attributes": len(self.vocabulary.attributes) + len(self.vocabulary.pair_attributes),
            "n_features": self.layout.n_features,
        }

    @property
    def sizes(self):
        """And those that an algorithm's memory depends on besides."""
        nodes, pairs, layout = self.corpus.nodes, self.corpus.pairs, self.layout
        touched = int(np.diff(layout.ptr)[nodes.attr].sum())
        if pairs is not None and len(pairs.attr):
            touched += int(np.diff(layout.pair_ptr)[pairs.attr].sum())
        counts = {"n_pair_features": len(layout.pair), "n_occurrences": len(nodes.attr), "n_touched": touched}
        return SimpleNamespace(**self.facts, **counts, listed_bytes=listed_bytes(self.corpus, layout))


def learn(settings, *, say=lambda text: None, watch=lambda step_name: (), stop=None):
    """Train as the settings ask and write the model; returns the Outcome of the chosen point.

    say(text) tells the user something; watch(step_name) gives further monitors (a progress bar); stop is a StopSignal.
    """
    model.check_writable(settings.model)
    with Log.to(settings.log) as log:
        training = prepare(settings, say)
        w = _first_weights(settings, training, say)
        return train(settings, training, w, log=log, say=say, watch=watch, stop=stop)


def train(settings, training, w, *, log, say, watch, stop, more_facts=MappingProxyType({})):
    """Steps 3 and 4, from the weights w; the model also says more_facts."""
    heldout = None
    if settings.dev:
        heldout = HeldOutData(settings.dev, training.vocabulary, encoding=settings.encoding)
    say(describe(settings, training))
    if settings.folds:
        say(cross_validate(settings, training, fit_point, stop=stop))
    outcome, facts = _follow_path(settings, training, w, heldout, log, say, watch, stop)
    outcome.model_bytes = model.save(settings.model, training.vocabulary, training.layout, outcome.w, {**facts, **more_facts})
    log.write("end", **end_event(outcome), peak_rss_mb=_peak_rss(), model_bytes=outcome.model_bytes)
    return outcome


def prepare(settings, say=lambda text: None):
    """Read, encode and number: a Training."""
    started = time.perf_counter()
    template = templates.load(settings.template) if settings.template else None
    corpus, vocabulary = read_corpus(
        settings.paths,
        template=template,
        format=settings.format,
        label_column=settings.label_column,
        encoding=settings.encoding,
        min_freq=settings.min_freq,
    )
    if told := templates.choice(vocabulary.template):
        say(told)
    return numbered(settings, corpus, vocabulary, started)


def numbered(settings, corpus, vocabulary, started):
    """A Training, once there are a corpus and its vocabulary."""
    dense = number(corpus, vocabulary) if settings.features == "observed" else 0
    layout = arrange(corpus, vocabulary, features=settings.features, transitions=settings.transitions, dense=dense)
    return Training(corpus, vocabulary, dense, layout, time.perf_counter() - started)


def describe(settings, training):
    """What is about to be trained and what it will take; TrainingError if that is more than the machine has free."""
    facts, algorithm = training.sizes, settings.algorithm
    parts = algorithm.memory(facts, settings.options)
    copies = settings.threads - 1 + bool(settings.dev)
    if copies:
        parts["copies for threads and held-out data"] = 8 * facts.n_features * copies
    need, free = sum(parts.values()), free_memory()
    told = ", ".join(f"{what} {size / MEGABYTE:,.0f} MB" for what, size in parts.items())
    if free is not None and need > free:
        found = f"{facts.n_features:,} features take {need / MEGABYTE:,.0f} MB ({told}), and {free / MEGABYTE:,.0f} MB are free"
        raise TrainingError(algorithm.name, found, f"less: {algorithm.lighter}")
    corpus = sum(array.nbytes for array in _arrays(training.corpus))
    return (
        f"{facts.n_sequences:,} sequences, {facts.n_tokens:,} tokens, {facts.n_labels:,} labels, {facts.n_attributes:,} attributes\n"
        f"{facts.n_features:,} features; memory: {told}, corpus {corpus / MEGABYTE:,.0f} MB"
    )


def _arrays(corpus):
    yield from (corpus.seq, corpus.label)
    for observations in (corpus.nodes, corpus.pairs):
        if observations is not None:
            yield from (array for array in (observations.ptr, observations.attr, observations.value) if array is not None)


def _peak_rss():
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else MEGABYTE)


def points(settings):
    """The (lambda, l1) pairs of the path; at most one of the two is a list."""
    return [(l2, l1) for l2 in settings.lambdas for l1 in settings.l1s]


def monitors(settings, training, heldout, *, stop=None):
    """The monitors that every fit has, held-out scores first."""
    algorithm = settings.algorithm
    watching = [HeldOut(heldout.scorer(training.layout, select=settings.select), patience=settings.patience)] if heldout else []
    limits = Limits(
        steps=algorithm.passes if settings.passes is None else settings.passes,
        max_passes=settings.max_passes,
        max_seconds=settings.max_seconds,
        step_name=algorithm.step_name,
    )
    return [*watching, *([stop] if stop else []), *([Plateau()] if _tol(settings) > 0 else []), limits]


def _tol(settings):
    return settings.algorithm.tol if settings.tol is None else settings.tol


def fit_point(settings, training, *, point=0, w=None, heldout=None, before=None, watching=(), stop=None):
    """Train at one strength of the path; returns (outcome, optimiser).

    From zero unless w is given, which changes in place; `before` is the optimiser of the point before, which may go on
    with more than its weights.
    """
    algorithm, n = settings.algorithm, training.corpus.n_sequences
    l2, l1 = (strength.at(n) for strength in points(settings)[point])
    if before is None:
        problem = Problem(training.corpus, training.layout, l2=l2, l1=l1, threads=settings.threads)
    else:
        problem = before.problem.at(l2=l2, l1=l1)
    w = np.zeros(problem.n_features) if w is None else w
    rng = np.random.default_rng(settings.seed)
    if hasattr(before, "move_to") and bool(before.problem.l1) == bool(l1):  # proximal steps are other ones
        optimiser, rng = before, before.rng
        optimiser.move_to(problem)
    else:
        optimiser = algorithm.make(problem, w, rng, **settings.options)
    watching = [*monitors(settings, training, heldout, stop=stop), *watching]
    run, start = _run_facts(settings, training, problem), (0, 0.0)
    if settings.resume:
        start = checkpoint.restore(settings.resume, run, problem, optimiser, rng, watching)
    if settings.checkpoint:
        if not hasattr(optimiser, "state"):
            raise CrftrainError("--checkpoint", f"{algorithm.name} cannot be resumed", "an algorithm that can, as sag")
        writer = checkpoint.Checkpoint(settings.checkpoint, settings.checkpoint_every, run, optimiser, rng, monitors=watching, stop=stop)
        watching = [*watching, writer]
    return fit(problem, optimiser, tol=_tol(settings), monitors=watching, trace=settings.trace, start=start), optimiser


def _follow_path(settings, training, w, heldout, log, say, watch, stop):
    """Train at each strength, each from where the one before ended; (the chosen outcome, its facts)."""
    path, chosen, optimiser = points(settings), None, None
    for k, (l2, l1) in enumerate(path):
        where = {"path": k} if len(path) > 1 else {}
        log.write("start", **where, **start_event(settings, training, k), encode_seconds=training.encode_seconds, version=__version__)
        if len(path) > 1:
            say(f"lambda {l2}, l1 {l1}:")

        def write_step(progress, where=where):
            log.write("step", **where, **step_event(progress))

        watchers = watch(settings.algorithm.step_name)
        outcome, optimiser = fit_point(
            settings, training, point=k, w=w, heldout=heldout, before=optimiser, watching=[write_step, *watchers], stop=stop
        )
        for watcher in watchers:
            watcher.close()
        say(_ending(outcome, settings.algorithm))
        if chosen is None or heldout is None or outcome.dev_score > chosen[0].dev_score:
            kept = outcome.w.copy() if len(path) > 1 else outcome.w
            chosen = replace(outcome, w=kept), _model_facts(settings, training, k, outcome)
        if len(path) > 1:
            log.write("end", **where, **end_event(outcome), peak_rss_mb=_peak_rss(), model_bytes=None)
        if stop is not None and stop.number is not None:
            break
    return chosen


def _first_weights(settings, training, say):
    """Zero, or the weights of another model."""
    if not settings.init:
        return np.zeros(training.layout.n_features)
    w, placed = initial_weights(model.load(settings.init), training.vocabulary, training.layout)
    say(f"{settings.init}: {placed:,} of its weights are the start")
    return w


def _run_facts(settings, training, problem):
    """What a checkpoint and the run that goes on with it must agree in."""
    return {
        **training.facts,
        "algorithm": settings.algorithm.name,
        "options": settings.options,
        "lambda": problem.l2,
        "l1": problem.l1,
        "seed": settings.seed,
        "threads": settings.threads,
        "dev": settings.dev,
        "data": fingerprint(training),
    }


def fingerprint(training):
    """A checksum of the encoded corpus and of which weights there are."""
    check = 0
    for array in (*_arrays(training.corpus), training.layout.ptr, training.layout.transition, training.layout.pair):
        check = zlib.crc32(np.ascontiguousarray(array).view(np.uint8), check)
    return check


def start_event(settings, training, point):
    l2, l1 = (strength.at(training.corpus.n_sequences) for strength in points(settings)[point])
    return {
        "algorithm": settings.algorithm.name,
        "options": settings.options,
        **training.facts,
        "lambda": l2,
        "l1": l1,
        "threads": settings.threads,
        "seed": settings.seed,
    }


def step_event(progress):
    step = progress.step
    return {
        "iteration": progress.iteration,
        "passes": progress.passes,
        "seconds": progress.seconds,
        "objective": step.objective,
        "exact": step.exact,
        "gap": step.gap,
        "active": int(np.count_nonzero(progress.solution)),
        **({"dev": progress.dev} if progress.dev else {}),
    }


def end_event(outcome):
    return {
        "reason": outcome.reason,
        "iteration": outcome.iteration,
        "passes": outcome.passes,
        "seconds": outcome.seconds,
        "objective": outcome.objective,
        "gap": outcome.gap,
        "bound": outcome.bound,
        "active": outcome.active,
        **({"best_iteration": outcome.best_iteration, "dev": outcome.dev} if outcome.dev else {}),
    }


def _model_facts(settings, training, point, outcome):
    """What the model file says of its training; nothing that differs between two runs alike."""
    return {
        **start_event(settings, training, point),
        "version": __version__,
        "features": settings.features,
        "transitions": settings.transitions,
        "min_freq": settings.min_freq,
        "converged": outcome.converged,
        "reason": outcome.reason,
        "iteration": outcome.iteration,
        "passes": outcome.passes,
        "objective": outcome.objective,
        "gap": outcome.gap,
        "bound": outcome.bound,
        **({"best_iteration": outcome.best_iteration, "dev": outcome.dev} if outcome.dev else {}),
    }


def _ending(outcome, algorithm):
    """One or two lines for the user."""
    lines = [
        f"{outcome.reason}: {algorithm.step_name} {outcome.iteration}, {outcome.passes:.1f} effective passes, {outcome.seconds:.2f} s; "
        f"objective {outcome.objective:.8g}, gap {outcome.gap:.3g}, {outcome.active:,} active features"
    ]
    if outcome.dev:
        scores = ", ".join(f"{name} {value:.4f}" if name == "likelihood" else f"{name} {value:.2f}" for name, value in outcome.dev.items())
        lines.append(f"kept {algorithm.step_name} {outcome.best_iteration}: held-out {scores}")
    if not outcome.converged and not outcome.dev and not math.isnan(outcome.gap):
        lines.append("not converged: the optimum is not reached, which the model file says too")
    return "\n".join(lines)
