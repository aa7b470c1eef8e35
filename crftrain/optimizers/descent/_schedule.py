"""Step sizes of the stochastic methods: how they fall, and where they start.

    constant       eta_k = eta
    inverse        eta_k = eta / (1 + k/n)          Collins et al. 2008
    exponential    eta_k = eta alpha^(k/n)          Tsuruoka, Tsujii, Ananiadou 2009, section 3.3
    bottou         eta_k = eta / (1 + eta lambda k)   Bottou 2010; CRFsuite
    pegasos        eta_k = eta / (lambda (k + 1))   Shalev-Shwartz et al. 2011

k counts steps, one for each unit (a sequence, or a batch of them), n are the units. The first, eta, can be found by trials.

`auto` looks at a sample of the data, as Bottou's sgd and CRFsuite do: trials from the same weights, doubling eta while that
leaves a lower objective, or halving it if the first doubling did not; then the minimum of the parabola over log eta through
the best trial and its neighbours. `grid` does the same with powers of ten, and GRID_PASSES passes over all the data for each.

Where the rate goes by steps alone a trial is the beginning of the training. (For bottou, whose later rates hardly depend on
eta, what is best then is best or nearly so after 10 and after 50 passes, too.) It is looked at three times, each time over a
third of the sample, and judged by the median: the end alone is at the mercy of the last steps, and just after a sequence of
859 tokens (CoNLL-2002 Dutch has 13 in the mean) steps ten times too short look best. Where the rate falls with the passes the
trial is the whole training in small: the rate falls along it as it will in PASSES passes, since what wins at the rate of the
beginning is two to four times too small for one that falls to nothing; its last steps are so short that the end tells.
Pegasos' steps have a length of their own, eta = 1, which no beginning shows: its first are n times as long as those of a pass later.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...errors import TrainingError
from ..base import Option

FORMULAS = {
    "constant": lambda k, n, eta, how: np.full(len(k), eta),
    "inverse": lambda k, n, eta, how: eta / (1 + k / n),
    "exponential": lambda k, n, eta, how: eta * how.alpha ** (k / n),
    "bottou": lambda k, n, eta, how: eta / (1 + eta * how.decay * (k / n)),
    "pegasos": lambda k, n, eta, how: eta / (how.decay * ((k + 1) / n)),
}
ENDLESS = {"constant", "bottou", "pegasos"}  # they do not depend on n, but for decay
OWN = {"pegasos": 1.0}  # eta where trials do not tell
SAMPLE, PASSES = 1000, 30  # units of the sample; passes that a trial is a picture of
LOOKS = (0.6, 0.8, 1.0)  # after these parts of a trial that is a beginning
GRID_PASSES = 5
FIRST, TRIALS = 0.1, 20

ETA = Option(
    "eta",
    "auto",
    "the first step size; auto finds one on a sample, grid a power of ten by 5 passes over all data for each",
    above=0.0,
    words=("auto", "grid"),
)
ALPHA = Option("alpha", 0.85, "exponential: what the step size is multiplied by in a pass", above=0.0, maximum=1.0)

BATCH = Option("batch", 1, "sequences whose mean gradient makes a step", minimum=1)


def schedule_option(*names):
    """Of these schedules; the first is the default."""
    return Option("schedule", names[0], "how step sizes fall", choices=names)


@dataclass(frozen=True)
class Schedule:
    """How step sizes fall; decay is lambda n."""

    name: str
    alpha: float = 0.85
    decay: float = 1.0

    @property
    def endless(self):
        """Whether it goes by steps alone."""
        return self.name in ENDLESS

    @property
    def pictured(self):
        """Whether a trial is the whole training in small, not its beginning."""
        return not self.endless

    def rates(self, eta, first, count, n):
        """float64[count]: the step sizes of steps first .. first + count - 1."""
        with np.errstate(over="ignore"):
            return FORMULAS[self.name](np.arange(first, first + count, dtype=float), n, eta, self)

    def trial_passes(self, count, n):
        """How many passes over n units a trial with so many steps stands for."""
        return PASSES if self.pictured else count / n

    def trial_rates(self, eta, count, n):
        """Its step sizes."""
        return self.rates(eta, 0, count, count / self.trial_passes(count, n))


class Pictured(Schedule):
    """One whose trials are always the whole training in small, for a method that does better with longer steps."""

    pictured = True


class Brief(Schedule):
    """One of a few passes, after which another algorithm goes on: what is best at the beginning is best for these."""

    pictured = False


def calibrate(trial):
    """The step size with the least trial(eta); a trial that fails is infinite."""
    best, value = valley(trial, 2.0)
    below, least, above = value(best - 1), value(best), value(best + 1)
    bend = below - 2 * least + above
    shift = 0.5 * (below - above) / bend if 0 < bend < math.inf else 0.0
    return FIRST * 2.0 ** (best + shift)


def grid(trial):
    """The power of ten with the least trial(eta)."""
    return FIRST * 10.0 ** valley(trial, 10.0)[0]


def valley(trial, base):
    """(the power of the base, times FIRST, from which trials get worse both ways, trial of a power)."""
    values = {}

    def value(power):
        if power not in values:
            try:
                f = trial(FIRST * base**power)
            except TrainingError:
                f = math.inf
            values[power] = f if math.isfinite(f) else math.inf
        return values[power]

    best = 0
    while best < TRIALS and value(best + 1) < value(best):
        best += 1
    while best > -TRIALS and (value(best - 1) < value(best) or value(best) == math.inf):
        best -= 1
    return best, value
