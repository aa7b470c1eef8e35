"""Penalised generalised iterative scaling, and its acceleration by Aitken's method.

    n f(w) = sum_i -log p(y_i | x_i) + |w|^2 / (2 sigma^2),   sigma^2 = 1 / (n lambda)

    1. E_p, the expectation of feature p under the model, and Etilde_p, how often it fires on the gold labels
    2. Delta_p solves  Etilde_p = E_p exp(S Delta_p) + (w_p + Delta_p) / sigma^2            (_scaling)
       S: no labelling of a sequence makes features fire more often than S times in all. As published, (w_p + Delta_p) is w_p,
       and Delta_p = 1/S log(Etilde_p / (E_p + w_p / sigma^2)); where there is no such number, the step above is taken.
    3. plain: w <- w + Delta. f falls, and where Delta = 0 the gradient is 0: the fixed point is the optimum.
    4. every second step, accelerated: w <- w + r Delta,  r = 1 / (1 - gamma). The steps of a linearly convergent map shrink by
       its eigenvalue gamma, which the last two tell, Delta (now) and Delta' (the plain step before):
           triple jump    gamma_p = Delta_p / Delta'_p, weight by weight
           aitken         (1) Delta.Delta' / |Delta'|^2    (2) |Delta| / |Delta'|    (3) |Delta|^2 / Delta.Delta'
       If that does not lower f it is taken back for the plain step. r is at most `reach`, which doubles with each accelerated
       step that is kept and halves with each that is not; a gamma outside [0, 1) that extrapolates nothing counts as 0.

References: Chen and Rosenfeld 2000 for 2); Yang, Suk, Lee 2012, equations 3.8, 3.9, 4.1 and 4.6 to 4.10; Hesterberg 2005.
"""

import numpy as np

from ...chain.sizes import listed
from ...errors import TrainingError
from ..base import Algorithm, Optimiser, Option, Step
from ._compiled import exact, paper

UPDATES = {"exact": exact, "paper": paper}


def divided(x, y):
    """x / y, and 0 where y is."""
    return np.divide(x, y, out=np.zeros_like(x), where=y != 0)


GAMMAS = {
    "1": lambda new, old: divided(np.array(new @ old), old @ old),
    "2": lambda new, old: np.sqrt(divided(np.array(new @ new), old @ old)),
    "3": lambda new, old: divided(np.array(new @ new), new @ old),
}


class Gis(Optimiser):
    shards = True

    def __init__(self, objective, w, rng, *, update, acceleration, gamma):
        super().__init__(objective, w, rng)
        least, self.S = objective.feature_sums()
        if least < 0:
            raise TrainingError("the corpus", f"an attribute has the value {least:g}", "values >= 0, for which scaling is made")
        objective.list_weights()
        self.scale, self.empirical = UPDATES[update], objective.gold_counts()
        self.gamma = {"none": None, "triple-jump": divided, "aitken": GAMMAS[gamma]}[acceleration]
        self.g, self.new, self.delta, self.before = (np.zeros_like(w) for _ in range(4))
        self.f, self.plain, self.reach = None, False, 10.0

    def step(self):
        objective, w, g = self.objective, self.w, self.g
        if self.f is None:
            self.f = objective.value_and_gradient(w, g)
        self.scale(g, w, self.empirical, objective.n_sequences, objective.l2, self.S, self.delta)
        jumped = self.plain and self.gamma is not None and self._jump()
        if not jumped:
            self._move(self.delta)
        self.before, self.delta, self.plain = self.delta, self.before, not jumped
        return Step(self.f, objective.gap(w, g), note="accelerated" if jumped else "")

    def _jump(self):
        """w + r Delta if that is better."""
        gamma = self.gamma(self.delta, self.before)
        gamma = np.where((gamma > 0) & (gamma < 1), gamma, 0.0)
        f = self.f
        self._move(self.delta * np.minimum(1 / (1 - gamma), self.reach))
        kept = self.f < f
        self.reach = self.reach * 2 if kept else max(2.0, self.reach / 2)
        if not kept:
            self.w[:] = self.new
        return kept

    def _move(self, by):
        """w + by, and f and g there; the old w stays in `new`."""
        self.new[:] = self.w
        self.w += by
        self.f = self.objective.value_and_gradient(self.w, self.g)

    def gradient(self):
        return self.g

    def state(self):
        return {"w": np.array(self.w), "before": self.before.copy(), "counters": np.array([self.plain, self.reach])}

    def restore(self, state):
        self.w[:], self.before[:] = state["w"], state["before"]
        self.plain, self.reach = bool(state["counters"][0]), float(state["counters"][1])
        with self.objective.uncounted():
            self.f = self.objective.value_and_gradient(self.w, self.g)


ALGORITHM = Algorithm(
    summary="generalised iterative scaling, plain or accelerated: the classic before gradient methods",
    reference=(
        "Yang, Suk, Lee, Accelerating generalized iterative scaling based on staggered Aitken method for on-line conditional random "
        "fields, IJWMIP 10, 2012; Chen and Rosenfeld, A survey of smoothing techniques for ME models, 2000"
    ),
    solves=frozenset({"l2"}),
    options=(
        Option("update", "exact", "solve for the step exactly, or by the paper's logarithm", choices=tuple(UPDATES)),
        Option(
            "acceleration",
            "triple-jump",
            "what every second step is: the same, or extrapolated",
            choices=("aitken", "triple-jump", "none"),
        ),
        Option("gamma", "3", "aitken: the eigenvalue by equation 4.8, 4.9 or 4.10", choices=tuple(GAMMAS)),
    ),
    optimiser=Gis,
    memory=lambda facts, options: {"weights, gradient, counts and steps": 64 * facts.n_features, "listed weights": listed(facts)},
    step_name="iteration",
    tol=2.5e-5,
    passes=1000,
    details=(
        "To see what scaling does: its steps are the shorter the more features fire in the sequence where most do. On\n"
        "CoNLL-2000 chunking with all features, from an objective of 73.2, the plain method has come to 56, 33 and 9.8 after 10, 30\n"
        "and 100 passes, with triple-jump to 5.9, 1.75 and 1.25, with aitken to 7.4, 4.0 and 2.4. Triple-jump is the better choice\n"
        "there and on data/ (from 39.8 in 100 passes: plain 9.6, triple-jump 1.13, aitken 1.32, the optimum 0.91)."
    ),
)
