"""Functions that gradients go through, one number at a time."""

from libc.stdint cimport int64_t


cdef class Transform:
    cdef readonly double scale          # of the argument
    cdef readonly double slope          # at 0
    cdef double[::1] table              # [entries+1][2] f(i / entries) and how much more the next one is; empty: no table
    cdef double entries
    cdef double straight                # |x| up to which slope x is as good as the table
    cdef double exact(self, double x) noexcept nogil
    cdef double look_up(self, double x) noexcept nogil
    cdef void apply(self, int64_t n, double c, double* g) noexcept nogil
