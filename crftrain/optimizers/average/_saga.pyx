"""The steps of SAGA; see saga.py. With l1 they are proximal, and weights that sleep stay exact (_prox)."""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t

from ..._kernels cimport Blocks, scatter_pairs
from ...chain._blocks cimport numbers_from
from ..weights._compiled cimport ProxWeights
from ..loop._compiled cimport scale_residual


cdef class SagaSteps(TableSteps):
    """w <- (1 - alpha l2) w - alpha (omega delta + d/n),  d <- d + delta,  delta = F' (change of the marginals).

    The lazy step takes d/n with the new d where the old one is meant, so delta gets the weight omega - 1/n.
    """

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit()
        cdef double omega = 1 / (self.n_units * self.sampler.probability(u)), alpha
        if not self.compare(u):
            return -1
        alpha = self.pace * self.sampler.saga_step_size()
        self.lazy.step(alpha, self.l2, self.n_units)
        self.correct(u, -alpha / self.lazy.beta * (omega - 1.0 / self.n_units))
        return u

    cdef bint compare(self, int64_t u) noexcept nogil:
        """Evaluate u and learn its constant; X and d get the change of its marginals. False: failure."""
        cdef bint first = self.sampler.visit(u)
        cdef double f = self.evaluate(u)
        if isnan(f):
            return False
        self.losses[u], self.entropies[u] = f, self.entropy(u, f)
        return self.learn_constant(u, f, first) and self.table.exchange(self, u) >= 0

    cdef void correct(self, int64_t u, double c) noexcept nogil:
        """v += c F' X."""
        scale_residual(self.X, self.length(u), self.s.pairs.ptr != NULL, c)
        self.lazy.add_to_v(self.s, self.first(u), self.length(u), self.X)


cdef class TwoDrawSteps(SagaSteps):
    """Proposition 1(b): j in proportion to L_j makes the step, a uniform r renews the table; alpha = 1 / (4 mean L)."""

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t j, r
        cdef double f, alpha
        if self.sampler.seen < self.n_units:    # L_j has to be known
            return SagaSteps.visit_next(self)
        j, r = self.sampler.proportionally(), self.sampler.uniformly()
        f = self.evaluate(j)
        if isnan(f) or not self.learn_constant(j, f, False):
            return -1
        self.table.difference(self, j)
        self.X, self.Y = self.Y, self.X         # both gradients are of this w
        f = self.evaluate(r)
        if isnan(f):
            return -1
        self.losses[r], self.entropies[r] = f, self.entropy(r, f)
        self.table.exchange(self, r)
        alpha = self.pace / (4 * (self.sampler.mean() + self.l2))
        self.lazy.step(alpha, self.l2, self.n_units)
        self.correct(r, alpha / self.lazy.beta / self.n_units)
        self.X, self.Y = self.Y, self.X
        self.correct(j, -alpha / self.lazy.beta * self.sampler.mean() / self.sampler.constant(j))
        return j


cdef class ProxSagaSteps(SagaSteps):
    """w <- S_{alpha l1}((1 - alpha l2) w - alpha (omega delta + d/n)), S the soft threshold, block by block for those of u."""

    cdef ProxWeights prox

    def __init__(self, problem, w, rng, **options):
        SagaSteps.__init__(self, problem, w, rng, **options)
        self.prox = ProxWeights(self.lazy.layout, w, self.n_units, l2=problem.l2, l1=problem.l1)
        self.lazy = self.local.lazy = self.prox

    def move_to(self, problem):
        SagaSteps.move_to(self, problem)
        self.prox.l2, self.prox.l1 = problem.l2, problem.l1

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit()
        cdef double omega = 1 / (self.n_units * self.sampler.probability(u))
        if not self.compare(u) or isnan(self.local.build(self.s, self.first(u), self.length(u), self.X)):
            return -1
        self.prox.advance(self.pace * self.sampler.saga_step_size())
        self.wake_nodes(omega)
        self.wake_edges(omega)
        if self.s.pairs.ptr != NULL:
            self.wake_pairs(u, omega)
        return u

    cdef void wake_nodes(self, double omega) noexcept nogil:
        cdef const int64_t* ptr = self.prox.v.nodes.ptr
        cdef int64_t k, p, j, LP = self.X.LP
        cdef int32_t a
        for k in range(self.local.n_dense):
            a = self.local.dense[k]
            self.prox.last[a] = self.prox.k
            for p in range(ptr[a + 1] - ptr[a]):
                j = p if self.prox.v.nodes.whole else self.prox.v.nodes.label[ptr[a] + p]
                self.prox.step_awake(&self.prox.v.rows[a * LP + j], self.prox.d.rows[a * LP + j], self.local.rows[k * LP + j], omega)
        for k in range(self.local.n_sparse):
            a = self.local.sparse[k]
            self.prox.last[a] = self.prox.k
            for p in range(ptr[a], ptr[a + 1]):
                self.prox.step_awake(&self.prox.w[p], self.prox.d.vector[p], self.local.w[self.local.ptr[k] + p - ptr[a]], omega)

    cdef void wake_edges(self, double omega) noexcept nogil:
        cdef int64_t k
        self.prox.last[self.prox.last.shape[0] - 1] = self.prox.k
        for k in range(self.X.places):
            if self.prox.exists[k]:
                self.prox.step_awake(&self.prox.v_edge[k], self.prox.d_edge[k], self.X.edge[k], omega)

    cdef void wake_pairs(self, int64_t u, double omega) noexcept nogil:
        cdef Blocks blocks = self.prox.d.pairs
        cdef int64_t k, p, first = self.first(u), T = self.length(u)
        cdef int32_t b
        cdef double* delta
        cdef double* w = self.prox.v.pairs.w
        cdef const double* d = self.prox.d.pairs.w
        blocks.w = delta = numbers_from(&self.local.pair_vector[0], blocks.ptr[0])
        scatter_pairs(self.s, &blocks, first, T, self.X)
        for k in range(self.s.pairs.ptr[first], self.s.pairs.ptr[first + T]):
            b = self.s.pairs.attr[k]
            for p in range(blocks.ptr[b], blocks.ptr[b + 1]):
                if self.prox.last[self.prox.pair_base + b] != self.prox.k:
                    self.prox.step_awake(&w[p], d[p], delta[p], omega)
                delta[p] = 0
            self.prox.last[self.prox.pair_base + b] = self.prox.k
