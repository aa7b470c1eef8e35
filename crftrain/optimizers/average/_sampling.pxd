"""Which sequence comes next, and how long a step may be."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t


cdef class Sampler:
    cdef readonly int64_t n, seen               # units; those drawn at least once
    cdef int64_t leaves                         # a power of 2, at least n
    cdef double[::1] total, largest             # [2 leaves] sums and maxima of L over the subtrees; leaf i at leaves + i
    cdef public double l2
    cdef double first
    cdef unsigned char[::1] visited
    cdef bitgen_t* bits
    cdef object rng
    cdef int64_t draw(self) noexcept nogil
    cdef bint visit(self, int64_t i) noexcept nogil                     # True at the first visit
    cdef double start(self, int64_t i, bint first) noexcept nogil       # L to begin the line search with
    cdef void found(self, int64_t i, double L) noexcept nogil           # what it ended with
    cdef double step_size(self) noexcept nogil
    cdef double saga_step_size(self) noexcept nogil                     # the same for steps with unbiased gradients
    cdef double svrg_step_size(self) noexcept nogil                     # and for SVRG's
    cdef double probability(self, int64_t i) noexcept nogil             # of drawing i next
    cdef double constant(self, int64_t i) noexcept nogil                # L_i
    cdef void set(self, int64_t i, double L) noexcept nogil
    cdef double mean(self) noexcept nogil
    cdef double maximum(self) noexcept nogil
    cdef int64_t proportionally(self) noexcept nogil
    cdef int64_t uniformly(self) noexcept nogil
