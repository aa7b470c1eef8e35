"""What is proved of f(w) - f* while training, and when it is worth a pass to prove it.

An algorithm whose steps know value and gradient proves with each of them (certificate). One that has a lower bound of its own, from
the table of SAG, the anchor of SVRG or the dual, lacks only the value at w: its running estimate tells when a pass for that pays. What
has been measured over what had been estimated corrects the estimates from there on, and is learnt anew each time.

A measurement reads w and nothing else, so a run that is measured takes the same steps as one that is not. There are at most
MEASURED, or one for every tenth step. An estimate never stops a run.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..chain import certificate

DEFAULT = 1e-3  # of f(w): what is to be proved where --tol says nothing
LOOSE = 1e-3  # of one sequence: with less squared penalty than that no proof is tight
MEASURED, SHARE = 2, 0.1
ROOM = 0.75  # of the goal: the estimate at which the last measurement is taken that is not of every tenth step
ROUNDING = 1e-6  # of f(w): what a bound of the algorithm's own, in numbers of 4 bytes, may be off
FINE = 1e-5  # a goal below which the gradient has to prove


@dataclass(frozen=True)
class Goal:
    """Where training stops: distance, (f(w) - f*) / f(w) proved; or slope, the largest entry of the subgradient over that at w = 0."""

    distance: float | None = None
    slope: float | None = None

    @classmethod
    def of(cls, objective, tol, *, default_slope=None):
        """tol None: nothing was said, and default_slope is the algorithm's own; 0: never."""
        if tol == 0:
            return cls()
        if not (objective.l2 or objective.l1):
            return cls(slope=default_slope if tol is None else tol)
        if tol is not None:
            return cls(distance=tol)
        loose = objective.l2 * objective.n_sequences < LOOSE
        return cls(distance=DEFAULT, slope=default_slope if loose else None)


class Prover:
    """Looks at each step; `distance` is what is proved of the weights it left, None where nothing was measured."""

    key, keeps_best, best = "Prover", False, None  # a checkpoint keeps its counters as those of a monitor

    def __init__(self, objective, optimiser, goal):
        self.objective, self.optimiser, self.goal = objective, optimiser, goal
        self.provable = bool(objective.l2 or objective.l1)
        self.bound = 0.0
        self.ratio, self.slope_ratio = optimiser.hope, 1.0  # of what f lacks to its bound and of slopes, measured over estimated
        self.steps = self.measured = 0
        self.distance = self.slope = self.estimate = None
        self.first_slope = objective.gap_at_zero() if goal.slope else math.nan

    def look(self, step, w):
        """The step, exact where it was measured."""
        self.steps += 1
        self.distance = self.slope = None
        own = self.optimiser.lower_bound() if self.provable else -math.inf
        if own > 0 and math.isfinite(own):
            self.bound = max(self.bound, own if step.exact else own - ROUNDING * own)
        self.estimate = self._estimated(step, own)
        if step.exact:
            self._prove(step.objective, w, self.optimiser.gradient())
            self.slope = step.gap
        elif self._due(step):
            step = self._measure(step, w, own)
        return step

    @property
    def converged(self):
        goal = self.goal
        near = goal.distance is not None and self.distance is not None and self.distance <= goal.distance
        flat = goal.slope is not None and self.slope is not None and self.slope <= goal.slope * self.first_slope
        return near or flat

    def _estimated(self, step, own):
        """The relative distance as far as the step tells; None: it does not."""
        if step.exact or not math.isfinite(own) or not math.isfinite(step.objective):
            return None
        return certificate.distance(max(0.0, own) + self.ratio * _lacking(step.objective, own), own)

    def _due(self, step):
        """Where the corrected estimate passes, or the plain one does and there are measurements to spare: a correction may have aged."""
        if self.measured + 1 > max(MEASURED, SHARE * self.steps):
            return False
        spare, goal = self.measured < SHARE * self.steps - 1, self.goal
        last = self.measured == MEASURED - 1 and SHARE * self.steps < MEASURED  # the next would have to wait
        near = flat = False
        if goal.distance is not None and self.estimate is not None:
            near = min(1.0, 1 / self.ratio if spare else 1.0) * self.estimate <= (ROOM if last else 1.0) * goal.distance
        if goal.slope is not None:
            flat = (1.0 if spare else self.slope_ratio) * step.gap <= goal.slope * self.first_slope
        return near or flat

    def _measure(self, step, w, own):
        self.measured += 1
        fine = self.goal.slope or (self.goal.distance or 1.0) < FINE or not math.isfinite(own)
        if fine:
            g = np.empty_like(w)
            objective = self.objective.value_and_gradient(w, g) + self.objective.l1 * float(np.abs(w).sum())
            self.slope = self.objective.gap(w, g)
            if step.gap > 0 and math.isfinite(step.gap):
                self.slope_ratio = max(1.0, self.slope / step.gap)
        else:
            g, objective = None, self.objective.objective(w)
        estimated = _lacking(step.objective, own) if math.isfinite(own) and math.isfinite(step.objective) else 0.0
        self._prove(objective, w, g)
        if self.distance is not None and estimated > 0:
            self.ratio = _lacking(objective, self.bound) / estimated
        return step._replace(objective=objective, exact=True, gap=step.gap if self.slope is None else self.slope)

    def _prove(self, objective, w, g):
        """From the value at w, and its smooth gradient where that is known."""
        if not self.provable:
            return
        if g is not None:
            self.bound = max(self.bound, certificate.bound_at(self.objective, objective, w, g))
        if self.bound > 0 or g is not None or objective <= certificate.NOTHING:
            self.distance = self.estimate = certificate.distance(objective, self.bound)

    def conclude(self, outcome):
        """The numbers of the outcome's weights, exact; `proved` is of them, `proved_last` of the last ones."""
        l1, g = self.objective.l1 * float(np.abs(outcome.w).sum()), np.empty_like(outcome.w)
        with self.objective.uncounted():
            value = self.objective.value_and_gradient(outcome.w, g)
        outcome.objective = value + l1
        outcome.gap = self.objective.gap(outcome.w, g)
        outcome.proved_last = self.distance
        if self.provable:
            self.bound = max(self.bound, certificate.bound_at(self.objective, outcome.objective, outcome.w, g))
            outcome.bound = max(0.0, outcome.objective - self.bound)
            outcome.proved = certificate.distance(outcome.objective, self.bound)

    def counters(self):
        return [self.bound, self.ratio, self.slope_ratio, self.steps, self.measured, self.distance, self.slope]

    def restore(self, counters):
        self.bound, self.ratio, self.slope_ratio = map(float, counters[:3])
        self.steps, self.measured = map(int, counters[3:5])
        if not 0 <= self.measured <= self.steps < 2**53:
            raise ValueError("how often was measured")
        self.distance, self.slope = (None if x is None else float(x) for x in counters[5:])


def _lacking(objective, bound):
    """How far the objective is above a bound that it cannot be below."""
    return max(0.0, objective - max(0.0, bound))
