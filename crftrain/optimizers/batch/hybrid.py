"""L-BFGS on a batch that grows: a stochastic method at first, plain L-BFGS in the end.

    f_B(w) = 1/|B| sum_{i in B} -log p(y_i | x_i; w) + lambda/2 |w|^2,   B the first |B| sequences of a random permutation

    1. |B| <- min(1.1 |B| + 1, n); the gradient is renewed: only that of the new sequences has to be computed
    2. d = -H g, H from the last m pairs of steps and gradient changes, each of one batch    (_history)
    3. w <- w + a d, a the first of shorter and shorter steps that lowers f_B sufficiently   (_linesearch.armijo)
    4. back to 1; where B is everything, every step is one of L-BFGS, which inherits the pairs

What makes it fast: while w is far from the optimum a few sequences say as well as all of them where it lies. All batches
together, until they are whole, cost about twelve passes. Growing by a share keeps the error of the gradient in step with the
linear convergence of the whole, which no constant batch does.

A step is as many iterations as make a pass, while the batch is a part; then one of L-BFGS. A warm start would be lost on the
first batches: it begins with the whole.

Reference: Friedlander and Schmidt 2012, section 4 and 5.
"""

import math

import numpy as np

from ...chain._problem import Problem
from ...errors import TrainingError
from ..average._shared import vectors
from ..base import Algorithm, Option, Step, counted, within
from . import lbfgs
from ._linesearch import armijo, strong_wolfe


class Hybrid(lbfgs.LBFGS):
    shards = False

    def __init__(self, objective, w, rng, *, memory, growth, first_batch):
        super().__init__(objective, w, rng, memory=memory)
        self.n, self.growth, self.first = objective.n_sequences, growth, first_batch
        self.order = rng.permutation(self.n)
        self.size = self.n if w.any() or first_batch >= self.n else 0
        self.search = strong_wolfe if self.size == self.n else armijo

    def step(self):
        begin = self.objective.passes
        while self.size < self.n:
            self._grow()
            if self.size < self.n:
                self._improve()
                if self.objective.passes >= begin + 1:
                    return Step(self.f, self.part.gap(self.w, self.g), exact=False, note=f"batch {self.size}")
        return super().step()

    def _improve(self):
        """2) and 3) on a part."""
        if not self._search():  # the next batch will tell more
            self.history.clear()
        self.objective.passes += self.part.passes * self.size / self.n

    def _grow(self):
        """1), f and g at w renewed."""
        before, self.size = self.size, max(self.first, min(int(self.growth * self.size) + 1, self.n))
        new, share = self._part(before, self.size), 1 - before / self.size
        f = new.value_and_gradient(self.w, self.d)
        self.objective.passes += new.n_sequences / self.n
        self.f = f if before == 0 else (1 - share) * self.f + share * f
        self.g *= 1 - share
        self.d *= share
        self.g += self.d
        if not math.isfinite(self.f):
            raise TrainingError(f"a batch of {self.size}", f"its loss is {self.f}", "weights of moderate size")
        self.history.meet(self.g)
        self._look_at_batch()

    def _look_at_batch(self):
        if self.size == self.n:
            self.part, self.search = self.objective, strong_wolfe
        else:
            self.part, self.search = self._part(0, self.size), armijo

    def state(self):
        """f and g too: of a batch they are what its growth has made of them."""
        f = math.nan if self.f is None else self.f
        return {**super().state(), "order": self.order, "batch": np.array([self.size]), "f": np.array(f), "g": self.g}

    def restore(self, state):
        self.order, self.size = within(state, "order", 0, self.n - 1), counted(state, "batch", self.n)
        if (np.bincount(self.order, minlength=self.n) != 1).any():
            raise ValueError("the order of the sequences")
        self._look_at_batch()
        super().restore(state)
        self.f, self.g[:] = float(state["f"]), state["g"]
        self.history.meet(self.g)

    def _part(self, begin, end):
        """The objective over sequences begin .. end - 1 of the permutation."""
        corpus = self.objective.sequences.corpus.take(self.order[begin:end])
        return Problem(corpus, self.objective.layout, l2=self.objective.l2, threads=self.objective.threads)


def memory(facts, options):
    """As L-BFGS; while batches grow, what they sum in besides."""
    return {**lbfgs.ALGORITHM.memory(facts, options), "batches": 4 * vectors(facts, 1)}


ALGORITHM = Algorithm(
    summary="L-BFGS on a batch that grows from one sequence to all: early a stochastic method, late L-BFGS",
    reference="Friedlander and Schmidt, Hybrid deterministic-stochastic methods for data fitting, SIAM J. Sci. Comput. 34, 2012",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        *lbfgs.ALGORITHM.options,
        Option("growth", 1.1, "what the size of the batch is multiplied by in an iteration, one more being added", minimum=1.0),
        Option("first_batch", 1, "sequences of the first batch", minimum=1),
    ),
    optimiser=Hybrid,
    memory=memory,
    lighter=lbfgs.ALGORITHM.lighter,
    tol=2.5e-5,
    passes=1000,
    details=(
        "On CoNLL-2000 (observed features, lambda 1/n) the batch is whole after about a dozen passes, and the objective 5 % above the\n"
        "optimum after 55; the batches before that cost hardly more time a pass than sgd."
    ),
)
