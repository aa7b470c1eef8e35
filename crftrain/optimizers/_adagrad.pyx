"""The weights and the steps of AdaGrad; see adagrad.py.

A step on weight j, g its gradient, G the sum of the squares of its gradients, this one included:

    alpha = eta / (delta + sqrt G),    w <- S(w - alpha g, alpha l1) / (1 + alpha l2),    S the soft threshold

Asleep g is 0 and alpha stays. A step then maps |w| to r |w| - c, with r = 1 / (1 + alpha l2) and c = r alpha l1, and stops at 0.
The m steps of a block that slept are the m-th power of that map, by squaring: for all labels at once, since they slept alike.
As a formula it is  r^m (|w| + l1/l2) - l1/l2,  which the power also is where l2 is 0 or small.
"""

from libc.math cimport copysign, fabs, sqrt
from libc.stdint cimport int64_t

import numpy as np

from .._descent cimport DescentWeights
from ._sleeping cimport SleepingWeights


cdef class AdaGradWeights(SleepingWeights):
    """G is in the place of LazyWeights' d."""

    cdef double delta, l1
    cdef double[::1] r, c, power, constant  # [the longest block]

    def __init__(self, layout, w, *, delta, l2, l1):
        SleepingWeights.__init__(self, layout, w, l2=l2)
        self.delta, self.l1 = delta, l1
        longest = self.W.L * self.W.LP
        self.r, self.c, self.power, self.constant = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)

    cdef void sleep(self, int64_t block, int64_t m, int64_t n, double* v, double* d) noexcept nogil:
        cdef int64_t j
        cdef double alpha, x
        cdef double* r = &self.r[0]
        cdef double* c = &self.c[0]
        cdef double* power = &self.power[0]
        cdef double* constant = &self.constant[0]
        for j in range(n):
            alpha = self.eta / (self.delta + sqrt(d[j]))
            r[j] = 1 / (1 + alpha * self.l2)
            c[j] = r[j] * alpha * self.l1
            power[j], constant[j] = 1, 0
        while True:                             # |v| -> power |v| - constant:  m & 1 times (r, c), which are then squared
            if m & 1:
                for j in range(n):
                    power[j] *= r[j]
                    constant[j] = r[j] * constant[j] + c[j]
            m >>= 1
            if m == 0:
                break
            for j in range(n):
                c[j] += r[j] * c[j]
                r[j] *= r[j]
        for j in range(n):
            x = power[j] * fabs(v[j]) - constant[j]
            v[j] = copysign(0.0 if x <= 0 else x, v[j])

    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        """A step on a block that is up to date."""
        cdef int64_t j
        cdef double alpha, x, y
        for j in range(n):
            d[j] += g[j] * g[j]
            alpha = self.eta / (self.delta + sqrt(d[j]))
            x = v[j] - alpha * g[j]
            y = fabs(x) - alpha * self.l1
            v[j] = copysign((0.0 if y <= 0 else y) / (1 + alpha * self.l2), x)

    def state(self):
        return {**DescentWeights.state(self), "squares": self.d_in_vector()}

    def restore(self, state):
        DescentWeights.restore(self, state)
        self.set_d(state["squares"])
