"""Sums that come out the same in any order."""

from libc.stdint cimport int64_t

cdef enum: PIECE = 1 << 13      # weights; three vectors of it fit the second cache

cdef double magic_of(double limit) noexcept nogil
cdef double round_scaled(const double[::1] w, double c, double magic, double[::1] out, int64_t first, int64_t last) noexcept nogil
cdef double square(const double[::1] w) noexcept nogil
cdef double square_of(const double[::1] w, int64_t first, int64_t last) noexcept nogil
