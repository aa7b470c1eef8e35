"""Weights whose proximal steps are late."""

from libc.stdint cimport int64_t

from ..._kernels cimport Owing


cdef class SoftWeights(LazyWeights):
    cdef public double l1, l2
    cdef double length                  # of all steps since everything was settled; their sum of d/m is S
    cdef readonly double[:, ::1] memory
    cdef Owing* owing                   # [blocks]
    cdef double[::1] rate_edge          # [places]
    cdef double soft(self, const Owing* own, double v, double d) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void settle_edges(self) noexcept nogil
    cdef void settle_sparse(self, int64_t block, int64_t first, int64_t end) noexcept nogil
