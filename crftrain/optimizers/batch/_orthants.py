"""Newton's method under l1: conjugate gradients on the weights that may move, then a search that stays in the orthant.

    f(w) = smooth(w) + l1 |w|_1,    g the gradient of the smooth part, pg the subgradient of least norm

    1. the working set: weights that are not zero, and those at zero with |g| > l1. The rest stays where it is    (pg is 0 there)
    2. s ~ the minimum of  pg's + s'Hs/2  over the working set within the trust radius, by conjugate gradients     (_trust)
    3. w' = w + a s, zero where it leaves the orthant of w (of -pg where w is 0); a from 1 down until
       f(w') <= f(w) + C1 pg.(w' - w); where the decrease drowns in rounding, slopes decide                          (_orthant)
    4. the radius: shorter with a, or where the model promised too much, longer where a step at the radius kept its promise

Every step looks at all weights' gradient, so that no weight is left out for more than a step. How many products, of which sequences,
and when they are preconditioned is newton-cg's.

References: Andrew and Gao 2007, section 3 (orthants); Byrd, Chin, Nocedal, Oztoprak, "A family of second-order methods for convex
l1-regularized optimization", 2016.
"""

import math

import numpy as np

from ...chain._measures import max_norm, subgradient
from ._compiled import align, project, slope_beyond
from ._linesearch import C1, drowned, flat_enough
from ._trust import FIRST, GOOD, POOR, TRIALS


class Orthants:
    """The outer loop over w, where the smooth part is `value` and its gradient g; after evaluate(w, g) products are those at w."""

    def __init__(self, objective, evaluate, subproblem, w, g, value):
        self.objective, self.evaluate, self.subproblem, self.w, self.g = objective, evaluate, subproblem, w, g
        self.pg, self.point, self.beyond = (np.empty_like(w) for _ in range(3))
        self.free, self.radius = np.empty(len(w), bool), math.inf
        self.f = value + objective.l1 * float(np.abs(w).sum())
        self._look()

    def _look(self):
        subgradient(self.w, self.g, self.objective.l1, self.pg)
        np.logical_or(self.w, self.pg, out=self.free)

    @property
    def gap(self):
        return max_norm(self.pg)

    def step(self, enough):
        """Steps 1) to 4); the Promise, or None where no step lowers f any more."""
        inner = self.subproblem
        inner.begin(self.pg)
        promise = inner.run(self.radius, enough)
        if promise.bound and not promise.decrease > 0:  # flat, and no radius yet
            self.radius = FIRST
            promise = inner.run(self.radius, enough)
        return promise if promise.decrease > 0 and self._search(inner.s, promise) else None

    def _search(self, s, promise):
        w, pg, l1, before, a = self.w, self.pg, self.objective.l1, self.f, 1.0
        if not align(w, s, pg, False) < 0 and not align(w, s, pg, True) < 0:
            return False
        for _ in range(TRIALS):
            norm, slope = project(w, a, s, pg, self.point)
            f = self.evaluate(self.point, self.beyond) + l1 * norm
            if self._accepts(f, slope):
                break
            a *= min(max(-slope / (2 * (f - before - slope)), 0.1), 0.5) if math.isfinite(f) else 0.1
        else:
            return False
        self.w[:], self.f = self.point, f
        self.g, self.beyond = self.beyond, self.g
        self._look()
        if a < 1:
            self.radius = a * promise.norm
        elif before - f < POOR * promise.decrease:
            self.radius = promise.norm / 2
        elif promise.bound and before - f > GOOD * promise.decrease:
            self.radius *= 2
        return True

    def _accepts(self, f, slope):
        if drowned(f, self.f):
            return flat_enough(f, self.f, slope_beyond(self.w, self.point, self.beyond, self.objective.l1), slope)
        return f <= self.f + C1 * slope
