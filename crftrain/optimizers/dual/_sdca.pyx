"""The steps of stochastic dual coordinate ascent; see sdca.py.

Marginals are kept less gold: that is small, and so is what rounding to single precision takes. w follows what was stored, so that it stays
w(alpha); the entropies are those before rounding.
"""

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from ..._kernels cimport Lattice, lattice_fit, simd
from ..average._compiled cimport Change, Sampler, Store, bring, recall, sum_edges, swap

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


def n_pairs(facts):
    """Numbers for the label pairs of all positions but the first of each sequence."""
    return (facts.n_tokens - facts.n_sequences) * facts.n_labels**2


cdef class SdcaSteps(DualSteps):
    cdef Store nodes, pairs             # mu - gold: T x L, and (T - 1) x L x L, of each
    cdef double[::1] gamma              # [n] the last step of each, where the next search begins
    cdef double initial, found          # found: the entropy at the step that best_step() found

    def __init__(self, problem, w, *, initial, store, **options):
        DualSteps.__init__(self, problem, w, by_position=True, **options)
        self.nodes, self.pairs = store(problem.n_tokens * problem.n_labels), store(n_pairs(problem))
        self.pairs_wanted, self.initial, self.gamma = True, initial, np.full(self.n_units, 0.5)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit()
        cdef double slope, square, gamma
        self.kept(u, self.Y, bring)
        slope = self.compare(u)
        if not isfinite(self.gaps[u]):
            return -1
        if self.gaps[u] > NOTHING:
            square = self.square(u) / self.C
            if isnan(square):
                return -1
            gamma = self.best_step(u, slope, square)
            if gamma > 0:
                self.entropy[u], self.gamma[u] = self.found, gamma
                self.advance(u, gamma)
        self.sampler.found(u, self.gaps[u])
        return u

    cdef void kept(self, int64_t u, Lattice* Z, Change how) noexcept nogil:
        """Treat so what Z and the memory hold of u."""
        cdef int64_t L = Z.L, first = self.first(u), T = self.length(u)
        how(self.nodes, first * L, Z.q, T, L, Z.LP)
        how(self.pairs, (first - u) * L * L, Z.P + Z.places, (T - 1) * L, L, Z.LP)

    cdef void add_gold(self, int64_t u, double c) noexcept nogil:
        """c at the gold parts, to Y."""
        cdef int64_t t, LP = self.Y.LP, size = self.Y.places
        cdef const int32_t* y = self.s.label + self.first(u)
        for t in range(self.length(u)):
            self.Y.q[t * LP + y[t]] += c
            if t:
                self.Y.P[t * size + y[t - 1] * LP + y[t]] += c

    cdef void advance(self, int64_t u, double gamma) noexcept nogil:
        """mu <- mu + gamma X as far as that can be kept, and w by what it changed."""
        cdef int64_t T = self.length(u), rows = T * self.X.LP, size = self.X.places
        simd.axpy(rows, gamma, self.X.q, self.Y.q)
        simd.axpy((T - 1) * size, gamma, self.X.P + size, self.Y.P + size)
        self.add_gold(u, -1)
        self.kept(u, self.Y, swap)
        memcpy(self.X.q, self.Y.q, rows * sizeof(double))
        if self.s.pairs.ptr != NULL:
            memcpy(self.X.P + size, self.Y.P + size, (T - 1) * size * sizeof(double))
        sum_edges(self, self.Y.P + size, T - 1)
        self.move(u, 1)

    cdef double compare(self, int64_t u) noexcept nogil:
        """Y = mu; X = nu - mu, nu the marginals at w; the gap of u. Returns <psi, X>.

        KL(alpha || p(w)) = log Z(psi) - <psi, mu> - H(alpha), and log Z(psi) = loss + <psi, gold>.
        """
        cdef int64_t T = self.length(u), size = self.X.places
        cdef double gap = self.evaluate(u) if lattice_fit(self.Y, T, True) else NAN, slope = 0     # X = nu - gold
        if isfinite(gap):
            gap -= self.score(u, self.X)
            self.kept(u, self.Y, recall)
            simd.axpy(T * self.X.LP, -1.0, self.Y.q, self.X.q)
            simd.axpy((T - 1) * size, -1.0, self.Y.P + size, self.X.P + size)
            sum_edges(self, self.X.P + size, T - 1)
            self.add_gold(u, 1)
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
        cdef int64_t T = self.length(u), LP = self.X.LP, size = self.X.places, k
        cdef double inner[3]
        memset(sums, 0, 3 * sizeof(double))
        memset(inner, 0, 3 * sizeof(double))
        if T == 1:
            simd.log_sums(LP, self.Y.q, self.X.q, g, sums)
            return
        simd.log_sums((T - 1) * size, self.Y.P + size, self.X.P + size, g, sums)
        simd.log_sums((T - 2) * LP, self.Y.q + LP, self.X.q + LP, g, inner)
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
        cdef int64_t t, T = self.length(u), LP = self.X.LP, size = self.X.places
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
        self.entropy[u] = entropy
        self.add_gold(u, -1)
        self.kept(u, self.Y, swap)
        self.kept(u, self.X, recall)
        sum_edges(self, self.X.P + size, T - 1)
        return True

    def arrays(self):
        kept = {"mu_nodes": self.nodes.memory, "mu_edges": self.pairs.memory}
        return {**DualSteps.arrays(self), **kept, "gamma": self.gamma}

    def restore(self, state):
        cdef int64_t u
        DualSteps.restore(self, state)
        for u in range(self.n_units):
            self.sampler.found(u, self.gaps[u])
