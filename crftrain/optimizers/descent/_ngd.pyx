"""The steps of natural gradient descent; see ngd.py.

A weight's gradient goes through the transform f whole, summed over its sequence. Of the rows q of X, minus gold:

    1. q <- f(q) is right for all attributes of a token that fire once in the sequence, and the common scatter serves them.
    2. What fires several times has a row for the sequence, where f(sum of its q) - (sum of its f(q)) makes good for that. So
       all attributes are read in the order in which the scores were gathered. If they have values, each has such a row, 1 is
       left out, and nothing is made good.
    3. The transitions are one sum; label pairs with attributes of their own are gathered block by block (_update).

Which occurrence belongs to which row is found out once.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ..._kernels cimport Blocks, Occurrences, Tokens, simd
from ...chain._blocks cimport aligned
from ...chain._sequences cimport Sequences
from ..loop._compiled cimport LocalUpdate, OrderedSteps, Piece


cdef class NgdSteps(OrderedSteps):
    cdef Transform transform
    cdef LocalUpdate change             # of what label pairs weigh
    cdef Tokens pairs                   # the corpus without the attributes of single labels
    cdef Occurrences members            # of each row; attr is the token, counted from the unit's first
    cdef int64_t[::1] begin             # [units+1] rows before a unit
    cdef int64_t[::1] sparse            # [units] and before its first one of an attribute that has no dense block
    cdef int32_t[::1] attr              # of each row
    cdef double[::1] sums, parts        # [rows of a unit][LP]
    cdef int64_t[::1] one_by_one        # 0, 1, 2 ..
    cdef bint valued
    cdef list keep

    def __init__(self, problem, w, *, weights, transform, batch=1):
        OrderedSteps.__init__(self, problem, w, weights=weights, batch=batch)
        self.transform, self.change = transform, LocalUpdate(self.lazy)
        self.list_rows()

    def turn_to(self, Sequences sequences, *, batch=1):
        OrderedSteps.turn_to(self, sequences, batch=batch)
        self.list_rows()

    def list_rows(self):
        """What is found out once about the units."""
        cdef int64_t[::1] nothing = np.zeros(self.s.seq[self.sequences.n] + 1, np.int64)
        self.keep, self.valued, self.pairs = [nothing], self.s.nodes.value != NULL, self.s[0]
        self.pairs.nodes.ptr = self.pairs.nodes.split = &nothing[0]
        self.pairs.distinct = self.pairs.nodes
        self.collect(*self.numbered(self.problem.layout.n_attributes))
        most = max(1, np.diff(self.begin).max(initial=0))
        self.sums, self.parts, self.one_by_one = aligned(most * self.lazy.W.LP), aligned(most * self.lazy.W.LP), np.arange(most + 2)

    def numbered(self, int64_t n_attributes):
        """Row of each occurrence, -1: it stands alone in its unit; attribute of each row, and how many members it has. Sets `begin`."""
        cdef int64_t u, k, i, start, rows = 0, n = self.s.nodes.ptr[self.s.seq[self.units[self.n_units]]]
        cdef int32_t[::1] row = np.full(n, -1, np.int32), of_row = np.empty(n, np.int32), count = np.zeros(n, np.int32)
        cdef int64_t[::1] last = np.full(n_attributes, -1, np.int64)    # where an attribute occurred
        cdef const int32_t* attr = self.s.nodes.attr
        self.begin = np.zeros(self.n_units + 1, np.int64)
        for u in range(self.n_units):
            start = self.s.nodes.ptr[self.first(u)]
            for k in range(start, self.s.nodes.ptr[self.first(u) + self.length(u)]):
                i = last[attr[k]] if last[attr[k]] >= start else k
                if self.valued or i < k:
                    if row[i] < 0:
                        row[i], of_row[rows], count[rows] = rows, attr[k], i < k
                        rows += 1
                    row[k] = row[i]
                    count[row[k]] += 1
                last[attr[k]] = k
            self.begin[u + 1] = rows
        return row, np.array(of_row[:rows]), np.array(count[:rows])

    def collect(self, int32_t[::1] row, attr, count):
        """List the members of rows. Of a unit's rows dense ones come first, then small ones: loops of equal length are foreseen."""
        unit, sparse = np.repeat(np.arange(self.n_units), np.diff(self.begin)), attr >= self.lazy.v.n_rows
        order = np.lexsort((count, sparse, unit))
        cdef int64_t[::1] ptr = np.append(0, np.cumsum(count[order])), at = np.empty(len(order), np.int64)
        cdef int32_t[::1] token = np.empty(count.sum() + 1, np.int32)
        cdef double[::1] value = np.empty(token.shape[0] if self.valued else 0)
        cdef int64_t u, t, k
        self.attr = np.append(attr[order], np.int32(0))
        self.sparse = self.begin[1:] - np.bincount(unit[sparse], minlength=self.n_units)
        np.asarray(at)[order] = ptr[: ptr.shape[0] - 1]
        for u in range(self.n_units):
            for t in range(self.length(u)):
                for k in range(self.s.nodes.ptr[self.first(u) + t], self.s.nodes.ptr[self.first(u) + t + 1]):
                    if row[k] >= 0:
                        token[at[row[k]]] = t
                        if self.valued:
                            value[at[row[k]]] = self.s.nodes.value[k]
                        at[row[k]] += 1
        self.keep += [ptr, token, value]
        self.members.ptr, self.members.split, self.members.attr = &ptr[0], &ptr[0] + 1, &token[0]
        self.members.value = &value[0] if self.valued else NULL

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        """w <- (w - eta f(g)) / (1 + eta l2), g the gradient of u, which X holds."""
        cdef int64_t first = self.first(u), T = self.length(u), row = self.begin[u], n = self.begin[u + 1] - row
        cdef int L = self.X.L, LP = self.X.LP
        cdef double c = -eta / self.weights.beta
        cdef int64_t dense = self.sparse[u] - row
        cdef Occurrences rows
        cdef Blocks q
        # 2)
        q.rows, q.stride = self.X.q, LP
        simd.gather(&self.members, &q, row, n, LP, LP, &self.sums[0])
        self.transform.apply(n * LP, c, &self.sums[0])
        # 1)
        if not self.valued:
            self.transform.apply(T * LP, c, self.X.q)
            simd.scatter_present(&self.s.nodes, &self.lazy.v.nodes, first, T, L, LP, self.X.q)
            simd.gather(&self.members, &q, row, n, LP, LP, &self.parts[0])
            simd.axpy(n * LP, -1.0, &self.parts[0], &self.sums[0])
        rows.ptr, rows.attr, rows.value = &self.one_by_one[0], &self.attr[row], NULL
        rows.split = rows.ptr + 1
        simd.scatter_present(&rows, &self.lazy.v.nodes, 0, dense, L, LP, &self.sums[0])
        rows.split = rows.ptr
        simd.scatter_present(&rows, &self.lazy.v.nodes, dense, n - dense, L, LP, &self.sums[0] + dense * LP)
        # 3)
        if self.s.pairs.ptr != NULL:
            if not self.take_pairs(first, T, c):
                return False
        else:
            self.transform.apply(self.X.places, c, self.X.edge)
            simd.axpy(self.X.places, 1.0, self.X.edge, &self.lazy.v_edge[0])
        self.weights.shrink(1 / (1 + eta * self.l2))
        return True

    cdef bint take_pairs(self, int64_t first, int64_t T, double c) noexcept nogil:
        cdef const Piece* piece
        if isnan(self.change.gather(&self.pairs, first, T, self.X)):
            return False
        piece = self.change.piece
        while piece < self.change.piece + self.change.n_pieces:
            self.transform.apply(piece.n, c, piece.g)
            piece += 1
        self.change.subtract(-1.0)
        self.change.clear()
        return True
