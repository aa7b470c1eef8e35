"""Step sizes of the stochastic methods: how they fall, and where they start.

    inverse        eta_k = eta / (1 + k/n)          Collins et al. 2008
    exponential    eta_k = eta alpha^(k/n)          Tsuruoka, Tsujii, Ananiadou 2009, section 3.3

k counts steps, one for each sequence. The first, eta, can be found on a sample of the data, as Bottou's sgd and CRFsuite
do: trials from the same weights, doubling eta while that leaves a lower objective, or halving it if the first doubling did
not; then the minimum of the parabola over log eta through the best trial and its neighbours. A trial here is the whole
training in small: one pass over the sample, along which the rate falls as it will in PASSES passes. (At a constant rate the
noise decides, and what wins is two to four times too small for a rate that falls.)
"""

import math

import numpy as np

from ..errors import TrainingError
from .base import Option

FORMULAS = {
    "inverse": lambda k, eta, alpha: eta / (1 + k),
    "exponential": lambda k, eta, alpha: eta * alpha**k,
}
SAMPLE, PASSES = 1000, 30  # sequences of the sample; passes that a trial is a picture of
FIRST, TRIALS = 0.1, 20

ETA = Option("eta", "auto", "the first step size; auto finds one on a sample", above=0.0, words=("auto",))
ALPHA = Option("alpha", 0.85, "exponential: what the step size is multiplied by in a pass", above=0.0, maximum=1.0)


def schedule_option(*names):
    """Of these schedules; the first is the default."""
    return Option("schedule", names[0], "how step sizes fall", choices=names)


def rates(schedule, eta, alpha, first, count, n):
    """float64[count]: the step sizes of steps first .. first + count - 1."""
    return FORMULAS[schedule](np.arange(first, first + count) / n, eta, alpha)


def trial_rates(schedule, eta, alpha, count):
    """The step sizes of a trial with so many steps."""
    return rates(schedule, eta, alpha, 0, count, count / PASSES)


def calibrate(trial):
    """The step size with the least trial(eta), the objective on a sample; a trial that fails is infinite."""
    values = {}

    def value(power):
        if power not in values:
            try:
                f = trial(FIRST * 2.0**power)
            except TrainingError:
                f = math.inf
            values[power] = f if math.isfinite(f) else math.inf
        return values[power]

    best = 0
    while best < TRIALS and value(best + 1) < value(best):
        best += 1
    while best > -TRIALS and (value(best - 1) < value(best) or value(best) == math.inf):
        best -= 1
    below, least, above = value(best - 1), value(best), value(best + 1)
    bend = below - 2 * least + above
    shift = 0.5 * (below - above) / bend if 0 < bend < math.inf else 0.0
    return FIRST * 2.0 ** (best + shift)
