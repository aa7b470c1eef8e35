"""The weights and the steps of stochastic meta-descent; see smd.py.

Beside w a weight has its gain p, kept in a view of its own, and u, how w depends on the logarithm of p, in the place of
LazyWeights' d. A step, g the gradient of the unit's loss, h its Hessian's product with u, a = eta p, r = 1 / (1 + a l2):

    p <- p max(1/2, 1 - mu (g + l2 w) u)
    u <- r (decay u - a (g + decay h) - a l2 w)
    w <- r (w - a g)

Asleep g and h are 0 and p stays. The m steps of a block that slept are, with D = decay^m and S = 1 + decay + .. + decay^(m-1),

    u <- r^m (D u - a l2 S w),   w <- r^m w

Places of dense rows without a weight have p = 0, so that w and u stay 0 there.
"""

from libc.math cimport exp, expm1, log1p
from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from ..weights._compiled cimport DescentWeights
from ..._kernels cimport Lattice
from ...chain._blocks cimport BlockView, Gradient, aligned
from ...chain._tangent cimport Curvature, Workspace, multiply


cdef class SmdWeights(SleepingWeights):
    cdef BlockView gain
    cdef double[::1] gain_edge
    cdef Gradient product       # h of the unit at hand; 0 between two steps
    cdef double mu, decay

    def __init__(self, layout, w, *, mu, decay, l2):
        SleepingWeights.__init__(self, layout, w, l2=l2)
        self.mu, self.decay = mu, decay
        self.gain = BlockView(layout, padded=True)
        self.gain.point_to(np.zeros(layout.n_features))
        self.gain_edge = aligned(self.W.places)
        self.product = Gradient(layout)
        self.product.view = BlockView(layout, padded=True)
        self.product.use(np.zeros(layout.n_features))
        self.from_vector(np.ones(layout.n_features), self.gain, self.gain_edge)

    def start(self, const double[::1] w):
        """Begin at w, all gains alike."""
        SleepingWeights.start(self, w)
        self.from_vector(np.ones(self.w.shape[0]), self.gain, self.gain_edge)

    cdef void sleep(self, int64_t block, int64_t m, int64_t n, double* v, double* d) noexcept nogil:
        cdef const double* p = self.beside(self.gain, self.gain_edge, block, v)
        cdef double logarithm = log1p(self.decay - 1), a, power
        cdef double D = exp(m * logarithm), S = m if self.decay == 1 else -expm1(m * logarithm) / (1 - self.decay)
        cdef int64_t j
        for j in range(n):
            a = self.eta * p[j]
            power = exp(-m * log1p(a * self.l2))
            d[j] = power * (D * d[j] - a * self.l2 * S * v[j])
            v[j] *= power

    cdef void step_block(self, int64_t block, int64_t n, double* v, double* d, const double* g) noexcept nogil:
        cdef double* p = self.beside(self.gain, self.gain_edge, block, v)
        cdef double* h = self.beside(self.product.view, self.product.edge, block, v)
        cdef double a, r, change
        cdef int64_t j
        for j in range(n):
            change = 1 - self.mu * (g[j] + self.l2 * v[j]) * d[j]
            p[j] *= 0.5 if change < 0.5 else change
            a = self.eta * p[j]
            r = 1 / (1 + a * self.l2)
            d[j] = r * (self.decay * d[j] - a * (g[j] + self.decay * h[j] + self.l2 * v[j]))
            v[j] = r * (v[j] - a * g[j])
        memset(h, 0, n * sizeof(double))

    def state(self):
        gains = self.in_vector(self.gain, self.gain_edge)
        return {**DescentWeights.state(self), "dependence": self.d_in_vector(), "gains": gains}

    def restore(self, state):
        DescentWeights.restore(self, state)
        self.set_d(state["dependence"])
        self.from_vector(state["gains"], self.gain, self.gain_edge)


cdef class SmdSteps(SleepingSteps):
    cdef SmdWeights smd
    cdef Curvature curvature
    cdef Workspace space

    def __init__(self, problem, w, *, weights, batch=1):
        SleepingSteps.__init__(self, problem, w, weights=weights, batch=batch)
        self.smd = weights
        self.curvature, self.space = problem.curvature(keep=0), Workspace(problem.layout)
        self.curvature.measure(0)   # nothing is rounded

    cdef bint take(self, int64_t u, double eta) noexcept nogil:
        return self.turn_along(u) and SleepingSteps.take(self, u, eta)

    cdef bint turn_along(self, int64_t u) noexcept nogil:
        """h = H u for the unit that was evaluated last. False: failure."""
        cdef int64_t i, k
        cdef Lattice* dX
        self.curvature.W = self.lazy.W
        self.curvature.direction.V.nodes, self.curvature.direction.V.pairs = self.smd.d.nodes, self.smd.d.pairs
        for k in range(self.X.places):
            self.curvature.direction.V.trans[k] = self.smd.d_edge[k]
        multiply(&self.lazy.W, &self.curvature.direction.V)
        self.space.expected[:] = 0
        for i in range(self.units[u], self.units[u + 1]):
            dX = self.curvature.tangents(self.s, i, self.scale, self.space)
            if dX == NULL:
                return False
            self.smd.product.add(self.s, i, dX)
            self.runs += 1
        for k in range(self.X.places):
            self.smd.product.edge[k] += self.curvature.direction.V.trans[k] * self.scale * self.space.expected[k]
        return True
