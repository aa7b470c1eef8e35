"""Steps that stay in an orthant: OWL-QN's loops over all weights. Without an l1 term there are no orthants to stay in."""

from libc.math cimport fabs
from libc.stdint cimport int64_t


cdef inline bint same_side(double x, double y) noexcept nogil:
    return x > 0 and y > 0 or x < 0 and y < 0


def align(const double[::1] w, double[::1] p, const double[::1] pg, bint everywhere):
    """p_i = 0 where it does not point against pg_i, everywhere or only where w_i = 0; returns the slope pg.p."""
    cdef int64_t i
    cdef double slope = 0
    with nogil:
        for i in range(p.shape[0]):
            if (everywhere or w[i] == 0) and not same_side(p[i], -pg[i]):
                p[i] = 0
            slope += p[i] * pg[i]
    return slope


def project(const double[::1] w, double a, const double[::1] p, const double[::1] pg, double[::1] out):
    """out = w + a p, zero where it leaves the orthant xi = sign(w), at zero sign(-pg); returns (|out|_1, pg.(out - w))."""
    cdef int64_t i
    cdef double norm = 0, slope = 0, x
    with nogil:
        for i in range(w.shape[0]):
            x = w[i] + a * p[i]
            if not same_side(x, w[i] if w[i] != 0 else -pg[i]):
                x = 0
            norm += fabs(x)
            slope += pg[i] * (x - w[i])
            out[i] = x
    return norm, slope


def slope_beyond(const double[::1] w, const double[::1] point, const double[::1] gradient, double l1):
    """(gradient + l1 xi).(point - w): how f still changes at the point, along the way from w in the orthant of both."""
    cdef int64_t i
    cdef double slope = 0, side
    with nogil:
        for i in range(w.shape[0]):
            side = w[i] + point[i]
            slope += (gradient[i] + (l1 if side > 0 else -l1 if side < 0 else 0.0)) * (point[i] - w[i])
    return slope
