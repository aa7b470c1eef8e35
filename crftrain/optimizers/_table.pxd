"""What SAG remembers of each unit."""

from libc.stdint cimport int64_t

from ._sequential cimport Sequential


cdef class Store:
    cdef object memory
    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil
    cdef void minus(self, int64_t at, double* x, int64_t n) noexcept nogil


cdef class Table:
    cdef readonly dict stores           # by name, for checkpoints
    cdef readonly bint pairs
    cdef int exchange(self, Sequential at, int64_t u) noexcept nogil    # after evaluate(u); -1: no memory
    cdef void difference(self, Sequential at, int64_t u) noexcept nogil


cdef void sum_edges(Sequential at, int64_t T) noexcept nogil            # X.edge from X.P
