"""Lazy weights under l1, with a rate for each block: the proximal steps that a block owes are taken in one.

A step of length alpha is, in the metric of the rates r,

    w <- S(w - alpha r d/m, alpha r l1) / (1 + alpha r l2),    S(x, c) = sign(x) max(0, |x| - c)

d of a block stays the same while it sleeps, and the steps that it owes are paid as one of their whole length,

    w <- S(w - r owed d, r due l1) / (1 + r due l2),           owed = sum alpha / m,  due = sum alpha

which differs from one after the other by the order of shrinking, and where a weight passes zero. Where all is still nothing differs:
w = 0 stays if |d| <= m l1, and another w if  d/m + l2 w + l1 sign(w) = 0,  whatever the rates.
"""

from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport Tokens, simd


cdef class SoftWeights(LazyWeights):
    def __init__(self, layout, w, rates, *, l1, l2):
        """rates: those of the blocks, and those of the transitions one by one."""
        blocks, edges = rates
        LazyWeights.__init__(self, layout, w)
        self.l1, self.l2, self.length = l1, l2, 0.0
        self.memory, self.last = np.zeros((layout.n_blocks, 3)), np.zeros(0)     # what blocks have paid is in `memory`
        self.owing = <Owing*> &self.memory[0, 0]
        np.asarray(self.memory)[:, 2] = blocks
        self.rate_edge = np.zeros(self.W.places)
        for k in range(self.transitions.n):
            self.rate_edge[self.transitions.place[k]] = edges[k]

    def read_w(self):
        LazyWeights.read_w(self)
        self.forget()

    cdef void forget(self) noexcept nogil:
        """Nothing is owed any more."""
        cdef int64_t b
        self.S = self.length = 0
        for b in range(self.memory.shape[0] if self.owing != NULL else 0):
            self.owing[b].sum = self.owing[b].length = 0

    cdef void step(self, double alpha, double l2, double m) noexcept nogil:
        self.S += alpha / m
        self.length += alpha

    cdef double soft(self, const Owing* own, double v, double d) noexcept nogil:
        cdef double due = own.rate * (self.length - own.length), x = v - own.rate * (self.S - own.sum) * d, c = due * self.l1
        return (x - c if x > c else x + c if x < -c else 0.0) / (1 + due * self.l2)

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        cdef int64_t k, b
        simd.settle_soft(&s.distinct, &self.v.nodes, &self.d.nodes, self.owing, self.S, self.length, self.l1, self.l2, first, T, self.W.LP)
        self.settle_edges()
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                b = s.pairs.attr[k]
                self.settle_sparse(self.pair_base + b, self.v.pairs.ptr[b], self.v.pairs.ptr[b + 1])

    cdef void settle_edges(self) noexcept nogil:
        cdef Owing* own = &self.owing[self.memory.shape[0] - 1]
        if self.length != own.length:
            simd.soften(self.W.places, self.S - own.sum, self.length - own.length, self.l1, self.l2, &self.rate_edge[0],
                        &self.d_edge[0], &self.v_edge[0])
            own.sum, own.length = self.S, self.length

    cdef void settle_sparse(self, int64_t block, int64_t first, int64_t end) noexcept nogil:
        """v[first:end], which is where blocks live that are no rows."""
        cdef int64_t p
        cdef Owing* own = &self.owing[block]
        cdef double* v = self.v.pairs.w
        cdef const double* d = self.d.pairs.w
        if self.length == own.length:
            return
        for p in range(first, end):
            v[p] = self.soft(own, v[p], d[p])
        own.sum, own.length = self.S, self.length

    cdef double settle_all(self, double scale, double l2) noexcept nogil:
        """Pay everything, write w; returns 0: with l1 the gap is the caller's to find."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p, k, LP = self.W.LP, blocks = self.memory.shape[0]
        for a in range(self.v.n_rows):
            for p in range(ptr[a], ptr[a + 1]):
                k = a * LP + (p - ptr[a] if self.v.nodes.whole else self.v.nodes.label[p])
                self.v.rows[k] = self.w[p] = self.soft(&self.owing[a], self.v.rows[k], self.d.rows[k])
        for a in range(self.v.n_rows, self.pair_base):
            self.settle_sparse(a, ptr[a], ptr[a + 1])
        for a in range(blocks - 1 - self.pair_base):
            self.settle_sparse(self.pair_base + a, self.v.pairs.ptr[a], self.v.pairs.ptr[a + 1])
        self.settle_edges()
        for k in range(self.transitions.n):
            self.w[self.transitions.first + k] = self.v_edge[self.transitions.place[k]]
        self.forget()
        return 0
