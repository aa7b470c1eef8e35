"""A step of stochastic gradient descent for each unit of an order; see sgd.py and sgd_l1.py."""

from libc.math cimport isnan
from libc.stdint cimport int64_t

import numpy as np


cdef class OrderedSteps(Sequential):
    def __init__(self, problem, w, *, weights, batch=1):
        """weights: the DescentWeights that steps change."""
        Sequential.__init__(self, problem, w, batch=batch, skip=False, lazy=weights)
        self.weights = weights
        self.l1, self.l2 = problem.l1, problem.l2

    def descend(self, order, rates):
        """A step for each unit of the order, with these rates; the sum of the losses on the way."""
        self.order, self.rates, self.at, self.total = order, rates, 0, 0.0
        self.run(len(order))
        return self.total

    def mean_loss(self, order):
        """Of some units at the present weights."""
        return self.descend(order, np.empty(0)) / len(order)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.order[self.at]
        cdef double f = self.evaluate(u)
        if isnan(f) or self.rates.shape[0] and not self.take(u, self.rates[self.at]):
            return -1
        self.total += f
        self.at += 1
        return u

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        """w <- (w - eta g) / (1 + eta l2), and a penalty of eta l1; g is the gradient of u, which X holds. False: failure."""
        cdef int64_t first = self.first(u), T = self.length(u)
        scale_residual(self.X, T, self.s.pairs.ptr != NULL, -eta / self.weights.beta)
        self.weights.update(self.s, first, T, self.X, eta * self.l1 / self.weights.beta)
        self.weights.shrink(1 / (1 + eta * self.l2))
        return True
