# Attributes on label pairs, so with a matrix at each position: part of _kernels.pyx.


cdef void gather_pairs(const Weights* W, const Tokens* s, int64_t first, int64_t T, double* e) noexcept nogil:
    """e[t][i][j] = trans[i][j] + sum of the pair attributes' weights at t, t > 0."""
    cdef int64_t t, k, p, size = W.L * W.LP
    cdef int32_t a, pair
    cdef double c
    for t in range(1, T):
        e += size
        for k in range(size):
            e[k] = W.trans[k]
        for k in range(s.pairs.ptr[first + t], s.pairs.ptr[first + t + 1]):
            a = s.pairs.attr[k]
            c = s.pairs.value[k] if s.pairs.value != NULL else 1.0
            for p in range(W.pairs.ptr[a], W.pairs.ptr[a + 1]):
                pair = W.pairs.label[p]
                e[pair // W.L * W.LP + pair % W.L] += c * W.pairs.w[p]


cdef bint exp_pairs(const Weights* W, int64_t T, Lattice* X, bint* limited) noexcept nogil:
    """P[t] = exp(e[t] - e_top[t]); False if a position's pairs span more than TAME."""
    cdef int64_t t, size = W.L * W.LP
    for t in range(1, T):
        if not exp_matrix(W.L, W.LP, X.e + t * size, X.P + t * size, X.e_top + t, limited):
            return False
    return True


cdef void backward_pairs(int L, int LP, int64_t T, Lattice* X) noexcept nogil:
    """The same with a matrix of its own at each position, which becomes P(y_{t-1} = i, y_t = j | x)."""
    cdef int64_t t, i, j
    cdef double* row
    cdef double* v
    cdef double total, a
    for t in range(T - 1, 0, -1):
        v = X.v + t * LP
        for j in range(LP):
            v[j] = X.x[t * LP + j] * X.b[t * LP + j] / X.z[t]
        for j in range(LP):
            X.b[(t - 1) * LP + j] = X.q[(t - 1) * LP + j] = 0
        for i in range(L):
            row, total, a = X.P + (t * L + i) * LP, 0, X.a[(t - 1) * LP + i]
            for j in range(LP):
                row[j] *= v[j]
                total += row[j]
            X.b[(t - 1) * LP + i] = total
            X.q[(t - 1) * LP + i] = a * total
            for j in range(LP):
                row[j] *= a
                X.edge[i * LP + j] += row[j]


cdef void fill_pairs(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """P(y_{t-1} = i, y_t = j | x) minus gold at each t > 0 after backward and minus_gold; P[0] is zero. The lattice must have room."""
    cdef int64_t t, j, k, T = s.seq[i + 1] - s.seq[i]
    cdef int L = W.L, LP = W.LP
    cdef const int32_t* y = s.label + s.seq[i]
    cdef double* P = X.P
    memset(P, 0, L * LP * sizeof(double))
    if s.pairs.ptr != NULL:     # backward has filled the rest
        return
    for t in range(1, T):
        P += L * LP
        for k in range(L):
            if not X.scaled:
                log_pairs_of(W, t, k, X, P + k * LP)
            for j in range(L if X.scaled else 0):
                P[k * LP + j] = X.a[(t - 1) * LP + k] * W.M[k * LP + j] * X.v[t * LP + j]
            for j in range(L, LP):
                P[k * LP + j] = 0
        P[y[t - 1] * LP + y[t]] -= 1


cdef void scatter_pairs(const Tokens* s, const Blocks* pairs, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
    """The blocks of the pair attributes at t += P[t]."""
    cdef int64_t t, k, p
    cdef int32_t a, pair
    cdef int L = X.L
    cdef double c, x
    for t in range(1, T):
        for k in range(s.pairs.ptr[first + t], s.pairs.ptr[first + t + 1]):
            a = s.pairs.attr[k]
            c = s.pairs.value[k] if s.pairs.value != NULL else 1.0
            for p in range(pairs.ptr[a], pairs.ptr[a + 1]):
                pair = pairs.label[p]
                x = c * X.P[(t * L + pair // L) * X.LP + pair % L]
                pairs.w[p] += x if pairs.magic == 0 else (x + pairs.magic) - pairs.magic
