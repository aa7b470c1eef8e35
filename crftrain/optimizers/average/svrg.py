"""SVRG: variance-reduced stochastic gradient without a table, at the price of evaluating each draw twice.

    1. the anchor: all gradients at w, their sum is d                               one pass, exact objective and gap
    2. n times: draw u with probability p_u,                                        two evaluations each
       w <- (1 - alpha lambda) w - alpha ((grad f_u(w) - grad f_u(anchor)) / (n p_u) + d/n)
    3. back to 1.

A step is 2 and 1, so that its gap is exact. --mixed begins with SAG's first pass, each sequence once in random order with
d the sum of the gradients so far, which needs no table.

References: Johnson and Zhang 2013; Schmidt et al. 2015, section 7.
"""

import math

from ..base import Algorithm, Option, Step
from ._compiled import SAMPLERS, SvrgSteps
from ._pace import Pace
from ._shared import BATCH, INITIAL, SAMPLING, SKIP, Remembering, keep_pace, lists, vectors


class Svrg(Remembering):
    def __init__(self, objective, w, rng, *, sampling, skip, batch, initial_constant, mixed):
        super().__init__(objective, w, rng)
        order = rng.permutation(-(-objective.n_sequences // batch)) if mixed and not w.any() else None
        self.steps = SvrgSteps(objective, w, rng, sampler=SAMPLERS[sampling], order=order, batch=batch, skip=skip, first=initial_constant)
        self.begun, self.pace, self.bound = False, Pace(), -math.inf

    def step(self):
        if not self.begun:
            self.steps.start_pass()
            self.steps.take_anchor()
            self.begun = True
        self.steps.run(self.steps.n_units)
        gap = self.steps.take_anchor()
        objective = self.steps.mean_loss() + 0.5 * self.objective.l2 * float(self.w @ self.w)
        self.bound, self.dual = self.steps.lower_bound()
        keep_pace(self, objective)
        return Step(objective, gap, note=self.pace.note)

    def restore(self, state):
        self.w[:] = state["w"]
        self.steps.restore(state)
        self.pace.restore(state["pace_seen"])
        self.steps.set_anchor()
        self.begun = True


ALGORITHM = Algorithm(
    summary="stochastic variance-reduced gradient: SAG's convergence without its table",
    reference="Johnson and Zhang, Accelerating stochastic gradient descent using predictive variance reduction, NIPS 2013",
    solves=frozenset({"l2", "no-l2"}),
    options=(SAMPLING, SKIP, BATCH, INITIAL, Option("mixed", False, "begin with SAG's first pass")),
    optimiser=Svrg,
    memory=lambda facts, options: {"weights": vectors(facts, 3), **lists(facts)},
    tol=2e-6,
    passes=400,
)
