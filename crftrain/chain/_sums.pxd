"""What threads sum into."""

from libc.stdint cimport int64_t


cdef class Sums:
    cdef readonly int threads
    cdef readonly double l2
    cdef int64_t size                   # of the vector
    cdef list buffers                   # a vector for each thread; the last is the caller's
    cdef object added                   # the vector that the l2 term is of
    cdef const int64_t[::1] ranges      # chunks, evenly to the threads
    cdef const int64_t[:, ::1] idle     # first and last + 1 of the chunks that a thread's sequences do not touch
    cdef double[::1] begin(self, int k)
    cdef double norm(self, int k) noexcept


cdef double square(const double[::1] w, int64_t first, int64_t last) noexcept nogil
