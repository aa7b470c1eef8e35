"""The weights of AdaGrad; see adagrad.py.

A step on weight j, g its gradient, s the root of the sum of the squares of its gradients, this one included:

    alpha = eta / (delta + s),    w <- S(w - alpha g, alpha l1) / (1 + alpha l2),    S the soft threshold

Asleep g is 0 and alpha stays. A step then maps |w| to r |w| - c, with r = 1 / (1 + alpha l2) and c = r alpha l1, and stops at 0.
The m steps of a block that slept are the m-th power of that map, by squaring: for all labels at once, since they slept alike.
As a formula it is  r^m (|w| + l1/l2) - l1/l2,  which the power also is where l2 is 0 or small.
"""

from libc.stdint cimport int64_t

from ..weights._compiled cimport DescentWeights
from ..._kernels cimport simd


cdef class AdaGradWeights(SleepingWeights):
    """s is in the place of LazyWeights' d."""

    cdef double delta, l1

    def __init__(self, layout, w, *, delta, l2, l1):
        SleepingWeights.__init__(self, layout, w, l2=l2)
        self.delta, self.l1 = delta, l1

    cdef void sleep(self, int64_t block, int64_t m, int64_t n, double* v, double* d) noexcept nogil:
        simd.adagrad_sleep(n, m, self.eta, self.delta, self.l2, self.l1, v, d)

    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        simd.adagrad_step(n, self.eta, self.delta, self.l2, self.l1, v, d, g)

    def state(self):
        return {**DescentWeights.state(self), "roots": self.d_in_vector()}

    def restore(self, state):
        DescentWeights.restore(self, state)
        self.set_d(state["roots"])
