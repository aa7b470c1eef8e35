"""The gradient of a few sequences, in a small place of its own."""

from libc.stdint cimport int32_t, int64_t

from ..._kernels cimport Blocks, Lattice, Occurrences, Owing, Tokens
from ..weights._compiled cimport LazyWeights


cdef class LocalGradient:
    cdef LazyWeights lazy
    cdef int L, LP
    cdef int32_t[::1] mark              # [A] the attribute's number here + 1, 0: it has none
    cdef int32_t* attr                  # [occurrences at hand] numbers here
    cdef int32_t* dense                 # [n_dense] attributes by their number here, those with rows
    cdef int32_t* sparse                # [n_sparse] and those without
    cdef int64_t n_dense, n_sparse, room_occurrences, room_rows, room_weights
    cdef double* rows                   # [n_dense][LP]
    cdef double* w                      # [weights of the sparse blocks]
    cdef int64_t* ptr                   # [n_sparse+1]
    cdef int32_t* label
    cdef Occurrences occurrences
    cdef Blocks blocks
    cdef double[::1] pair_vector        # [pair weights] zero between two uses
    cdef double build(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef void scores(self, int64_t first, int64_t T, double* psi) noexcept nogil
    cdef double rate(self, const Owing* owing) noexcept nogil
    cdef void keep_present_labels(self) noexcept nogil
    cdef bint number(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil
    cdef bint room_to_number(self, int64_t n) noexcept nogil
    cdef void mark_attributes(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil
    cdef bint room(self) noexcept nogil
    cdef void release(self) noexcept nogil
    cdef double pairs(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X, double* e) noexcept nogil
