"""The objective that every algorithm minimises, and its gradient, over a corpus of n sequences.

    f(w) = 1/n sum_i -log p(y_i | x_i; w)  +  l2/2 |w|^2  +  l1 |w|_1

value, value_and_gradient and curvature are of the smooth part, the first two terms; objective adds the third.
`passes` counts the work as a multiple of one forward run over all sequences.

Threads take shards of the sequences with about as many tokens each and sum into vectors of their own (_sums): the same
number of threads gives the same bits.
"""

from contextlib import contextmanager
from itertools import pairwise

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite
from libc.stdint cimport int64_t

import numpy as np

from .._kernels cimport (
    LANES,
    Lattice,
    Tokens,
    Weights,
    backward,
    lattice_free,
    lattice_new,
    loss,
    minus_gold,
    scale_residual,
    tokens_between_signals,
)
from ._blocks cimport Gradient, Scorer
from ._lanes cimport Lanes
from ._sequences cimport Sequences
from ._sums cimport Sums, square
from ._tangent cimport Curvature, Workspace

from ._counts import feature_sums, gold_counts
from ._diagonal import Diagonal
from ._occurrence_list import list_weights, listed_bytes
from ._penalty import bound, gap
from .memory import fitting
from .threads import in_threads
from ..errors import TrainingError


