"""The steps of stochastic dual coordinate ascent; see sdca.py."""

from libc.math cimport isfinite, isnan
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from ..._kernels cimport simd
from ..average._compiled cimport Sampler, sum_edges

cdef int64_t TRIALS = 20
cdef double LONGEST = 0.999     # at 1, marginals near 0 would be differences of others: nothing but rounding
cdef double EXACT = 0.1        # of the gap: the slope at which a line search ends
cdef double NOTHING = 1e-14     # a gap that is all rounding


cdef class GapSampler(Sampler):
    """A share of uniform draws, the others in proportion to the gaps."""
    cdef double share

    def __init__(self, n, rng, *, share):
        Sampler.__init__(self, n, rng, l2=0.0)
        self.share = share

    cdef int64_t draw(self) noexcept nogil:
        if self.bits.next_double(self.bits.state) < self.share or not self.total[1] > 0:
            return self.uniformly()
        return self.proportionally()


cdef class SdcaSteps(DualSteps):
    cdef double[::1] gamma              # [n] the last step of each, where the next search begins
    cdef double initial, found          # found: the entropy at the step that best_step() found

    def __init__(self, problem, w, *, initial, **options):
        DualSteps.__init__(self, problem, w, by_position=True, **options)
        self.pairs_wanted, self.initial, self.gamma = True, initial, np.full(self.n_units, 0.5)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit()
        cdef double slope = self.compare(u), square, gamma
        if not isfinite(self.gaps[u]):
            return -1
        if self.gaps[u] > NOTHING:
            square = self.square(u) / self.C
            if isnan(square):
                return -1
            gamma = self.best_step(u, slope, square)
            if gamma > 0:
                simd.axpy(self.mu.n_nodes(u), gamma, self.X.q, self.mu.nodes(u))
                simd.axpy(self.mu.n_edges(u), gamma, self.mu.matrices(self.X), self.mu.edges(u))
                self.entropy[u], self.gamma[u] = self.found, gamma
                self.move(u, gamma)
        self.sampler.found(u, self.gaps[u])
        return u

    cdef double compare(self, int64_t u) noexcept nogil:
        """X = nu - mu, nu the marginals at w; the gap of u. Returns <psi, X>.

        KL(alpha || p(w)) = log Z(psi) - <psi, mu> - H(alpha), and log Z(psi) = loss + <psi, gold>.
        """
        cdef int64_t t, T = self.length(u), LP = self.X.LP
        cdef const int32_t* y = self.s.label + self.first(u)
        cdef double gap = self.evaluate(u), slope = 0       # X = nu - gold
        if isfinite(gap):
            gap -= self.score(u, self.X)
            simd.axpy(self.mu.n_nodes(u), -1.0, self.mu.nodes(u), self.X.q)
            simd.axpy(self.mu.n_edges(u), -1.0, self.mu.edges(u), self.mu.matrices(self.X))
            for t in range(T):
                self.X.q[t * LP + y[t]] += 1
                if t:
                    self.X.P[t * self.mu.size + y[t - 1] * LP + y[t]] += 1
            sum_edges(self, T)
            slope = self.score(u, self.X)
            gap += slope - self.entropy[u]
        self.gaps[u] = gap
        return slope

    cdef double best_step(self, int64_t u, double slope, double square) noexcept nogil:
        """The step along X to the maximum of the dual, nearly, by Newton's method within a bracket.

        phi'(g) = <psi, X> - g |F' X|^2 / C - (sum over edges - sum over inner nodes) X ln mu(g),   mu(g) = mu + g X
        phi''(g) = -|F' X|^2 / C - (sum over edges - sum over inner nodes) X^2 / mu(g)
        """
        cdef double low = 0, high = LONGEST, g = self.gamma[u], rise, bend, new, tolerance = EXACT * self.gaps[u]
        cdef bint bracketed = False     # the maximum is known to be below `high`
        cdef int64_t _
        cdef double sums[3]
        for _ in range(TRIALS):
            self.curve(u, g, sums)
            rise, bend = slope - g * square - sums[1], square + sums[2]
            if rise >= -tolerance:
                low, self.found = g, -sums[0]
                if rise <= tolerance or g == LONGEST:
                    break
            else:
                high, bracketed = g, True
            new = g + rise / bend
            if new >= high:
                new = 0.5 * (low + high) if bracketed else high
            elif not new > low:
                new = 0.5 * (low + high)
            g = new
        return low

    cdef void curve(self, int64_t u, double g, double* sums) noexcept nogil:
        """Sums over edges, less those over inner nodes, of mu ln mu, X ln mu and X^2 / mu at mu(g); the first is -H."""
        cdef int64_t T = self.length(u), LP = self.X.LP, k
        cdef double inner[3]
        memset(sums, 0, 3 * sizeof(double))
        memset(inner, 0, 3 * sizeof(double))
        if T == 1:
            simd.log_sums(LP, self.mu.nodes(u), self.X.q, g, sums)
            return
        simd.log_sums(self.mu.n_edges(u), self.mu.edges(u), self.mu.matrices(self.X), g, sums)
        simd.log_sums((T - 2) * LP, self.mu.nodes(u) + LP, self.X.q + LP, g, inner)
        for k in range(3):
            sums[k] -= inner[k]

    cdef bint look_at(self, Sweep what, int64_t u) noexcept nogil:
        if what == BEGIN:
            return self.begin_at(u)
        self.compare(u)
        self.sampler.found(u, self.gaps[u])
        return isfinite(self.gaps[u])

    cdef bint begin_at(self, int64_t u) noexcept nogil:
        """alpha = a chain with the score `initial` on gold parts, or that of a warm start."""
        cdef int64_t t, T = self.length(u), LP = self.X.LP, size = self.mu.size
        cdef const int32_t* y = self.s.label + self.first(u)
        cdef double entropy
        if not self.look(u):
            return False
        memcpy(self.Y.psi, self.X.psi, T * LP * sizeof(double))
        for t in range(T):
            if not self.warm:
                self.Y.psi[t * LP + y[t]] = self.initial
            if t:
                memcpy(self.Y.e + t * size, &self.lazy.trans[0] if self.s.pairs.ptr == NULL else self.X.e + t * size, size * sizeof(double))
                if not self.warm:
                    self.Y.e[t * size + y[t - 1] * LP + y[t]] = self.initial
        entropy = self.oracle_by_position(u, self.Y)
        self.runs += 1
        if not isfinite(entropy):
            return False
        entropy -= simd.dot(T * LP, self.Y.psi, self.Y.q) + simd.dot((T - 1) * size, self.Y.e + size, self.Y.P + size)
        self.take_mu(u, entropy)
        self.less_gold(u)
        return True

    def arrays(self):
        return {**DualSteps.arrays(self), "gamma": self.gamma}

    def restore(self, state):
        cdef int64_t u
        DualSteps.restore(self, state)
        for u in range(self.n_units):
            self.sampler.found(u, self.gaps[u])
