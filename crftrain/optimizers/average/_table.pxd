"""What SAG remembers of each unit."""

from libc.stdint cimport int64_t

from ..loop._compiled cimport Sequential


cdef class Table:
    cdef readonly dict stores           # by name, for checkpoints
    cdef readonly bint pairs
    cdef int exchange(self, Sequential at, int64_t u) noexcept nogil    # after evaluate(u); -1: no memory
    cdef void fetch(self, Sequential at, int64_t u) noexcept nogil      # before evaluate(u)
    cdef void difference(self, Sequential at, int64_t u) noexcept nogil
    cdef void change(self, Sequential at, int64_t u, Change how) noexcept nogil
    cdef void changed(self, Sequential at, int64_t u) noexcept nogil


cdef void sum_edges(Sequential at, const double* P, int64_t T) noexcept nogil    # X.edge from P of T positions
