"""Under l1: the best bound that mixtures of distributions prove, and how long steps are by what it makes of them.

Each pass the table has distributions of mean entropy H and gradient g, and those mixed before have H' and g'. Any mixture bounds f*

    phi(t) = (1 - t) H' + t H - sum_j max(0, |(1 - t) g'_j + t g_j| - l1)^2 / (2 l2)

from below, since entropy is concave; phi is concave, too, and its best t makes the mixture that the next pass meets. So what swings in the
table evens out, and the bound is that of many passes. Both sides are first mixed with the labels, H = 0 and g = 0, as is best.

The best t tells as well how the steps are. Where each pass makes all before it worthless, t is 1 and longer steps would be borne; where
they swing, there is little in the new point that is not noise, and t is small:

    t above TRUSTED    steps are LONGER; above what was too long once, SLOWER so
    t below DOUBTED    steps are SHORTER, where t is a third of that MUCH so, unless it rises already; from now on CUT of their length is
                       what may be too long, and each constant is searched once more: some of them are of weights that were quite other ones

While less than WEAK of f is proved t tells nothing: where lambda is small a bound is far off whatever the steps are, since all that
|g| has above l1 is squared and divided by it. Steps are not shorter than the constants say then.

A run from zero has its first BEGIN passes at the length that the constants of the sequences allow, and goes on at LONG of it. Those
constants are of no use to t, nor is a clock.
"""

import numpy as np

from ...chain._measures import beyond
from ...chain.certificate import STEPS

TRUSTED, DOUBTED = 0.6, 0.3
LONGER, SLOWER, SHORTER, MUCH, CUT = 1.2, 1.1, 0.75, 0.6, 0.8
BEGIN, LONG, LEAST, MOST = 6, 2.0, 1 / 16, 4.0
WEAK = 0.5
NEAR = 1e-5  # how well t has to be known


class Mixture:
    def __init__(self, size):
        self.entropy, self.g = 0.0, np.zeros(size, np.float32)  # whose rounding is far below the table's

    def add(self, entropy, g, *, l2, l1):
        """(what is proved now, the t of these distributions); g is used up."""
        c, before = self._best((0.0, 0.0), (0.0, 1.0), entropy, g, l2, l1), self._best((0.0, 0.0), (1.0, 0.0), entropy, g, l2, l1)
        t = self._best((before, 0.0), (-before, c), entropy, g, l2, l1)
        x, y = before * (1 - t), c * t
        self.entropy = x * self.entropy + y * entropy
        g *= y
        self.g *= x
        self.g += g
        square = beyond(self.g, g, (1.0, 0.0), (0.0, 0.0), l1)[0]
        return max(0.0, self.entropy - square / (2 * l2)), t

    def _best(self, at, along, entropy, g, l2, l1):
        """The t from 0 to 1 of the largest phi at (x, y) = at + t along, the shares of what was before and of g: Newton, bracketed."""
        rise, low, high, t = along[0] * self.entropy + along[1] * entropy, -1.0, 1.0, 1.0  # low: nothing is known of 0 yet
        for _ in range(STEPS):
            x, y = at[0] + t * along[0], at[1] + t * along[1]
            _, falls, bends = beyond(self.g, g, (x, y), along, l1)
            slope = rise - falls / l2
            if slope >= 0 and t == 1 or slope <= 0 and t == 0 or bends == 0 and slope == 0:
                return t
            low, high = (t, high) if slope > 0 else (low, t)
            nearer = t + slope * l2 / bends if bends else -1.0
            if not low < nearer < high:
                nearer = (low + high) / 2
            nearer = max(0.0, nearer)
            if abs(nearer - t) <= NEAR * nearer:
                return nearer
            t = nearer
        return t


class Stride:
    """The length of the steps over that which the constants allow."""

    def __init__(self, wait):
        """wait: so many passes at first."""
        self.length, self.most, self.wait, self.last = 1.0, MOST, wait, 1.0

    def look(self, t, proved=1.0):
        """After a pass that the mixture took t of, with so much of f proved; whether each constant shall be searched again."""
        anew = False
        if self.wait:
            self.wait -= 1
            self.length = self.length if self.wait else LONG
        elif t > TRUSTED:
            self.length = min(MOST, self.length * (LONGER if self.length * LONGER <= self.most else SLOWER))
        elif t < DOUBTED:
            anew = self.last >= DOUBTED
            self.most = CUT * self.length if anew else self.most
            self.length = self.length if t > self.last else max(LEAST, self.length * (SHORTER if t > DOUBTED / 3 else MUCH))
        if proved < WEAK and not self.wait:
            self.length = max(1.0, self.length)
        self.last = t
        return anew

    def forget(self):
        """Another strength: what is known of the steps holds."""

    @property
    def note(self):
        return f"steps x {self.length:.2g}" if self.length < 1 else ""

    def state(self):
        return [self.length, self.most, float(self.wait), self.last]

    def restore(self, state):
        self.length, self.most, wait, self.last = map(float, state)
        self.wait = int(wait)
