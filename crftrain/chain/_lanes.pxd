"""Eight sequences side by side."""

from libc.stdint cimport int64_t

from .._kernels cimport Lattice, Tokens, Weights
from ._parts cimport Part
from ._tangent cimport Curvature


cdef class Lanes:
    """A thread's room for as many sequences as a vector has lanes: label j of lane s at [j * LANES + s]."""
    cdef Lattice* X                     # one of them, in rows
    cdef int64_t capacity               # positions there is room for
    cdef double* memory
    cdef double* x                      # [T][L][LANES]
    cdef double* a                      # [T][L][LANES], later the marginals
    cdef double* z                      # [T][LANES]
    cdef double[::1] edge               # [arcs][LANES]
    cdef double[::1] vectors            # v and b
    cdef bint fit(self, int64_t T) noexcept nogil
    cdef bint gather_all(self, const Weights* W, const Tokens* s, const int64_t* member, int n, int64_t T, int64_t* length,
                         double* one) noexcept nogil
    cdef void load(self, const Tokens* s, int64_t i, int lane, int64_t T, double* log_z) noexcept nogil
    cdef void rest(self, int lane, int64_t first, int64_t T) noexcept nogil
    cdef void go_forward(self, const Weights* W, int64_t T, int64_t* length) noexcept nogil
    cdef void go_back(self, const Weights* W, const int64_t* length, int64_t T) noexcept nogil
    cdef void take(self, const Weights* W, int lane, int64_t T) noexcept nogil
    cdef int64_t sum(self, const Weights* W, const Tokens* s, const int64_t* member, int n, Part part, Curvature keep, int thread,
                     double scale, double magic, double[::1] losses) noexcept nogil
