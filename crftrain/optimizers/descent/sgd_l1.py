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

from dataclasses import replace

from ..average._shared import vectors
from ..base import Algorithm, Option
from ..weights._compiled import ClippedWeights, CumulativeWeights, NaiveWeights
from ._schedule import ALPHA, ETA, Brief, Schedule, schedule_option
from ._shared import Stochastic

FEW, LEAST = 300, 30  # units that show how long the steps of a beginning may be: a tenth of all, within these bounds
PENALTIES = {"cumulative": CumulativeWeights, "clipping": ClippedWeights, "naive": NaiveWeights}


def build(objective, w, rng, *, penalty, schedule, eta, alpha):
    return Stochastic(objective, w, rng, weights=PENALTIES[penalty](objective.layout, w), schedule=Schedule(schedule, alpha), eta=eta)


def begin(objective, w, rng, *, alpha):
    """For another algorithm to go on from."""
    weights, sample = CumulativeWeights(objective.layout, w), max(LEAST, min(FEW, objective.n_sequences // 10))
    return Stochastic(objective, w, rng, weights=weights, schedule=Brief("exponential", alpha), eta="auto", sample=sample)


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
    optimiser=Stochastic,
    build=build,
    memory=lambda facts, options: {"weights, and what they have paid": vectors(facts, 2) + 16 * facts.n_features},
    passes=30,
    details=(
        "For a compact model in a fixed number of passes. With the exponential schedule the step size falls to less than a\n"
        "hundredth in 30 passes, which is what --eta auto reckons with; more passes want a larger --alpha, 0.95 for 100. It ends\n"
        "2 to 7 % above the optimum: for less, or for a certificate, there is owlqn."
    ),
)
BEGINNING = replace(ALGORITHM, build=begin, options=(ALPHA,))
