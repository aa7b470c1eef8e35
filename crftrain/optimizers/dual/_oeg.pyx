"""The steps of exponentiated gradient; see oeg.py.

theta_i is a row of labels for each token, and for label pairs  rho_i * initial on the gold pairs  +  one matrix A_i: every
step mixes in the same transitions at all positions. So the lattice of a sequence has one matrix M = exp(A_i), of which the
gold entry of each position is exp(rho_i * initial) times as large; and where transitions have weights for few label pairs, A_i has
numbers for these alone. With attributes on label pairs theta_i has a matrix for each position.
"""

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

import numpy as np

from ..._kernels cimport Lattice, forward, minus_gold, set_transitions, simd
from ..average._compiled cimport sum_edges

cdef double ROUNDING = 1e-14    # of H and <psi, mu>: a dual that falls by no more has not fallen
cdef double FURTHEST = 2.0       # a longer step cannot help: the dual is concave, and beyond 2 even one sequence alone diverges


cdef class OegSteps(DualSteps):
    cdef Parts theta, mu                # scores; marginals
    cdef double[::1] rho, eta           # [n]
    cdef double initial
    cdef int64_t first_halvings, halvings   # at most, of a step of the first pass and of later ones

    def __init__(self, problem, w, *, initial, eta, halvings, **options):
        pairs = len(problem.layout.pair) > 0
        DualSteps.__init__(self, problem, w, by_position=pairs, **options)
        self.theta, self.mu = Parts(self, pairs), Parts(self, pairs)
        self.initial, (self.first_halvings, self.halvings) = initial, halvings
        self.rho, self.eta = np.ones(self.n_units), np.full(self.n_units, eta)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit(), _
        cdef double eta = self.eta[u], entropy, gain
        if not self.look(u):
            return -1
        for _ in range(1 + (self.first_halvings if self.drawn <= self.n_units else self.halvings)):
            self.mix(u, eta)
            entropy = self.oracle(u, eta)
            gain = entropy - self.entropy[u] + self.change(u)
            if isnan(gain):
                return -1
            if gain > -ROUNDING:
                self.gaps[u] = max(0, gain) / eta   # to second order the best step along this path gains eta KL
                self.take_theta(u, eta)
                self.take_mu(u, entropy)
                self.move(u, 1)
                break
            eta /= 2
        self.eta[u] = min(1.05 * eta, FURTHEST)
        return u

    cdef bint look_at(self, Sweep what, int64_t u) noexcept nogil:
        return self.look(u) and (self.begin_at(u) if what == BEGIN else self.measure_at(u))

    cdef bint begin_at(self, int64_t u) noexcept nogil:
        """theta = initial on gold parts, or what a warm start scores."""
        cdef int64_t t
        cdef double eta = 1 if self.warm else 0, entropy
        cdef const int32_t* y = self.s.label + self.first(u)
        for t in range(self.length(u)):
            self.theta.nodes(u)[t * self.X.LP + y[t]] = self.initial
            if t and self.theta.by_position:
                self.theta.edges(u)[(t - 1) * self.theta.size + y[t - 1] * self.X.LP + y[t]] = self.initial
        self.mix(u, eta)
        entropy = self.oracle(u, eta)
        self.take_theta(u, eta)
        self.take_mu(u, entropy)
        self.less_gold(u)
        return isfinite(entropy)

    cdef bint measure_at(self, int64_t u) noexcept nogil:
        """KL(alpha || p(w)) = log Z(psi) - <psi, mu> - H(alpha)."""
        cdef double log_z = forward(&self.lazy.W, self.s, u, self.X)
        self.runs += 1
        self.gaps[u] = log_z - simd.dot(self.mu.n_nodes(u), self.X.psi, self.mu.nodes(u)) - self.entropy[u]
        self.gaps[u] -= simd.dot(self.mu.n_edges(u), self.pair_scores_of(self.X, &self.lazy.trans[0]), self.mu.edges(u))
        return isfinite(self.gaps[u])

    cdef double* pair_scores_of(self, Lattice* X, double* trans) noexcept nogil:
        return X.e + self.theta.size if self.theta.by_position else trans

    cdef void mix(self, int64_t u, double eta) noexcept nogil:
        """Y's scores = (1 - eta) theta + eta psi, the gold pairs' lift left out."""
        mix_into(self.Y.psi, self.theta.nodes(u), self.X.psi, self.theta.n_nodes(u), eta)
        mix_into(self.pair_scores_of(self.Y, &self.trial_trans[0]), self.theta.edges(u),
                 self.pair_scores_of(self.X, &self.lazy.trans[0]), self.theta.n_edges(u), eta)

    cdef double oracle(self, int64_t u, double eta) noexcept nogil:
        """H of Y's scores; Y.q, Y.edge (and Y.P): their marginals. NaN: out of range or of memory."""
        cdef double lift = (1 - eta) * self.rho[u] * self.initial, gold = 0, log_z
        self.runs += 1
        if self.theta.by_position:
            log_z = self.oracle_by_position(u, self.Y)
        else:
            set_transitions(&self.trial)
            log_z = lifted_oracle(&self.trial, self.s.label + self.first(u), self.length(u), lift, self.Y, &gold)
        if not isfinite(log_z):
            return NAN
        log_z -= simd.dot(self.theta.n_nodes(u), self.Y.psi, self.Y.q) + lift * gold
        return log_z - simd.dot(self.theta.n_edges(u), self.pair_scores_of(self.Y, &self.trial_trans[0]), self.mu.matrices(self.Y))

    cdef double change(self, int64_t u) noexcept nogil:
        """X = Y's marginals - mu; returns <psi, X> - |F' X|^2 / 2C."""
        cdef int64_t k
        cdef double* mu = self.mu.nodes(u)
        cdef double* edges = self.mu.matrices(self.X)
        for k in range(self.mu.n_nodes(u)):
            self.X.q[k] = self.Y.q[k] - mu[k]
        mu = self.mu.edges(u)
        for k in range(self.mu.n_edges(u)):
            edges[k] = self.mu.matrices(self.Y)[k] - mu[k]
        if self.mu.by_position:
            memset(self.X.P, 0, self.mu.size * sizeof(double))
            sum_edges(self, self.X.P, self.length(u))
        else:
            for k in range(self.mu.size):
                self.X.edge[k] *= self.lazy.exists[k]
        return self.score(u, self.X) - self.square(u) / (2 * self.C)

    cdef void take_theta(self, int64_t u, double eta) noexcept nogil:
        cdef const double* edges = self.pair_scores_of(self.Y, &self.trial_trans[0])
        memcpy(self.theta.nodes(u), self.Y.psi, self.theta.n_nodes(u) * sizeof(double))
        memcpy(self.theta.edges(u), edges, self.theta.n_edges(u) * sizeof(double))
        self.rho[u] *= 1 - eta

    cdef void take_mu(self, int64_t u, double entropy) noexcept nogil:
        """alpha_u: the marginals in Y."""
        memcpy(self.mu.nodes(u), self.Y.q, self.mu.n_nodes(u) * sizeof(double))
        memcpy(self.mu.edges(u), self.mu.matrices(self.Y), self.mu.n_edges(u) * sizeof(double))
        self.entropy[u] = entropy

    cdef void less_gold(self, int64_t u) noexcept nogil:
        """X = Y's marginals - gold."""
        memcpy(self.X.q, self.Y.q, self.mu.n_nodes(u) * sizeof(double))
        memcpy(self.X.edge, self.Y.edge, self.mu.size * sizeof(double))
        if self.mu.by_position:
            memcpy(self.X.P, self.Y.P, self.length(u) * self.mu.size * sizeof(double))
        minus_gold(self.s, u, self.X)

    def arrays(self):
        parts = {"mu_nodes": self.mu.node_numbers, "mu_edges": self.mu.edge_numbers}
        parts |= {"theta_nodes": self.theta.node_numbers, "theta_edges": self.theta.edge_numbers}
        return {**DualSteps.arrays(self), **parts, "rho": self.rho, "eta": self.eta}


