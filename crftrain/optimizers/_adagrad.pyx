"""The weights and the steps of AdaGrad; see adagrad.py.

A step on weight j, g its gradient, G the sum of the squares of its gradients, this one included:

    alpha = eta / (delta + sqrt G),    w <- S(w - alpha g, alpha l1) / (1 + alpha l2),    S the soft threshold

Asleep g is 0 and alpha stays. A step then maps |w| to r |w| - c, with r = 1 / (1 + alpha l2) and c = r alpha l1, and stops at 0.
The m steps of a block that slept are the m-th power of that map, by squaring: for all labels at once, since they slept alike.
As a formula it is  r^m (|w| + l1/l2) - l1/l2,  which the power also is where l2 is 0 or small.
"""

from libc.math cimport copysign, fabs, isnan, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from .._descent cimport DescentWeights
from .._kernels cimport Blocks, Tokens, scatter_pairs
from ._ordered cimport OrderedSteps


cdef class AdaGradWeights(DescentWeights):
    """G is in the place of LazyWeights' d; `last` is the step after which a block was last looked at."""

    cdef double eta, delta, l2, l1
    cdef int64_t k                          # steps since all blocks were brought up to date
    cdef double[::1] r, c, power, constant  # [the longest block]

    def __init__(self, layout, w, *, delta, l2, l1):
        DescentWeights.__init__(self, layout, w)
        self.delta, self.l2, self.l1, self.eta, self.k = delta, l2, l1, 0.0, 0
        longest = self.W.L * self.W.LP
        self.r, self.c, self.power, self.constant = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)

    def start(self, const double[::1] w):
        """Begin at w, with no gradient seen."""
        DescentWeights.start(self, w)
        self.clear_d()
        self.k = 0

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        self.pay(s, first, T)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* d) noexcept nogil:
        """The steps that the block slept through."""
        cdef int64_t m = self.k - <int64_t> self.last[block], j
        cdef double alpha, x
        cdef double* r = &self.r[0]
        cdef double* c = &self.c[0]
        cdef double* power = &self.power[0]
        cdef double* constant = &self.constant[0]
        if m == 0:
            return
        self.last[block] = self.k
        for j in range(n):
            alpha = self.eta / (self.delta + sqrt(d[j]))
            r[j] = 1 / (1 + alpha * self.l2)
            c[j] = r[j] * alpha * self.l1
            power[j], constant[j] = 1, 0
        while True:                             # |v| -> power |v| - constant:  m & 1 times (r, c), which are then squared
            if m & 1:
                for j in range(n):
                    power[j] *= r[j]
                    constant[j] = r[j] * constant[j] + c[j]
            m >>= 1
            if m == 0:
                break
            for j in range(n):
                c[j] += r[j] * c[j]
                r[j] *= r[j]
        for j in range(n):
            x = power[j] * fabs(v[j]) - constant[j]
            v[j] = copysign(0.0 if x <= 0 else x, v[j])

    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        """A step on a block that is up to date."""
        cdef int64_t j
        cdef double alpha, x, y
        self.last[block] = self.k
        for j in range(n):
            d[j] += g[j] * g[j]
            alpha = self.eta / (self.delta + sqrt(d[j]))
            x = v[j] - alpha * g[j]
            y = fabs(x) - alpha * self.l1
            v[j] = copysign((0.0 if y <= 0 else y) / (1 + alpha * self.l2), x)

    cdef void rescale(self) noexcept nogil:
        """Every block is brought up to date."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p
        for a in range(self.v.n_rows):
            self.pay_block(a, self.W.LP, self.v.nodes.rows + a * self.W.LP, self.d.nodes.rows + a * self.W.LP)
        for a in range(self.v.n_rows, self.pair_base):
            self.pay_block(a, ptr[a + 1] - ptr[a], self.v.nodes.w + ptr[a], self.d.nodes.w + ptr[a])
        for a in range(self.last.shape[0] - 1 - self.pair_base):
            p = self.v.pairs.ptr[a]
            self.pay_block(self.pair_base + a, self.v.pairs.ptr[a + 1] - p, self.v.pairs.w + p, self.d.pairs.w + p)
        self.pay_block(self.last.shape[0] - 1, self.W.L * self.W.LP, &self.v_edge[0], &self.d_edge[0])
        self.k = 0
        memset(&self.last[0], 0, self.last.shape[0] * sizeof(double))

    def state(self):
        return {**DescentWeights.state(self), "squares": self.d_in_vector()}

    def restore(self, state):
        DescentWeights.restore(self, state)
        self.set_d(state["squares"])


cdef class AdaGradSteps(OrderedSteps):
    cdef AdaGradWeights ada

    def __init__(self, problem, w, *, weights, batch=1):
        OrderedSteps.__init__(self, problem, w, weights=weights, batch=batch)
        self.ada = weights

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        cdef const int64_t* ptr = self.ada.v.nodes.ptr
        cdef int64_t first = self.first(u), T = self.length(u), k, LP = self.X.LP
        cdef int32_t a
        if isnan(self.local.build(self.s, first, T, self.X)):
            return False
        self.ada.eta = eta
        self.ada.k += 1
        for k in range(self.local.n_dense):
            a = self.local.dense[k]
            self.ada.step_block(a, LP, self.ada.v.nodes.rows + a * LP, self.ada.d.nodes.rows + a * LP, self.local.rows + k * LP)
        for k in range(self.local.n_sparse):
            a = self.local.sparse[k]
            self.ada.step_block(
                a, ptr[a + 1] - ptr[a], self.ada.v.nodes.w + ptr[a], self.ada.d.nodes.w + ptr[a], self.local.w + self.local.ptr[k]
            )
        if T > 1:
            self.ada.step_block(self.ada.last.shape[0] - 1, self.X.L * LP, &self.ada.v_edge[0], &self.ada.d_edge[0], self.X.edge)
        if self.s.pairs.ptr != NULL:
            self.take_pairs(first, T)
        return True

    cdef void take_pairs(self, int64_t first, int64_t T) noexcept nogil:
        """The blocks of pair attributes, whose gradient is summed in a vector as long as all their weights."""
        cdef Blocks blocks = self.ada.v.pairs
        cdef int64_t k, p
        cdef int32_t b
        blocks.w = &self.local.pair_vector[0] - blocks.ptr[0]
        scatter_pairs(self.s, &blocks, first, T, self.X)
        for k in range(self.s.pairs.ptr[first], self.s.pairs.ptr[first + T]):
            b = self.s.pairs.attr[k]
            p = blocks.ptr[b]
            if self.ada.last[self.ada.pair_base + b] != self.ada.k:
                self.ada.step_block(
                    self.ada.pair_base + b, blocks.ptr[b + 1] - p, self.ada.v.pairs.w + p, self.ada.d.pairs.w + p, blocks.w + p
                )
            memset(blocks.w + p, 0, (blocks.ptr[b + 1] - p) * sizeof(double))
