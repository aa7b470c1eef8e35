"""The Hessian's diagonal, about: what `--precondition` takes the root of.

    H_pp = 1/n sum_i Var(F_i p) + l2 ~ 1/n sum_i sum_t value^2 P_t (1 - P_t) + l2,   P_t that of the label or pair of labels of p at t

as if the labels of different positions had nothing to do with each other. Sequences of the log domain have P for P (1 - P) where
label pairs have no attributes.
"""


cdef class Diagonal(Curvature):
    """A diagonal matrix in place of the Hessian; its product with a vector of ones is wanted. Sums are over the squares of values."""

    cdef Lattice* tangents(self, const Tokens* s, int64_t i, double scale, Workspace room) noexcept nogil:
        """The lattice whose q, edge and P are P (1 - P)."""
        cdef int64_t T = s.seq[i + 1] - s.seq[i]
        cdef bint pairs = s.pairs.ptr != NULL
        cdef Lattice* X = room.X
        if not lattice_fit(X, T, pairs):
            return NULL
        gather(&self.W, s, i, X)
        if not isfinite(forward(&self.W, s, i, X)):
            return NULL
        backward(&self.W, s, i, X)
        variances(T * X.LP, scale, X.q)
        if pairs:
            sum_of_variances(T, scale, X)
        else:
            if X.scaled:
                subtract_squares(T, X, self.W.M, room.expected)
            for k in range(X.places):
                X.edge[k] *= scale
        return X

    def expect(self, rooms):
        """Nothing: what the rooms hold are squares of this module's own."""

    def marginals(self):
        """None are wanted."""
        return 0.0

    def add_expected(self, v, out):
        """Nothing is left to add."""


cdef void variances(int64_t n, double scale, double* p) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        p[k] *= scale * (1 - p[k])


cdef void sum_of_variances(int64_t T, double scale, Lattice* X) noexcept nogil:
    """P and edge of a sequence that has P."""
    cdef int64_t t, k, size = X.L * X.LP
    for k in range(size):
        X.edge[k] = 0
    for t in range(1, T):
        variances(size, scale, X.P + t * size)
        for k in range(size):
            X.edge[k] += X.P[t * size + k]


cdef void subtract_squares(int64_t T, Lattice* X, const double* M, double[::1] squares) noexcept nogil:
    """edge -= sum_t P_t^2,  P_t(i,j) = a_{t-1}(i) M(i,j) v_t(j)."""
    cdef int64_t k
    for k in range(T * X.LP):
        X.a[k] *= X.a[k]
    for k in range(X.LP, T * X.LP):
        X.v[k] *= X.v[k]
    for k in range(X.places):
        squares[k] = 0
    if X.arcs == NULL:
        simd.outer(T - 1, X.L, X.LP, X.a, X.v + X.LP, &squares[0])
    else:
        outer_arcs(T, X, squares)
    for k in range(X.places):
        X.edge[k] -= M[k] * M[k] * squares[k]


cdef void outer_arcs(int64_t T, const Lattice* X, double[::1] sums) noexcept nogil:
    """sums += a_{t-1}(i) v_t(j) of each arc (i, j)."""
    cdef int64_t t, i, k
    for t in range(1, T):
        for i in range(X.L):
            for k in range(X.arcs.ptr[i], X.arcs.ptr[i + 1]):
                sums[k] += X.a[(t - 1) * X.LP + i] * X.v[t * X.LP + X.arcs.to[k]]
