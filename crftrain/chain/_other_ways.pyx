"""The tangents of a sequence where the plain way of _tangent does not go: by the paper's formula, or statement by statement.

    marginal_way     attributes on label pairs, the log domain: from the marginals, sums of pair marginals included
    differentiate    `ad`: what forward and backward do, differentiated

Both leave q, edge and P of dX, whose psi, trans and e are tangents on the way in. They know nothing of what is kept.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from .._kernels cimport backward, forward, gather, lattice_fit, log_pairs_of


cdef bint other_way(const Weights* W, const Weights* V, bint ad, const Tokens* s, int64_t i, double scale, Lattice* X,
                    Lattice* dX) noexcept nogil:
    """The tangents of sequence i, after forward, in q, edge and P of dX; False: no memory."""
    cdef int64_t T = s.seq[i + 1] - s.seq[i]
    if X.scaled and ad:
        differentiate(W, V, s, i, X, scale, dX)
        return True
    if s.pairs.ptr == NULL:     # in the log domain: once more, with room for the pair marginals
        if not lattice_fit(X, T, True):
            return False
        gather(W, s, i, X)
        forward(W, s, i, X)
    backward(W, s, i, X)
    if s.pairs.ptr == NULL:
        pair_marginals(W, T, X)
    marginal_way(V, s, i, X, scale, dX)
    return True


cdef void pair_marginals(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    """P of a sequence without pair attributes, after backward in the log domain."""
    cdef int64_t t, i
    for t in range(1, T):
        for i in range(X.L):
            log_pairs_of(W, t, i, X, X.P + (t * X.L + i) * X.LP)


cdef void marginal_way(const Weights* V, const Tokens* s, int64_t k, const Lattice* X, double scale, Lattice* dX) noexcept nogil:
    """q, edge and P of dX from q and P of X, by the paper's formula; dX.a is A and dX.b is B."""
    cdef int64_t t, T = s.seq[k + 1] - s.seq[k], size = X.L * X.LP
    cdef int i, j, L = X.L, LP = X.LP
    cdef bint pairs = s.pairs.ptr != NULL
    cdef const double* P
    cdef const double* R = V.trans
    cdef const double* r
    cdef const double* q
    cdef double* A = dX.a
    cdef double* B = dX.b
    cdef double E = marginal_way_forward(V, T, pairs, X, dX), total, below, tangent
    for t in range(T - 1, -1, -1):
        q, P, r = X.q + t * LP, X.P + t * size, dX.psi + t * LP
        for j in range(L):
            dX.q[t * LP + j] = scale * q[j] * (A[t * LP + j] + B[t * LP + j] - E)
        if t == 0:
            break
        if pairs:
            R = dX.e + t * size
        for i in range(L):
            total, below = 0, X.q[(t - 1) * LP + i]
            for j in range(L):
                tangent = R[i * LP + j] + r[j] + B[t * LP + j]
                total += P[i * LP + j] * tangent
                tangent = scale * P[i * LP + j] * (A[(t - 1) * LP + i] + tangent - E)
                dX.edge[i * LP + j] += tangent
                if pairs:
                    dX.P[t * size + i * LP + j] = tangent
            B[(t - 1) * LP + i] = total / below if below > 0 else 0


cdef double marginal_way_forward(const Weights* V, int64_t T, bint pairs, const Lattice* X, Lattice* dX) noexcept nogil:
    """A, and the end of B; returns E. Sums of dX begin at zero."""
    cdef int64_t t, size = X.L * X.LP
    cdef int i, j, L = X.L, LP = X.LP
    cdef const double* P
    cdef const double* R = V.trans
    cdef const double* q
    cdef double* A = dX.a
    cdef double E = 0, total
    memset(dX.edge, 0, size * sizeof(double))
    memset(dX.q, 0, T * LP * sizeof(double))
    if pairs:
        memset(dX.P, 0, T * size * sizeof(double))
    for t in range(T):
        q, P = X.q + t * LP, X.P + t * size
        if pairs:
            R = dX.e + t * size
        for j in range(L):
            A[t * LP + j] = dX.psi[t * LP + j]
            if t and q[j] > 0:
                total = 0
                for i in range(L):
                    total += P[i * LP + j] * (A[(t - 1) * LP + i] + R[i * LP + j])
                A[t * LP + j] += total / q[j]
    for j in range(L):
        E += X.q[(T - 1) * LP + j] * A[(T - 1) * LP + j]
        dX.b[(T - 1) * LP + j] = 0
    return E


