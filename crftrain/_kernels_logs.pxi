# The log domain, for scores of label pairs that span too much: part of _kernels.pyx.

from libc.math cimport exp

cdef double LEFT = 0.25         # share of a sum that may be had by taking the rest off: nothing to speak of cancels


cdef double log_forward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """a_t(j) = psi_t(j) + log sum_i exp(a_{t-1}(i) + e(i, j)), all logarithms; v is scratch."""
    cdef int64_t t, j
    for j in range(W.L):
        X.a[j] = X.psi[j]
    for t in range(1, T):
        log_ahead(W, W.trans if s.pairs.ptr == NULL else X.e + t * W.L * W.LP, t, X)
    return simd.log_sum(W.L, X.a + (T - 1) * W.LP)


cdef void log_ahead(const Weights* W, const double* e, int64_t t, Lattice* X) noexcept nogil:
    """a of position t."""
    cdef int64_t j, now = t * W.LP
    if W.arcs != NULL:
        log_ahead_arcs(W, e, X.a + now - W.LP, X.x, X.v, X.a + now)
    else:
        simd.log_forward(W.L, W.LP, X.a + now - W.LP, e, X.a + now)
    for j in range(W.L):
        X.a[now + j] += X.psi[now + j]


cdef void log_ahead_arcs(
    const Weights* W, const double* e, const double* previous, double* share, double* scores, double* next
) noexcept nogil:
    """The same, pairs that are no arcs scoring 0 if they are legal. share and scores are scratch."""
    cdef const Arcs* arcs = W.arcs
    cdef int64_t k, n
    cdef int j
    cdef double total
    where_open(W.L, 1, arcs.leaves, previous, scores)
    total = simd.log_shares(W.L, scores, share)
    for j in range(W.L):
        k, n = arcs.into[j], arcs.into[j + 1] - arcs.into[j]
        n = arcs_and_rest(W.L, n, arcs.source + k, arcs.number + k, e, previous, arcs.enters[j], share, total, scores)
        if n < 0:
            n = W.L
            where_open(W.L, arcs.enters[j], arcs.leaves, previous, scores)
            for k in range(arcs.into[j], arcs.into[j + 1]):
                scores[arcs.source[k]] = previous[arcs.source[k]] + e[arcs.number[k]]
        next[j] = simd.log_sum(n, scores)


cdef int64_t arcs_and_rest(
    int64_t L, int64_t n, const int32_t* other, const int32_t* number, const double* e, const double* x, double own, const double* share,
    double total, double* scores
) noexcept nogil:
    """The scores of a label's n arcs, e being that of number[k], or of k, and last that of all pairs that are no arcs: how many there are.

    share_i = exp(x_i - total) where the other label is open: what arcs leave of 1 is that of the rest. -1: too little to be told so.
    """
    cdef int64_t k
    cdef double left = 1
    for k in range(n):
        scores[k] = x[other[k]] + (e[k] if number == NULL else e[number[k]])
        left -= share[other[k]]
    if own == 0:
        return n
    if n >= L or not left > LEFT:
        return -1
    scores[n] = total + log(left)
    return n + 1


cdef void where_open(int64_t n, double own, const double* others, const double* x, double* out) noexcept nogil:
    """out = x where own and others are not 0, else -inf."""
    cdef int64_t i
    for i in range(n):
        out[i] = x[i] if own * others[i] else -INFINITY


cdef void log_backward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """b_{t-1}(i) = log sum_j exp(e(i, j) + psi_t(j) + b_t(j)), and after log_forward all that backward finds."""
    cdef int64_t t, size = W.L * W.LP
    log_at_the_end(T, X)
    for t in range(T - 1, 0, -1):
        if s.pairs.ptr == NULL:
            log_back(W, W.trans, t, X, NULL)
        else:
            memset(X.P + t * size, 0, size * sizeof(double))
            log_back(W, X.e + t * size, t, X, X.P + t * size)


