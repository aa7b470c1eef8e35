"""Whether an algorithm gets on too slowly, by its own estimates of the distance.

These fall by a factor, the same for many passes. sdca's does from the second pass on: after MOST passes it tells how many are left to GOAL.
Up to SLOW are not too many. Where sequences are long, on which sag takes many, one for each EACH tokens are not, up to SLOWEST, and the
factor is that of f(w) - D, which is all that changes while D is near 0. lbfgs must have proved something after FIRST iterations, and is
asked from the MOST-th on. sag's may rise for a time, and lengths that are uneven make it swing: its rate is that of the last WINDOW
passes, it is asked from pass FIRST on, and what it says must hold AGAIN times in a row, or twice as many passes must not have come nearer.
"""

import math
from collections import deque

import numpy as np

from ..base import counted

GOAL = 1e-3


class Watch:
    """What was seen of a run."""

    MOST = 0  # estimates that are looked back at

    def __init__(self, facts=None):
        self.facts = facts
        self.seen, self.passes = deque(maxlen=self.MOST), 0  # the logarithms of the last estimates, (f - f*) / f and f - f*; passes

    def see(self, distance, objective):
        """An estimate of (f - f*) / f, and f, after a pass."""
        self.passes += 1
        near = math.log(max(distance, 1e-300))
        self.seen.append((near, near + math.log(max(objective, 1e-300))))

    def slow(self):
        """Why another one should go on; None: it should not."""
        if not self.seen or not self.far():
            return None
        left = self.left()
        return None if left is None else f"would take {left:,.0f} passes more" if left < 10_000 else "gets no nearer"

    def left(self):
        """Passes to GOAL, where these are too many; else None."""
        raise NotImplementedError

    def far(self):
        """Whether GOAL is still to come."""
        return not self.seen or self.seen[-1][0] > math.log(GOAL)

    def forget(self):
        """What was seen under another strength."""
        self.seen.clear()

    def state(self):
        return {"seen": np.array(self.seen, float).reshape(-1, 2), "passes": np.array([self.passes])}

    def restore(self, state):
        self.seen.extend(map(tuple, state["seen"].tolist()))
        self.passes = counted(state, "passes")


def passes_left(distance, rate, stuck):
    """To GOAL from the logarithm of a distance; where nothing gets nearer, infinitely many if it is stuck."""
    return (distance - math.log(GOAL)) / rate if rate > 0 else math.inf if stuck else 0


class SagWatch(Watch):
    FIRST, WINDOW, SLOW, AGAIN = 20, 10, 200, 3
    MOST = 2 * WINDOW + 1

    def left(self):
        if self.passes < self.FIRST or len(self.seen) < self.WINDOW + self.AGAIN:
            return None
        seen = [distance for distance, _ in self.seen]
        stuck = len(seen) == self.MOST and min(seen) == seen[0]  # while it swings the estimate may rise for a time
        left = min(self._left(seen[: len(seen) - back], stuck) for back in range(self.AGAIN))
        return left if left > self.SLOW else None

    def _left(self, seen, stuck):
        """As of the last of seen."""
        recent = seen[-self.WINDOW - 1 :]
        rate = max((recent[k] - recent[-1]) / (self.WINDOW - k) for k in (0, self.WINDOW // 2))  # which still gets better at first
        return passes_left(recent[-1], rate, stuck)


class SdcaWatch(Watch):
    MOST, SLOW, EACH, SLOWEST = 3, 15, 20, 50
    NEAREST = 1e-6  # what numbers of 4 bytes tell from 0, and ten times as much

    def slow(self):
        near = self.seen and self.seen[-1][0] <= math.log(self.NEAREST)
        return "has come as near as its numbers of 4 bytes tell" if near else super().slow()

    def left(self):
        if len(self.seen) < self.MOST:
            return None
        borne = min(self.SLOWEST, self.facts.n_tokens_squared / self.facts.n_tokens / self.EACH) if self.facts else 0
        kind = int(borne > self.SLOW)
        left = passes_left(self.seen[-1][0], (self.seen[0][kind] - self.seen[-1][kind]) / (self.MOST - 1), True)
        return left if left > max(self.SLOW, borne) else None


class LbfgsWatch(Watch):
    FIRST, NOTHING, MOST, SLOW = 2, 0.9, 6, 30

    def left(self):
        if self.passes == self.FIRST and self.seen[-1][0] > math.log(self.NOTHING):
            return math.inf
        if len(self.seen) < self.MOST:
            return None
        left = passes_left(self.seen[-1][0], (self.seen[0][0] - self.seen[-1][0]) / (self.MOST - 1), True)
        return left if left > self.SLOW else None


WATCHES = {"sag": SagWatch, "sdca": SdcaWatch, "lbfgs": LbfgsWatch}
