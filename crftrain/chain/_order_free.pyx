"""Sums that come out the same in any order, and so on any number of threads and shards.

    R_u(x) = (x + 1.5 2^52 u) - 1.5 2^52 u        x to the nearest multiple of u, a power of two, for |x| <= 2^51 u

Multiples of u are added without rounding as long as no partial sum passes 2^53 u. What is scattered into a gradient is rounded so
before it is added; with B the largest sum of |values| that an attribute has in the corpus, or its tokens, and l2 |w| <= B/n,

    residuals     |q| <= 1, so that u = 2^ceil(log2(B/n)) / 2^51 will do: a weight whose attribute occurs c times is wrong by
                  at most c u / 2, about u sqrt(c / 12), and by u / 2 for l2 w
    tangents      have no such bound: u is taken from the largest of the product before; where it was too small, or far too
                  large, the product is done again                                                             (Problem.multiply)

B, the largest tangent and |w| are maxima and sums of whole numbers, which know no order either. Losses are kept sequence by
sequence and |w|^2 piece by piece, and added up in that order.

Reference: Demmel, Nguyen, "Fast reproducible floating-point summation", 2013 (pre-rounding); gradient boosting on GPUs does the same.
"""

from libc.math cimport fabs, frexp, isfinite, ldexp
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from .._kernels cimport simd

from ..text.rare import occurrences

FINE = 1024                     # values are rounded up to parts of 1 / FINE before they are counted


def largest_sum(corpus, power=1):
    """B: residuals times values of one weight add up to less, whatever the order; or times powers of the values."""
    kinds = [observations for observations in (corpus.nodes, corpus.pairs) if observations is not None]
    return float(max([value_sums(observations, 0, power).max(initial=corpus.n_tokens) for observations in kinds]))


def value_sums(observations, n, power=1):
    """float64[n]: what that is for each attribute, exactly, so that parts of a corpus may be added."""
    if observations.value is None:
        return occurrences(observations, n).astype(np.float64)
    return np.bincount(observations.attr, np.ceil(np.abs(observations.value) ** power * FINE), minlength=n) / FINE


def limit(double bound):
    """The least power of two that is no less: of what is rounded, so that its unit is limit / 2^51."""
    cdef int exponent = 0
    if bound == 0 or not isfinite(bound):
        return 0.0
    return ldexp(1.0, exponent - 1 if frexp(bound, &exponent) == 0.5 else exponent)


cdef double magic_of(double limit) noexcept nogil:
    """1.5 2^52 u; 0 is no rounding."""
    return 3.0 * limit


cdef double round_scaled(const double[::1] w, double c, double magic, double[::1] out, int64_t first, int64_t last) noexcept nogil:
    """out = R_u(c w) over first .. last - 1; the largest |c w|. 0 w is 0 also where w is infinite."""
    cdef int64_t p, whole = (last - first) // 8 * 8
    cdef double top, x
    if c == 0:
        memset(&out[0] + first, 0, (last - first) * sizeof(double))
        return 0
    top = simd.round_to(whole, c, magic, &w[first], &out[first]) if whole else 0
    for p in range(first + whole, last):
        x = c * w[p]
        top = max(top, fabs(x))
        out[p] = (x + magic) - magic
    return top


def rounded(const double[::1] w, double c, double limit, double[::1] out):
    """out = R(c w) for numbers up to `limit`; the largest |c w|."""
    return round_scaled(w, c, magic_of(limit), out, 0, w.shape[0])


def square_norm(const double[::1] w):
    """|w|^2."""
    return square(w)


cdef double square(const double[::1] w) noexcept nogil:
    """The sum of w_p^2, piece by piece."""
    cdef double total = 0
    cdef int64_t first = 0
    while first < w.shape[0]:
        total += square_of(w, first, min(first + PIECE, w.shape[0]))
        first += PIECE
    return total


cdef double square_of(const double[::1] w, int64_t first, int64_t last) noexcept nogil:
    """The sum of w_p^2 over first .. last - 1."""
    cdef int64_t p, whole = (last - first) // 8 * 8
    cdef double s = simd.dot(whole, &w[first], &w[first]) if whole else 0
    for p in range(first + whole, last):
        s += w[p] * w[p]
    return s