cdef void log_at_the_end(int64_t T, Lattice* X) noexcept nogil:
    cdef int64_t j, last = (T - 1) * X.LP
    memset(X.q, 0, T * X.LP * sizeof(double))
    for j in range(X.L):
        X.b[last + j] = 0
        X.q[last + j] = exp(X.a[last + j] - X.log_z)


cdef void log_back(const Weights* W, const double* e, int64_t t, Lattice* X, double* P) noexcept nogil:
    """b and q of position t - 1; edge += P(y_{t-1} = i, y_t = j), which goes to P too if that is not NULL. P(i, j) = P(i) P(j | i)."""
    cdef int64_t i, j, before = (t - 1) * W.LP
    cdef double* v = X.v + t * W.LP
    cdef double* share = X.v
    for j in range(W.L):
        v[j] = X.psi[t * W.LP + j] + X.b[t * W.LP + j]
    if W.arcs != NULL:      # there are no attributes on label pairs then
        log_back_arcs(W, e, t, X)
        return
    for i in range(W.L):
        log_scores_from(W, e, i, v, share)
        X.b[before + i] = simd.log_shares(W.L, share, share)
        X.q[before + i] = exp(X.a[before + i] + X.b[before + i] - X.log_z)
        for j in range(W.L):
            X.edge[i * W.LP + j] += X.q[before + i] * share[j]
        if P != NULL:
            for j in range(W.L):
                P[i * W.LP + j] = X.q[before + i] * share[j]


cdef void log_back_arcs(const Weights* W, const double* e, int64_t t, Lattice* X) noexcept nogil:
    """The same from the arcs and what is left beside them, v as log_back has made it."""
    cdef int64_t i, k, n, m, before = (t - 1) * W.LP
    cdef const double* v = X.v + t * W.LP
    cdef double* p = X.v
    cdef double* share = X.x
    cdef double total
    cdef const Arcs* arcs = W.arcs
    where_open(W.L, 1, arcs.enters, v, p)
    total = simd.log_shares(W.L, p, share)
    for i in range(W.L):
        k, n = arcs.ptr[i], arcs.ptr[i + 1] - arcs.ptr[i]
        m = arcs_and_rest(W.L, n, arcs.to + k, NULL, e + k, v, arcs.leaves[i], share, total, p)
        if m < 0:
            log_scores_from(W, e, i, v, p)
        X.b[before + i] = simd.log_shares(W.L if m < 0 else m, p, p)
        X.q[before + i] = exp(X.a[before + i] + X.b[before + i] - X.log_z)
        for k in range(n):
            X.edge[arcs.ptr[i] + k] += X.q[before + i] * p[arcs.to[arcs.ptr[i] + k] if m < 0 else k]


cdef void log_scores_from(const Weights* W, const double* e, int64_t i, const double* v, double* out) noexcept nogil:
    """out_j = e(i, j) + v_j."""
    cdef int64_t j, k
    if W.arcs == NULL:
        for j in range(W.L):
            out[j] = e[i * W.LP + j] + v[j]
        return
    where_open(W.L, W.arcs.leaves[i], W.arcs.enters, v, out)
    for k in range(W.arcs.ptr[i], W.arcs.ptr[i + 1]):
        out[W.arcs.to[k]] = v[W.arcs.to[k]] + e[k]


cdef void log_pairs_of(const Weights* W, int64_t t, int64_t i, const Lattice* X, double* p) noexcept nogil:
    """p_j = P(y_{t-1} = i, y_t = j) without pair attributes, after log_backward."""
    cdef double c = exp(X.a[(t - 1) * W.LP + i] + X.b[(t - 1) * W.LP + i] - X.log_z)
    cdef int64_t j
    log_scores_from(W, W.trans, i, X.v + t * W.LP, p)
    simd.log_shares(W.L, p, p)
    for j in range(W.L):
        p[j] *= c
