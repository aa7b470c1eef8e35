"""Lazy weights under l1: a block that slept takes all its proximal steps at once, exactly.

Asleep, a weight with the mean gradient c = d/n moves by  w <- S((1 - alpha l2) w - alpha c, alpha l1),  S the soft threshold.
While its sign s stays, that is linear. With  B_k = prod (1 - alpha l2)  and  A_k = sum alpha / B  over the steps up to k,

    w_j = B_j [ w_k / B_k - (c + s l1) (A_j - A_k) ]

If s (c + s l1) <= 0 the sign never changes; else it would at the first j with  A_j >= A_k + (w_k / B_k) / (c + s l1),  found by
bisection. That step is taken by the formula above, and from there on again. At 0 a weight stays if |c| <= l1, else s = -sign c.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from ..._kernels cimport Tokens


cdef double soft(double x, double threshold) noexcept nogil:
    return x - threshold if x > threshold else x + threshold if x < -threshold else 0.0


cdef class ProxWeights(LazyWeights):
    def __init__(self, layout, w, n, *, l2, l1):
        LazyWeights.__init__(self, layout, w)
        self.n, self.l2, self.l1, self.k = n, l2, l1, 0
        self.A, self.B, self.alpha = np.zeros(n + 2), np.ones(n + 2), np.zeros(n + 2)

    cdef void advance(self, double alpha) noexcept nogil:
        """One step more that sleeping blocks owe."""
        if self.k + 2 > self.A.shape[0] - 1 or self.B[self.k] < SMALL:
            self.settle_all(0, 0)
        self.k += 1
        self.alpha[self.k] = alpha
        self.B[self.k] = self.B[self.k - 1] * (1 - alpha * self.l2)
        self.A[self.k] = self.A[self.k - 1] + alpha / self.B[self.k]

    cdef double wake(self, double w, double d, int64_t k) noexcept nogil:
        """The weight as it is now, k the step up to which it had been brought."""
        cdef double c = d / self.n, slope, target
        cdef int64_t low, high, middle
        cdef double s
        while k < self.k:
            if w == 0:
                if fabs(c) <= self.l1:
                    return 0
                s = -1 if c > 0 else 1
            else:
                s = 1 if w > 0 else -1
            slope = c + s * self.l1
            target = self.A[k] + (w / self.B[k]) / slope if s * slope > 0 else 0
            if s * slope <= 0 or self.A[self.k] < target:
                return self.B[self.k] * (w / self.B[k] - slope * (self.A[self.k] - self.A[k]))
            low, high = k, self.k               # A[low] < target <= A[high]
            while high - low > 1:
                middle = (low + high) // 2
                if self.A[middle] < target:
                    low = middle
                else:
                    high = middle
            w = self.B[low] * (w / self.B[k] - slope * (self.A[low] - self.A[k]))
            w = soft((1 - self.alpha[high] * self.l2) * w - self.alpha[high] * c, self.alpha[high] * self.l1)
            k = high
        return w

    cdef void step_awake(self, double* w, double d, double delta, double omega) noexcept nogil:
        """The step that advance() counted, for a weight settled before it: d is the new sum, delta its change."""
        cdef double alpha = self.alpha[self.k]
        w[0] = soft((1 - alpha * self.l2) * w[0] - alpha * (omega * delta + (d - delta) / self.n), alpha * self.l1)

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        cdef int64_t k, p, last_block = self.last.shape[0] - 1
        cdef int32_t a
        cdef double* w = self.v.pairs.w
        cdef const double* d = self.d.pairs.w
        for k in range(s.nodes.ptr[first], s.nodes.ptr[first + T]):
            if self.last[s.nodes.attr[k]] != self.k:
                self.settle_label_list(s.nodes.attr[k])
        if self.last[last_block] != self.k:
            for k in range(self.v_edge.shape[0]):
                if self.exists[k]:
                    self.v_edge[k] = self.wake(self.v_edge[k], self.d_edge[k], <int64_t> self.last[last_block])
            self.last[last_block] = self.k
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                a = s.pairs.attr[k]
                if self.last[self.pair_base + a] != self.k:
                    for p in range(self.v.pairs.ptr[a], self.v.pairs.ptr[a + 1]):
                        w[p] = self.wake(w[p], d[p], <int64_t> self.last[self.pair_base + a])
                    self.last[self.pair_base + a] = self.k

    cdef void settle_label_list(self, int64_t a) noexcept nogil:
        """The block of attribute a, in its row or in w."""
        cdef int64_t p, at, first = self.v.nodes.ptr[a]
        for p in range(first, self.v.nodes.ptr[a + 1]):
            if a < self.v.n_rows:
                at = a * self.W.LP + (p - first if self.v.nodes.whole else self.v.nodes.label[p])
                self.v.rows[at] = self.wake(self.v.rows[at], self.d.rows[at], <int64_t> self.last[a])
            else:
                self.w[p] = self.wake(self.w[p], self.d.vector[p], <int64_t> self.last[a])
        self.last[a] = self.k

    cdef double settle_all(self, double scale, double l2) noexcept nogil:
        """Pay everything, write w; returns 0: with l1 the gap is the caller's to find."""
        cdef int64_t a, p, k, last_block = self.last.shape[0] - 1
        cdef int LP = self.W.LP
        cdef double* w = self.v.pairs.w
        cdef const double* d = self.d.pairs.w
        for a in range(self.pair_base):
            if self.last[a] != self.k:
                self.settle_label_list(a)
            if a < self.v.n_rows:
                for p in range(self.v.nodes.ptr[a], self.v.nodes.ptr[a + 1]):
                    self.w[p] = self.v.rows[a * LP + (p - self.v.nodes.ptr[a] if self.v.nodes.whole else self.v.nodes.label[p])]
        for a in range(last_block - self.pair_base):
            for p in range(self.v.pairs.ptr[a], self.v.pairs.ptr[a + 1]):
                w[p] = self.wake(w[p], d[p], <int64_t> self.last[self.pair_base + a])
        for k in range(self.W.places):
            if self.exists[k]:
                self.v_edge[k] = self.wake(self.v_edge[k], self.d_edge[k], <int64_t> self.last[last_block])
        for k in range(self.transitions.n):
            self.w[self.transitions.first + k] = self.v_edge[self.transitions.place[k]]
        memset(&self.last[0], 0, self.last.shape[0] * sizeof(double))
        self.k = 0
        return 0
