"""Functions that gradients go through, number by number."""

from libc.stdint cimport int64_t

from ..._kernels cimport Table


cdef class Transform:
    cdef readonly double scale          # of the argument
    cdef readonly double slope          # at 0
    cdef double[::1] pairs
    cdef Table table                    # of the pairs; NULL: none
    cdef double exact(self, double x) noexcept nogil
    cdef void apply(self, int64_t n, double c, double* g) noexcept nogil
    cdef void apply_to_eights(self, int64_t n, double c, double* g) noexcept nogil
