"""The steps of stochastic variance-reduced gradient; see svrg.py."""

from libc.math cimport isnan
from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport loss_and_residual
from ...chain._blocks cimport Scorer
from ..loop._compiled cimport scale_residual

cdef int START = 0, ANCHOR = 1


cdef class SvrgSteps(SampledSteps):
    """w <- (1 - alpha l2) w - alpha (omega (g_u(w) - g_u(anchor)) + d/n), d the sum of all gradients at the anchor."""

    cdef Scorer anchor
    cdef object anchor_w

    def __init__(self, *args, **options):
        SampledSteps.__init__(self, *args, **options)
        self.anchor, self.anchor_w = Scorer(self.lazy.layout), np.empty(self.lazy.layout.n_features)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.sampler.draw(), T = self.length(u)
        cdef bint pairs = self.s.pairs.ptr != NULL
        cdef double omega = 1 / (self.n_units * self.sampler.probability(u)), f = self.evaluate(u), alpha
        if isnan(f) or not self.learn_constant(u, f, False) or not self.subtract_anchor(u):
            return -1
        self.losses[u] = f
        alpha = self.pace * self.sampler.svrg_step_size()
        self.lazy.step(alpha, self.l2, self.n_units)
        scale_residual(self.X, T, pairs, -alpha / self.lazy.beta * omega)
        self.lazy.add_to_v(self.s, self.first(u), T, self.X)
        return u

    cdef bint subtract_anchor(self, int64_t u) noexcept nogil:
        """X -= the same at the anchor, sequence by sequence."""
        cdef int64_t i, k, t, size = self.X.places
        cdef double c = self.scale
        for i in range(self.units[u], self.units[u + 1]):
            if isnan(loss_and_residual(&self.anchor.W, self.s, i, self.Y)):
                return False
            self.runs += 1
            t = self.s.seq[i] - self.first(u)
            for k in range((self.s.seq[i + 1] - self.s.seq[i]) * self.X.LP):
                self.X.q[t * self.X.LP + k] -= c * self.Y.q[k]
            for k in range(size):
                self.X.edge[k] -= c * self.Y.edge[k] * self.lazy.exists[k]
            if self.s.pairs.ptr != NULL:
                for k in range(size, (self.s.seq[i + 1] - self.s.seq[i]) * size):
                    self.X.P[t * size + k] -= c * self.Y.P[k]
        return True

    def start_pass(self):
        """SAG's first pass without a table: each unit once, in the given order; d is the sum of their gradients so far."""
        self.each(START, self.order.shape[0])

    def take_anchor(self):
        """w as it is becomes the anchor: a full pass for d and the exact losses; returns the exact gap.

        The first one finds the constants of units, one after the other; those after it are the objective's, in threads.
        """
        self.lazy.settle_and_measure(0, 0)
        if self.sampler.seen < self.n_units:
            self.lazy.clear_d()
            self.each(ANCHOR, self.n_units)
        else:
            self.sum_in_threads()
        gap = self.settle()
        self.set_anchor()
        return gap

    def sum_in_threads(self):
        """d = units times the mean gradient; losses; of entropies, L(w) - w.g, their mean for each: nothing else is asked of them."""
        w, g = np.asarray(self.lazy.w), np.empty(self.lazy.layout.n_features)
        self.problem.value_and_gradient(w, g)
        g -= self.l2 * w
        np.multiply(self.scale, np.add.reduceat(self.problem.last_losses, self.units[: self.n_units]), out=np.asarray(self.losses))
        np.asarray(self.entropies)[:] = np.mean(self.losses) - w @ g
        g *= self.n_units
        self.lazy.set_d(g)

    cdef int64_t visit(self, int what, int64_t k) noexcept nogil:
        """Add a unit's gradient to d; at the start w takes a step of SAG at once."""
        cdef int64_t u = self.order[k] if what == START else k
        cdef double f = self.evaluate(u)
        cdef bint first = self.sampler.visit(u)
        if isnan(f):
            return -1 - u
        if what == ANCHOR:
            self.losses[u], self.entropies[u] = f, self.entropy(u, f)
        if (first or what == START) and not self.learn_constant(u, f, True):
            return -1 - u
        self.lazy.add_to_d(self.s, self.units[u], self.units[u + 1], self.X)
        if what == START:
            self.lazy.step(self.pace * self.sampler.step_size(), self.l2, self.sampler.seen)
        return u

    def set_anchor(self):
        self.anchor_w[:] = self.lazy.w
        self.anchor.use(self.anchor_w)
