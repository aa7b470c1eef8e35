"""Stochastic gradient descent, plain or averaged: the classic, of which many programs are one setting.

    f(w) = 1/n sum_i f_i(w) + lambda/2 |w|^2,   f_i = -log p(y_i | x_i)

For each unit i (a sequence, or a batch of them) of a random permutation, step k:

    1. w <- w - eta_k grad f_i(w)              eta_k falls by a schedule         (_schedule)
    2. w <- w / (1 + eta_k lambda)             one scale for all weights         (_descent)
    3. the average takes w in                  one more scatter                  (_descent)

What makes it fast: only the blocks of i are touched, whatever the number of features, by the average too.

2) is the exact step on the penalty (its proximal step) where the classics take one along its gradient, w <- (1 - eta' lambda) w.
They are the same for eta' = eta / (1 + eta lambda), which is to say that Bottou's and Pegasos' step sizes (with eta 1) are
here those of the step after; but 2) is stable for any eta.

    --schedule constant              SG of Schmidt et al. 2015; with --average their ASG
    --schedule pegasos --eta 1       Pegasos
    --schedule bottou                Bottou's sgd, CRFsuite's l2sgd
    --schedule inverse, exponential  Collins et al. 2008; Tsuruoka et al. 2009

References: Bottou 2010; Polyak and Juditsky 1992; Shalev-Shwartz, Singer, Srebro, Cotter 2011; Xu 2010.
"""

import numpy as np

from .._descent import AveragedWeights, DescentWeights
from ._average import vectors
from ._schedule import ALPHA, BATCH, ETA, FORMULAS, Schedule, schedule_option
from ._stochastic import Stochastic
from .base import Algorithm, Option


class AveragedSgd(Stochastic):
    """solution() is the mean of the iterates since pass `first` began, or w before."""

    def __init__(self, problem, w, rng, *, first, **options):
        super().__init__(problem, w, rng, weights=AveragedWeights(problem.layout, w), **options)
        self.first, self.mean = first, np.empty_like(w)

    def _descend(self, order, rates, begin, end):
        cut = round((self.first - 1 - begin) / (end - begin) * len(order))
        if not 0 <= cut < len(order):
            return self.steps.descend(order, rates)
        total = self.steps.descend(order[:cut], rates[:cut]) if cut else 0.0
        self.weights.begin()
        return total + self.steps.descend(order[cut:], rates[cut:])

    def take_in(self, sequences):
        if self.first == 1 and not self.weights.averaging:
            self.weights.begin()
        return super().take_in(sequences)

    def _write(self):
        super()._write()
        if self.weights.averaging:
            self.weights.mean(self.mean)

    def solution(self):
        return self.mean if self.weights.averaging else self.w


def make(problem, w, rng, *, schedule, eta, alpha, batch, average, average_from):
    options = {"schedule": Schedule(schedule, alpha, problem.l2 * -(-problem.n_sequences // batch)), "eta": eta, "batch": batch}
    if average:
        return AveragedSgd(problem, w, rng, first=average_from, **options)
    return Stochastic(problem, w, rng, weights=DescentWeights(problem.layout, w), **options)


def memory(facts, options):
    parts = {"weights": vectors(facts, 1)}
    return {**parts, "average": vectors(facts, 1) + 8 * facts.n_features} if options["average"] else parts


ALGORITHM = Algorithm(
    summary="stochastic gradient descent, plain or averaged, with the usual step sizes",
    reference="Bottou, Large-scale machine learning with stochastic gradient descent, COMPSTAT 2010",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        schedule_option("bottou", *(name for name in FORMULAS if name != "bottou")),
        ETA,
        ALPHA,
        BATCH,
        Option("average", False, "save the mean of the iterates, not the last one"),
        Option("average_from", 1, "the pass with which the mean begins", minimum=1),
    ),
    make=make,
    online=True,
    streams=True,
    memory=memory,
    passes=50,
    details=(
        "For a good model after a few cheap passes. The noise of single gradients stays, so the last iterate comes near the optimum\n"
        "like one over the passes: on CoNLL-2000 (observed features, lambda 1/n) it is 6 % above after 10, 0.6 % after 50. With\n"
        "--average --average-from 26 it is 0.2 % after 50, with --schedule exponential --alpha 0.9 0.3 %, but later in coming down.\n"
        "A constant step size goes on dancing, 13 % above and more, and is for --average: 1 % after 50 passes. Both want --eta grid:\n"
        "auto, which looks at one pass over a sample, finds a size that is too long there. For less, or for a certificate, there is sag."
    ),
)
