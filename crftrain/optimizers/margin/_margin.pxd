"""Steps that change the weights after a wrong path."""

from libc.stdint cimport int32_t, int64_t

from ..weights._compiled cimport DescentWeights
from ..loop._compiled cimport LocalUpdate, Sequential


cdef class MarginSteps(Sequential):
    cdef DescentWeights weights
    cdef LocalUpdate change
    cdef const int64_t[::1] order
    cdef int32_t[::1] path              # y
    cdef int64_t at
    cdef readonly int64_t done          # steps in all
    cdef readonly int64_t wrong         # labels that were wrong in this pass
    cdef readonly int64_t updates       # and how often the weights changed
    cdef double total, augment
    cdef bint averaging
    cdef int64_t search_path(self, int64_t u, int64_t* start, int64_t* end) noexcept nogil
    cdef void set_difference(self, const int32_t* gold, int64_t start, int64_t end, int64_t T, bint pairs) noexcept nogil
    # of a subclass; learn_from() at least
    cdef bint left_out(self, int64_t u) noexcept nogil
    cdef void was_right(self, int64_t u) noexcept nogil
    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil
    cdef void move(self, double tau) noexcept nogil
