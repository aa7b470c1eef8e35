"""What the dual methods share outside their loops: alpha's start, the duality gap, checkpoints.

The gap of a step is the running mean of what each sequence gained or lacked at its last visit, and its objective D(alpha) + gap.
D(alpha) bounds the optimum from below, so that the value at w alone proves how far it is.
"""

import numpy as np

from ...chain.sizes import padded_row
from ...errors import TrainingError
from ..base import Optimiser, Option, Step

INITIAL = Option("initial_score", 3.0, "the dual begins with this score on the parts that have the gold labels", minimum=0.0, maximum=100.0)
PERMUTE = Option("permute", True, "visit each sequence once in the first pass, in random order")


def padded(facts):
    """(numbers in a row of labels, in a matrix of label pairs)"""
    row = padded_row(facts.n_labels)
    return row, facts.n_labels * row


def pairs_summed(facts):
    """Numbers that come one for each label pair that a lattice goes through by itself; without weights on pairs, all of them."""
    few = 0 < facts.n_pairs < facts.n_labels**2
    return (facts.n_pairs + 8) // 8 * 8 if few else padded(facts)[1]


class DualAscent(Optimiser):
    """An algorithm around DualSteps; a step is a pass."""

    movable = True
    gap = "duality"

    def __init__(self, objective, w, rng, steps):
        super().__init__(objective, w, rng)
        self.steps = steps
        self.begun = False

    def step(self):
        if not self.begun:
            self.steps.begin()
            self.begun = True
        self.steps.ascend()
        gap = self.steps.gap()
        objective = self.steps.dual() + gap
        if not np.isfinite(objective):
            raise TrainingError("this pass", f"the objective is {objective}", "weights of moderate size")
        return Step(objective, max(0.0, gap), exact=False)

    def lower_bound(self):
        """D(alpha)."""
        return self.steps.dual()

    def move_to(self, objective):
        """The next strength of a path, with alpha as it is; every sequence's gap is another one."""
        self.objective = objective
        self.steps.move_to(objective)
        self.steps.measure()

    def state(self):
        return {**self.steps.state(), "w": np.array(self.w)}

    def restore(self, state):
        self.w[:] = state["w"]
        self.begun = True
        self.steps.restore(state)
