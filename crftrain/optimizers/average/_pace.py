"""Shorter steps where a run swings, and longer ones again where it has long been calm.

The constants L_i say how far a step may go. Each is measured along the gradient of its own sequence, at the w of the last search, and
searches that keep being satisfied are left out ever longer. So some come to be too small: of the sequences of a large corpus one in a
thousand, by a factor of 2 to 4. Such a sequence is drawn too seldom for the step: with tau = 1 / (n p_i) passes between its visits w
moves by alpha tau of its gradient, and where alpha tau h, h its true curvature, is above 1, that overshoots and grows. The mean curvature
has no part in it: alpha times the largest eigenvalue of the whole Hessian is a few hundredths.

What is tracked is the dual at the point of the table, a lower bound of the optimum, pass by pass: it is exact, where the value is an
average of old losses. It rises
while all is well, and then nothing is changed.

    it is below its largest value by FALL of what that lacked to the value, twice:  steps are SHORTER, all constants are searched anew
    it has risen in CALM passes:    steps are as much longer, at most what the constants allow; the next time that takes twice as many

Without a squared penalty there is no such bound. Then minus the value is what should rise, and COARSE of it is what it may lack.
"""

import math

FALL, TWICE, SHORTER, CALM = 0.5, 2, 0.5, 20
NOISE, COARSE = 1e-6, 1e-2  # of the value: what rounding in the table does is no swing


class Pace:
    def __init__(self):
        self.length, self.top, self.calm, self.patience, self.fallen = 1.0, -math.inf, 0, CALM, 0

    def look(self, bound, objective):
        """Whether all constants shall be searched anew; `length` is that of the steps to come. bound None: there is none."""
        lacking = abs(objective) * (COARSE if bound is None else NOISE)
        if bound is None:
            bound = -objective
        else:
            lacking = max(lacking, objective - self.top)
        self.fallen = self.fallen + 1 if self.top - bound > FALL * lacking else 0
        if self.fallen < TWICE:
            self._settle(bound)
            return False
        self.length, self.top, self.calm, self.fallen = self.length * SHORTER, bound, 0, 0
        return True

    def _settle(self, bound):
        if bound > self.top:
            self.top, self.calm = bound, self.calm + 1
        if self.length < 1 and self.calm >= self.patience:
            self.length, self.calm, self.patience = min(1.0, self.length / SHORTER), 0, 2 * self.patience

    def forget(self):
        """What was seen under another strength."""
        self.top, self.fallen = -math.inf, 0

    @property
    def note(self):
        return f"steps x {self.length:g}" if self.length < 1 else ""

    def state(self):
        return [self.length, self.top, float(self.calm), float(self.patience), float(self.fallen)]

    def restore(self, state):
        self.length, self.top, self.calm, self.patience, self.fallen = map(float, state)
