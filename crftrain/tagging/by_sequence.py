"""The counts of an evaluation apart for each sequence: what resampling draws, and what lists of mistakes are made of."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BySequence:
    """Labels and chunks of each sequence; positions count a boundary (label 0) after each, number 1 is the label that is not known."""

    names: list  # of labels; the first two are no text
    first: np.ndarray  # where sequences begin
    gold: np.ndarray  # label numbers
    predicted: np.ndarray
    kinds: list  # of the types of chunks
    gold_spans: np.ndarray  # [3][n] first, end, type
    found_spans: np.ndarray

    def sum(self, values):
        """Values of positions added up for each sequence."""
        return np.add.reduceat(values, self.first, dtype=np.int64) if len(self.first) else np.zeros(0, np.int64)

    @property
    def tokens(self):
        """int[n, 2]: tokens, those that are right."""
        return np.stack([self.sum(self.gold > 0), self.sum((self.gold == self.predicted) & (self.gold > 1))], axis=1)

    def label(self, k):
        """int[n, 3]: how often label k is gold, found and correct."""
        gold, found = self.gold == k, self.predicted == k
        return np.stack([self.sum(gold), self.sum(found), self.sum(gold & found)], axis=1)

    def chunks(self, kind=None):
        """int[n, 3]: gold, found and correct chunks, of one type or of all."""
        correct = self.gold_spans[:, right(self.gold_spans, self.found_spans)]
        return np.stack([self._count(spans, kind) for spans in (self.gold_spans, self.found_spans, correct)], axis=1)

    def _count(self, spans, kind):
        first = spans[0] if kind is None else spans[0, spans[2] == kind]
        return np.bincount(np.searchsorted(self.first, first, "right") - 1, minlength=len(self.first))


def right(spans, others):
    """bool: which of the spans are among the others."""
    if not others.shape[1]:
        return np.zeros(spans.shape[1], bool)
    place = np.minimum(np.searchsorted(others[0], spans[0]), others.shape[1] - 1)  # no two spans of a side begin at one token
    return (others[:, place] == spans).all(axis=0)
