# The log domain, for scores that span too much: part of _kernels.pyx.


cdef double log_forward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """a_t(j) = psi_t(j) + log sum_i exp(a_{t-1}(i) + e(i, j)), all logarithms; v is scratch."""
    cdef int64_t t, i, j
    cdef int L = W.L, LP = W.LP
    cdef const double* e = W.trans
    for j in range(L):
        X.a[j] = X.psi[j]
    if W.arcs != NULL:
        log_forward_arcs(W, T, X)
        return simd.log_sum(L, X.a + (T - 1) * LP)
    for t in range(1, T):
        if s.pairs.ptr != NULL:
            e = X.e + t * L * LP
        for j in range(L):
            for i in range(L):
                X.v[i] = X.a[(t - 1) * LP + i] + e[i * LP + j]
            X.a[t * LP + j] = X.psi[t * LP + j] + simd.log_sum(L, X.v)
    return simd.log_sum(L, X.a + (T - 1) * LP)


cdef void log_forward_arcs(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    """The same, pairs that are no arcs scoring 0 if they are legal."""
    cdef int64_t t, k
    cdef int j, LP = W.LP
    cdef const Arcs* arcs = W.arcs
    cdef const double* previous
    for t in range(1, T):
        previous = X.a + (t - 1) * LP
        for j in range(W.L):
            where_open(W.L, arcs.enters[j], arcs.leaves, previous, X.v)
            for k in range(arcs.into[j], arcs.into[j + 1]):
                X.v[arcs.source[k]] = previous[arcs.source[k]] + W.trans[arcs.number[k]]
            X.a[t * LP + j] = X.psi[t * LP + j] + simd.log_sum(W.L, X.v)


cdef void where_open(int64_t n, double own, const double* others, const double* x, double* out) noexcept nogil:
    """out = x where own and others are not 0, else -inf."""
    cdef int64_t i
    for i in range(n):
        out[i] = x[i] if own * others[i] else -INFINITY


cdef void log_backward_arcs(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    cdef int64_t t, k
    cdef int i, j, L = W.L, LP = W.LP
    cdef double* v = X.v + LP
    cdef const Arcs* arcs = W.arcs
    for t in range(T - 1, 0, -1):
        for j in range(L):
            v[j] = X.psi[t * LP + j] + X.b[t * LP + j]
        for i in range(L):
            where_open(L, arcs.leaves[i], arcs.enters, v, X.v)
            for k in range(arcs.ptr[i], arcs.ptr[i + 1]):
                X.v[arcs.to[k]] = v[arcs.to[k]] + W.trans[k]
                X.edge[k] += exp(X.a[(t - 1) * LP + i] + X.v[arcs.to[k]] - X.log_z)
            X.b[(t - 1) * LP + i] = simd.log_sum(L, X.v)
            X.q[(t - 1) * LP + i] = exp(X.a[(t - 1) * LP + i] + X.b[(t - 1) * LP + i] - X.log_z)


cdef void log_backward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """b_{t-1}(i) = log sum_j exp(e(i, j) + psi_t(j) + b_t(j));  P = exp(a_{t-1}(i) + e(i, j) + psi_t(j) + b_t(j) - log Z)."""
    cdef int64_t t, i, j
    cdef int L = W.L, LP = W.LP
    cdef const double* e = W.trans
    cdef double p
    for t in range(T):
        for j in range(L, LP):
            X.q[t * LP + j] = 0
    for j in range(L):
        X.b[(T - 1) * LP + j] = 0
        X.q[(T - 1) * LP + j] = exp(X.a[(T - 1) * LP + j] - X.log_z)
    if W.arcs != NULL:
        log_backward_arcs(W, T, X)
        return
    for t in range(T - 1, 0, -1):
        if s.pairs.ptr != NULL:
            e = X.e + t * L * LP
            memset(X.P + t * L * LP, 0, L * LP * sizeof(double))
        for i in range(L):
            for j in range(L):
                X.v[j] = e[i * LP + j] + X.psi[t * LP + j] + X.b[t * LP + j]
                p = exp(X.a[(t - 1) * LP + i] + X.v[j] - X.log_z)
                X.edge[i * LP + j] += p
                if s.pairs.ptr != NULL:
                    X.P[(t * L + i) * LP + j] = p
            X.b[(t - 1) * LP + i] = simd.log_sum(L, X.v)
            X.q[(t - 1) * LP + i] = exp(X.a[(t - 1) * LP + i] + X.b[(t - 1) * LP + i] - X.log_z)
