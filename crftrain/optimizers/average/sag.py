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

Reference: Schmidt, Babanezhad, Ahmed, Defazio, Clifton, Sarkar 2015, algorithm 1 and sections 4 and 5.
"""

from ..base import Algorithm
from ._sag import SagSteps
from ._shared import LIGHTER, OPTIONS, AveragedGradient, memory


def build(objective, w, rng, **options):
    return AveragedGradient(objective, w, rng, SagSteps, **options)


ALGORITHM = Algorithm(
    summary="stochastic average gradient with non-uniform sampling: fast to any accuracy, no step size",
    reference=(
        "Schmidt, Babanezhad, Ahmed, Defazio, Clifton, Sarkar, "
        "Non-uniform stochastic average gradient method for training conditional random fields, AISTATS 2015"
    ),
    solves=frozenset({"l2", "no-l2"}),
    options=OPTIONS,
    optimiser=AveragedGradient,
    build=build,
    memory=memory,
    lighter=LIGHTER,
    tol=2e-6,
    passes=200,
    details=(
        "The table of last gradients is what it costs. `mixed` keeps the node marginals and one L x L sum for each sequence:\n"
        "tokens x L + sequences x L^2 numbers, independent of the features. It needs the plain B line; with attributes on label\n"
        "pairs all edge marginals are kept, tokens x (L + L^2) numbers, as `marginals` always does. `sparse` keeps the gradient's\n"
        "entries: smaller only where a token has few attributes and these few labels. --batch makes entries of several sequences,\n"
        "which shares the L^2 parts. Numbers take 4 bytes, 8 with --table-precision double."
    ),
)
