"""Cross-validation: every sequence is tagged once, by models that have not seen it, and all are scored together.

1. sequences are dealt out to folds, those of one group to one fold                                      dealing
2. at each strength, going on from the one before: a model of the others tags each fold                  Fold; several at once
3. the predictions of all folds together give one score for each strength; the best is chosen            Folded

A fold trains in one thread, so the numbers are the same however many folds there are at a time. Attributes that only the
left-out fold has get no weights. Where a strength was to be found, training on everything starts from the mean of the folds' weights.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from ..chain._problem import Problem
from ..chain._sequences import Sequences
from ..chain.layout import arrange
from ..model.warmstart import moved
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..tagging.query import Query
from .chains import chained
from .dealing import assign, set_apart
from .events import SILENT, Unheard, scores_text
from .heldout import add_corpus
from .search import along, beside, following, listed
from .tried import Tried, table

AHEAD = 2  # folds that go the whole way where a strength is to be found
PIECE = 500  # sequences that are decoded with marginals at a time


@dataclass(frozen=True)
class Found:
    """What one fold found at one strength."""

    tokens: np.ndarray  # of what was left out
    left: Any  # their corpus
    label: np.ndarray
    probability: np.ndarray
    log_p: float  # of the gold labels
    seconds: float
    outcome: Any  # the Outcome without its weights
    w: np.ndarray | None  # these, in the layout of all sequences, where a strength is to be found


@dataclass
class Point:
    """The predictions of all folds at one strength."""

    evaluation: Evaluation
    label: np.ndarray  # int32[T], the predicted ones; -1: of a fold that is not finished
    probability: np.ndarray  # float32[T], theirs
    log_p: float = 0.0  # of the gold labels, summed over the sequences
    n_sequences: int = 0
    seconds: float = 0.0
    parts: list = field(default_factory=list)  # of each fold: (its score, seconds)
    outcomes: list = field(default_factory=list)  # of each fold
    w: np.ndarray | None = None  # the sum of the folds' weights

    @property
    def scores(self):
        """{"f1": ..., "accuracy": ..., "likelihood": ...} as held-out data have them; f1 only where the labels are chunk labels."""
        chunk = {"f1": self.evaluation.chunk.f1} if self.evaluation.chunked else {}
        return {**chunk, "accuracy": self.evaluation.accuracy, "likelihood": self.log_p / self.n_sequences}


class FoldsInterrupted(KeyboardInterrupt):
    """folded: what was finished until then."""

    def __init__(self, folded):
        super().__init__()
        self.folded = folded


@dataclass
class Folded:
    """What cross-validation found."""

    folds: int | None  # None: a tenth was set apart
    groups: int | None
    strengths: list  # of (lambda, l1) as they were asked for
    points: list  # of Point, one for each
    best: int  # the number of the one that is chosen
    select: str = "score"
    ahead: list = field(default_factory=list)  # of Tried by the first folds alone, of which these are the best and those beside it

    @property
    def finished(self):
        """How many folds there are of each point: all, unless it was interrupted."""
        return len(self.points[0].parts)

    @property
    def start(self):
        """The mean of the folds' weights at the chosen strength, in the layout of all sequences; None: it was not to be found."""
        point = self.points[self.best]
        return None if point.w is None else point.w / len(point.parts)

    @property
    def tried(self):
        return [
            Tried.of(strengths, point.scores, point.outcomes, point.seconds)
            for strengths, point in zip(self.strengths, self.points, strict=True)
        ]

    @property
    def facts(self):
        """What logs and models say of it."""
        (l2, l1), groups = self.strengths[self.best], {"groups": self.groups} if self.groups is not None else {}
        how = {"folds": self.folds} if self.folds else {"set_apart": 0.1}
        how |= {"finished": self.finished} if self.finished < (self.folds or 1) else {}
        several = {"points": [one.facts for one in self.tried]} if len(self.points) > 1 else {}
        several |= {"ahead": [one.facts for one in self.ahead]} if self.ahead else {}
        return {**how, **groups, "strength": {"lambda": str(l2), "l1": str(l1)}, **self.points[self.best].scores, **several}

    @property
    def event(self):
        """For a log: every point."""
        ahead = {"ahead": [one.event for one in self.ahead]} if self.ahead else {}
        return {**self.facts, "points": [one.event for one in self.tried], **ahead}

    def report(self):
        """The table of strengths, if there are several, and the scores of the chosen one in full."""
        lines = [f"folds 1 and {AHEAD} alone:", *table(self.ahead), "all folds:"] if self.ahead else []
        if len(self.points) > 1:
            tried = self.tried
            lines += [*table(tried), f"chosen: {tried[self.best].name}, {tried[self.best].why(self.select, len(tried))}"]
        of = "" if self.groups is None else f" of {self.groups:,} groups"
        of = of if self.finished == (self.folds or 1) else f"{of}, {self.finished} of them finished"
        how = f"{self.folds} folds{of}, each" if self.folds else f"a tenth{of}, set apart and"
        lines.append(f"{how} tagged by a model of the others:")
        return "\n".join([*lines, self.points[self.best].evaluation.report()])


