"""Weights and steps where a block that a sequence does not look at sleeps."""

from libc.stdint cimport int64_t

from ..weights._compiled cimport DescentWeights
from ...chain._blocks cimport BlockView
from ..loop._compiled cimport OrderedSteps


cdef class SleepingWeights(DescentWeights):
    cdef double eta             # of the step at hand
    cdef double l2
    cdef int64_t k              # steps since all blocks were brought up to date
    cdef void sleep(self, int64_t block, int64_t m, int64_t n, double* v, double* d) noexcept nogil
    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil
    cdef void wake(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil
    cdef double* beside(self, BlockView other, double[::1] edge, int64_t block, const double* v) noexcept nogil


cdef class SleepingSteps(OrderedSteps):
    cdef SleepingWeights sleeping
    cdef void take_pairs(self, int64_t first, int64_t T) noexcept nogil
