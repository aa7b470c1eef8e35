"""Where a table keeps its numbers; x are rows of n, `stride` apart, which the table has without gaps."""

from libc.stdint cimport int64_t

ctypedef void (*Change)(Store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil


cdef class Store:
    cdef object memory
    cdef void swap(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
    cdef void minus(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
    cdef void read(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
    cdef void fetch(self, int64_t at, int64_t n) noexcept nogil


cdef void swap(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
cdef void minus(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
cdef void recall(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
cdef void bring(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil
