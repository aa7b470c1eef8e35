"""The steps of natural gradient descent; see ngd.py.

A weight's gradient goes through the transform whole, summed over its sequence. For an indicator that fires once in the sequence
that sum is q of one token, and one transformed row of q serves all such attributes of the token: the common scatter does the rest.
Only what fires several times, the label pairs, and attributes with values are gathered first (_update). Which attributes those are is
found out once.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t

import numpy as np

from .._kernels cimport Occurrences, Tokens, simd
from ._ordered cimport OrderedSteps
from ._transform cimport Transform
from ._update cimport LocalUpdate, Piece


cdef class NgdSteps(OrderedSteps):
    cdef Transform transform
    cdef LocalUpdate change
    cdef Tokens several                 # the corpus without the occurrences that stand alone in their sequence
    cdef Occurrences single             # and those
    cdef list keep

    def __init__(self, problem, w, *, weights, transform, batch=1):
        OrderedSteps.__init__(self, problem, w, weights=weights, batch=batch)
        self.transform, self.change = transform, LocalUpdate(self.lazy)
        self.several, self.keep = self.s[0], []
        if self.s.nodes.value == NULL:
            alone = self.alone(problem.layout.n_attributes)
            self.part(&self.single, alone)
            self.part(&self.several.nodes, ~alone)

    def alone(self, n_attributes):
        """bool[occurrences]: no other one of the same attribute in the sequence."""
        cdef int64_t u, k, n = self.s.nodes.ptr[self.s.seq[self.n_units]]
        cdef int64_t[::1] last = np.full(max(1, n_attributes), -1, np.int64)    # occurrence, seen last
        result = np.ones(n, bool)
        cdef unsigned char[::1] out = result.view(np.uint8)
        for u in range(self.n_units):
            for k in range(self.s.nodes.ptr[self.s.seq[u]], self.s.nodes.ptr[self.s.seq[u + 1]]):
                if last[self.s.nodes.attr[k]] >= self.s.nodes.ptr[self.s.seq[u]]:
                    out[k] = out[last[self.s.nodes.attr[k]]] = False
                last[self.s.nodes.attr[k]] = k
        return result

    cdef int part(self, Occurrences* o, chosen) except -1:
        """Those occurrences that are chosen, dense ones still first in each token."""
        cdef int64_t tokens = self.s.seq[self.n_units], t
        cdef int64_t[::1] before = np.zeros(len(chosen) + 1, np.int64)
        cdef int64_t[::1] ptr = np.empty(tokens + 1, np.int64), split = np.empty(max(1, tokens), np.int64)
        cdef int32_t[::1] attr = np.append(self.problem.sequences.corpus.nodes.attr[:len(chosen)][chosen], np.int32(0))
        np.cumsum(chosen, out=np.asarray(before)[1:])
        for t in range(tokens + 1):
            ptr[t] = before[self.s.nodes.ptr[t]]
        for t in range(tokens):
            split[t] = before[self.s.nodes.split[t]]
        self.keep.append((ptr, split, attr))
        o.ptr, o.split, o.attr, o.value = &ptr[0], &split[0], &attr[0], NULL
        return 0

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        """w <- (w - eta f(g)) / (1 + eta l2), g the gradient of u, which X holds."""
        cdef int64_t first = self.first(u), T = self.length(u), t
        cdef int LP = self.X.LP
        cdef double c = -eta / self.weights.beta
        cdef const Piece* piece
        if isnan(self.change.gather(&self.several, first, T, self.X)):
            return False
        piece = self.change.piece
        while piece < self.change.piece + self.change.n_pieces:
            self.transform.apply(piece.n, c, piece.g)
            piece += 1
        self.change.subtract(-1.0)
        self.change.clear()
        if self.keep:
            for t in range(T):
                self.transform.apply(LP, c, self.X.q + t * LP)
            simd.scatter_present(&self.single, &self.lazy.v.nodes, first, T, self.X.L, LP, self.X.q)
        self.weights.shrink(1 / (1 + eta * self.l2))
        return True
