"""The tangent of one sequence: how its marginals move when the weights do."""

from libc.stdint cimport int64_t, uint8_t

from .._kernels cimport Lattice, Tokens, Weights
from ._blocks cimport BlockView, Scorer, Transitions
from ._parts cimport Part
from ._sequences cimport Sequences


cdef class Direction:
    """A vector of tangents of the weights, made ready for lattices."""
    cdef BlockView view
    cdef Weights V              # its M and MT are R = M o (tangents of the transitions), and R transposed
    cdef Transitions transitions
    cdef int use(self, double[::1] v, const Weights* W) except -1


cdef void multiply(const Weights* W, Weights* V) noexcept nogil


cdef class AllPairs


cdef class Workspace:
    """A thread's lattices, and its sums over sequences."""
    cdef Lattice* X
    cdef Lattice* dX            # what its fields hold are the tangents of X's
    cdef Transitions transitions
    cdef AllPairs all_pairs
    cdef object layout
    cdef double[::1] C          # [LP][LP] or [arcs] of the plain way, without the factor M
    cdef double[::1] expected   # [places] P(y_{t-1} = i, y_t = j | x), where they are not known before
    cdef double top             # the largest tangent met
    cdef void make_all_pairs(self)


cdef class AllPairs:
    cdef Scorer weights
    cdef Direction direction
    cdef Workspace room
    cdef bint tangents(self, const Weights* W, const Weights* V, bint ad, const Tokens* s, int64_t i, double scale,
                       Lattice* out) noexcept nogil


cdef class Curvature:
    """What the Hessian-vector products at one point have in common."""
    cdef Sequences sequences
    cdef object layout, multiply
    cdef readonly bint ad       # by differentiation of the recursions, nothing kept
    cdef readonly bint filled
    cdef bint summed            # `expected` is known; else products sum it
    cdef int64_t[::1] start     # [n] where a sequence's rows begin; -1: it is not kept
    cdef double[::1] rows       # a, b and y of each kept sequence, [3][T][LP]
    cdef uint8_t[::1] good      # [n] its rows are those of this point
    cdef double[::1] weight     # [n] in the sum over sequences; 0: left out
    cdef double[:, ::1] expected  # [threads][places] P(y_{t-1} = i, y_t = j | x) of all that go the plain way
    cdef readonly double[::1] total     # [places] of all threads, and of what products have found
    cdef double magic           # of `expected`
    cdef readonly double scale  # 1/n
    cdef int64_t n_tokens
    cdef public object rounding     # rounding.Rounding, once there was a product
    cdef double[::1] doubt      # [n] sum over the tokens of 1 - sum_j P(y_t = j)^2
    cdef Transitions kept       # those of this point
    cdef Weights W              # its M and MT; all of it where sequences are not good
    cdef Scorer scorer
    cdef Direction direction
    cdef int begin(self) except -1
    cdef void take(self, const Tokens* s, int64_t i, const Lattice* X, int thread) noexcept nogil
    cdef int end(self, double[::1] w, const Weights* W) except -1
    cdef Lattice* tangents(self, const Tokens* s, int64_t i, double scale, Workspace room) noexcept nogil
    cdef bint add_product(self, const Tokens* s, int64_t i, double scale, double magic, Part part, Workspace room) noexcept nogil
    cdef void plain_way(self, int64_t T, const double* a, const double* b, const double* y, double scale, Workspace room,
                        const double* soon, int64_t n_soon) noexcept nogil
