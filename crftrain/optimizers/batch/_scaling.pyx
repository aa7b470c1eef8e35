"""The step of iterative scaling for each weight; see gis.py."""

from libc.math cimport exp, expm1, fabs, log, log1p
from libc.stdint cimport int64_t

cdef int64_t NEWTON = 100
cdef double EXACT = 1e-15


cdef double exact_step(double slope, double E, double S, double c) noexcept nogil:
    """d with  h(d) = slope + E expm1(S d) + c d = 0;  slope = E - Etilde + c w, c > 0.

    h is convex: from where it is not negative Newton's steps fall to the root, from a lower bound of |d| they rise to it.
    """
    cdef double d, change
    cdef int64_t _
    if E == 0:
        return -slope / c
    if slope < 0:       # both terms alone bound d from above
        d = min(-slope / c, log1p(-slope / E) / S)
    else:
        d = min(0.0, (E - slope) / c)
    for _ in range(NEWTON):
        change = (slope + E * expm1(S * d) + c * d) / (S * E * exp(S * d) + c)
        d -= change
        if not fabs(change) > EXACT * fabs(d):
            break
    return d


def exact(const double[::1] g, const double[::1] w, const double[::1] empirical, double n, double l2, double S, double[::1] out):
    """Etilde = E exp(S d) + n l2 (w + d)."""
    cdef int64_t p
    with nogil:
        for p in range(g.shape[0]):
            out[p] = exact_step(n * g[p], expectation(g[p], w[p], empirical[p], n, l2), S, n * l2)


def paper(const double[::1] g, const double[::1] w, const double[::1] empirical, double n, double l2, double S, double[::1] out):
    """d = 1/S log(Etilde / (E + n l2 w)); the exact step where that is no number."""
    cdef int64_t p
    cdef double E
    with nogil:
        for p in range(g.shape[0]):
            E = expectation(g[p], w[p], empirical[p], n, l2)
            if empirical[p] > 0 and E + n * l2 * w[p] > 0:
                out[p] = log(empirical[p] / (E + n * l2 * w[p])) / S
            else:
                out[p] = exact_step(n * g[p], E, S, n * l2)


cdef inline double expectation(double g, double w, double empirical, double n, double l2) noexcept nogil:
    """E from the gradient g = (E - Etilde) / n + l2 w."""
    return max(0.0, n * (g - l2 * w) + empirical)
