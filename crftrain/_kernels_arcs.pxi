# Label pairs as a list of arcs: part of _kernels.pyx, which has the recursions that these are the same as.


cdef ArcRows arcs_into(const Weights* W) noexcept nogil:
    cdef ArcRows rows = [W.arcs.into, W.arcs.source, W.ST, W.MT, W.arcs.enters, W.arcs.leaves, W.arcs.closed]
    return rows


cdef ArcRows arcs_from(const Weights* W) noexcept nogil:
    cdef ArcRows rows = [W.arcs.ptr, W.arcs.to, W.S, W.M, W.arcs.leaves, W.arcs.enters, W.arcs.closed]
    return rows


cdef double forward_arcs(const Weights* W, const double* previous, const double* x, double* next) noexcept nogil:
    """next = x o (previous M) / z; returns z."""
    cdef ArcRows rows = arcs_into(W)
    cdef double z = 0, inverse, total = 0 if W.arcs.closed else 1
    cdef int j
    if W.arcs.closed:
        for j in range(W.L):
            total += W.arcs.leaves[j] * previous[j]
    simd.arcs_forward(W.L, &rows, W.base, previous, total, next)
    for j in range(W.L):
        next[j] *= x[j]
        z += next[j]
    inverse = 1 / z
    for j in range(W.L):
        next[j] *= inverse
    for j in range(W.L, W.LP):
        next[j] = 0
    return z


cdef void back_arcs(const Weights* W, int64_t t, Lattice* X) noexcept nogil:
    """v of position t; b, q of the one before; edge, without the factor M."""
    cdef ArcRows rows = arcs_from(W)
    cdef int LP = W.LP
    cdef int64_t j, now = t * LP
    cdef double inverse = 1 / X.z[t], total = 0
    for j in range(LP):
        X.v[now + j] = X.x[now + j] * X.b[now + j] * inverse
    for j in range(W.L):
        total += W.arcs.enters[j] * X.v[now + j]
    simd.arcs_backward(W.L, &rows, W.base, X.v + now, total, X.a + now - LP, X.b + now - LP, X.q + now - LP, X.edge)
    for j in range(W.L, LP):
        X.b[now - LP + j] = X.q[now - LP + j] = 0


cdef void viterbi_arcs(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    cdef int64_t t, k
    cdef int i, LP = W.LP
    cdef const Arcs* arcs = W.arcs
    cdef double* high = X.b         # of each label's arcs, and of the other pairs
    for i in range(W.L):
        high[i] = 0
        for k in range(arcs.ptr[i], arcs.ptr[i + 1]):
            high[i] = max(high[i], W.trans[k])
    for t in range(1, T):
        simd.arcs_viterbi(W.L, arcs, W.trans, high, X.a + (t - 1) * LP, X.psi + t * LP, X.a + t * LP, X.come_from + t * LP,
                          <int32_t*> X.v)
