"""The objective that every algorithm minimises, and its gradient, over a corpus of n sequences.

    f(w) = 1/n sum_i -log p(y_i | x_i; w)  +  l2/2 |w|^2  +  l1 |w|_1

value, value_and_gradient and curvature are of the smooth part, the first two terms; objective adds the third.
`passes` counts the work as a multiple of one forward run over all sequences.

Threads take parts of the sequences with about as many tokens each. What they sum is exact (_order_free, _parts): any number of
threads gives the same bits.
"""

import math
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
    round_residual,
    tokens_between_signals,
)
from ._blocks cimport Scorer
from ._lanes cimport Lanes
from ._measures cimport Measures
from ._order_free cimport magic_of, square
from ._parts cimport Part, Parts
from ._sequences cimport Sequences
from ._tangent cimport Curvature, Workspace

from ._occurrence_list import list_weights, listed_bytes
from ._order_free import limit
from ._parts import even_work
from ._tangent import Diagonal
from .memory import fitting
from .objective import Apart
from .rounding import Rounding
from .threads import in_threads
from ..errors import TrainingError

cdef class Problem(Measures):
    """Immutable but for its counter of passes, and a gap that is computed once."""

    def __init__(self, corpus, layout, *, l2=0.0, l1=0.0, threads=1, sequences=None, whole=None):
        """sequences: those of another Problem on the same corpus and layout. whole: the Whole of which this is a shard."""
        self.sequences, self.layout = sequences or Sequences(corpus, layout), layout
        self.l2, self.l1, self.threads, self.passes, self.whole = l2, l1, threads, 0.0, whole
        self.scale = 1.0 / max(1, self.sequences.n if whole is None else whole.n_sequences)  # held-out data may leave none
        self.scorer, self.losses = Scorer(layout), np.zeros(self.sequences.n)
        self.cancelled = False
        self.cuts = even_work(corpus, threads)
        self.by_length = [longest_first(corpus.seq, *ends) for ends in pairwise(self.cuts)] if layout.sparse else None
        self.parts = self.square_parts = None

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
        sequences, whole = self.sequences, self.whole
        return Problem(sequences.corpus, self.layout, l2=l2, l1=l1, threads=self.threads, sequences=sequences, whole=whole)

    def value(self, double[::1] w):
        """1/n sum of the losses + l2/2 |w|^2."""
        return float(np.sum(self.losses_at(w))) * self.scale + (0.5 * self.l2 * square(w) if self.l2 else 0.0)

    def losses_at(self, double[::1] w):
        """float64[n], until it is asked for again."""
        self.scorer.use(w)
        self._run(lambda k: self._sum(k, None, None, 0))
        self.scorer.let_go()
        return self.last_losses

    @property
    def last_losses(self):
        """float64[n], at the last w."""
        return np.asarray(self.losses)

    def value_and_gradient(self, double[::1] w, double[::1] out, *, Curvature keep=None):
        """The value; its gradient goes to out. `keep` takes along what Hessian-vector products at w need."""
        most = limit(self._parts().bound * self.scale)
        top = self.residuals(w, out, most, keep)
        if top > most:
            self.residuals(w, out, limit(top), keep)
        return float(np.sum(self.losses)) * self.scale + (0.5 * self.l2 * self.parts.norm() if self.l2 else 0.0)

    def residuals(self, double[::1] w, double[::1] out, double most, Curvature keep=None):
        """out = R(l2 w + 1/n sum of the residuals) where no number is above `most`; the largest |l2 w|, beyond `most` nothing else."""
        cdef Parts sums = self._parts()
        cdef double top = sums.open(w, self.l2, out, most)
        if top > most:
            return top
        if keep is not None:
            keep.begin()
        self.scorer.use(w)
        self._run(lambda k: self._sum(k, sums.parts[k], keep, magic_of(most)))
        sums.close()
        if keep is not None:
            keep.end(w, &self.scorer.W)
        self.scorer.let_go()
        return top

    def apart(self, function, v, *arguments, matrix=None):
        """What function(Apart, v, ...) makes of v, and what it says besides: there is no other shard."""
        found, said, passes = function(Apart(self, 0.0, 1.0, 0, matrix), v.copy(), *arguments)
        self.passes += passes
        return found, [said]

    def curvature(self, w=None, *, keep=None, ad=False):
        """The Hessian at w, all computed anew for each product; or without w, to be filled by value_and_gradient.

        keep: how many sequences are not computed anew for each product; None: all.
        """
        if w is not None:
            return self._point(self._matrix(Curvature, keep=0), w)
        return self._matrix(Curvature, keep=keep, ad=ad)

    def diagonal(self, w):
        """The Hessian's diagonal at w, about, as a matrix."""
        return self._point(self._matrix(Diagonal, keep=0), w)

    def _matrix(self, kind, **options):
        n_tokens = self.n_tokens if self.whole is None else self.whole.n_tokens
        return kind(self.sequences, self.layout, self.multiply, scale=self.scale, n_tokens=n_tokens, threads=self.threads, **options)

    def list_weights(self):
        """Gather and scatter by a list from now on, if there is memory for one: for those who do so again and again."""
        if self.sequences.s.listed.ptr == NULL and fitting(1, listed_bytes(self.sequences.corpus, self.layout)):
            list_weights(self.sequences, self.layout)
            self.parts = None

    def gold_counts(self):
        """float64[F]: how often each feature fires on the gold labels."""
        return gold_counts(self.sequences, self.layout, self._parts().bound)

    def feature_sums(self):
        """(the least value of an occurrence, the largest sum of values in a sequence)."""
        return feature_sums(self.sequences.corpus, self.layout)

    def multiply(self, Curvature at, double[::1] v, double[::1] out):
        """out = (the matrix) v, for Curvature.times."""
        at.rounding = at.rounding or Rounding(limit(self.bound(at) * self.scale))
        for most in at.rounding.attempts(math.sqrt(square(v))):
            at.rounding.wanted = self.tangents(at, v, out, most)
            self.passes += at.share
        at.add_expected(v, out)

    def tangents(self, Curvature at, double[::1] v, double[::1] out, double most):
        """out = R(l2 v + 1/n sum of the tangents), but for what the marginals of label pairs say; the `most` that would have done."""
        cdef Parts sums = self._square_parts() if isinstance(at, Diagonal) else self._parts()
        rooms = [Workspace(self.layout) for _ in sums.parts]
        at.direction.use(v, &at.W)
        top = sums.open(v, self.l2, out, most)
        with self.uncounted():
            self._run(lambda k: self._product(sums.parts[k], at, rooms[k], magic_of(most)))
        sums.close()
        at.expect(rooms)
        return max(top, self.bound(at) * max((<Workspace> room).top for room in rooms))

    def bound(self, Curvature at):
        """The largest sum of values that tangents are multiplied with."""
        of_squares = isinstance(at, Diagonal)
        if self.whole is not None:
            return self.whole.square_bound if of_squares else self.whole.bound
        return (self._square_parts() if of_squares else self._parts()).bound

    cdef Curvature _point(self, Curvature at, double[::1] w):
        """An empty curvature for products at w that compute everything anew."""
        self.scorer.use(w)
        at.end(w, &self.scorer.W)
        self.scorer.let_go()
        return at

    cdef Parts _parts(self):
        """What gradients and products are summed in."""
        if self.parts is None:
            self.parts = Parts(self.sequences, self.layout, self.cuts, threads=self.threads, bound=self.whole and self.whole.bound)
        return self.parts

    cdef Parts _square_parts(self):
        """And diagonals."""
        if self.square_parts is None:
            squared = self.sequences.squared(self.layout)
            same = squared is self.sequences
            self.square_parts = self._parts() if same else Parts(squared, self.layout, self.cuts, threads=self.threads)
        return self.square_parts

    def _run(self, work):
        """work(k) for each part, in threads."""
        self.cancelled = False
        in_threads(work, self.threads, cancel=self.cancel)
        self.passes += 1

    def cancel(self):
        """Threads end at their next look."""
        self.cancelled = True

    cdef int _sum(self, int k, Part part, Curvature keep, double magic) except -1:
        """The losses of the sequences of part k; their scaled residuals go to its sum, if there is one."""
        if part is not None:
            part.begin(magic)
        if self.by_length is not None:
            return self._sum_in_lanes(k, part, keep, magic)
        cdef Lattice* X = lattice_new(self.layout.n_labels, self.scorer.W.arcs)
        cdef const Tokens* s = &self.sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef double[::1] losses = self.losses
        cdef double scale = self.scale
        cdef int64_t i = self.cuts[k], last = self.cuts[k + 1], until, slice = tokens_between_signals(W.L)
        if X == NULL:
            raise MemoryError()
        try:
            while i < last and not self.cancelled:
                PyErr_CheckSignals()
                with nogil:
                    until = s.seq[i] + slice
                    while i < last and s.seq[i] < until:
                        losses[i] = loss(W, s, i, X)
                        if not isfinite(losses[i]):
                            break
                        if part is not None:
                            backward(W, s, i, X)
                            if keep is not None:
                                keep.take(s, i, X, k)
                            minus_gold(s, i, X)
                            round_residual(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL, scale, magic)
                            part.add(i, X)
                        i += 1
                if i < last and s.seq[i] < until:
                    raise infinite(i, losses[i])
        finally:
            lattice_free(X)
        if part is not None:
            part.end()
        return 0

    cdef int _sum_in_lanes(self, int k, Part part, Curvature keep, double magic) except -1:
        """The same, several sequences of like length at once."""
        cdef Lanes lanes = Lanes(self.scorer.transitions, self.layout.n_labels)
        cdef const Tokens* s = &self.sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef const int64_t[::1] order = self.by_length[k]
        cdef double[::1] losses = self.losses
        cdef double scale = self.scale
        cdef int64_t at = 0, n = order.shape[0], tokens, bad = -1, slice = tokens_between_signals(W.L)
        while at < n and not self.cancelled:
            PyErr_CheckSignals()
            with nogil:
                tokens = 0
                while at < n and tokens < slice and bad < 0:
                    bad = lanes.sum(W, s, &order[at], <int> min(LANES, n - at), part, keep, k, scale, magic, losses)
                    tokens += LANES * (s.seq[order[at] + 1] - s.seq[order[at]])
                    at += LANES
            if bad >= 0:
                raise infinite(bad, losses[bad])
        if part is not None:
            part.end()
        return 0

    cdef int _product(self, Part part, Curvature at, Workspace room, double magic) except -1:
        """The tangents of the part's sequences go to its sum."""
        cdef const Tokens* s = &self.sequences.s
        cdef int64_t i = part.first, last = part.last, until, slice = tokens_between_signals(self.layout.n_labels)
        cdef bint done = True
        part.begin(magic)
        while i < last and not self.cancelled:
            PyErr_CheckSignals()
            with nogil:
                until = s.seq[i] + slice
                while i < last and s.seq[i] < until and done:
                    done = at.weight[i] == 0 or at.add_product(s, i, self.scale * at.weight[i], magic, part, room)
                    i += done
            if not done:
                raise TrainingError(f"sequence {i + 1}", "its lattice has no finite sum, or no memory", "a finite number")
        part.end()
        return 0


def infinite(i, value):
    return TrainingError(f"sequence {i + 1}", f"its loss is {value}", "a finite number (the weights have grown too large)")


def longest_first(seq, first, last):
    """int64: the sequences first .. last - 1, those of like length together."""
    return first + np.argsort(-np.diff(seq[first : last + 1]), kind="stable")


include "_counts.pyx"
