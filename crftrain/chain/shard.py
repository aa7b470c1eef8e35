"""A run of sequences with a numbering of its own, and what it is asked for. Nothing here knows where it is.

    w_k   the weights of the attributes that the shard has, in its own layout      Share.gather
    g_k   its part of the sum over sequences, in the same                          Share.scatter

The layout of a shard is the whole one restricted to its attributes, in the same order and with the same rows, so that scores are
added in the same order and every bit of a residual is that of the whole corpus; and sums are exact (_order_free).
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..text.encode import Observations
from ..text.rare import occurrences
from ._blocks import row_attributes
from ._parts import add_named, take_named
from ._problem import Problem
from .objective import Apart


class Share:
    """The blocks that a shard has: those of some attributes, in increasing order."""

    def __init__(self, layout, attributes, pair_attributes):
        self.whole, self.pair_attributes = layout, pair_attributes.astype(np.int32)
        self.names = _with_rows(layout, attributes)
        self.layout = layout.part(np.maximum(self.names, 0), self.pair_attributes, transitions=True)

    def _blocks(self):
        """(names, ptr here, ptr there) of node blocks and of pair blocks."""
        return (self.names, self.layout.ptr, self.whole.ptr), (self.pair_attributes, self.layout.pair_ptr, self.whole.pair_ptr)

    def gather(self, w):
        """w_k."""
        part = np.zeros(self.layout.n_features)
        for names, here, there in self._blocks():
            take_named(names, here, part, there, w)
        part[self.layout.transitions] = w[self.whole.transitions]
        return part

    def scatter(self, part, out):
        """out += g_k."""
        for names, here, there in self._blocks():
            add_named(names, here, part, there, out)
        out[self.whole.transitions] += part[self.layout.transitions]


def _with_rows(layout, attributes):
    """int32: the attributes, with -1 between so that the kernels take as rows what they do in the whole layout, and no more."""
    attributes = attributes.astype(np.int32)
    if layout.label is not None or layout.n_attributes == 0:
        return attributes
    rows = row_attributes(layout)
    begin = np.searchsorted(attributes, rows)
    unnamed = layout.n_attributes - rows - (len(attributes) - begin)
    return np.concatenate([attributes[:begin], np.full(unnamed, -1, np.int32), attributes[begin:]])


class Shard:
    """A corpus in the numbers of a Share, a part of a `whole` (rounding.Whole)."""

    def __init__(self, corpus, layout, whole, *, threads=1):
        self.problem, self.matrices = Problem(corpus, layout, threads=threads, whole=whole), {}

    def losses(self, w):
        return self.problem.losses_at(w).copy()

    def gradient(self, w, most, keep=None):
        """(losses, g_k); the matrix called `keep` is filled."""
        g = np.empty_like(w)
        self.problem.residuals(w, g, most, keep and self.matrices[keep])
        return self.problem.last_losses.copy(), g

    def matrix(self, name, w=None, options=None, diagonal=False):
        """Make one at w, or an empty one."""
        self.matrices[name] = self.problem.diagonal(w) if diagonal else self.problem.curvature(w, **(options or {}))

    def sample(self, name, weight, most):
        self.matrices[name].sample(weight, most)

    def doubts(self, name):
        return self.matrices[name].doubts.copy()

    def tangents(self, name, v, most):
        """(what would have done for `most`, h_k, the sums of the marginals of label pairs)."""
        matrix, h = self.matrices[name], np.empty_like(v)
        wanted = self.problem.tangents(matrix, v, h, most)
        return wanted, h, matrix.marginals()

    def tokens(self):
        """float64[F]: how many of its tokens have the attribute of each weight."""
        layout, corpus = self.problem.layout, self.problem.sequences.corpus
        counts = [
            np.repeat(occurrences(corpus.nodes, layout.n_attributes), np.diff(layout.ptr)),
            np.full(len(layout.transition), corpus.n_tokens),
        ]
        if len(layout.pair):
            counts.append(np.repeat(occurrences(corpus.pairs, len(layout.pair_ptr) - 1), np.diff(layout.pair_ptr)))
        return np.concatenate(counts).astype(np.float64)

    def weigh(self, tokens):
        """Learn how many tokens of all shards have the attribute of each weight."""
        self.share = np.divide(self.tokens(), tokens, out=np.zeros_like(tokens), where=tokens > 0)

    def apart(self, function, v, k, l2, name, *arguments):
        """What function(Apart, v, ...) makes of v, what it says besides, and its passes."""
        return function(Apart(self.problem, l2, self.share, k, name and self.matrices[name]), v, *arguments)

    def cancel(self):
        self.problem.cancel()

    def list_weights(self):
        self.problem.list_weights()

    def gold_counts(self):
        return self.problem.gold_counts()

    def feature_sums(self):
        return self.problem.feature_sums()


def cut(corpus, layout, cuts):
    """(Share, corpus in its numbers) of each run of sequences between the cuts."""
    return [renumbered(corpus.take(np.arange(first, last)), layout) for first, last in pairwise(cuts)]


def renumbered(corpus, layout):
    """(Share, the same corpus in its numbers)."""
    attributes, pair_attributes = np.unique(corpus.nodes.attr), np.empty(0, np.int32)
    if corpus.pairs is not None:
        pair_attributes = np.unique(corpus.pairs.attr)
    share = Share(layout, attributes, pair_attributes)
    pairs = corpus.pairs and _numbered(corpus.pairs, share.pair_attributes)
    return share, replace(corpus, nodes=_numbered(corpus.nodes, share.names), pairs=pairs)


def _numbered(observations, names):
    """Attributes by their places among the names."""
    number = np.zeros(int(names.max(initial=0)) + 1, np.int32)
    number[names[names >= 0]] = np.flatnonzero(names >= 0)
    return Observations(observations.ptr, number[observations.attr], observations.value)
