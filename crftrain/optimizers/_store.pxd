"""Where a table keeps its numbers."""

from libc.stdint cimport int64_t

ctypedef void (*Change)(Store, int64_t at, double* x, int64_t n) noexcept nogil


cdef class Store:
    cdef object memory
    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil
    cdef void minus(self, int64_t at, double* x, int64_t n) noexcept nogil


cdef void swap(Store store, int64_t at, double* x, int64_t n) noexcept nogil
cdef void minus(Store store, int64_t at, double* x, int64_t n) noexcept nogil
