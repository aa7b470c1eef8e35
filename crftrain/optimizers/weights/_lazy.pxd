"""Weights that owe updates, block by block."""

from libc.stdint cimport int64_t

from ..._kernels cimport Lattice, Tokens, Weights
from ...chain._blocks cimport BlockView, Transitions


cdef class LazyWeights:
    cdef readonly object layout
    cdef BlockView v, d
    cdef double[::1] w                  # the caller's vector
    cdef Transitions transitions        # those of W
    cdef double[::1] last               # [blocks] S when the block last paid; the transitions come last
    cdef double[::1] v_edge, d_edge     # [places]
    cdef double[::1] exists             # [places] 1 where a label pair has a weight
    cdef double[::1] trans              # [places] of W
    cdef Weights W                      # w = beta v for the kernels, the sparse and dense blocks still without beta
    cdef double beta, S
    cdef int64_t pair_base              # the first pair attribute's place in `last`
    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil
    cdef void scores(self, const Tokens* s, int64_t i, int64_t end, double* psi, double* e) noexcept nogil
    cdef void step(self, double alpha, double l2, double m) noexcept nogil
    cdef double settle_all(self, double scale, double l2) noexcept nogil
    cdef double paid(self, double v, double d, double last) noexcept nogil
    cdef double settle_block(self, int64_t first, int64_t end, double last, double scale, double l2) noexcept nogil
    cdef void add_to_d(self, const Tokens* s, int64_t i, int64_t end, const Lattice* X) noexcept nogil
    cdef void add_to_v(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef object in_vector(self, BlockView view, const double[::1] edge)
    cdef int from_vector(self, const double[::1] vector, BlockView view, double[::1] edge) except -1
