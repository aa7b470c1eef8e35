"""Cross-validation: every sequence is tagged once, by models that have not seen it, and all are scored together.

1. sequences are dealt out to folds, those of one group to one fold                                      dealing
2. at each strength, going on from the one before: a model of the others tags each fold                  Fold; several at once
3. the predictions of all folds together give one score for each strength; the best is chosen            Folded

A fold trains in one thread, so the numbers are the same however many folds there are at a time. Attributes that only the
left-out fold has get no weights.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..chain._problem import Problem
from ..chain._sequences import Sequences
from ..chain.layout import arrange
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..tagging.query import Query
from .dealing import assign, set_apart
from .events import SILENT, Unheard, scores_text
from .heldout import add_corpus
from .search import along, beside, following

AHEAD = 2  # folds that go the whole way where a strength is to be found
PIECE = 500  # sequences that are decoded with marginals at a time


@dataclass
class Point:
    """The predictions of all folds at one strength."""

    evaluation: Evaluation
    label: np.ndarray  # int32[T], the predicted ones
    probability: np.ndarray  # float32[T], theirs
    log_p: float = 0.0  # of the gold labels, summed over the sequences
    n_sequences: int = 0
    seconds: float = 0.0
    parts: list = field(default_factory=list)  # of each fold: (its score, seconds)

    @property
    def scores(self):
        """{"f1": ..., "accuracy": ..., "likelihood": ...} as held-out data have them; f1 only where the labels are chunk labels."""
        chunk = {"f1": self.evaluation.chunk.f1} if self.evaluation.chunked else {}
        return {**chunk, "accuracy": self.evaluation.accuracy, "likelihood": self.log_p / self.n_sequences}


@dataclass
class Folded:
    """What cross-validation found."""

    folds: int | None  # None: a tenth was set apart
    groups: int | None
    strengths: list  # of (lambda, l1) as they were asked for
    points: list  # of Point, one for each
    best: int  # the number of the one that is chosen

    @property
    def facts(self):
        """What logs and models say of it."""
        (l2, l1), groups = self.strengths[self.best], {"groups": self.groups} if self.groups is not None else {}
        how = {"folds": self.folds} if self.folds else {"set_apart": 0.1}
        return {**how, **groups, "strength": {"lambda": str(l2), "l1": str(l1)}, **self.points[self.best].scores}

    @property
    def event(self):
        """For a log: every point."""
        rows = zip(self.strengths, self.points, strict=True)
        points = [{"lambda": str(l2), "l1": str(l1), **point.scores, "seconds": point.seconds} for (l2, l1), point in rows]
        return {**self.facts, "points": points}

    def report(self):
        """The table of strengths, if there are several, and the scores of the chosen one in full."""
        lines = []
        if len(self.points) > 1:
            for (l2, l1), point in zip(self.strengths, self.points, strict=True):
                lines.append(f"lambda {l2}, l1 {l1}: {scores_text(point.scores)}, {point.seconds:.1f} s")
            lines.append("chosen: lambda {}, l1 {}".format(*self.strengths[self.best]))
        of = "" if self.groups is None else f" of {self.groups:,} groups"
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
    several, ended = settings.several, threading.Event()
    asked, at_once = replace(settings, checkpoint=None, resume=None, threads=1), min(settings.threads, n_folds)
    folds: list[Any]
    if training.elsewhere:
        folds, at_once = away(training, [fold == k for k in range(n_folds)], fit_point, several), n_folds
    else:
        folds = [Fold(training, fold == k, fit_point, _Folding(observer, ended), several) for k in range(n_folds)]
    with ThreadPoolExecutor(at_once) as pool:
        try:
            if settings.searches and n_folds > AHEAD:
                ahead = _along(folds[:AHEAD], asked, training, observer, pool)
                points, tried = _beside(folds[AHEAD:], ahead, training, observer, pool)
            else:
                points, tried = _along(folds, asked, training, observer, pool)[:2]
        except BaseException:
            ended.set()
            if training.elsewhere:
                folds[0].engine.close()
            pool.shutdown(cancel_futures=True)
            raise
    return Folded(settings.folds, None if groups is None else len(set(groups)), tried, points, _best(points, tried, settings.select))


def _along(folds, settings, training, observer, pool):
    """(Points, their strengths, what was found of each by each fold) of the whole path."""
    path, points, tried, all_found = along(settings), [], [], []
    one, alone = next(path), settings.searches and len(folds) < (settings.folds or 1)
    while one is not None:
        point, found = _empty(training), []
        for k, result in enumerate(_at(folds, one, pool)):
            if observer.interrupted:
                raise KeyboardInterrupt
            found.append(result)
            _pool(point, result, training.vocabulary.labels)
            if not settings.several:
                observer.say(f"fold {k + 1} of {len(folds)}, all so far: {scores_text(point.scores)}")
        if settings.several:
            observer.say(f"{one.name}{', folds 1 and 2 alone' if alone else ''}: {scores_text(point.scores)}")
        points.append(point)
        tried.append(one.settings.points[0])
        all_found.append((one, found))
        one = following(path, _value(point, settings.select), point.scores["likelihood"])
    return points, tried, all_found


def _beside(folds, ahead, training, observer, pool):
    """(Points, strengths) of the best that the first folds have found and of its neighbours, by all folds; the strongest first."""
    points, tried, all_found = ahead
    number = {(l2.number, l1.number): k for k, (l2, l1) in enumerate(tried)}
    l2, l1 = tried[_best(points, tried, all_found[0][0].settings.select)]
    wanted = [number[name] for name in beside(number, (l2.number, l1.number))]
    path = [replace(all_found[k][0], goes_on=k != wanted[0]) for k in wanted]
    others = list((pool.map if pool._max_workers > 1 else map)(lambda fold: [fold.at(one) for one in path], folds))
    if observer.interrupted:
        raise KeyboardInterrupt
    points = [_empty(training) for _ in wanted]
    for k, point, *found in zip(wanted, points, *others, strict=True):
        for result in [*all_found[k][1], *found]:
            _pool(point, result, training.vocabulary.labels)
        observer.say(f"{all_found[k][0].name}, all folds: {scores_text(point.scores)}")
    return points, [tried[k] for k in wanted]


def _at(folds, one, pool):
    """What each fold finds at one strength, in order."""
    return (pool.map if len(folds) > 1 and pool._max_workers > 1 else map)(lambda fold: fold.at(one), folds)


def _best(points, tried, select):
    """The number of the strongest of the best."""
    values = [_value(point, select) for point in points]
    return max(range(len(points)), key=lambda k: (values[k], *(strength.number for strength in tried[k])))


class _Folding(Unheard):
    """Unheard, and told to end when another fold has failed."""

    def __init__(self, observer, ended):
        super().__init__(observer)
        self.ended = ended

    @property
    def interrupted(self):
        return "interrupted" if self.ended.is_set() else self.observer.interrupted


def _empty(training):
    n = training.corpus.n_tokens
    return Point(Evaluation(labels=training.vocabulary.labels), np.zeros(n, np.int32), np.zeros(n, np.float32))


class Fold:
    """What is left out of the training, and what has been learnt from the rest; keeps: for the next strength."""

    def __init__(self, training, left_out, fit_point, observer, keeps):
        self.training, self.left_out, self.fit_point, self.observer, self.keeps = training, left_out, fit_point, observer, keeps
        self.rest = self.w = self.before = None

    def at(self, point):
        """(tokens, their corpus, labels, probabilities, log p of the gold labels, seconds) at one strength."""
        corpus, where, started = self.training.corpus, np.flatnonzero(self.left_out), time.perf_counter()
        rest, left = self.rest or self._rest(point.settings), corpus.take(where)
        start = {"w": self.w, "before": self.before} if point.goes_on else {}
        outcome, before = self.fit_point(point.settings, rest, observer=self.observer, **start)
        if self.keeps:
            self.rest, self.w, self.before = rest, outcome.w, before
        label, probability = _predicted(rest.layout, outcome.w, left)
        tokens = np.concatenate([np.arange(corpus.seq[i], corpus.seq[i + 1]) for i in where])
        log_p = -Problem(left, rest.layout).value(outcome.w) * left.n_sequences
        return tokens, left, label, probability, log_p, time.perf_counter() - started

    def _rest(self, settings):
        t, rest = self.training, self.training.corpus.take(np.flatnonzero(~self.left_out))
        how = {"features": settings.features, "transitions": settings.transitions, "dense": t.dense}
        return replace(t, corpus=rest, layout=arrange(rest, t.vocabulary, **how))

    def cancel(self):
        """Training, which may be under way, ends after its step."""
        self.observer.ended.set()


def _alone(training, left_out, fit_point, keeps):
    """A Fold that nobody listens to."""
    return Fold(training, left_out, fit_point, _Folding(SILENT, threading.Event()), keeps)


def away(training, left_out, fit_point, keeps):
    """Folds on the workers of the training's cluster, each of them in one process."""
    here = replace(training, cluster=None, placed=None)
    engine = training.cluster.place(_alone, [(here, own, fit_point, keeps) for own in left_out])
    folds = [Away(engine, k, keeps) for k in range(len(left_out))]
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
    tokens, left, label, probability, log_p, seconds = found
    point.label[tokens], point.probability[tokens] = label, probability
    own = Evaluation(labels=names)
    for evaluation in (point.evaluation, own):
        add_corpus(evaluation, names, left.seq, left.label, label)
    point.parts.append((own.score, seconds))
    point.log_p, point.n_sequences, point.seconds = point.log_p + log_p, point.n_sequences + left.n_sequences, point.seconds + seconds


def _value(point, select):
    """What decides."""
    return point.scores["likelihood"] if select == "likelihood" else point.evaluation.score
