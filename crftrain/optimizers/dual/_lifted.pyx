"""Forward and backward where the score of the gold pair (y_{t-1}, y_t) is `lift` higher at position t than at others.

One matrix M = exp(trans - shift) serves all positions: its gold entry is multiplied by exp(lift) while position t is done.
What is summed over positions with the plain M lacks (exp(lift) - 1) times the gold pairs' share, which is added at the end.
"""

from libc.math cimport NAN, exp, fabs, isfinite, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..._kernels cimport Lattice, Weights, simd

cdef double TAME = 200.0        # scores that spread wider need another way, as in _kernels
cdef double LIFT = 100.0        # and so do gold pairs that stand out further


cdef double lifted_oracle(Weights* W, const int32_t* y, int64_t T, double lift, Lattice* X, double* gold) noexcept nogil:
    """log Z from X.psi and W; X.q, X.edge: the marginals; gold: the sum of those of gold pairs. NaN: scores spread too wide."""
    cdef int64_t t, k, L = W.L, LP = W.LP
    cdef double up = exp(lift), z = 0, p, held, log_z
    if not (simd.exp_rows(T, L, LP, X.psi, X.x, X.top) <= TAME and W.tame and fabs(lift) <= LIFT):
        return NAN
    for k in range(L):
        z += X.x[k]
    for k in range(LP):
        X.a[k] = X.x[k] / z
    log_z = log(z) + X.top[0]
    for t in range(1, T):
        k = y[t - 1] * LP + y[t]
        held = W.M[k]
        W.M[k] = held * up
        X.z[t] = simd.forward(L, LP, X.a + (t - 1) * LP, W.M, X.x + t * LP, X.a + t * LP)
        W.M[k] = held
        log_z += log(X.z[t]) + X.top[t] + W.shift
    if not isfinite(log_z):
        return NAN
    for k in range(LP):
        X.b[(T - 1) * LP + k] = k < L
        X.q[(T - 1) * LP + k] = X.a[(T - 1) * LP + k]
    for t in range(T - 1, 0, -1):
        k = y[t] * LP + y[t - 1]
        held = W.MT[k]
        W.MT[k] = held * up
        simd.backward(L, LP, X.x + t * LP, X.b + t * LP, 1.0 / X.z[t], W.MT, X.a + (t - 1) * LP,
                      X.v + t * LP, X.b + (t - 1) * LP, X.q + (t - 1) * LP)
        W.MT[k] = held
    memset(X.edge, 0, L * LP * sizeof(double))
    simd.outer(T - 1, L, LP, X.a, X.v + LP, X.edge)
    for k in range(L * LP):
        X.edge[k] *= W.M[k]
    gold[0] = 0
    for t in range(1, T):
        k = y[t - 1] * LP + y[t]
        p = X.a[(t - 1) * LP + y[t - 1]] * W.M[k] * X.v[t * LP + y[t]]
        X.edge[k] += (up - 1) * p
        gold[0] += up * p
    return log_z
