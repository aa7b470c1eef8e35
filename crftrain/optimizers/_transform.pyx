"""Functions that gradients go through: odd, monotone near 0, and much steeper there than at 1.

    reciprocal    x / (x^2 + epsilon)       slope 1/epsilon at 0; it falls again beyond sqrt(epsilon)
    arctan        arctan(x / sqrt(epsilon))       1/sqrt(epsilon)
    erf           erf(sqrt(pi) x / 2 epsilon)     1/epsilon
    gd            2 arctan(tanh(x / 2 epsilon))   1/epsilon       the Gudermannian function of x/epsilon

The first three cost some tens of additions a number, so there are tables over [0, 1], where the gradient of an indicator that fires
once lies: linear interpolation between as many entries as keep it within ERROR of the function. Beyond 1 the function itself
is asked, and where eight numbers in a row are so near 0 that a straight line is within ERROR, that line.
"""

from libc.math cimport NAN, atan, copysign, erf, fabs, tanh
from libc.stdint cimport int64_t

import math

import numpy as np

from .._kernels cimport simd

ERROR, FEWEST, MOST = 1e-5, 1024, 1 << 18


cdef inline double interpolated(const double* table, double entries, double x) noexcept nogil:
    """The table's value for |x| < 1."""
    cdef double place = fabs(x) * entries
    cdef int64_t i = <int64_t> place
    return copysign(table[2 * i] + (place - i) * table[2 * i + 1], x)


cdef class Transform:
    """With epsilon and, unless that takes too many entries, a table."""

    def __init__(self, epsilon, *, table=True):
        self.scale = self.scale_for(epsilon)
        self.slope = self.slope_for(epsilon)
        self.table = np.empty(0)
        if table:
            self.tabulate()

    def tabulate(self):
        entries = FEWEST
        while entries <= MOST:
            values = self.values(np.arange(entries + 1) / entries)
            middles = self.values((np.arange(entries) + 0.5) / entries)
            steps = np.append(np.diff(values), 0.0)
            if np.abs(middles - (values + steps / 2)[:entries]).max() <= ERROR:
                self.table = np.column_stack([values, steps]).ravel()
                self.entries = entries
                x = np.geomspace(1e-6, 1, 1000)
                wrong = np.abs(self.values(x) - self.slope * x) > ERROR
                self.straight = x[max(0, wrong.argmax() - 1)] if wrong.any() else 1.0
                return
            entries *= 2

    def values(self, x, *, table=False):
        """Of an array, by the function or as training has them."""
        cdef double[::1] out = np.array(x, dtype=float).ravel()
        cdef int64_t k
        for k in range(out.shape[0]):
            out[k] = self.look_up(out[k]) if table and self.table.shape[0] else self.exact(out[k])
        return np.asarray(out)

    def applied(self, x, c=1.0):
        """c f(x) for a vector, as a step has it."""
        cdef double[::1] out = np.array(x, dtype=float)
        self.apply(out.shape[0], c, &out[0])
        return np.asarray(out)

    cdef double exact(self, double x) noexcept nogil:
        return NAN

    cdef double look_up(self, double x) noexcept nogil:
        return interpolated(&self.table[0], self.entries, x) if fabs(x) < 1 else self.exact(x)

    cdef void apply(self, int64_t n, double c, double* g) noexcept nogil:
        """g <- c f(g)."""
        cdef int64_t k, at
        cdef double limit = self.straight * self.straight, line = c * self.slope, square
        if self.table.shape[0] == 0:
            for k in range(n):
                g[k] = c * self.exact(g[k]) if g[k] != 0 else 0.0
            return
        for at in range(0, n - 7, 8):
            square = simd.dot(8, g + at, g + at)    # no less than the largest square
            if square <= limit:
                for k in range(at, at + 8):
                    g[k] *= line
            elif square < 1:
                for k in range(at, at + 8):
                    g[k] = c * interpolated(&self.table[0], self.entries, g[k])
            else:
                for k in range(at, at + 8):
                    g[k] = c * self.look_up(g[k])
        for k in range(n // 8 * 8, n):
            g[k] = line * g[k] if g[k] * g[k] <= limit else c * self.look_up(g[k])


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
