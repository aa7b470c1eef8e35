"""Weights that step against one gradient at a time."""

from libc.stdint cimport int64_t

from ..._kernels cimport Lattice, Tokens


cdef class DescentWeights(LazyWeights):
    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil
    cdef void pay(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil
    cdef void pay_nodes(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil
    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* d) noexcept nogil
    cdef void shrink(self, double factor) noexcept nogil
    cdef void rescale(self) noexcept nogil


cdef class AveragedWeights(DescentWeights):
    cdef double betas           # sum of beta over the steps since A was last the whole sum
    cdef readonly int64_t count  # iterates in the average
    cdef readonly bint averaging
    cdef void fold(self) noexcept nogil
