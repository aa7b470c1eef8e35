"""newton-cg under l1: the same products and samples, and steps that stay in an orthant (_orthants)."""

import math

import numpy as np

from ...chain.rounding import Rounding
from ..base import Step
from ._orthants import Orthants
from .newton_cg import LATE, NewtonCG, enough, weakly


class OrthantNewton(NewtonCG):
    def _start(self):
        g = np.empty_like(self.w)
        f = self._fill(self.w, g)
        self.region = Orthants(self.objective, weakly(self._enter), self.subproblem, self.w, g, f)

    def _first(self):
        self.ratio = 0.0 if self.w.any() else 1.0
        self._draw()
        self._start()
        return self._report() if self.w.any() else self.step()

    def step(self):
        if self.region is None:
            return self._first()
        if self.precondition and self.ratio < LATE and self.subproblem.inverse is None:
            self._precondition()
        promise = self.region.step(enough)
        done = "" if promise else "no step lowers the objective any more: rounding"
        return self._report(done=done, note=f"{promise.products} products" if promise else "")

    def _report(self, **said):
        at_zero = self.objective.gap_at_zero()
        self.ratio = self.region.gap / at_zero if at_zero else 0.0
        return Step(self.region.f, self.region.gap, **said)

    def _product(self, v, out):
        self.curvature.times(v, out)
        out *= self.region.free

    def gradient(self):
        return self.region.g

    def state(self):
        inverse = {} if self.subproblem.inverse is None else {"inverse": self.subproblem.inverse}
        radius = math.inf if self.region is None else self.region.radius
        radius = {"radius": np.array(radius)}
        return {"w": self.w, "sample": self.curvature.sampled, "ratio": np.array(self.ratio)} | radius | self._rounding() | inverse

    def restore(self, state):
        self.w[:] = state["w"]
        self.curvature.sample(state["sample"])
        self._start()
        self.ratio, self.region.radius = float(state["ratio"]), float(state["radius"])
        if "rounding" in state:
            self.curvature.rounding = Rounding.restored(state["rounding"])
        if "inverse" in state:
            self.subproblem.precondition(state["inverse"].copy())
