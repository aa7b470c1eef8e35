"""The steps of the stochastic average gradient; see sag.py."""

from libc.math cimport isnan
from libc.stdint cimport int64_t

import numpy as np

from ._sampling cimport Sampler
from ._sequential cimport Sequential
from ._table cimport Table

cdef double FLAT = 1e-8         # no search where |g|^2 is not larger


cdef class SagSteps(Sequential):
    cdef readonly Sampler sampler
    cdef readonly Table table
    cdef readonly double[::1] losses        # [units] at the last visit
    cdef const int64_t[::1] order           # the first draws, or none
    cdef int64_t drawn
    cdef double l2

    def __init__(self, problem, w, *, sampler, table, order=None, batch=1, skip=True):
        Sequential.__init__(self, problem, w, batch=batch, skip=skip)
        self.sampler, self.table, self.l2 = sampler, table, problem.l2
        self.losses = np.zeros(self.n_units)
        self.order, self.drawn = np.empty(0, np.int64) if order is None else order, 0

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.order[self.drawn] if self.drawn < self.order.shape[0] else self.sampler.draw()
        cdef bint first = self.sampler.visit(u)
        cdef double f = self.evaluate(u)
        self.drawn += 1
        if isnan(f):
            return -1
        self.losses[u] = f
        if self.skip[u] > 0:
            self.skip[u] -= 1
        elif not self.find_constant(u, f, first):
            return -1
        self.table.exchange(self.lazy, self.s, u, self.first(u), self.length(u), self.X)
        self.lazy.step(self.sampler.step_size(), self.l2, self.sampler.seen)
        return u

    cdef bint find_constant(self, int64_t u, double f, bint first) noexcept nogil:
        cdef double L = self.sampler.start(u, first), square = self.prepare_search(u)
        cdef int64_t doublings = 0
        if isnan(square):
            return False
        if square > FLAT:
            L = self.search(u, f, square, L, self.drawn == 1, &doublings)
            self.remember_search(u, doublings)
        self.sampler.found(u, L)
        return True
