"""Cross-validation: every sequence is tagged once, by models that have not seen it, and all are scored together.

1. sequences are dealt out to folds, those of one group to one fold                                assign
2. for each fold: a model of the others, at each strength of the path, tags it                     _fold; several folds at once
3. the predictions of all folds together give one score for each strength; the best is chosen      Folded

A fold trains in one thread, so the numbers are the same however many folds there are at a time. Attributes that only the
left-out fold has get no weights.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..chain._problem import Problem
from ..chain._sequences import Sequences
from ..chain.layout import arrange
from ..errors import CrftrainError
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..tagging.query import Query
from .events import Unheard, scores_text

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

    @property
    def scores(self):
        """{"f1": ..., "accuracy": ..., "likelihood": ...} as held-out data have them; f1 only where the labels are chunk labels."""
        chunk = {"f1": self.evaluation.chunk.f1} if self.evaluation.chunked else {}
        return {**chunk, "accuracy": self.evaluation.accuracy, "likelihood": self.log_p / self.n_sequences}


@dataclass
class Folded:
    """What cross-validation found."""

    folds: int
    groups: int | None
    strengths: list  # of (lambda, l1) as they were asked for
    points: list  # of Point, one for each
    best: int  # the number of the one that is chosen

    @property
    def facts(self):
        """What logs and models say of it."""
        (l2, l1), groups = self.strengths[self.best], {"groups": self.groups} if self.groups is not None else {}
        return {"folds": self.folds, **groups, "strength": {"lambda": str(l2), "l1": str(l1)}, **self.points[self.best].scores}

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
        lines.append(f"{self.folds} folds{of}, each tagged by a model of the others:")
        return "\n".join([*lines, self.points[self.best].evaluation.report()])


def assign(sizes, folds, groups=None):
    """The fold of each sequence: i mod N; groups whole, the largest first, each to the fold that has the fewest tokens by then."""
    n = len(sizes)
    if groups is None:
        if folds > n:
            raise CrftrainError("", f"{folds} folds of {n} sequences", "no more folds than sequences")
        return np.arange(n) % folds
    names, number = np.unique(groups, return_inverse=True)
    if folds > len(names):
        raise CrftrainError("", f"{folds} folds of {len(names)} groups", "no more folds than groups")
    tokens, held, fold_of = np.bincount(number, sizes), np.zeros(folds), np.zeros(len(names), np.int64)
    for group in np.argsort(-tokens, kind="stable"):
        fold_of[group] = np.argmin(held)
        held[fold_of[group]] += tokens[group]
    return fold_of[number]


def cross_validate(settings, training, fit_point, observer, groups=None):
    """Folded; fit_point(settings, training, point=, w=, before=, observer=) trains at one strength.

    A checkpoint is of the training on everything alone: that of a fold would take its place, and nothing could go on from it.
    """
    corpus, at_a_time = training.corpus, min(settings.threads, settings.folds)
    fold = assign(np.diff(corpus.seq), settings.folds, groups)
    points = [_empty(training) for _ in settings.points]
    settings, ended = replace(settings, checkpoint=None, resume=None, threads=1), threading.Event()
    work = [(settings, training, fold == k, fit_point, _Folding(observer, ended)) for k in range(settings.folds)]
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            results = pool.map(_fold, *zip(*work, strict=True)) if at_a_time > 1 else map(_fold, *zip(*work, strict=True))
            for k, found in enumerate(results):
                if observer.interrupted:
                    raise KeyboardInterrupt
                _pool(points, found, training.vocabulary.labels)
                best = _best(points, settings.select)
                which = "lambda {}, l1 {}: ".format(*settings.points[best]) if len(points) > 1 else ""
                observer.say(f"fold {k + 1} of {settings.folds}, all so far: {which}{scores_text(points[best].scores)}")
        except BaseException:
            ended.set()
            pool.shutdown(cancel_futures=True)
            raise
    n_groups = None if groups is None else len(set(groups))
    return Folded(settings.folds, n_groups, settings.points, points, _best(points, settings.select))


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


def _fold(settings, training, left_out, fit_point, observer):
    """[(tokens, their corpus, labels, probabilities, log p of the gold labels, seconds)] for each strength."""
    corpus, where = training.corpus, np.flatnonzero(left_out)
    rest, left = corpus.take(np.flatnonzero(~left_out)), corpus.take(where)
    tokens = np.concatenate([np.arange(corpus.seq[i], corpus.seq[i + 1]) for i in where])
    layout = arrange(rest, training.vocabulary, features=settings.features, transitions=settings.transitions, dense=training.dense)
    part, found, before, w = replace(training, corpus=rest, layout=layout), [], None, None
    for point in range(len(settings.points)):
        if observer.interrupted:
            break
        started = time.perf_counter()
        more = {} if before is None else {"w": w, "before": before}
        outcome, before = fit_point(settings, part, point=point, observer=observer, **more)
        w = outcome.w
        label, probability = _predicted(layout, w, left)
        log_p = -Problem(left, layout).value(w) * left.n_sequences
        found.append((tokens, left, label, probability, log_p, time.perf_counter() - started))
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


def _pool(points, found, names):
    """Add what one fold found."""
    for point, (tokens, left, label, probability, log_p, seconds) in zip(points, found, strict=True):
        point.label[tokens], point.probability[tokens] = label, probability
        gold, predicted = [names[y] for y in left.label.tolist()], [names[y] for y in label.tolist()]
        for first, end in zip(left.seq.tolist(), left.seq[1:].tolist(), strict=False):
            point.evaluation.add(gold[first:end], predicted[first:end])
        point.log_p, point.n_sequences, point.seconds = point.log_p + log_p, point.n_sequences + left.n_sequences, point.seconds + seconds


def _best(points, select):
    """The first of the best."""
    values = [point.scores["likelihood"] if select == "likelihood" else point.evaluation.score for point in points]
    return int(np.argmax(values))
