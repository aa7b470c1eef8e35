"""SAGA: like SAG, with an unbiased gradient at each step, and a proximal step that takes l1 too.

    1. draw u with probability p_u; g = grad f_u(w); delta = g - g_u                (_sampling, _table)
    2. w <- prox( (1 - alpha lambda) w - alpha (delta / (n p_u) + d/n) ),  d <- d + delta,  g_u <- g
       prox is the soft threshold at alpha lambda1; without l1 it does nothing
    3. alpha is a third of SAG's: an unbiased gradient with non-uniform draws varies more

Lazy as SAG (_lazy); with l1 a sleeping weight may stop at zero on the way, which _prox finds out exactly. --draws two is
proposition 1(b): one draw in proportion to L_i for the step, one uniform draw for the table, alpha = 1/(4 mean L).

References: Defazio, Bach, Lacoste-Julien 2014; Schmidt et al. 2015, proposition 1 and section 6.
"""

from dataclasses import replace

from ..base import Algorithm, Option
from ._compiled import ProxSagaSteps, SagaSteps, TwoDrawSteps
from ._shared import LIGHTER, OPTIONS, TABLE, AveragedGradient, memory

DRAWS = Option("draws", "one", "one draw a step, or a second one for the table (proposition 1b)", choices=("one", "two"))


def refuse(options, l2, l1, stream):
    if l1 and options["draws"] == "two":
        yield "--draws two", "--l1 is above 0", "--draws one"


def build(objective, w, rng, *, draws, **options):
    steps = ProxSagaSteps if objective.l1 else TwoDrawSteps if draws == "two" else SagaSteps
    return AveragedGradient(objective, w, rng, steps, **options)


ALGORITHM = Algorithm(
    summary="SAGA: unbiased stochastic average gradient, with l1 as well",
    reference="Defazio, Bach, Lacoste-Julien, SAGA: a fast incremental gradient method, NIPS 2014; Schmidt et al., AISTATS 2015",
    solves=frozenset({"l2", "l1", "no-l2"}),
    options=(*(replace(o, choices=("mixed", "marginals")) if o is TABLE else o for o in OPTIONS), DRAWS),
    optimiser=AveragedGradient,
    build=build,
    refuse=refuse,
    memory=memory,
    lighter=LIGHTER,
    tol=2e-6,
    passes=400,
)