cdef class BatchOegSteps(OegSteps):
    """Every sequence with one w and one eta, which is halved until the dual rises."""

    cdef bint look_at(self, Sweep what, int64_t u) noexcept nogil:
        cdef double entropy
        if what in (BEGIN, MEASURE):
            return OegSteps.look_at(self, what, u)
        if not self.look(u):
            return False
        self.mix(u, self.eta[u])
        if what == TRY:
            entropy = self.oracle(u, self.eta[u])
            self.take_mu(u, entropy)
            self.less_gold(u)
            return isfinite(entropy)
        self.take_theta(u, self.eta[u])
        return True

    def ascend(self):
        eta, before = np.asarray(self.eta), self.dual()
        for _ in range(1 + self.halvings):
            self.sweep(TRY)
            gain = self.dual_at(self.lazy.d_in_vector()) - before
            if gain > 0:
                np.asarray(self.gaps)[:] = gain / eta
                self.sweep(KEEP)
                self.take_w()
                break
            self.lazy.clear_d()
            eta /= 2
        else:                       # nothing can be gained: marginals back to those of theta
            kept, eta[:] = eta[0], 0
            self.sweep(TRY)
            self.lazy.clear_d()
            eta[:] = kept
        np.minimum(1.05 * eta, FURTHEST, out=eta)


cdef void mix_into(double* out, const double* theta, const double* psi, int64_t n, double eta) noexcept nogil:
    """out = (1 - eta) theta + eta psi."""
    cdef int64_t k
    for k in range(n):
        out[k] = (1 - eta) * theta[k] + eta * psi[k]
