"""The margin-infused relaxed algorithm with the one best path, as CRF++ has it: coordinate ascent in the dual of a sequence SVM.

For each sequence i of a random permutation, with y the best label path and d the number of its wrong labels:

    tau = (w.F(x, y) - w.F(x, gold) + d) / |F(x, gold) - F(x, y)|^2,  at least 0, and sum tau of a sequence at most c
    w <- w + tau (F(x, gold) - F(x, y))

A sequence that was right in --shrinking-size passes in a row is left out. When a pass changes nothing, all take part again;
training ends when then nothing changes either.

Reference: Crammer and Singer 2003; Crammer, McDonald, Pereira 2005 for label sequences.
"""

from ..base import Option
from ._compiled import MiraSteps
from ._shared import AUGMENT, AVERAGING, EPSILON, mistake_driven

ALGORITHM = mistake_driven(
    MiraSteps,
    Option("c", 1.0, "what the steps of one sequence may add up to", above=0.0),
    Option("shrinking_size", 20, "leave a sequence out after so many passes without a mistake", minimum=1),
    Option("averaging", False, AVERAGING),
    AUGMENT,
    EPSILON,
    summary="margin-infused relaxed algorithm, 1-best, as CRF++'s: steps to the margin, bounded for each sequence",
    reference="Crammer, Singer, Ultraconservative online algorithms for multiclass problems, JMLR 3, 2003",
)
