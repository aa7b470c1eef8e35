"""Stochastic average gradient for CRFs: batch convergence at the price of a stochastic step, and no step size to tune."""

import numpy as np

from ._sag import SagSteps
from ._sampling import SAMPLERS
from ._table import Mixed
from .base import Algorithm, Option, Step


class Sag:
    def __init__(self, problem, w, rng, *, sampling, skip, batch):
        self.problem, self.w = problem, w
        sampler = SAMPLERS[sampling](-(-problem.n_sequences // batch), rng, l2=problem.l2)
        table = Mixed("single", problem, sampler.n)
        self.steps = SagSteps(problem, w, sampler=sampler, table=table, batch=batch, skip=skip)

    def step(self):
        self.steps.run(self.steps.n_units)
        gap = self.steps.lazy.settle_and_measure(1 / self.steps.n_units, self.problem.l2)
        return Step(self.estimate(), gap, exact=False)

    def estimate(self):
        w = self.w
        return float(np.sum(self.steps.losses)) / max(1, self.steps.sampler.seen) + 0.5 * self.problem.l2 * float(w @ w)

    def solution(self):
        return self.w

ALGORITHM = Algorithm(
    summary="stochastic average gradient",
    reference="Schmidt et al.",
    solves=frozenset({"l2", "no-l2"}),
    options=(Option("sampling", "nus", "how", choices=tuple(SAMPLERS)),Option("skip", True, "x"),Option("batch",1,"n",minimum=1)),
    make=Sag,
    memory=lambda facts, options: 1,
)
