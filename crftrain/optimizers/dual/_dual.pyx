"""The dual of the objective, and w(alpha) kept up to date while sequences ascend in it one by one.

    D(alpha) = 1/n sum_i H(alpha_i) - lambda/2 |w|^2,    w(alpha) = 1/C sum_i F_i' (gold_i - mu_i),    C = n lambda

alpha_i is a distribution over the label paths of sequence i, a chain with the marginals mu_i. Its own duality gap is
KL(alpha_i || p_i(w)); their mean is f(w) - D(alpha) and not below f(w) - f*. With Delta, the change of mu_i in a step:

    w changes by -F_i' Delta / C,    n D by H(new) - H(old) + <psi_i(w), Delta> - |F_i' Delta|^2 / 2C

so a step touches only the blocks of i. w is plain: nothing is owed (_lazy with beta = 1 and S = 0).
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from ..._kernels cimport Lattice, backward, forward, lattice_fit, simd
from ...chain._blocks cimport aligned
from ..loop._compiled cimport Sequential, scale_residual

from ..base import counted, within


def gold_pairs_have_weights(problem):
    """Whether all neighbouring gold labels are among the pairs with a weight: else a list of these does not say what alpha is."""
    seq, label, layout = problem.sequences.corpus.seq, problem.sequences.corpus.label, problem.layout
    followed = np.ones(len(label), bool)
    followed[seq[1:] - 1] = False
    at = np.flatnonzero(followed)
    return bool(np.isin(label[at].astype(np.int64) * layout.n_labels + label[at + 1], layout.transition).all())


cdef class Parts:
    def __init__(self, Sequential steps, by_position):
        cdef int64_t n = steps.n_units, tokens = steps.s.seq[n]
        self.LP, self.size, self.by_position, self.seq = steps.X.LP, steps.X.places, by_position, steps.s.seq
        self.node_numbers = aligned(tokens * self.LP)
        self.edge_numbers = aligned(((tokens - n if by_position else n) + 1) * self.size)

    cdef double* nodes(self, int64_t i) noexcept nogil:
        return &self.node_numbers[self.seq[i] * self.LP]

    cdef double* edges(self, int64_t i) noexcept nogil:
        return &self.edge_numbers[(self.seq[i] - i if self.by_position else i) * self.size]

    cdef int64_t n_nodes(self, int64_t i) noexcept nogil:
        return (self.seq[i + 1] - self.seq[i]) * self.LP

    cdef int64_t n_edges(self, int64_t i) noexcept nogil:
        return (self.seq[i + 1] - self.seq[i] - 1 if self.by_position else 1) * self.size

    cdef double* matrices(self, const Lattice* X) noexcept nogil:
        return X.P + self.size if self.by_position else X.edge


cdef class DualSteps(Sequential):
    def __init__(self, problem, w, *, sampler, order, by_position):
        """order: the first draws, if not the sampler's; by_position: how label pairs are kept."""
        Sequential.__init__(self, problem, w, all_pairs=by_position or not gold_pairs_have_weights(problem))
        self.at_positions = by_position
        self.sampler, self.C = sampler, problem.l2 * problem.n_sequences
        self.warm = bool(np.any(w))
        self.entropy, self.gaps = np.zeros(self.n_units), np.zeros(self.n_units)
        self.order, self.drawn = np.empty(0, np.int64) if order is None else order, 0
        self.by_position = self.s[0]
        self.by_position.pairs.ptr = self.s.seq

    cdef int64_t next_unit(self) noexcept nogil:
        cdef int64_t u = self.order[self.drawn] if self.drawn < self.order.shape[0] else self.sampler.draw()
        self.drawn += 1
        return u

    cdef bint look_at(self, Sweep what, int64_t u) noexcept nogil:
        return False

    def sweep(self, Sweep what):
        """Every sequence once."""
        self.each(what, self.n_units)

    cdef int64_t visit(self, int what, int64_t u) noexcept nogil:
        """What look_at() does with it; at some times it is added to d."""
        if not self.look_at(<Sweep> what, u):
            return -1 - u
        if what == BEGIN or what == TRY:
            self.lazy.add_to_d(self.s, self.units[u], self.units[u + 1], self.X)
        return u

    def begin(self):
        """alpha at its start, and w(alpha)."""
        self.sweep(BEGIN)
        self.take_w()

    def take_w(self):
        """w(alpha) from d = sum_i F_i' (mu_i - gold_i), which a sweep has added up."""
        np.multiply(self.lazy.d_in_vector(), -1 / self.C, out=np.asarray(self.lazy.w))
        self.lazy.clear_d()
        self.lazy.read_w()

    def ascend(self):
        """A pass: n draws."""
        self.run(self.n_units)
        self.lazy.settle_and_measure(0, 0)

    def measure(self):
        """The duality gap: the mean of KL(alpha_i || p_i(w))."""
        self.sweep(MEASURE)
        return self.gap()

    def gap(self):
        """The same from what was last seen of each sequence."""
        return float(np.mean(self.gaps))

    def dual(self):
        """D(alpha)."""
        return self.dual_at(self.C * np.asarray(self.lazy.w))

    def dual_at(self, d):
        """The same with C w = d, of whatever sign."""
        return float(np.mean(self.entropy)) - 0.5 / (self.C * self.n_units) * float(d @ d)

    def move_to(self, problem):
        """Another strength: alpha stays, w(alpha) changes its length."""
        before, self.problem, self.C = self.C, problem, problem.l2 * problem.n_sequences
        np.asarray(self.lazy.w)[:] *= before / self.C
        self.lazy.read_w()

    cdef bint look(self, int64_t u) noexcept nogil:
        cdef bint pairs = self.s.pairs.ptr != NULL or self.at_positions
        if not lattice_fit(self.X, self.length(u), pairs) or not lattice_fit(self.Y, self.length(u), pairs):
            return False
        self.lazy.scores(self.s, self.units[u], self.units[u + 1], self.X.psi, self.X.e)
        return True

    cdef double oracle_by_position(self, int64_t u, Lattice* Y) noexcept nogil:
        cdef double log_z = forward(&self.trial, &self.by_position, u, Y)
        if isfinite(log_z):
            backward(&self.trial, &self.by_position, u, Y)
            memset(Y.P, 0, Y.places * sizeof(double))
        return log_z

    cdef double score(self, int64_t u, const Lattice* X) noexcept nogil:
        cdef int64_t T = self.length(u), size = X.places
        cdef double nodes = simd.dot(T * X.LP, self.X.psi, X.q)
        if self.s.pairs.ptr == NULL:
            return nodes + simd.dot(size, &self.lazy.trans[0], X.edge)
        return nodes + simd.dot((T - 1) * size, self.X.e + size, X.P + size)

    cdef void move(self, int64_t u, double c) noexcept nogil:
        scale_residual(self.X, self.length(u), self.s.pairs.ptr != NULL, -c / self.C)
        self.lazy.add_to_v(self.s, self.first(u), self.length(u), self.X)

    def arrays(self):
        """What a step depends on beside w and the order, by name."""
        return {"entropy": self.entropy, "gaps": self.gaps}

    def state(self):
        kept = {name: np.array(numbers) for name, numbers in self.arrays().items()}
        return {**kept, "order": np.array(self.order), "drawn": np.array([self.drawn])}

    def restore(self, state):
        """w, which the caller has set, and all the rest."""
        for name, numbers in self.arrays().items():
            np.asarray(numbers)[:] = state[name]
        self.order, self.drawn = np.array(within(state, "order", 0, self.n_units - 1)), counted(state, "drawn")
        self.lazy.read_w()
