"""Marginals of a lattice after forward and backward."""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t

from .._kernels cimport Lattice


cdef inline void keep_marginals(const Lattice* X, int64_t T, double* p) noexcept nogil:
    """The rows of q; in the log domain each over its own sum, since rounding leaves less of log Z the larger scores are."""
    cdef int64_t t, j
    for t in range(T):
        if X.scaled:
            for j in range(X.L):
                p[t * X.L + j] = X.q[t * X.LP + j]
        else:
            share(X.L, X.a + t * X.LP, X.b + t * X.LP, p + t * X.L)


cdef inline void share(int64_t n, const double* a, const double* b, double* p) noexcept nogil:
    """p_j = exp(a_j + b_j) / sum_k exp(a_k + b_k), whatever the sizes."""
    cdef int64_t j
    cdef double top = -INFINITY, total = 0
    for j in range(n):
        top = max(top, a[j] + b[j])
    for j in range(n):
        p[j] = exp(a[j] + b[j] - top)
        total += p[j]
    for j in range(n):
        p[j] /= total
