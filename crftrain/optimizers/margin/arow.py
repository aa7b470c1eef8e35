"""Adaptive regularisation of weights: a Gaussian over each weight, and confident weights move little.

For each sequence of a random permutation, with y the best label path, d the number of its wrong labels, g = F(x, y) - F(x, gold)
and s_k the variance of weight k:

    loss  = w.F(x, y) - w.F(x, gold) + d
    alpha = loss / (gamma + sum_k s_k g_k^2)
    w_k   <- w_k - alpha s_k g_k
    1/s_k <- 1/s_k + g_k^2 / gamma                      so variances only shrink

Reference: Crammer, Kulesza, Dredze 2009; diagonal covariances, in the order of CRFsuite: w moves by the variance from before.
"""

from ..base import Option
from ._compiled import ArowSteps
from ._shared import AUGMENT, EPSILON, mistake_driven

ALGORITHM = mistake_driven(
    ArowSteps,
    Option("variance", 1.0, "the variance that every weight starts with", above=0.0),
    Option("gamma", 1.0, "the larger, the shorter the steps and the slower the variances shrink", above=0.0),
    AUGMENT,
    EPSILON,
    summary="adaptive regularisation of weights: each weight has a variance, which sets its step and shrinks",
    reference="Crammer, Kulesza, Dredze, Adaptive regularization of weight vectors, NIPS 2009",
)
