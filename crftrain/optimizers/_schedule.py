"""Step sizes of the stochastic methods: how they fall, and where they start.

    inverse        eta_k = eta / (1 + k/n)          Collins et al. 2008
    exponential    eta_k = eta alpha^(k/n)          Tsuruoka, Tsujii, Ananiadou 2009, section 3.3

k counts steps, one for each sequence. The first, eta, can be found on a sample of the data: passes over the sample at
constant rates, each from the same weights, doubling the rate while that leaves a lower objective (or halving it, if the
first doubling did not). As Bottou's sgd and CRFsuite do, but for stopping at the first rate that is worse.
"""

import math

import numpy as np

from ..errors import TrainingError
from .base import Option

FORMULAS = {
    "inverse": lambda k, eta, alpha: eta / (1 + k),
    "exponential": lambda k, eta, alpha: eta * alpha**k,
}
SAMPLE = 1000  # sequences
FIRST, FACTOR, TRIALS = 0.1, 2.0, 20

ETA = Option("eta", "auto", "the first step size; auto finds one on a sample", above=0.0, words=("auto",))
ALPHA = Option("alpha", 0.85, "exponential: what the step size is multiplied by in a pass", above=0.0, maximum=1.0)


def schedule_option(*names):
    """Of these schedules; the first is the default."""
    return Option("schedule", names[0], "how step sizes fall", choices=names)


def rates(schedule, eta, alpha, first, count, n):
    """float64[count]: the step sizes of steps first .. first + count - 1."""
    return FORMULAS[schedule](np.arange(first, first + count) / n, eta, alpha)


def calibrate(trial):
    """The step size with the least trial(eta), the objective on a sample after a pass over it; what fails is infinite."""

    def value(eta):
        try:
            f = trial(eta)
        except TrainingError:
            return math.inf
        return f if math.isfinite(f) else math.inf

    best, least = FIRST, value(FIRST)
    for factor in (FACTOR, 1 / FACTOR):
        for _ in range(TRIALS):
            f = value(best * factor)
            if f >= least and (f < math.inf or factor > 1):
                break
            best, least = best * factor, f
        if best != FIRST:
            break
    return best
