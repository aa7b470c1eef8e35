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
            out[p] = least(w[p], g[p], l1)


cdef inline double least(double w, double g, double l1) noexcept nogil:
    if w != 0:
        return g + (l1 if w > 0 else -l1)
    return g - l1 if g > l1 else g + l1 if g < -l1 else 0.0


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


def gap(const double[::1] w, const double[::1] g, double l1, double l2=0.0):
    """The largest entry of the subgradient of least norm; NaN if one of them is. l2: of a term that g lacks."""
    cdef double top = 0, slope
    cdef int64_t p
    with nogil:
        for p in range(g.shape[0]):
            slope = fabs(least(w[p], g[p] + l2 * w[p], l1))
            if not slope <= top:
                top = slope
                if top != top:
                    break
    return top


def beyond(const float[::1] a, const double[::1] b, shares, along, double l1):
    """Of v = x a + y b, (x, y) the shares: sum max(0, |v_j| - l1)^2, half its slope along (dx, dy), and half its curvature."""
    cdef double x = shares[0], y = shares[1], dx = along[0], dy = along[1], v, d, square = 0, slope = 0, curvature = 0
    cdef int64_t p
    with nogil:
        for p in range(a.shape[0]):
            v = x * a[p] + y * b[p]
            if fabs(v) > l1:
                d = dx * a[p] + dy * b[p]
                v = v - l1 if v > 0 else v + l1
                square += v * v
                slope += v * d
                curvature += d * d
    return square, slope, curvature


def bound(g, l2, l1):
    """|gradient|_2^2 / (2 l2) >= f - f*; None where it does not hold."""
    return float(g @ g) / (2 * l2) if l2 > 0 and l1 == 0 else None