cdef class Problem:
    """Immutable but for its counter of passes, and a gap that is computed once."""

    def __init__(self, corpus, layout, *, l2=0.0, l1=0.0, threads=1, sequences=None):
        """sequences: those of another Problem on the same corpus and layout."""
        self.sequences, self.layout = sequences or Sequences(corpus, layout), layout
        self.l2, self.l1, self.threads, self.passes = l2, l1, threads, 0.0
        self.scorer = Scorer(layout)
        self.gradients = [Gradient(layout) for _ in range(threads)]
        self.cancelled, self.first_gap = False, None
        targets = np.linspace(0, corpus.n_tokens, threads + 1)
        self.shards = np.searchsorted(corpus.seq, targets).astype(np.int64)
        self.sums = Sums(layout, corpus, self.shards, l2=l2)
        self.by_length = [longest_first(corpus.seq, *ends) for ends in pairwise(self.shards)] if layout.sparse else None

    @property
    def n_sequences(self):
        return self.sequences.n

    @property
    def n_tokens(self):
        return self.sequences.corpus.n_tokens

    @property
    def n_labels(self):
        return self.layout.n_labels

    @property
    def n_features(self):
        return self.layout.n_features

    @property
    def n_blocks(self):
        return self.layout.n_blocks

    def at(self, *, l2, l1):
        """The same corpus and weights under another regularisation."""
        return Problem(self.sequences.corpus, self.layout, l2=l2, l1=l1, threads=self.threads, sequences=self.sequences)

    def value(self, double[::1] w):
        """1/n sum of the losses + l2/2 |w|^2."""
        self.scorer.use(w)
        return self._run(self._shard) + 0.5 * self.l2 * square(w, 0, w.shape[0])

    def value_and_gradient(self, double[::1] w, double[::1] out, *, Curvature keep=None):
        """The value; its gradient goes to out. `keep` takes along what Hessian-vector products at w need."""
        if keep is not None:
            keep.begin()
        self.scorer.use(w)
        total = self._into(out, w, lambda k: self._shard_with_gradient(k, keep))
        if keep is not None:
            keep.end(w, &self.scorer.W)
        return total

    def curvature(self, w=None, *, keep=None, ad=False):
        """The Hessian at w, all computed anew for each product; or without w, to be filled by value_and_gradient.

        keep: how many sequences are not computed anew for each product; None: all.
        """
        if w is not None:
            return self._point(Curvature(self.sequences, self.layout, self.multiply, threads=self.threads, keep=0), w)
        return Curvature(self.sequences, self.layout, self.multiply, threads=self.threads, keep=keep, ad=ad)

    def diagonal(self, w):
        """The Hessian's diagonal at w, about, as a matrix."""
        return self._point(Diagonal(self.sequences, self.layout, self.multiply, threads=self.threads), w)

    def list_weights(self):
        """Gather and scatter by a list from now on, if there is memory for one: for those who do so again and again."""
        if fitting(1, listed_bytes(self.sequences.corpus, self.layout)):
            list_weights(self.sequences, self.layout)

    def gold_counts(self):
        """float64[F]: how often each feature fires on the gold labels."""
        return gold_counts(self.sequences, self.layout)

    def feature_sums(self):
        """(the least value of an occurrence, the largest sum of values in a sequence)."""
        return feature_sums(self.sequences.corpus, self.layout)

    def multiply(self, Curvature at, double[::1] v, double[::1] out):
        """out = (the matrix) v, for Curvature.times."""
        with self.uncounted():
            at.direction.use(v, &at.W)
            self._into(out, v, lambda k: self._shard_with_product(k, at))
        self.passes += at.share

    cdef Curvature _point(self, Curvature at, double[::1] w):
        """An empty curvature for products at w that compute everything anew."""
        self.scorer.use(w)
        at.end(w, &self.scorer.W)
        return at

    def _into(self, double[::1] out, double[::1] w, shard):
        """out = l2 w + what the shards scatter; returns the sum of what they return."""
        if w.shape[0] != self.n_features or out.shape[0] != self.n_features:
            raise ValueError(f"{w.shape[0]} weights and room for {out.shape[0]}, expected {self.n_features}")
        self.sums.open(out, w)
        try:
            total = self._run(shard)
            if self.threads > 1:
                in_threads(self.sums.add, self.threads)
        finally:
            self.sums.close()
        return total

    def objective(self, double[::1] w):
        """The value and the l1 term: what is printed, logged and minimised."""
        return self.value(w) + (self.l1 * np.abs(w).sum() if self.l1 else 0.0)

    def gap(self, w, g):
        """Max-norm of the subgradient of least norm at w, given the smooth gradient g."""
        return gap(w, g, self.l1)

    @contextmanager
    def uncounted(self):
        """What is computed within is no pass."""
        passes = self.passes
        try:
            yield
        finally:
            self.passes = passes

    def gap_at_zero(self):
        """The gap at w = 0, against which --tol is measured whatever the start."""
        if self.first_gap is None:
            zero, g = np.zeros(self.n_features), np.empty(self.n_features)
            with self.uncounted():
                self.value_and_gradient(zero, g)
            self.first_gap = self.gap(zero, g)
        return self.first_gap

    def exact(self, w):
        """(objective, gap, bound) at w, for reports: not counted as passes."""
        g = np.empty(self.n_features)
        with self.uncounted():
            value = self.value_and_gradient(w, g)
        return value + self.l1 * float(np.abs(w).sum()), self.gap(w, g), bound(g, self.l2, self.l1)

    def exact_objective(self, w):
        """The objective at w, for monitors: not counted as a pass."""
        with self.uncounted():
            return self.objective(w)

    def _run(self, shard):
        """1/n sum of shard(k), one for each thread."""
        sums, failures = [0.0] * self.threads, []

        def work(k):
            try:
                sums[k] = shard(k)
            except BaseException as failure:
                failures.append(failure)

        self.cancelled = False
        try:
            in_threads(work, self.threads, cancel=self._cancel)
        except BaseException as interruption:       # of this thread; the others have ended
            failures.insert(0, interruption)
        if failures:
            raise failures[0]
        self.passes += 1
        return sum(sums) / self.n_sequences

    def _shard(self, k):
        return self._sum(self.shards[k], self.shards[k + 1], None, None, 0)

    def _shard_with_gradient(self, k, keep):
        gradient = self._begin(k)
        norm = self.sums.norm(k) if self.l2 else 0.0
        total = self._sum(self.shards[k], self.shards[k + 1], gradient, keep, k)
        gradient.collect()
        return total + 0.5 * self.l2 * self.n_sequences * norm

    def _shard_with_product(self, k, at):
        gradient = self._begin(k)
        self._product(self.shards[k], self.shards[k + 1], gradient, at, k)
        gradient.collect()
        return 0.0

    cdef Gradient _begin(self, k):
        """A sum into the vector of thread k."""
        cdef Gradient gradient = self.gradients[k]
        gradient.use(self.sums.begin(k))
        return gradient

    def _cancel(self):
        self.cancelled = True

    cdef double _sum(self, int64_t first, int64_t last, Gradient gradient, Curvature keep, int thread) except? -1:
        """The sum of the losses of sequences first .. last - 1; their scaled residuals go to the gradient."""
        if self.by_length is not None:
            return self._sum_in_lanes(self.by_length[thread], gradient, keep, thread)
        cdef Lattice* X = lattice_new(self.layout.n_labels, self.scorer.W.arcs)
        cdef const Tokens* s = &self.sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef double total = 0, one = 0, scale = 1.0 / self.sequences.n
        cdef int64_t i = first, until, slice = tokens_between_signals(W.L)
        if X == NULL:
            raise MemoryError()
        try:
            while i < last and not self.cancelled:
                PyErr_CheckSignals()
                with nogil:
                    until = s.seq[i] + slice
                    while i < last and s.seq[i] < until:
                        one = loss(W, s, i, X)
                        if not isfinite(one):
                            break
                        total += one
                        if gradient is not None:
                            backward(W, s, i, X)
                            if keep is not None:
                                keep.take(s, i, X, thread)
                            minus_gold(s, i, X)
                            scale_residual(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL, scale)
                            gradient.add(s, i, X)
                        i += 1
                if i < last and s.seq[i] < until:
                    raise TrainingError(f"sequence {i + 1}", f"its loss is {one}", "a finite number (the weights have grown too large)")
        finally:
            lattice_free(X)
        return total

    cdef double _sum_in_lanes(self, const int64_t[::1] order, Gradient gradient, Curvature keep, int thread) except? -1:
        """The same, several sequences of like length at once."""
        cdef Lanes lanes = Lanes(self.scorer.transitions, self.layout.n_labels)
        cdef const Tokens* s = &self.sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef double total = 0, one = 0, scale = 1.0 / self.sequences.n
        cdef int64_t at = 0, n = order.shape[0], tokens, bad = 0, slice = tokens_between_signals(W.L)
        while at < n and not self.cancelled:
            PyErr_CheckSignals()
            with nogil:
                tokens = 0
                while at < n and tokens < slice:
                    one = lanes.sum(W, s, &order[at], <int> min(LANES, n - at), gradient, keep, thread, scale, &bad)
                    if not isfinite(one):
                        break
                    total += one
                    tokens += LANES * (s.seq[order[at] + 1] - s.seq[order[at]])
                    at += LANES
            if not isfinite(one):
                raise TrainingError(f"sequence {bad + 1}", f"its loss is {one}", "a finite number (the weights have grown too large)")
        return total

    cdef int _product(self, int64_t first, int64_t last, Gradient gradient, Curvature at, int thread) except -1:
        """gradient += 1/n sum of F' (tangents) of sequences first .. last - 1."""
        cdef Workspace room = Workspace(self.layout)
        cdef const Tokens* s = &self.sequences.s
        cdef double scale = 1.0 / self.sequences.n
        cdef int64_t i = first, until, slice = tokens_between_signals(self.layout.n_labels)
        cdef bint done = True
        while i < last and not self.cancelled:
            PyErr_CheckSignals()
            with nogil:
                until = s.seq[i] + slice
                while i < last and s.seq[i] < until and done:
                    done = at.weight[i] == 0 or at.add_product(s, i, scale * at.weight[i], gradient, room)
                    i += done
            if not done:
                raise TrainingError(f"sequence {i + 1}", "its lattice has no finite sum, or no memory", "a finite number")
        at.finish(scale, gradient, room, thread)
        return 0


def longest_first(seq, first, last):
    """int64: the sequences first .. last - 1, those of like length together."""
    return first + np.argsort(-np.diff(seq[first : last + 1]), kind="stable")
