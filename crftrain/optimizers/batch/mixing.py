"""Few rounds for shards that lie far apart: each learns alone at first, then all together by L-BFGS.

    round     an exchange of vectors as long as the weights

    1. each shard takes a few passes of sgd from w, its own sequences alone              w_k
    2. w_p <- sum_k c_kp w_kp / sum_k c_kp, c_kp the tokens of shard k that have the attribute of weight p
    3. 1) and 2) for some rounds, then L-BFGS with many pairs

A weight is averaged over the shards that have it: those that have not know nothing of it. What a shard learns alone is good for a start,
not for an end, for its optimum is another one. Many pairs are memory of the client's, which saves rounds.

What comes out depends on how the data are cut, as no other batch method's does; the optimum does not. From weights that are not zero it is
L-BFGS from the first step.

References: McDonald, Hall, Mann, "Distributed training strategies for the structured perceptron", 2010 (iterative mixing); Agarwal,
Chapelle, Dudik, Langford, "A reliable effective terascale linear learning system", 2014 (the start of L-BFGS).
"""

import math

import numpy as np

from ...errors import TrainingError
from ..base import Algorithm, Option, Step
from ..descent import sgd
from . import lbfgs


def alone(problem, w, k, seed, passes):
    """(weights after so many passes of sgd over a shard, the sum of its losses on the way of the last one)."""
    if problem.n_sequences == 0:
        return w, 0.0
    descent = sgd.ALGORITHM.make(problem, w, np.random.default_rng([seed, k]), **sgd.ALGORITHM.defaults())
    for _ in range(passes):
        step = descent.step()
    penalty = 0.5 * problem.l2 * float(descent.w @ descent.w)
    return descent.solution(), (step.objective - penalty) * problem.n_sequences


class Mixing(lbfgs.LBFGS):
    def __init__(self, objective, w, rng, *, memory, rounds, local_passes):
        super().__init__(objective, w, rng, memory=memory)
        self.left, self.local_passes = 0 if w.any() else rounds, local_passes

    def step(self):
        if self.left == 0:
            return super().step()
        self.left -= 1
        objective, seed = self.objective, int(self.rng.integers(2**63))
        mixed, losses = objective.mixed(alone, self.w, seed, self.local_passes, passes=self.local_passes)
        self.w[:] = mixed
        f = float(np.sum(losses)) / objective.n_sequences + 0.5 * objective.l2 * float(self.w @ self.w)
        if not math.isfinite(f):
            raise TrainingError("the weights of all shards", f"the objective is {f}", "finite weights: fewer --local-passes")
        return Step(f, exact=False, note="shards apart")

    def gradient(self):
        return None if self.f is None else self.g


ALGORITHM = Algorithm(
    summary="sgd in each shard, the weights averaged, then L-BFGS: few rounds for shards on other machines",
    reference="Agarwal, Chapelle, Dudik, Langford, A reliable effective terascale linear learning system, JMLR 15, 2014",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        Option("memory", 50, "pairs of steps and gradient changes that are kept", minimum=1),
        Option("rounds", 3, "times that the shards' weights are averaged, before L-BFGS", minimum=0),
        Option("local_passes", 5, "passes of sgd in each shard between", minimum=1),
    ),
    optimiser=Mixing,
    memory=lbfgs.memory,
    lighter="--memory 10, --min-freq 2, --features observed",
    step_name="iteration",
    tol=2.5e-5,
    passes=1000,
)
