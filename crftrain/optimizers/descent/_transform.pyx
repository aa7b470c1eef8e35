"""Functions that gradients go through: odd, monotone near 0, and much steeper there than at 1.

    reciprocal    x / (x^2 + epsilon)       slope 1/epsilon at 0; it falls again beyond sqrt(epsilon)
    arctan        arctan(x / sqrt(epsilon))       1/sqrt(epsilon)
    erf           erf(sqrt(pi) x / 2 epsilon)     1/epsilon
    gd            2 arctan(tanh(x / 2 epsilon))   1/epsilon       the Gudermannian function of x/epsilon

The last three cost some tens of additions a number, so there are tables over [0, 1], where the gradient of an indicator that fires
once lies: linear interpolation between as many entries as keep it within ERROR of the function, eight numbers at a time. Where one
of the eight is beyond 1 the function itself is asked, and where all are so near 0 that a straight line is within ERROR, that line.
"""

from libc.math cimport NAN, atan, erf, tanh
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import math

import numpy as np

from ..._kernels cimport simd

ERROR, FEWEST, MOST = 1e-5, 1024, 1 << 18


cdef class Transform:
    """With epsilon and, unless that takes too many entries, a table."""

    def __init__(self, epsilon, *, table=True):
        self.scale = self.scale_for(epsilon)
        self.slope = self.slope_for(epsilon)
        if table:
            self.tabulate()

    def tabulate(self):
        entries = FEWEST
        while entries <= MOST:
            values = self.values(np.arange(entries + 1) / entries)
            middles = self.values((np.arange(entries) + 0.5) / entries)
            steps = np.append(np.diff(values), 0.0)
            if np.abs(middles - (values + steps / 2)[:entries]).max() <= ERROR:
                self.pairs = np.column_stack([values, steps]).ravel()
                x = np.geomspace(1e-6, 1, 1000)
                wrong = np.abs(self.values(x) - self.slope * x) > ERROR
                self.table.pairs, self.table.entries, self.table.slope = &self.pairs[0], entries, self.slope
                self.table.straight = x[max(0, wrong.argmax() - 1)] if wrong.any() else 1.0
                return
            entries *= 2

    def values(self, x):
        """Of an array."""
        return np.array([self.exact(number) for number in np.ravel(x)])

    def applied(self, x, c=1.0):
        """c f(x) for a vector, as a step has it."""
        cdef double[::1] out = np.array(x, dtype=float)
        self.apply(out.shape[0], c, &out[0])
        return np.asarray(out)

    cdef double exact(self, double x) noexcept nogil:
        return NAN

    cdef void apply(self, int64_t n, double c, double* g) noexcept nogil:
        """g <- c f(g)."""
        cdef double rest[8]
        cdef int64_t whole = n & ~7
        self.apply_to_eights(whole, c, g)
        if whole < n:
            memset(rest, 0, sizeof(rest))
            memcpy(rest, g + whole, (n - whole) * sizeof(double))
            self.apply_to_eights(8, c, rest)
            memcpy(g + whole, rest, (n - whole) * sizeof(double))

    cdef void apply_to_eights(self, int64_t n, double c, double* g) noexcept nogil:
        cdef int64_t at = 0, k
        while at < n:
            if self.table.pairs != NULL:
                at += simd.look_up(n - at, c, &self.table, g + at)
            for k in range(at, min(at + 8, n)):
                g[k] = c * self.exact(g[k])
            at += 8


cdef class Identity(Transform):
    """f(x) = x, for which natural gradient descent is stochastic gradient descent."""

    def scale_for(self, epsilon):
        return 1.0

    slope_for = scale_for

    cdef double exact(self, double x) noexcept nogil:
        return x


cdef class Reciprocal(Transform):
    def scale_for(self, epsilon):
        return epsilon

    def slope_for(self, epsilon):
        return 1 / epsilon

    cdef double exact(self, double x) noexcept nogil:
        return x / (x * x + self.scale)


cdef class Arctan(Transform):
    def scale_for(self, epsilon):
        return 1 / math.sqrt(epsilon)

    slope_for = scale_for

    cdef double exact(self, double x) noexcept nogil:
        return atan(self.scale * x)


cdef class Erf(Transform):
    def scale_for(self, epsilon):
        return math.sqrt(math.pi) / (2 * epsilon)

    def slope_for(self, epsilon):
        return 1 / epsilon

    cdef double exact(self, double x) noexcept nogil:
        return erf(self.scale * x)


cdef class Gudermann(Transform):
    def scale_for(self, epsilon):
        return 1 / epsilon

    slope_for = scale_for

    cdef double exact(self, double x) noexcept nogil:
        return 2 * atan(tanh(0.5 * self.scale * x))
