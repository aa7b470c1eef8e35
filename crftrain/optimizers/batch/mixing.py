"""Few rounds for shards that lie far apart: each learns alone at first, then each says what it makes of the gradient.

    round     an exchange of vectors as long as the weights
    c_kp      the tokens of shard k that have the attribute of weight p, c_p those of all shards; R_k = diag (c_kp / c_p)^1/2

    1. each shard takes a few passes of sgd from w, its own sequences alone; w_p <- sum_k c_kp / c_p w_kp; this for some rounds
    2. then L-BFGS on the whole, whose H without pairs is

           P = sum_k R_k (R_k^-1 H_k R_k^-1 + lambda)^-1 R_k        H_k: what a sample of the shard's sequences says of its Hessian at w

       times a vector by conjugate gradients in each shard, which end after `products` of them or when |r| fell to FALL of what it was
    3. the first trial of a step is as long as the last one would have had to be, by its slopes

A weight is averaged over the shards that have it: those that have not know nothing of it. What a shard learns alone is good for a start,
not for an end, for its optimum is another one. R_k^-1 H_k R_k^-1 is the Hessian as the shard sees it: exact for weights that it alone
has, for those of all shards an estimate from a sample. P is a sum of positive definite matrices, in one shard the Hessian's inverse; so
steps descend, and where none does, L-BFGS goes on as it is. An iteration is two rounds, seldom more, with `products` times
`hessian_share` passes between them: right where rounds are dear; within one process the Hessian is left out.

What comes out depends on how the data are cut, as no other batch method's does; the optimum does not. From weights that are not zero it
begins with 2).

References: McDonald, Hall, Mann, "Distributed training strategies for the structured perceptron", 2010 (mixing); Agarwal, Chapelle,
Dudik, Langford, "A reliable effective terascale linear learning system", 2014 (as a start of L-BFGS); Wang, Roosta-Khorasani, Xu,
Mahoney, "GIANT: globally improved approximate Newton method for distributed optimization", 2018 (local Newton directions, averaged).
"""

import math

import numpy as np

from ...chain._tangent import kept_bytes
from ...errors import TrainingError
from ..base import Algorithm, Option, Step, counted
from ..descent import sgd
from . import lbfgs
from ._trust import Steihaug
from .newton_cg import kept_sequences

FALL, LONGER, FEWEST = 0.1, 4.0, 20


def alone(part, w, seed, passes):
    """(share of the weights after so many passes of sgd, the sum of the losses on the way of the last one, passes)."""
    problem = part.problem.at(l2=part.problem.l2 + part.l2, l1=0.0)
    if problem.n_sequences == 0:
        return part.share * w, 0.0, passes
    descent = sgd.ALGORITHM.make(problem, w, np.random.default_rng([seed, part.k]), **sgd.ALGORITHM.defaults())
    for _ in range(passes):
        step = descent.step()
    penalty = 0.5 * problem.l2 * float(descent.w @ descent.w)
    return part.share * descent.solution(), (step.objective - penalty) * problem.n_sequences, passes


def solved(part, q, most, fall=FALL):
    """(R x, how many products, passes): (R^-1 H R^-1 + lambda) x = R q, about."""
    part.matrix.rounding = None  # no bit comes from products before, which a shard made anew has not seen
    root = np.sqrt(part.share)
    unroot = np.divide(1, root, out=np.zeros_like(root), where=root > 0)

    def product(v, out):
        part.matrix.times(unroot * v, out)
        out *= unroot
        out += part.l2 * v

    inner = Steihaug(len(q), product)
    inner.begin(-root * q)
    done = inner.run(math.inf, lambda k, decrease, gain, fallen: k == most or fallen <= fall)
    return root * inner.s, done.products, done.products * part.matrix.share


def sampled(n, share):
    """float64[n]: 1 / chance of those drawn, the same for every run, else 0."""
    share = min(1.0, max(share, FEWEST / max(n, 1)))
    return np.where(np.random.default_rng(n).random(n) < share, 1 / share, 0.0)


class Mixing(lbfgs.LBFGS):
    def __init__(self, objective, w, rng, *, memory, rounds, local_passes, products, hessian_share):
        super().__init__(objective, w, rng, memory=memory)
        self.left, self.local_passes, self.products, self.matrix = 0 if w.any() else rounds, local_passes, products, None
        if products and objective.in_shards:
            keep = kept_sequences("auto", objective.n_sequences, kept_bytes(objective.n_tokens, objective.n_labels))
            self.matrix = objective.curvature(keep=keep)
            self.matrix.sample(sampled(objective.n_sequences, hessian_share))
        self.reached = (1.0, -1.0, -1.0)  # the last step's length, and the slopes at both of its ends

    def step(self):
        if self.left:
            self.left -= 1
            return self._mix()
        return super().step()

    def _mix(self):
        """1)"""
        objective, seed = self.objective, int(self.rng.integers(2**63))
        self.w[:], losses = objective.apart(alone, self.w, seed, self.local_passes)
        f = float(np.sum(losses)) / objective.n_sequences + 0.5 * objective.l2 * float(self.w @ self.w)
        if not math.isfinite(f):
            raise TrainingError("the weights of all shards", f"the objective is {f}", "finite weights: fewer --local-passes")
        return Step(f, exact=False, note="shards apart")

    def _search(self):
        if super()._search():
            return True
        if self.matrix is None:
            return False
        self.matrix = None  # what the shards say leads nowhere
        self.history.clear()
        return super()._search()

    def _evaluate(self, w, g):
        return self.objective.value_and_gradient(w, g, keep=self.matrix)

    def _direction(self, g, out):
        if self.matrix is None:
            return super()._direction(g, out)
        length, before, after = self.reached
        longer = min(before / (before - after), LONGER) if before < after else LONGER
        return self.history.direction(g, out, self._inner), min(1.0, longer * length)

    def _inner(self, q):
        """P q"""
        return self.objective.apart(solved, q, self.products, matrix=self.matrix)[0]

    def gradient(self):
        return None if self.f is None else self.g

    def state(self):
        plain = self.matrix is None
        return {**super().state(), "counters": np.array([self.left, self.f is not None, plain]), "reached": np.array(self.reached)}

    def restore(self, state):
        self.left = counted(state, "counters", self.left)
        begun, plain = state["counters"][1:]
        if plain:
            self.matrix = None
        self.reached = tuple(map(float, state["reached"]))
        super().restore(state)
        if not begun:
            self.f = None


ALGORITHM = Algorithm(
    summary="shards learn alone, then L-BFGS with a Hessian of each: few rounds where they are far apart",
    reference="Agarwal, Chapelle, Dudik, Langford, A reliable effective terascale linear learning system, JMLR 15, 2014",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        Option("memory", 20, "pairs of steps and gradient changes that are kept", minimum=1),
        Option("rounds", 3, "times that the shards' weights are averaged, before L-BFGS", minimum=0),
        Option("local_passes", 5, "passes of sgd in each shard between", minimum=1),
        Option("products", 10, "with the Hessian, in each shard for each direction; 0: L-BFGS as it is", minimum=0),
        Option("hessian_share", 0.25, "part of the sequences that products visit", above=0, maximum=1),
    ),
    optimiser=Mixing,
    memory=lbfgs.memory,
    lighter="--memory 10, --min-freq 2, --features observed",
    step_name="iteration",
    tol=2.5e-5,
    passes=1000,
)
