"""What the dual methods share outside their loops: alpha's start, the duality gap, checkpoints.

The gap of a step is the running mean of what each sequence gained or lacked at its last visit, and its objective D(alpha) + gap;
confirm() measures KL(alpha_i || p_i(w)) of all of them, whose mean is f(w) - D(alpha) without cancellation.
"""

import math

import numpy as np

from ...errors import TrainingError
from ..base import Optimiser, Option, Step

INITIAL = Option("initial_score", 3.0, "the dual begins with this score on the parts that have the gold labels", minimum=0.0, maximum=100.0)
PERMUTE = Option("permute", True, "visit each sequence once in the first pass, in random order")


def padded(facts):
    """(numbers in a row of labels, in a matrix of label pairs)"""
    row = -(-facts.n_labels // 8) * 8
    return row, facts.n_labels * row


class DualAscent(Optimiser):
    """An algorithm around DualSteps; a step is a pass."""

    resumable = movable = True
    gap = "duality"

    def __init__(self, objective, w, rng, steps):
        super().__init__(objective, w, rng)
        self.steps = steps
        self.first_gap, self.correction, self.begun = math.nan, 1.0, False

    def step(self):
        self._begin()
        self.steps.ascend()
        return self._step(self.steps.gap() * self.correction, exact=False)

    def confirm(self):
        """One pass that measures the gap of every sequence."""
        estimated = self.steps.gap()
        gap = self.steps.measure()
        if estimated > 0:
            self.correction = max(1.0, gap / estimated)
        return self._step(gap, exact=True)

    def gap_at_start(self):
        """What --tol is a share of, instead of the gap at w = 0; not counted as a pass."""
        self._begin()
        if math.isnan(self.first_gap):
            passes = self.objective.passes
            self.first_gap = self.steps.measure()
            self.objective.passes = passes
        return self.first_gap

    def _begin(self):
        if not self.begun:
            self.steps.begin()
            self.begun = True

    def _step(self, gap, *, exact):
        objective = self.steps.dual() + gap
        if not np.isfinite(objective):
            raise TrainingError("this pass", f"the objective is {objective}", "weights of moderate size")
        return Step(objective, max(0.0, gap), exact)

    def move_to(self, objective):
        """The next strength of a path, with alpha as it is."""
        self.objective, self.first_gap, self.correction = objective, math.nan, 1.0
        self.steps.move_to(objective)

    def state(self):
        return {**self.steps.state(), "w": np.array(self.w), "scales": np.array([self.first_gap, self.correction])}

    def state_shapes(self):
        return {"scales": (np.float64, (2,))}  # the first gap is nan where nobody has asked for it

    def restore(self, state):
        self.w[:] = state["w"]
        self.first_gap, self.correction = map(float, state["scales"])
        self.begun = True
        self.steps.restore(state)
