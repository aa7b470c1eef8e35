"""Forward and backward where the score of the gold pair (y_{t-1}, y_t) is `lift` higher at position t than at others.

One matrix M = exp(trans - shift) serves all positions: the gold entry of a position is exp(lift) times as large while that is done, and
then what it was. What is summed over positions with the plain M lacks (exp(lift) - 1) times the gold pairs' share, which is added at
the end. A list of arcs has M and S = M - base of its pairs, which change alike.
"""

from libc.math cimport exp, fabs, isfinite, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..._kernels cimport (
    Lattice,
    Weights,
    at_the_end,
    log_ahead,
    log_at_the_end,
    log_back,
    place,
    simd,
    step_ahead,
    step_back,
    sum_pairs,
)

cdef double TAME = 200.0        # node scores that spread wider need logarithms, since gold pairs stand out from M
cdef double LIFT = 100.0        # and so do gold pairs that stand out further


cdef struct Pair:               # a label pair and what is said of it where nothing is lifted
    int64_t ahead, back         # its places: in trans, M and S; in MT and ST
    double trans, M, S


cdef double lifted_oracle(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X, double* gold) noexcept nogil:
    """log Z from X.psi and W; X.q, X.edge: the marginals; gold: the sum of those of gold pairs, which must be arcs if there are any."""
    gold[0] = 0
    memset(X.edge, 0, X.places * sizeof(double))
    X.scaled = simd.exp_rows(T, W.L, W.LP, X.psi, X.x, X.top) <= TAME and W.tame and fabs(lift) <= LIFT
    X.log_z = ahead(W, y, T, lift, X) if X.scaled else log_forward(W, y, T, lift, X)
    if isfinite(X.log_z) and X.scaled:
        back(W, y, T, exp(lift), X, gold)
    elif isfinite(X.log_z):
        log_backward(W, y, T, lift, X, gold)
    return X.log_z


cdef Pair pair_of(const Weights* W, int32_t i, int32_t j) noexcept nogil:
    cdef Pair p
    p.ahead, p.back = place(W.arcs, W.LP, i, j), j * W.LP + i
    if W.arcs != NULL:
        p.back = W.arcs.into[j]
        while W.arcs.number[p.back] != p.ahead:
            p.back += 1
    p.trans, p.M, p.S = W.trans[p.ahead], W.M[p.ahead], W.S[p.ahead] if W.arcs != NULL else 0
    return p


cdef void set_pair(Weights* W, const Pair* p, double times) noexcept nogil:
    """M of the pair is so many times what it was."""
    W.M[p.ahead] = W.MT[p.back] = times * p.M
    if W.arcs != NULL:
        W.S[p.ahead] = W.ST[p.back] = times * p.M - (p.M - p.S)


cdef double ahead(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X) noexcept nogil:
    cdef int64_t t, k, LP = W.LP
    cdef double z = 0, up = exp(lift), log_z
    cdef Pair p
    for k in range(W.L):
        z += X.x[k]
    for k in range(LP):
        X.a[k] = X.x[k] / z
    log_z = log(z) + X.top[0]
    for t in range(1, T):
        p = pair_of(W, y[t - 1], y[t])
        set_pair(W, &p, up)
        X.z[t] = step_ahead(W, t, X)
        set_pair(W, &p, 1)
        log_z += log(X.z[t]) + X.top[t] + W.shift
    return log_z


cdef void back(Weights* W, const int32_t* y, int64_t T, double up, Lattice* X, double* gold) noexcept nogil:
    cdef int64_t t, LP = W.LP
    cdef double probability
    cdef Pair p
    at_the_end(T, X)
    for t in range(T - 1, 0, -1):
        p = pair_of(W, y[t - 1], y[t])
        set_pair(W, &p, up)
        step_back(W, t, X)
        set_pair(W, &p, 1)
    sum_pairs(W, T, X)
    for t in range(1, T):
        p = pair_of(W, y[t - 1], y[t])
        probability = X.a[(t - 1) * LP + y[t - 1]] * p.M * X.v[t * LP + y[t]]
        X.edge[p.ahead] += (up - 1) * probability
        gold[0] += up * probability


cdef double log_forward(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X) noexcept nogil:
    cdef int64_t t
    cdef Pair p
    for t in range(W.L):
        X.a[t] = X.psi[t]
    for t in range(1, T):
        p = pair_of(W, y[t - 1], y[t])
        W.trans[p.ahead] = p.trans + lift
        log_ahead(W, W.trans, t, X)
        W.trans[p.ahead] = p.trans
    return simd.log_sum(W.L, X.a + (T - 1) * W.LP)


cdef void log_backward(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X, double* gold) noexcept nogil:
    cdef int64_t t, LP = W.LP
    cdef Pair p
    log_at_the_end(T, X)
    for t in range(T - 1, 0, -1):
        p = pair_of(W, y[t - 1], y[t])
        W.trans[p.ahead] = p.trans + lift
        log_back(W, W.trans, t, X, NULL)
        W.trans[p.ahead] = p.trans
        gold[0] += exp(X.a[(t - 1) * LP + y[t - 1]] + p.trans + lift + X.psi[t * LP + y[t]] + X.b[t * LP + y[t]] - X.log_z)
