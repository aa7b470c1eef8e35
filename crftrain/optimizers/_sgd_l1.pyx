"""The steps of stochastic gradient descent with an l1 penalty; see sgd_l1.py."""

from libc.math cimport isnan
from libc.stdint cimport int64_t

import numpy as np

from .._cumulative cimport PenalisedWeights
from ._sequential cimport Sequential


cdef class SgdL1Steps(Sequential):
    cdef readonly PenalisedWeights weights
    cdef const int64_t[::1] order
    cdef const double[::1] rates        # none: only the losses are wanted
    cdef int64_t at
    cdef double l1, l2, total

    def __init__(self, problem, w, *, weights):
        Sequential.__init__(self, problem, w)
        self.lazy = self.weights = weights
        self.local = None       # there is no line search
        self.l1, self.l2 = problem.l1, problem.l2

    def descend(self, order, rates):
        """A step for each sequence of the order, with these rates; the mean of the losses on the way."""
        self.order, self.rates, self.at, self.total = order, rates, 0, 0.0
        self.run(len(order))
        return self.total / len(order)

    def mean_loss(self, order):
        """Of some sequences at the present weights."""
        return self.descend(order, np.empty(0))

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.order[self.at]
        cdef double f = self.evaluate(u), eta
        if isnan(f):
            return -1
        if self.rates.shape[0]:
            eta = self.rates[self.at]
            self.weights.update(self.s, self.first(u), self.length(u), self.X, eta / self.weights.beta, eta * self.l1 / self.weights.beta)
            self.weights.shrink(1 / (1 + eta * self.l2))
        self.total += f
        self.at += 1
        return u
