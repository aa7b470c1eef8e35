"""Steps that are not the same for all weights, taken late: what AdaGrad and stochastic meta-descent share.

A step changes every weight, but one whose attribute the unit has not got has no gradient in it: it sleeps. What m such steps do
to a block is known in closed form, and done when the block is next looked at. `last` is the step after which that was.

    settle    sleep(m) for the blocks of the unit           step    step_block for each of them, once, with its whole gradient
    rescale   sleep(m) for all blocks
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..._kernels cimport Blocks, Tokens, scatter_pairs
from ...chain._blocks cimport numbers_from


cdef class SleepingWeights(DescentWeights):
    """A subclass says what sleep and step_block do; w is v, beta stays 1."""

    def __init__(self, layout, w, *, l2):
        DescentWeights.__init__(self, layout, w)
        self.l2, self.eta, self.k = l2, 0.0, 0

    def start(self, const double[::1] w):
        """Begin at w, with no gradient seen."""
        DescentWeights.start(self, w)
        self.clear_d()
        self.k = 0

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        self.pay(s, first, T)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* d) noexcept nogil:
        """The steps that the block slept through."""
        cdef int64_t m = self.k - <int64_t> self.last[block]
        if m:
            self.last[block] = self.k
            self.sleep(block, m, n, v, d)

    cdef void wake(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        self.last[block] = self.k
        self.step_block(block, n, v, d, g)

    cdef void sleep(self, int64_t block, int64_t m, int64_t n, double* v, double* d) noexcept nogil:
        """m steps without a gradient."""

    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        """A step on a block that is up to date."""

    cdef double* beside(self, BlockView other, double[::1] edge, int64_t block, const double* v) noexcept nogil:
        """Where another view that is as padded as this one keeps what belongs to v."""
        if block < self.v.n_rows:
            return other.nodes.rows + (v - self.v.nodes.rows)
        return &edge[0] if block == self.last.shape[0] - 1 else other.nodes.w + (v - self.v.nodes.w)

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
        self.pay_block(self.last.shape[0] - 1, self.W.places, &self.v_edge[0], &self.d_edge[0])
        self.k = 0
        memset(&self.last[0], 0, self.last.shape[0] * sizeof(double))


cdef class SleepingSteps(OrderedSteps):
    def __init__(self, problem, w, *, weights, batch=1):
        OrderedSteps.__init__(self, problem, w, weights=weights, batch=batch)
        self.sleeping = weights

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        cdef const int64_t* ptr = self.sleeping.v.nodes.ptr
        cdef int64_t first = self.first(u), T = self.length(u), k, LP = self.X.LP
        cdef int32_t a
        cdef double* v
        cdef double* d
        if isnan(self.local.build(self.s, first, T, self.X)):
            return False
        self.sleeping.eta = eta
        self.sleeping.k += 1
        for k in range(self.local.n_dense):
            a = self.local.dense[k]
            v, d = self.sleeping.v.nodes.rows + a * LP, self.sleeping.d.nodes.rows + a * LP
            self.sleeping.wake(a, LP, v, d, self.local.rows + k * LP)
        for k in range(self.local.n_sparse):
            a = self.local.sparse[k]
            v, d = self.sleeping.v.nodes.w + ptr[a], self.sleeping.d.nodes.w + ptr[a]
            self.sleeping.wake(a, ptr[a + 1] - ptr[a], v, d, self.local.w + self.local.ptr[k])
        if T > 1:
            v, d = &self.sleeping.v_edge[0], &self.sleeping.d_edge[0]
            self.sleeping.wake(self.sleeping.last.shape[0] - 1, self.X.places, v, d, self.X.edge)
        if self.s.pairs.ptr != NULL:
            self.take_pairs(first, T)
        return True

    cdef void take_pairs(self, int64_t first, int64_t T) noexcept nogil:
        """The blocks of pair attributes, whose gradient is summed in a vector as long as all their weights."""
        cdef Blocks blocks = self.sleeping.v.pairs
        cdef int64_t k, p, block
        cdef int32_t b
        cdef double* v
        cdef double* d
        blocks.w = numbers_from(&self.local.pair_vector[0], blocks.ptr[0])
        scatter_pairs(self.s, &blocks, first, T, self.X)
        for k in range(self.s.pairs.ptr[first], self.s.pairs.ptr[first + T]):
            b = self.s.pairs.attr[k]
            p, block = blocks.ptr[b], self.sleeping.pair_base + b
            if self.sleeping.last[block] != self.sleeping.k:
                v, d = self.sleeping.v.pairs.w + p, self.sleeping.d.pairs.w + p
                self.sleeping.wake(block, blocks.ptr[b + 1] - p, v, d, blocks.w + p)
            memset(blocks.w + p, 0, (blocks.ptr[b + 1] - p) * sizeof(double))
