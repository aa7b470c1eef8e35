"""What SAG remembers of each sequence."""

from libc.stdint cimport int64_t

from .._kernels cimport Lattice, Tokens
from .._lazy cimport LazyWeights


cdef class Store:
    cdef object memory
    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil


cdef class Table:
    cdef readonly object stores         # by name, for checkpoints
    cdef int L, LP
    cdef int exchange(self, LazyWeights lazy, const Tokens* s, int64_t unit, int64_t first, int64_t T, Lattice* X) noexcept nogil
