"""The steps of the stochastic average gradient."""

from libc.stdint cimport int64_t

from ..._kernels cimport Tokens
from ...chain._blocks cimport Gradient
from ..loop._compiled cimport Sequential


cdef class SampledSteps(Sequential):
    cdef readonly Sampler sampler
    cdef readonly double[::1] losses        # [units] at the last visit
    cdef readonly double[::1] entropies     # [units] of p(y | x) when what d has of the unit was computed; 0 before
    cdef public double pace                 # the step's length over that which the constants allow
    cdef const int64_t[::1] order           # the first draws, or none
    cdef readonly int64_t drawn
    cdef double l2
    cdef Tokens tokens                      # the sequences', with each attribute once, whose arrays are in `keep`
    cdef list keep
    cdef int64_t next_unit(self) noexcept nogil
    cdef double entropy(self, int64_t u, double f) noexcept nogil
    cdef double product(self, int64_t n, const double* scores, const double* residual) noexcept nogil
    cdef bint learn_constant(self, int64_t u, double f, bint first) noexcept nogil


cdef class TableSteps(SampledSteps):
    cdef readonly Table table
    cdef Gradient gradient              # while refresh() sums it


cdef class SagSteps(TableSteps):
    cdef public int64_t risen           # steps of a pass in which they grow from nothing to their length; n_units: of none
    cdef double rise(self) noexcept nogil
