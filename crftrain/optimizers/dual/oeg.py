"""Online exponentiated gradient: the dual of the objective is climbed one sequence at a time.

    D(alpha) = 1/n sum_i H(alpha_i) - lambda/2 |w(alpha)|^2,    f(w(alpha)) - D(alpha) = 1/n sum_i KL(alpha_i || p_i(w))

alpha_i is a chain with the scores theta_i; w(alpha) = 1/(n lambda) sum_i F_i' (gold_i - mu_i) makes primal points of it.

    1. theta_i = initial_score on the parts with gold labels, 0 on others; w(alpha) takes a pass
    2. draw i: once each in random order, then uniformly
    3. theta <- (1 - eta_i) theta_i + eta_i psi_i(w), its marginals and entropy
    4. if D has fallen, halve eta_i and do 3 again, at most 2 times in the first pass, then 5; if it still falls, leave theta_i
    5. w <- w(alpha), eta_i <- 1.05 eta_i

What makes it fast: node scores and one matrix of label pairs are all that theta_i needs (_oeg), and the change of D needs
the blocks of sequence i alone (_dual). The scores psi_i(w) take no forward run, so a visit costs one, and one for each halving.

References: Collins, Globerson, Koo, Carreras, Bartlett 2008; Schmidt et al. 2015, footnote 9 and appendix D.
"""

from ..average._compiled import Sampler
from ..average._shared import vectors
from ..base import Algorithm, Option
from ._compiled import BatchOegSteps, OegSteps
from ._shared import INITIAL, PERMUTE, DualAscent, padded, pairs_summed

ETA, HALVINGS, BATCH_HALVINGS = 0.5, (2, 5), (60, 60)


def build(objective, w, rng, *, initial_score, permute, batch_mode):
    steps, halvings = (BatchOegSteps, BATCH_HALVINGS) if batch_mode else (OegSteps, HALVINGS)
    draws = {"order": rng.permutation(objective.n_sequences) if permute else None, "sampler": Sampler(objective.n_sequences, rng, l2=0.0)}
    return DualAscent(objective, w, rng, steps(objective, w, initial=initial_score, eta=ETA, halvings=halvings, **draws))


def memory(facts, options):
    """w, v and d; scores and marginals of each part."""
    row, matrix = padded(facts)
    pairs = facts.n_tokens * matrix if facts.n_pair_features else facts.n_sequences * pairs_summed(facts)
    return {"weights": vectors(facts, 2), "dual": 16 * (facts.n_tokens * row + pairs)}


ALGORITHM = Algorithm(
    summary="online exponentiated gradient in the dual, with the duality gap as certificate",
    reference=(
        "Collins, Globerson, Koo, Carreras, Bartlett, Exponentiated gradient algorithms for conditional random fields "
        "and max-margin Markov networks, JMLR 2008"
    ),
    solves=frozenset({"l2"}),
    options=(INITIAL, PERMUTE, Option("batch_mode", False, "all sequences with one step size: plain exponentiated gradient")),
    constrained=False,
    optimiser=DualAscent,
    build=build,
    memory=memory,
    tol=1e-6,
    passes=200,
    details=(
        "For a proved distance from the optimum without the memory of sdca. Raise --initial-score to 10: on CoNLL-2000 (features\n"
        "observed, lambda = 1/n) it is 1e-3 above the optimum after 26 passes then, and with 3, the published value, not after 100;\n"
        "on OCR after 46 and 59. Where the first weights of label pairs are wild (EWT with the published value), logarithms are\n"
        "needed, and passes take two to three times as long. Of label pairs it keeps those that have weights."
    ),
)
