"""Weights under an l1 penalty that is paid block by block."""

from libc.stdint cimport int64_t

from ..._kernels cimport Lattice, Tokens


cdef class PenalisedWeights(DescentWeights):
    cdef double u               # the penalty that every weight could have received so far, in the scale of v
    cdef double* stamps         # [blocks] u when the block last paid; NULL: blocks keep q instead
    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, Lattice* X) noexcept nogil
    cdef double owed(self, int64_t block) noexcept nogil


cdef class CumulativeWeights(PenalisedWeights):
    pass


cdef class ClippedWeights(PenalisedWeights):
    pass


cdef class NaiveWeights(PenalisedWeights):
    cdef void pull(self, double c) noexcept nogil
