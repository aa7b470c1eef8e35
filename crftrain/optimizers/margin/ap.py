"""The averaged perceptron for sequences.

For each sequence of a random permutation: the best label path y is searched; where it is not the gold one,

    w <- w + F(x, gold) - F(x, y)

and the result is the mean of w after each step. The mean costs nothing but at mistakes (_margin): a change that comes after j
of k steps counts (k - j)/k times, so that it is enough to sum j times each change.

Reference: Collins 2002; Freund and Schapire 1999 for the average.
"""

from ._compiled import PerceptronSteps
from ._shared import EPSILON, mistake_driven

ALGORITHM = mistake_driven(
    PerceptronSteps,
    EPSILON,
    averaging=True,
    summary="averaged perceptron: a Viterbi search a sequence, an update where it is wrong",
    reference=(
        "Collins, Discriminative training methods for hidden Markov models: theory and experiments with perceptron algorithms, EMNLP 2002"
    ),
    details="The loss is the share of wrong labels in a sequence.\n",
)
