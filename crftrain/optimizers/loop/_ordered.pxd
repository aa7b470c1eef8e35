"""A step for each unit of an order."""

from libc.stdint cimport int64_t

from ..weights._compiled cimport DescentWeights


cdef class OrderedSteps(Sequential):
    cdef readonly DescentWeights weights
    cdef const int64_t[::1] order
    cdef const double[::1] rates        # none: only the losses are wanted
    cdef int64_t at
    cdef double l1, l2, total
    cdef bint take(self, int64_t u, double eta) noexcept nogil
