from libc.stdint cimport int32_t, int64_t

from .._kernels cimport Lattice


cdef class Ranking:
    cdef int L, LP, n
    cdef int64_t T, room, opened, closing, step
    cdef const double* e
    cdef const Lattice* X
    # of open nodes: where they are, how many ways in are found, whether there are no more
    cdef int64_t[::1] time
    cdef int32_t[::1] label, found, ended
    # n for each: the label a way comes from, the rank of the way there, the score
    cdef int32_t[::1] pred, rank
    cdef double[::1] score
    # L for each: the best way through that label which is not used yet
    cdef double[::1] candidate
    cdef int32_t[::1] next_rank
    cdef int32_t[::1] node_of           # (t, j) -> its number, -1 if it is not open
    cdef int64_t[::1] stack

    cdef int grow(self) except -1
    cdef int begin(self, const Lattice* X, const double* e, int64_t step, int64_t T) except -1
    cdef double edge(self, int64_t t, int64_t i, int64_t j) noexcept
    cdef int64_t open(self, int64_t t, int64_t j) except -1
    cdef bint extend(self) except -1
    cdef int take_next(self, int64_t k) noexcept
    cdef int trace(self, int32_t r, int32_t* y) noexcept
    cdef tuple best(self)
