"""Stochastic gradient descent outside its loop: passes over fresh permutations, step sizes, trials of them, checkpoints.

A subclass, or the function that makes one, brings the weights (_descent) and thereby what a step does with a gradient.
"""

import math
from itertools import pairwise

import numpy as np

from ...errors import TrainingError
from ..base import Optimiser, Step, counted, within
from ..loop._compiled import OrderedSteps
from ._schedule import GRID_PASSES, LOOKS, OWN, SAMPLE, calibrate, grid


class Stochastic(Optimiser):
    """A step is a pass. `steps` makes the loop around the weights, an OrderedSteps."""

    online = True

    def __init__(self, objective, w, rng, *, weights, schedule, eta, batch=1, steps=OrderedSteps, sample=SAMPLE):
        """sample: the units that trials of step sizes look at."""
        super().__init__(objective, w, rng)
        self.weights, self.schedule, self.eta = weights, schedule, eta
        self.steps, self.batch, self.sample = steps(objective, w, weights=weights, batch=batch), batch, sample
        self.n_units, self.passes = self.steps.n_units, 0
        self.taken = 0  # units that did not come in passes

    def step(self):
        n = self.steps.n_units
        if self.eta in ("auto", "grid"):
            self.eta = self._calibrated()
        order = self.rng.permutation(n)
        total = self._descend(order, self.schedule.rates(self.eta, self.passes * n, n, n), self.passes, self.passes + 1)
        self.passes += 1
        self._write()
        return Step(total / n + self._penalty(self.w), exact=False, note=f"eta {self.eta:g}")

    def _descend(self, order, rates, begin, end):
        """The sum of the losses over these steps, which stand for the passes from begin to end."""
        return self.steps.descend(order, rates)

    def _write(self):
        """w, and whatever else solution() needs."""
        largest = self.weights.write(self.w)
        if not math.isfinite(largest):
            raise TrainingError(f"pass {self.passes}", f"the largest weight is {largest}", f"finite weights: an --eta below {self.eta:g}")

    def _penalty(self, w):
        return 0.5 * self.objective.l2 * float(w @ w) + self.objective.l1 * float(np.abs(w).sum())

    def _calibrated(self):
        """The step size of trials that begin at w, to which everything returns."""
        begin, n, own = self.w.copy(), self.steps.n_units, OWN.get(self.schedule.name)
        if self.eta == "grid":
            search, order = grid, np.concatenate([self.rng.permutation(n) for _ in range(GRID_PASSES)])
        elif own:
            return own
        else:
            search, order = calibrate, self.rng.permutation(n)[: self.sample]
        value = self._whole if search is grid or self.schedule.pictured else self._beginning

        def trial(eta):
            self.eta = eta
            self.weights.start(begin)
            return value(order, self.schedule.trial_rates(eta, len(order), n), self.schedule.trial_passes(len(order), n))

        eta = search(trial)
        self.weights.start(begin)
        return eta

    def _whole(self, order, rates, passes):
        """The objective over the units of the order that these steps leave."""
        self._descend(order, rates, 0, passes)
        self._write()
        reached = self.solution()
        self.weights.start(reached)
        return self.steps.mean_loss(np.unique(order)) + self._penalty(reached)

    def _beginning(self, order, rates, passes):
        """The median of the losses on the way, each of a part of the units, and the penalty; of w, since a mean lags behind."""
        cuts = np.unique([0, *(math.ceil(part * len(order)) for part in LOOKS)])
        sample, losses = np.unique(order)[:: len(cuts) - 1].copy(), []
        for first, last in pairwise(cuts):
            self._descend(order[first:last], rates[first:last], passes * first / len(order), passes * last / len(order))
            losses.append(self.steps.mean_loss(sample))
        self._write()
        return float(np.median(losses)) + self._penalty(self.w)

    def state(self):
        eta = 0.0 if self.eta in ("auto", "grid") else self.eta
        return {**self.weights.state(), "passes": np.array([self.passes]), "taken": np.array([self.taken]), "eta": np.array([eta])}

    def restore(self, state):
        self.weights.restore(state)
        self.passes, self.taken = counted(state, "passes"), counted(state, "taken")
        self.eta = float(within(state, "eta", 0, math.inf)[0]) or self.eta
        self._write()
