from libc.stdint cimport int32_t, int64_t, uint8_t

from .._kernels cimport Lattice, Tokens, Weights


cdef class Spans:
    cdef const uint8_t[:, ::1] starts, ends
    cdef list first, end, p
    cdef int take(self, const Weights* W, const Tokens* s, int64_t i, const Lattice* X, const int32_t* y) except -1
    cdef double probability(self, const Weights* W, const Tokens* s, const Lattice* X, const int32_t* y,
                            int64_t T, int64_t first, int64_t end) noexcept
