"""Stochastic gradient descent with an l1 penalty that makes models small.

    f(w) = 1/n sum_i f_i(w) + lambda/2 |w|^2 + l1 |w|_1,   f_i = -log p(y_i | x_i)

For each sequence i of a random permutation, step k:

    1. w <- w - eta_k grad f_i(w)                           eta_k falls by a schedule          (_schedule)
    2. each weight is pulled towards 0: by eta_k l1, at once or when it is next looked at,
       or so that it has received sum eta l1 in all                                            (_cumulative)
    3. w <- w / (1 + eta_k lambda), one scale for all weights

What makes it fast: only the blocks of i are touched (but by the naive penalty, which is there to compare with). What
makes it compact: with the cumulative penalty a weight stays 0 until its gradients have outweighed all the penalty it could
have received, so that one noisy gradient late in training does not bring it back.

At the end of a pass w is written with every weight's debt paid. Training itself goes on from the unpaid weights, whose q
has not changed.

Reference: Tsuruoka, Tsujii, Ananiadou 2009.
"""

import math

import numpy as np

from .._cumulative import ClippedWeights, CumulativeWeights, NaiveWeights
from ..errors import TrainingError
from ._schedule import ALPHA, ETA, SAMPLE, calibrate, rates, schedule_option, trial_rates
from ._sgd_l1 import SgdL1Steps
from .base import Algorithm, Option, Step

PENALTIES = {"cumulative": CumulativeWeights, "clipping": ClippedWeights, "naive": NaiveWeights}


def padding(n_labels):
    """The length of a row of labels, as a multiple of their number."""
    return -(-n_labels // 8) * 8 / n_labels


class SgdL1:
    def __init__(self, problem, w, rng, *, penalty, schedule, eta, alpha):
        self.problem, self.w, self.rng = problem, w, rng
        self.schedule, self.eta, self.alpha = schedule, eta, alpha
        self.weights = PENALTIES[penalty](problem.layout, w)
        self.steps = SgdL1Steps(problem, w, weights=self.weights)
        self.passes = 0

    def step(self):
        n = self.problem.n_sequences
        if self.eta == "auto":
            self.eta = self._calibrated()
        loss = self.steps.descend(self.rng.permutation(n), rates(self.schedule, self.eta, self.alpha, self.passes * n, n, n))
        self.passes += 1
        self._write(self.w)
        return Step(loss + self._penalty(self.w), exact=False, note=f"eta {self.eta:g}")

    def _write(self, out):
        largest = self.weights.write(out)
        if not math.isfinite(largest):
            raise TrainingError(f"pass {self.passes}", f"the largest weight is {largest}", f"finite weights: an --eta below {self.eta:g}")

    def _penalty(self, w):
        return 0.5 * self.problem.l2 * float(w @ w) + self.problem.l1 * float(np.abs(w).sum())

    def _calibrated(self):
        sample = self.rng.permutation(self.problem.n_sequences)[:SAMPLE]
        reached = np.empty_like(self.w)

        def trial(eta):
            self.weights.start(self.w)
            self.steps.descend(sample, trial_rates(self.schedule, eta, self.alpha, len(sample)))
            self.weights.write(reached)
            self.weights.start(reached)
            return self.steps.mean_loss(sample) + self._penalty(reached)

        eta = calibrate(trial)
        self.weights.start(self.w)
        return eta

    def solution(self):
        return self.w

    def state(self):
        return {**self.weights.state(), "passes": np.array([self.passes]), "eta": np.array([0.0 if self.eta == "auto" else self.eta])}

    def restore(self, state):
        self.weights.restore(state)
        self.passes, self.eta = int(state["passes"][0]), float(state["eta"][0]) or "auto"
        self._write(self.w)


ALGORITHM = Algorithm(
    summary="stochastic gradient descent with cumulative l1 penalty: compact models in few passes",
    reference=(
        "Tsuruoka, Tsujii, Ananiadou, Stochastic gradient descent training for L1-regularized log-linear models "
        "with cumulative penalty, ACL 2009"
    ),
    solves=frozenset({"l1", "l2", "no-l2"}),
    options=(
        Option(
            "penalty", "cumulative", "how weights are pulled to zero; naive touches every weight at every step", choices=tuple(PENALTIES)
        ),
        schedule_option("exponential", "inverse"),
        ETA,
        ALPHA,
    ),
    make=SgdL1,
    online=True,
    memory=lambda facts, options: {"weights, and what they have paid": int(8 * facts.n_features * (3 + 2 * padding(facts.n_labels)))},
    passes=30,
    details=(
        "For a compact model in a fixed number of passes. With the exponential schedule the step size falls to less than a\n"
        "hundredth in 30 passes, which is what --eta auto reckons with; more passes want a larger --alpha, 0.95 for 100. It ends\n"
        "2 to 7 % above the optimum: for less, or for a certificate, there is owlqn."
    ),
)
