# Scores of a path, losses, the best path: part of _kernels.pyx.

from libc.math cimport NAN, isfinite


cdef double path_score(const Weights* W, const Tokens* s, int64_t i, const Lattice* X, const int32_t* y) noexcept nogil:
    """sum_t psi[t][y_t] + sum_{t>0} e[y_{t-1}][y_t]."""
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef double score = X.psi[y[0]]
    for t in range(1, T):
        score += X.psi[t * LP + y[t]]
        score += (W.trans if s.pairs.ptr == NULL else X.e + t * W.L * LP)[place(W.arcs, LP, y[t - 1], y[t])]
    return score


cdef void minus_gold(const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef const int32_t* y = s.label + s.seq[i]
    cdef int LP = X.LP
    for t in range(T):
        X.q[t * LP + y[t]] -= 1
        if t:
            X.edge[place(X.arcs, LP, y[t - 1], y[t])] -= 1
            if s.pairs.ptr != NULL:
                X.P[(t * X.L + y[t - 1]) * LP + y[t]] -= 1


cdef double round_residual(Lattice* X, int64_t T, bint pairs, double scale, double magic) noexcept nogil:
    """q, edge and P times scale, rounded as _order_free says; the largest of them before."""
    cdef int64_t size = X.L * X.LP
    cdef double top = max(simd.round_to(T * X.LP, scale, magic, X.q, X.q), simd.round_to(X.places, scale, magic, X.edge, X.edge))
    return max(top, simd.round_to((T - 1) * size, scale, magic, X.P + size, X.P + size)) if pairs else top


cdef double loss(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """-log p(y_i | x_i) = log Z - score of the gold path; NaN where there is no memory or no answer."""
    if not lattice_fit(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL):
        return NAN
    gather(W, s, i, X)
    return forward(W, s, i, X) - path_score(W, s, i, X, s.label + s.seq[i])


cdef double loss_and_residual(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """The loss; q, edge and P hold the marginals minus the gold labels: the loss' gradient in psi and e."""
    cdef double value = loss(W, s, i, X)
    if isfinite(value):
        backward(W, s, i, X)
        minus_gold(s, i, X)
    return value


cdef double viterbi(const Weights* W, const Tokens* s, int64_t i, Lattice* X, int32_t* y) noexcept nogil:
    """The best path and its score, after gather; ties go to the lower label. a holds the best scores up to t."""
    cdef int64_t t, j, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef double best
    close_ends(W, T, X)
    for j in range(W.L):
        X.a[j] = X.psi[j]
    if W.arcs != NULL:
        viterbi_arcs(W, T, X)
    for t in range(1, T if W.arcs == NULL else 1):
        simd.viterbi(W.L, LP, X.a + (t - 1) * LP, W.trans if s.pairs.ptr == NULL else X.e + t * W.L * LP, X.psi + t * LP,
                     X.a + t * LP, X.come_from + t * LP)
    y[T - 1] = 0
    best = X.a[(T - 1) * LP]
    for j in range(1, W.L):
        if X.a[(T - 1) * LP + j] > best:
            best, y[T - 1] = X.a[(T - 1) * LP + j], j
    for t in range(T - 1, 0, -1):
        y[t - 1] = X.come_from[t * LP + y[t]]
    return best
