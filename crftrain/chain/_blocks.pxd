"""Views of weight vectors and gradients for the kernels."""

from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t

from .._kernels cimport Arcs, Blocks, Lattice, Tokens, Weights


cdef inline const int32_t* labels_from(const int32_t* label, int64_t first) noexcept nogil:
    """Looked up by positions of which the first is `first`; by way of integers, since a pointer may not leave its array."""
    return <const int32_t*> (<uintptr_t> label - <uintptr_t> first * sizeof(int32_t))


cdef inline double* numbers_from(double* x, int64_t first) noexcept nogil:
    return <double*> (<uintptr_t> x - <uintptr_t> first * sizeof(double))


cdef inline const int64_t* integers_from(const int64_t* x, int64_t first) noexcept nogil:
    return <const int64_t*> (<uintptr_t> x - <uintptr_t> first * sizeof(int64_t))


cdef int64_t whole_rows(layout) except -1
cdef double[::1] aligned(int64_t n)     # n zeros that begin at a cache line


cdef class BlockView:
    cdef object layout
    cdef int L, LP
    cdef bint padded                    # dense blocks live in rows of LP, apart from the vector
    cdef Blocks nodes, pairs
    cdef double[::1] rows, vector
    cdef uint64_t[::1] present
    cdef int64_t n_rows
    cdef object label
    cdef int point_to(self, double[::1] vector) except -1
    cdef void let_go(self) noexcept
    cdef void spread_rows(self) noexcept nogil
    cdef void clear_rows(self, int64_t first, int64_t last) noexcept nogil
    cdef void add_rows(self, int64_t first, int64_t last) noexcept nogil
    cdef void add_rows_to(self, double[::1] vector, int64_t first, int64_t last) noexcept nogil


cdef class ArcList:
    """A layout's label pairs, of each label and into each label."""
    cdef Arcs arcs
    cdef object keep


cdef class Transitions:
    """What weights say of label pairs; where they are in a vector of weights and in `places`."""
    cdef ArcList arc_list
    cdef const Arcs* arcs
    cdef readonly int64_t n, first, places
    cdef const int64_t[::1] place
    cdef double[::1] trans, M, MT, S, ST
    cdef const int64_t[::1] forbidden   # places of the label pairs that are not legal
    cdef double[::1] ends               # of Weights; none: all is legal
    cdef void attach(self, Weights* W) noexcept
    cdef void forbid(self, double* trans) noexcept nogil
    cdef void read(self, const double[::1] w) noexcept nogil


cdef class Scorer:
    """A weight vector made ready for lattices."""
    cdef Weights W
    cdef BlockView view
    cdef Transitions transitions
    cdef int use(self, double[::1] w) except -1
    cdef void let_go(self) noexcept


cdef class Gradient:
    """A sum of scattered residuals."""
    cdef BlockView view
    cdef Transitions transitions
    cdef double[::1] edge               # [places]
    cdef int use(self, double[::1] g) except -1
    cdef void add(self, const Tokens* s, int64_t i, const Lattice* X) noexcept nogil
    cdef void add_tokens(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef void add_rest(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef int collect(self) except -1
