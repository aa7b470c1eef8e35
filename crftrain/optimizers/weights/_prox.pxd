"""Weights whose proximal steps are taken when someone looks."""

from libc.stdint cimport int64_t

from ..._kernels cimport Tokens


cdef double soft(double x, double threshold) noexcept nogil


cdef class ProxWeights(LazyWeights):
    cdef public double l2, l1
    cdef double n
    cdef int64_t k                      # steps since all was settled
    cdef double[::1] A, B, alpha        # [steps+1] see the module's docstring
    cdef void advance(self, double alpha) noexcept nogil
    cdef double wake(self, double w, double d, int64_t k) noexcept nogil
    cdef void step_awake(self, double* w, double d, double delta, double omega) noexcept nogil
    cdef void settle_label_list(self, int64_t a) noexcept nogil
