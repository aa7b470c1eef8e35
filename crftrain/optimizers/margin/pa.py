"""Passive-aggressive learning: the smallest change of the weights after which the gold path leads by a margin.

For each sequence of a random permutation, with y the best label path and d the number of its wrong labels:

    loss = w.F(x, y) - w.F(x, gold) + sqrt(d)                        without --error-sensitive: + 1
    tau  = loss / |F(x, gold) - F(x, y)|^2                           --type 0
           min(c, that)                                              --type 1
           loss / (|F(x, gold) - F(x, y)|^2 + 1/(2c))                --type 2
    w <- w + tau (F(x, gold) - F(x, y))

With type 0, and type 1 while tau <= c, the gold path then leads y by just the margin. The result is the mean of w after each step.

Reference: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006.
"""

from ..base import Option
from ._compiled import PassiveAggressiveSteps
from ._shared import AUGMENT, AVERAGING, EPSILON, mistake_driven

ALGORITHM = mistake_driven(
    PassiveAggressiveSteps,
    Option("type", "1", "0: no slack; 1: steps of at most c; 2: steps damped by 1/(2c)", choices=("0", "1", "2")),
    Option("c", 1.0, "aggressiveness: the larger, the longer the steps of types 1 and 2", above=0.0),
    Option("error_sensitive", True, "the margin grows with the square root of the number of wrong labels"),
    Option("averaging", True, AVERAGING),
    AUGMENT,
    EPSILON,
    summary="passive-aggressive: after a mistake, the smallest change that gives the gold path a margin",
    reference="Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, Online passive-aggressive algorithms, JMLR 7, 2006",
)
