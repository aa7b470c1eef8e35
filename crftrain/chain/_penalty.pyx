"""The mathematics of the penalties, on plain vectors: g is the gradient of the smooth part at w, l2 term included."""

from libc.math cimport fabs
from libc.stdint cimport int64_t


def subgradient(const double[::1] w, const double[::1] g, double l1, double[::1] out):
    """The subgradient of least norm; zero if and only if w is optimal.

    out = g + l1 sign(w) where w is not 0, else g moved towards 0 by l1.
    """
    cdef int64_t p
    with nogil:
        for p in range(w.shape[0]):
            if w[p] != 0:
                out[p] = g[p] + (l1 if w[p] > 0 else -l1)
            else:
                out[p] = g[p] - l1 if g[p] > l1 else g[p] + l1 if g[p] < -l1 else 0.0


def max_norm(const double[::1] g):
    """max_p |g_p|; NaN if one of them is."""
    cdef double top = 0
    cdef int64_t p
    with nogil:
        for p in range(g.shape[0]):
            if not fabs(g[p]) <= top:
                top = fabs(g[p])
                if top != top:
                    break
    return top


def gap(w, g, l1):
    """The largest entry of the subgradient of least norm."""
    if not l1:
        return max_norm(g)
    least = np.empty_like(g)
    subgradient(w, g, l1, least)
    return max_norm(least)


def bound(g, l2, l1):
    """|gradient|_2^2 / (2 l2) >= f - f*; None where it does not hold."""
    return float(g @ g) / (2 * l2) if l2 > 0 and l1 == 0 else None
