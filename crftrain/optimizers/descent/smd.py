"""Stochastic meta-descent: stochastic gradient descent with a step size for each weight, which descends too.

    f(w) = 1/n sum_i f_i(w) + lambda/2 |w|^2,   f_i = -log p(y_i | x_i)

For each unit i (a batch of sequences, or one) of a random permutation, g = grad f_i(w), H its Hessian:

    1. p_j <- p_j max(1/2, 1 - mu (g_j + lambda w_j) u_j)     where i has the attribute of weight j; a_j = eta p_j
    2. u <- decay u - a' (g + lambda w + decay (H u + lambda u))
    3. w <- w - a' (g + lambda w)                             a' = a / (1 + a lambda)

u is how w depends on the logarithm of its past gains, fading by `decay` a step: a gain grows where the gradient still points the way in
which longer steps have led. 3) with that a' is the proximal step on the penalty, as in sgd: --mu 0 is its
--schedule constant --no-average.

Dense, all three vectors change at each step. What keeps them off the sparse path: 1) leaves the gains of weights that only the penalty
moves as they are, where the paper lets that multiply them too, by about 1 - mu lambda^2 w^2 / (1 - decay). With their gains 2) and 3)
stay linear, and are taken late and exactly  (_smd).  H u is the tangent of the batch at hand  (_tangent).

Reference: Vishwanathan, Schraudolph, Schmidt, Murphy 2006, section 3; Schraudolph 1999.
"""

from ..average._shared import vectors
from ..base import Algorithm, Option
from ._compiled import SmdSteps, SmdWeights
from ._schedule import ETA, Schedule
from ._shared import Stochastic


def build(objective, w, rng, *, eta, mu, decay, batch):
    weights = SmdWeights(objective.layout, w, mu=mu, decay=decay, l2=objective.l2)
    return Stochastic(objective, w, rng, weights=weights, schedule=Schedule("constant"), eta=eta, batch=batch, steps=SmdSteps)


ALGORITHM = Algorithm(
    summary="stochastic meta-descent: a step size for each weight, adapted along its own gradient",
    reference="Vishwanathan et al., Accelerated training of conditional random fields with stochastic gradient methods, ICML 2006",
    solves=frozenset({"l2", "no-l2"}),
    options=(
        ETA,
        Option("mu", 0.1, "step size of the logarithms of the gains; 0 leaves them alike", minimum=0.0),
        Option("decay", 0.99, "what the past counts for the gains, a step ago", minimum=0.0, maximum=1.0),
        Option("batch", 8, "sequences whose mean gradient makes a step", minimum=1),
    ),
    optimiser=Stochastic,
    build=build,
    memory=lambda facts, options: {"weights, gains, and what they depend on": vectors(facts, 5)},
    passes=50,
    details=(
        "To study how step sizes can be found on the way. A pass takes a product with the Hessian for each gradient and counts as two;\n"
        "it is 7 times as long as one of sgd on CoNLL-2000 (observed features, lambda 1/n), 2.3 times on OCR. After 50, so counted, it\n"
        "is 5 to 8 % above the optimum there, and 8 to 14 % on OCR, where sgd is 0.2 % and 0.4 % above. It forgives a bad --eta: with 1\n"
        "on OCR it ends 16 to 21 % above, with --mu 0 too 270 to 440 %; but a large --mu can drive the gains beyond all\n"
        "bounds, which ends in an error."
    ),
)