def cross_validate(settings, training, fit_point, observer, groups=None, seed=None):
    """Folded; fit_point(settings, training, w=, before=, observer=) trains at one strength. Without folds a tenth is set apart.

    Where a strength is to be found, the first folds go the whole way; the others only see the best of what these tried and what lies
    beside it. A checkpoint is of the training on everything alone: that of a fold would take its place, and nothing could go on from
    it. A training whose shards are elsewhere has its folds there too. seed: another way of dealing sequences out.
    """
    sizes, n_folds = np.diff(training.corpus.seq), settings.folds or 1
    fold = assign(sizes, n_folds, groups, training.corpus, seed) if settings.folds else set_apart(sizes, settings.seed, groups)
    ended = threading.Event()
    asked, at_once = replace(settings, checkpoint=None, resume=None, threads=1), min(settings.threads, n_folds)
    folds: list[Any]
    if training.elsewhere:
        folds, at_once = away(training, [fold == k for k in range(n_folds)], fit_point, settings), n_folds
    else:
        folds = [Fold(training, fold == k, fit_point, _Folding(observer, ended, _name(k, settings)), settings) for k in range(n_folds)]
    n_groups, so_far = None if groups is None else len(set(groups)), ([], [])
    with ThreadPoolExecutor(at_once) as pool:
        try:
            alone = settings.searches and n_folds > AHEAD
            ahead = _along(folds[:AHEAD] if alone else folds, asked, training, observer, pool, so_far)
            if alone:
                _beside(folds[AHEAD:], ahead, training, observer, pool, so_far)
        except BaseException as error:
            ended.set()
            if training.elsewhere:
                folds[0].engine.close()
            pool.shutdown(cancel_futures=True)
            if isinstance(error, KeyboardInterrupt) and any(point.parts for point in so_far[0]):
                raise FoldsInterrupted(_folded(settings, n_groups, so_far)) from None
            raise
    return _folded(settings, n_groups, so_far)


def _folded(settings, n_groups, so_far):
    """Folded of the points that most folds have been at."""
    most = max(len(point.parts) for point in so_far[0])
    whole, less = ([one for one in zip(*so_far, strict=True) if len(one[0].parts) == n] for n in (most, AHEAD))
    points, tried = map(list, zip(*whole, strict=True))
    ahead = [Tried.of(strengths, point.scores, point.outcomes, point.seconds) for point, strengths in less]
    ahead = ahead if settings.searches and most > AHEAD else []
    return Folded(settings.folds, n_groups, tried, points, _best(points, tried, settings.select), settings.select, ahead)


def _along(folds, settings, training, observer, pool, so_far):
    """[(what was tried, what each fold found)] of the whole path; so_far is to get the Points and their strengths."""
    path, all_found, alone = along(settings), [], settings.searches and len(folds) < (settings.folds or 1)
    one, results = next(path), None if settings.searches else chained(folds, [*listed(settings)], pool)
    while one is not None:
        point, found = _empty(training), []
        for of, new in zip(so_far, (point, one.settings.points[0]), strict=True):
            of.append(new)
        for k, result in enumerate(islice(results or chained(folds, [one], pool), len(folds))):
            if observer.interrupted:
                raise KeyboardInterrupt
            found.append(result)
            _pool(point, result, training.vocabulary.labels)
            if not settings.several:
                observer.say(f"fold {k + 1} of {len(folds)}, all so far: {scores_text(point.scores)}")
        if settings.several:
            observer.say(f"{one.name}{', folds 1 and 2 alone' if alone else ''}: {scores_text(point.scores)}")
        all_found.append((one, found))
        one = following(path, _value(point, settings.select), point.scores["likelihood"])
    return all_found


def _beside(folds, ahead, training, observer, pool, so_far):
    """The best that the first folds have found and its neighbours, by all folds, the strongest first: they come to so_far too."""
    points, tried = so_far
    number = {(l2.number, l1.number): k for k, (l2, l1) in enumerate(tried)}
    l2, l1 = tried[_best(points, tried, ahead[0][0].settings.select)]
    wanted = [number[name] for name in beside(number, (l2.number, l1.number))]
    results = chained(folds, [replace(ahead[k][0], goes_on=k != wanted[0]) for k in wanted], pool)
    for k in wanted:
        (one, found), point = ahead[k], _empty(training)
        for result in chain(found, islice(results, len(folds))):
            if observer.interrupted:
                raise KeyboardInterrupt
            _pool(point, result, training.vocabulary.labels)
        points.append(point)
        tried.append(tried[k])
        observer.say(f"{one.name}, all folds: {scores_text(point.scores)}")


def _best(points, tried, select):
    """The number of the strongest of the best."""
    values = [_value(point, select) for point in points]
    return max(range(len(points)), key=lambda k: (values[k], *(strength.number for strength in tried[k])))