cdef void differentiate(const Weights* W, const Weights* V, const Tokens* s, int64_t k, Lattice* X, double scale,
                        Lattice* dX) noexcept nogil:
    """q, edge and P of dX: forward and backward, statement by statement, after forward; fields of dX are tangents of X's.

        a = c / z, c = x o M'a_:    da = (dc - a dz) / z,  dc = x o (r o M'a_ + (M o R)'a_ + M'da_)
        v = x o b / z, b_ = M v:    dv = (x o r o b + x o db - v dz) / z,  db_ = (M o R) v + M dv
    """
    cdef int64_t t, T = s.seq[k + 1] - s.seq[k], size = X.L * X.LP
    cdef int i, j, L = X.L, LP = X.LP
    cdef bint pairs = s.pairs.ptr != NULL
    cdef const double* M = W.M
    cdef const double* R = V.trans
    cdef double* da = dX.a
    cdef double* db = dX.b
    cdef double* v = X.v
    cdef double* dv = dX.v
    cdef double m, total, tangent
    differentiate_forward(W, V, T, pairs, X, dX)
    for j in range(L):
        X.b[(T - 1) * LP + j], db[(T - 1) * LP + j] = 1, 0
    for t in range(T - 1, -1, -1):
        for j in range(L):
            dX.q[t * LP + j] = scale * (da[t * LP + j] * X.b[t * LP + j] + X.a[t * LP + j] * db[t * LP + j])
        if t == 0:
            break
        if pairs:
            M, R = X.P + t * size, dX.e + t * size
        for j in range(L):
            v[j] = X.x[t * LP + j] * X.b[t * LP + j] / X.z[t]
            dv[j] = v[j] * dX.psi[t * LP + j] + (X.x[t * LP + j] * db[t * LP + j] - v[j] * dX.z[t]) / X.z[t]
        for i in range(L):
            total, tangent = 0, 0
            for j in range(L):
                m = M[i * LP + j]
                total += m * v[j]
                m *= R[i * LP + j] * v[j] + dv[j]
                tangent += m
                m = scale * (X.a[(t - 1) * LP + i] * m + da[(t - 1) * LP + i] * M[i * LP + j] * v[j])
                dX.edge[i * LP + j] += m
                if pairs:
                    dX.P[t * size + i * LP + j] = m
            X.b[(t - 1) * LP + i], db[(t - 1) * LP + i] = total, tangent


cdef void differentiate_forward(const Weights* W, const Weights* V, int64_t T, bint pairs, const Lattice* X, Lattice* dX) noexcept nogil:
    """a and z of dX. Its sums begin at zero."""
    cdef int64_t t, size = X.L * X.LP
    cdef int i, j, L = X.L, LP = X.LP
    cdef const double* M = W.M
    cdef const double* R = V.trans
    cdef double* da = dX.a
    cdef double m, total
    memset(dX.edge, 0, size * sizeof(double))
    memset(dX.q, 0, T * LP * sizeof(double))
    if pairs:
        memset(dX.P, 0, T * size * sizeof(double))
    for t in range(T):
        if pairs:
            M, R = X.P + t * size, dX.e + t * size
        total = 0
        for j in range(L):
            da[t * LP + j] = X.a[t * LP + j] * X.z[t] * dX.psi[t * LP + j]
        if t:
            for i in range(L):
                for j in range(L):
                    m = M[i * LP + j] * X.x[t * LP + j]
                    da[t * LP + j] += m * (R[i * LP + j] * X.a[(t - 1) * LP + i] + da[(t - 1) * LP + i])
        for j in range(L):
            total += da[t * LP + j]
        dX.z[t] = total
        for j in range(L):
            da[t * LP + j] = (da[t * LP + j] - X.a[t * LP + j] * total) / X.z[t]
