"""A change of the weights that one sequence asks for, block by block."""

from libc.stdint cimport int32_t, int64_t

from ..._kernels cimport Lattice, Tokens


cdef struct Piece:
    double* g       # [n] the change of a block, or of the transitions
    double* v       # the weights there
    double* d       # what is kept of each weight besides: sums for an average, a variance
    int64_t n


cdef class LocalUpdate(LocalGradient):
    cdef Piece* piece                   # [n_pieces] each block once
    cdef int64_t n_pieces, room_pieces
    cdef int32_t[::1] pair_mark         # [pair attributes] 1: it has its piece
    cdef double gather(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void put(self, double* g, int64_t n, double* v, double* d) noexcept nogil
    cdef void subtract(self, double c) noexcept nogil
    cdef void subtract_both(self, double c, double of_d) noexcept nogil