class _Folding(Unheard):
    """Unheard but for how far it is, and told to end when another fold has failed; where: which fold it is, and at which point."""

    def __init__(self, observer, ended, name=""):
        super().__init__(observer)
        self.ended, self.name, self.where = ended, name, ""

    def step(self, progress):
        self.observer.folding(self.where, progress)
        return self.interrupted

    @property
    def interrupted(self):
        return "interrupted" if self.ended.is_set() else self.observer.interrupted


def _name(k, settings):
    return f"fold {k + 1} of {settings.folds}" if settings.folds else "a tenth set apart"


def _empty(training):
    n = training.corpus.n_tokens
    return Point(Evaluation(labels=training.vocabulary.labels), np.full(n, -1, np.int32), np.zeros(n, np.float32))


class Fold:
    """What is left out of the training, and what has been learnt from the rest, which is kept for the next strength."""

    def __init__(self, training, left_out, fit_point, observer, settings):
        self.training, self.left_out, self.fit_point, self.observer = training, left_out, fit_point, observer
        self.keeps, self.gives_weights = settings.several, settings.searches
        self.rest = self.w = self.before = None

    def at(self, point):
        """What is Found at one strength."""
        corpus, where, started = self.training.corpus, np.flatnonzero(self.left_out), time.perf_counter()
        rest, left = self.rest or self._rest(point.settings), corpus.take(where)
        start = {"w": self.w, "before": self.before} if point.goes_on else {}
        self.observer.where = f"{self.observer.name}, {point.name}"
        outcome, before = self.fit_point(point.settings, rest, observer=self.observer, **start)
        if self.keeps:
            self.rest, self.w, self.before = rest, outcome.w, before
        label, probability = _predicted(rest.layout, outcome.w, left)
        tokens = np.concatenate([np.arange(corpus.seq[i], corpus.seq[i + 1]) for i in where])
        log_p = -Problem(left, rest.layout).value(outcome.w) * left.n_sequences
        w = moved(outcome.w, rest.layout, self.training.layout) if self.gives_weights else None
        seconds = time.perf_counter() - started
        return Found(tokens, left, label, probability, log_p, seconds, replace(outcome, w=None), w)

    def _rest(self, settings):
        t, rest = self.training, self.training.corpus.take(np.flatnonzero(~self.left_out))
        how = {"features": settings.features, "transitions": settings.transitions, "dense": t.dense}
        return replace(t, corpus=rest, layout=arrange(rest, t.vocabulary, **how))

    def cancel(self):
        """Training, which may be under way, ends after its step."""
        self.observer.ended.set()


def _alone(training, left_out, fit_point, settings):
    """A Fold that nobody listens to."""
    return Fold(training, left_out, fit_point, _Folding(SILENT, threading.Event()), settings)


def away(training, left_out, fit_point, settings):
    """Folds on the workers of the training's cluster, each of them in one process."""
    here = replace(training, cluster=None, placed=None)
    engine = training.cluster.place(_alone, [(here, own, fit_point, settings) for own in left_out])
    folds = [Away(engine, k, settings.several) for k in range(len(left_out))]
    engine.recalled = lambda k: [("at", (point,)) for point in folds[k].points]
    return folds


class Away:
    """A Fold on a worker; where that is lost, another one goes the same way from the first strength on."""

    def __init__(self, engine, k, keeps):
        self.engine, self.k, self.keeps, self.points = engine, k, keeps, []

    def at(self, point):
        found = self.engine.one(self.k, "at", (point,))
        if self.keeps:
            self.points.append(point)
        return found


def _predicted(layout, w, corpus):
    """The best labels and their probabilities, token by token."""
    decoder, labels, probabilities = Decoder(layout, w), [], []
    for first in range(0, corpus.n_sequences, PIECE):
        some = corpus.take(np.arange(first, min(first + PIECE, corpus.n_sequences)))
        decoded = decoder.decode(Sequences(some, layout), Query(marginals=True))
        best, marginals = decoded.labels, decoded.marginals
        labels.append(best)
        probabilities.append(marginals[np.arange(len(best)), best].astype(np.float32))
    return np.concatenate(labels), np.concatenate(probabilities)


def _pool(point, found, names):
    """Add what one fold found."""
    point.label[found.tokens], point.probability[found.tokens] = found.label, found.probability
    own, left = Evaluation(labels=names), found.left
    for evaluation in (point.evaluation, own):
        add_corpus(evaluation, names, left.seq, left.label, found.label)
    if found.w is not None:
        point.w = found.w if point.w is None else point.w + found.w
    point.log_p, point.n_sequences = point.log_p + found.log_p, point.n_sequences + left.n_sequences
    point.seconds += found.seconds
    point.outcomes.append(found.outcome)
    point.parts.append((own.score, found.seconds))


def _value(point, select):
    """What decides."""
    return point.scores["likelihood"] if select == "likelihood" else point.evaluation.score
