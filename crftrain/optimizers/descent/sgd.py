"""Stochastic gradient descent, averaged or plain: the classic, of which many programs are one setting.

    f(w) = 1/n sum_i f_i(w) + lambda/2 |w|^2,   f_i = -log p(y_i | x_i)

For each unit i (a sequence, or a batch of them) of a random permutation, step k:

    1. w <- w - eta_k grad f_i(w)              eta_k falls by a schedule         (_schedule)
    2. w <- w / (1 + eta_k lambda)             one scale for all weights         (_descent)
    3. the average takes w in                  one more scatter                  (_descent)

    or, once a pass:  mean <- (1 - c) mean + c w,  c = (G + 1) / (passes + G)

What makes it fast: only the blocks of i are touched, whatever the number of features, by the average too.

The last iterate carries the noise of the last gradients. In the mean of the passes' ends, pass k counting about k^G, it is gone and the
beginning forgotten, whenever one stops, for a sum over the weights a pass.

2) is the exact step on the penalty (its proximal step) where the classics take one along its gradient, w <- (1 - eta' lambda) w.
They are the same for eta' = eta / (1 + eta lambda), which is to say that Bottou's and Pegasos' step sizes (with eta 1) are
here those of the step after; but 2) is stable for any eta.

    --average-from 1                          ASG of Schmidt et al. 2015 with --schedule constant: the mean of all iterates
    --no-average --schedule constant          their SG
    --no-average --schedule pegasos --eta 1   Pegasos
    --no-average --schedule bottou            Bottou's sgd, CRFsuite's l2sgd
    --no-average --schedule inverse           Collins et al. 2008; with exponential Tsuruoka et al. 2009

References: Bottou 2010; Polyak and Juditsky 1992; Shalev-Shwartz, Singer, Srebro, Cotter 2011; Xu 2010; Shamir and Zhang, "Stochastic
gradient descent for non-smooth optimization", 2013 (the mean that forgets).
"""

import numpy as np

from ..average._shared import vectors
from ..base import Algorithm, Option
from ..batch._pieces import COLUMNS, columns
from ..weights._compiled import AveragedWeights, DescentWeights
from ._schedule import ALPHA, BATCH, ENDLESS, ETA, FORMULAS, Schedule, schedule_option
from ._shared import Stochastic

AUTO = "auto"
G = 3  # how fast the mean of the passes' ends forgets


class Sgd(Stochastic):
    """The last iterate; and what they all can besides, which is to learn from a stream."""

    streams = True

    def take_in(self, sequences):
        if self.eta in ("auto", "grid"):
            self.eta = self._calibrated()
        self.steps.turn_to(sequences, batch=self.batch)
        count = self.steps.n_units
        total = self.steps.descend(np.arange(count), self.schedule.rates(self.eta, self.taken, count, self.n_units))
        self.taken += count
        return total * self.batch

    def settled(self):
        self._write()
        return self.solution()

    def resized(self, resizing):
        self._write()
        state = self.state()
        return state | {name: resizing.weights(state[name]) for name in ("w", "sum", "mean") if name in state}


class ForgettingSgd(Sgd):
    """solution() is the mean of the passes' ends, later ones counting more; w before the first."""

    def __init__(self, objective, w, rng, **options):
        super().__init__(objective, w, rng, weights=DescentWeights(objective.layout, w), **options)
        self.mean, self.room = np.zeros_like(w), np.empty(min(len(w), COLUMNS))

    def step(self):
        told = super().step()
        share = (G + 1) / (self.passes + G)
        for part in columns(len(self.w)):
            w, mean = self.w[part], self.mean[part]
            mean *= 1 - share
            mean += np.multiply(w, share, out=self.room[: len(w)])
        return told

    def solution(self):
        return self.mean if self.passes else self.w

    def state(self):
        return {**super().state(), "mean": self.mean}

    def restore(self, state):
        super().restore(state)
        self.mean[:] = state["mean"]


