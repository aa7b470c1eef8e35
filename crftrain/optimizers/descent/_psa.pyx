"""The updates of periodic step size adaptation; see psa.py."""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._kernels cimport Lattice, lattice_fit
from ..weights._compiled cimport RatedWeights
from ..loop._compiled cimport Sequential, window


cdef class PsaSteps(Sequential):
    cdef readonly RatedWeights weights
    cdef const int64_t[::1] order
    cdef int64_t batch, at, tokens      # sequences of a batch; where in the order; tokens of the batch that are in the lattice
    cdef double total

    def __init__(self, problem, w, *, weights, batch):
        Sequential.__init__(self, problem, w, lazy=weights)
        self.weights, self.batch = weights, batch

    def descend(self, order):
        """Updates with the sequences of the order, `batch` at a time; the mean of the losses on the way."""
        self.order, self.at, self.total = order, 0, 0.0
        self.run(len(order))
        return self.total / len(order)

    cdef int64_t visit_next(self) noexcept nogil:
        """One sequence, at the weights before its batch; the last of a batch makes the update."""
        cdef int64_t i = self.order[self.at], T = self.length(i)
        cdef double f
        cdef Lattice Z
        if self.at % self.batch == 0 and not self.begin_batch():
            return -1
        Z = window(self.X, self.tokens)
        self.weights.settle(self.s, self.first(i), T)
        self.weights.scores(self.s, i, i + 1, Z.psi, Z.e)
        f = self.residual(i, &Z)
        if not isfinite(f):
            return -1
        self.total += f
        self.tokens += T
        self.at += 1
        if self.at % self.batch == 0 or self.at == self.order.shape[0]:
            self.end_batch()
        return i

    cdef bint begin_batch(self) noexcept nogil:
        """Room for the sequences to come; False: no memory."""
        cdef int64_t k, T = 0
        for k in range(self.at, min(self.at + self.batch, self.order.shape[0])):
            T += self.length(self.order[k])
        self.tokens = 0
        memset(&self.edge_sum[0], 0, self.edge_sum.shape[0] * sizeof(double))
        return lattice_fit(self.X, T, self.s.pairs.ptr != NULL)

    cdef void end_batch(self) noexcept nogil:
        cdef int64_t k, T, first = self.at - ((self.at - 1) % self.batch + 1), done = 0
        cdef Lattice Z
        for k in range(first, self.at):
            Z = window(self.X, done)
            T = self.length(self.order[k])
            self.weights.descend(self.s, self.first(self.order[k]), T, &Z)
            done += T
        self.weights.descend_edge(&self.edge_sum[0])
        self.weights.end_update(self.at - first)
