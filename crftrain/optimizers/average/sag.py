"""Stochastic average gradient for CRFs: the steps of a batch method at the price of stochastic ones, and nothing to tune.

    f(w) = 1/n sum_i f_i(w) + lambda/2 |w|^2,   f_i = -log p(y_i | x_i)

    1. draw a sequence i                                                          (_sampling)
    2. g = grad f_i(w);  d <- d - g_i + g;  g_i <- g: d is the sum of a table     (_table)
    3. a line search keeps L_i, how fast the gradient of f_i changes              (_sequential)
    4. w <- (1 - alpha lambda) w - alpha/m d, alpha from the L_i, m sequences seen so far

What makes it fast: 4) is dense but lazy, so only the blocks of i are touched (_lazy); the table holds marginals, which
do not depend on the number of features; a trial of 3) is one forward run on scores; most searches can be skipped.

|d/m + lambda w|_inf tends to the gradient's norm but runs far below it, so where it passes --tol an exact pass decides,
and renews the table at the same time.

Under l1 step 4 is proximal, in a metric with a rate r_b for each block b, and paid late like the others    (_soft, _rates)

    w <- S(w - alpha r_b d/m, alpha r_b lambda1) / (1 + alpha r_b lambda),   S the soft threshold

How long steps are is what the bound says, which mixes the distributions of all passes (_mixture).

Where they begin anew from weights that another method left, each is as long as the share of sequences met. For d is a delayed gradient:
with x the distance to the optimum in a direction of curvature h, and time in steps,

    x'' + x'/n + (alpha h / n) x = 0,    x' = -alpha d/n

which swings where alpha h n > 1/4, its energy halved in two thirds of a pass. With a table of gradients that all are of the start it has
the velocity alpha h x at once, and swings by sqrt(alpha h n) times x, tens of times; from rest it swings by x. (On JNLPBA, c1 = 1,
c2 = 0.05, f rose from 2.36 to 8.3 in the first pass after sgd-l1 with such a table, and stays at 2.36 like this.)

Nobody has proved that this converges. Its fixed points are the optima, the dual at the table's point shows pass by pass that it comes
nearer, and what is proved at the end is proved by an exact pass.

Reference: Schmidt, Babanezhad, Ahmed, Defazio, Clifton, Sarkar 2015, algorithm 1 and sections 4 and 5.
"""

import numpy as np

from ...chain import certificate
from ..base import Algorithm
from ._compiled import ProximalSagSteps, SagSteps
from ._course import Course
from ._mixture import BEGIN, Mixture, Stride
from ._shared import LIGHTER, OPTIONS, AveragedGradient, memory


class ElasticSag(AveragedGradient):
    """Under both penalties: bound and pace are the mixture's, and a path is looked ahead."""

    hope = 1.0

    def __init__(self, objective, w, rng, **options):
        super().__init__(objective, w, rng, ProximalSagSteps, **options)
        self.mixture, self.pace, self.course = Mixture(len(w)), Stride(0 if self.warm else BEGIN), Course()

    def go_on(self):
        """From weights that another method has come to, with an empty table."""
        self.warm, self.pace, self.steps.risen = False, Stride(0), 0

    def _prove(self, mean=None):
        mean, entropy = self.steps.mean_gradient() if mean is None else mean, float(np.mean(self.steps.entropies))
        self.bound, self.taken = self.mixture.add(entropy, mean, l2=self.objective.l2, l1=self.objective.l1)

    def _look(self, objective):
        if self.pace.look(self.taken, 1 - certificate.distance(objective, self.bound)):
            self.steps.search_again()
        self.steps.pace = self.pace.length

    def can_move_to(self, objective):
        return super().can_move_to(objective) and objective.l2 > 0

    def move_to(self, objective):
        self.course.look_ahead(self.w, self.objective, objective)
        self.steps.lazy.read_w()
        super().move_to(objective)

    def state(self):
        return {**super().state(), "mixture": self.mixture.g, "mixture_entropy": np.array([self.mixture.entropy])}

    def restore(self, state):
        super().restore(state)
        self.mixture.g[:], self.mixture.entropy = state["mixture"], float(state["mixture_entropy"][0])


def build(objective, w, rng, **options):
    if objective.l1 and objective.l2:
        return ElasticSag(objective, w, rng, **options)
    if objective.l1:
        return AveragedGradient(objective, w, rng, ProximalSagSteps, **options)
    return AveragedGradient(objective, w, rng, SagSteps, **options)


def memory_with_rates(facts, options):
    """Under l1 also what each block has paid, and its rate, and the gradient that was mixed."""
    rates = {"rates of attributes": 32 * facts.n_blocks, "mixed gradient": 4 * facts.n_features} if getattr(facts, "l1", 0.0) else {}
    return memory(facts, options) | rates


ALGORITHM = Algorithm(
    summary="stochastic average gradient with non-uniform sampling: fast to any accuracy, no step size",
    reference=(
        "Schmidt, Babanezhad, Ahmed, Defazio, Clifton, Sarkar, "
        "Non-uniform stochastic average gradient method for training conditional random fields, AISTATS 2015"
    ),
    solves=frozenset({"l2", "l1", "no-l2"}),
    options=OPTIONS,
    optimiser=AveragedGradient,
    build=build,
    memory=memory_with_rates,
    lighter=LIGHTER,
    tol=2e-6,
    passes=200,
    details=(
        "The table of last gradients is what it costs. `mixed` keeps the node marginals and one L x L sum for each sequence:\n"
        "tokens x L + sequences x L^2 numbers, independent of the features. It needs the plain B line; with attributes on label\n"
        "pairs all edge marginals are kept, tokens x (L + L^2) numbers, as `marginals` always does. `sparse` keeps the gradient's\n"
        "entries: smaller only where a token has few attributes and these few labels. --batch makes entries of several sequences,\n"
        "which shares the L^2 parts. Numbers take 4 bytes, 8 with --table-precision double.\n"
        "With --l1 steps are proximal and weights exactly zero; rare attributes take longer steps, by the 4th root of their counts."
    ),
)