class AveragedSgd(Sgd):
    """solution() is the mean of the iterates since pass `first` began, or w before."""

    def __init__(self, objective, w, rng, *, first, **options):
        super().__init__(objective, w, rng, weights=AveragedWeights(objective.layout, w), **options)
        self.first, self.mean = first, np.empty_like(w)

    def _descend(self, order, rates, begin, end):
        cut = round((self.first - 1 - begin) / (end - begin) * len(order))
        if not 0 <= cut < len(order):
            return self.steps.descend(order, rates)
        total = self.steps.descend(order[:cut], rates[:cut]) if cut else 0.0
        self.weights.begin()
        return total + self.steps.descend(order[cut:], rates[cut:])

    def take_in(self, sequences):
        if not self.weights.averaging:
            self.weights.begin()
        return super().take_in(sequences)

    def _write(self):
        super()._write()
        if self.weights.averaging:
            self.weights.mean(self.mean)

    def solution(self):
        return self.mean if self.weights.averaging else self.w


def refuse(options, l2, l1, stream):
    schedule, average_from = options["schedule"], options["average_from"]
    if schedule == "pegasos" and not l2:
        yield "--schedule pegasos", "--lambda is 0", "--lambda above 0: its step sizes are eta / (lambda k)"
    if not options["average"] and average_from != AUTO:
        yield "--no-average", f"--average-from is {average_from:g}", "one of them"
    if stream and schedule not in ENDLESS:
        yield f"--schedule {schedule}", "it falls by passes, and a stream has none", "another, as bottou"
    if stream and average_from not in (AUTO, 1):
        yield f"--average-from {average_from:g}", "a stream has no passes", "--average-from 1, or none"


def build(objective, w, rng, *, schedule, eta, alpha, batch, average, average_from):
    options = {"schedule": Schedule(schedule, alpha, objective.l2 * -(-objective.n_sequences // batch)), "eta": eta, "batch": batch}
    if not average:
        return Sgd(objective, w, rng, weights=DescentWeights(objective.layout, w), **options)
    if average_from == AUTO:
        return ForgettingSgd(objective, w, rng, **options)
    return AveragedSgd(objective, w, rng, first=average_from, **options)


def memory(facts, options):
    average = {"average": 8 * facts.n_features + (0 if options["average_from"] == AUTO else vectors(facts, 1))}
    return {"weights": vectors(facts, 1), **(average if options["average"] else {})}


ALGORITHM = Algorithm(
    summary="stochastic gradient descent, averaged or plain, with the usual step sizes",
    reference="Bottou, Large-scale machine learning with stochastic gradient descent, COMPSTAT 2010",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        schedule_option("bottou", *(name for name in FORMULAS if name != "bottou")),
        ETA,
        ALPHA,
        BATCH,
        Option("average", True, "save a mean of the iterates, not the last one; in a stream, with --average-from 1"),
        Option(
            "average_from",
            AUTO,
            "the pass with which a mean of all iterates begins; auto: of the passes' ends alone, later ones counting more",
            words=(AUTO,),
            minimum=1,
        ),
    ),
    optimiser=Sgd,
    build=build,
    refuse=refuse,
    memory=memory,
    passes=50,
    details=(
        "For a good model after a few cheap passes. The last iterate carries the noise of single gradients, so what is saved is a\n"
        "mean of the weights at the passes' ends, later ones counting more: on CoNLL-2000 (observed features, lambda 1/n) 3.3 to 3.8\n"
        "% above the optimum after 10 passes and 0.21 to 0.23 % after 50, where the last iterate (--no-average) is 5 to 7 % and 0.6\n"
        "% above. --average-from 26, the mean of all iterates since, has 0.17 to 0.19 % after 50, for a second scatter each step. A\n"
        "stream has no passes: there the last iterate is saved, or with --average-from 1 the mean. --schedule exponential --alpha 0.9\n"
        "falls so far that its last iterate is the best, 0.3 %. A constant step size goes on dancing: after 50 passes 21 to 47 %\n"
        "above, 4 to 9 % in the mean of the ends, 2 to 6 % in that of all iterates (--average-from 1), and 1 % there with --eta 0.1,\n"
        "since auto looks at one pass, where longer steps are better. For less, or for a certificate, there is sag."
    ),
)
