"""A trust region: the outer loop of Newton's method, and its subproblem.

    model of f around w:    f(w + s) ~ f + g's + s'Hs/2,   trusted where |s| <= radius

    1. s: the minimum of the model, about, by the conjugate gradients of the subproblem
    2. rho = (f(w) - f(w + s)) / (what the model promised); where f drowns in rounding, slopes tell: -(g + g').s/2
    3. rho < ETA: the step is shortened along s until f falls enough, and with it the radius;
       else w <- w + s, and the radius shrinks where the promise was poor and grows where a bound step kept it

With 3) no step is in vain, and what a trial at w + s has computed for products there is never computed twice.

References: Steihaug, "The conjugate gradient method and trust regions in large scale optimization", 1983; Lin, Weng, Keerthi,
"Trust region Newton method for large-scale logistic regression", 2008 (constants); Nocedal and Yuan, "Combining trust region
and line search techniques", 1998 (step 3).
"""

import math
from typing import NamedTuple

import numpy as np

from ._linesearch import C1, drowned

ETA, POOR, GOOD = 1e-4, 0.25, 0.75
TRIALS = 40
COLUMNS = 16384  # numbers that are updated together, so that they stay in the cache


class Promise(NamedTuple):
    """What the subproblem's step should do."""

    decrease: float  # of the model
    norm: float
    bound: bool  # it ends at the radius
    products: int


class Steihaug:
    """min g's + s'Hs/2 over |s| <= radius, by conjugate gradients from s = 0, along which both |s| and the decrease grow.

    |s|^2 = s'Ds where a diagonal D is set, which also preconditions: z = r / D in place of r.

    It ends at the radius, or when `enough(k, decrease, gain, |r|)` says so after k products: gain is the k-th step's part of the
    decrease, r = -g - Hs. |s| and the scalar products that it takes follow by recursion. product(d, out) is H d.
    """

    def __init__(self, size, product):
        self.product = product
        self.s, self.r, self.d, self.Hd = (np.empty(size) for _ in range(4))
        self.room, self.inverse = np.empty(min(size, COLUMNS)), None  # of D

    def solve(self, g, radius, enough):
        s, r, d = self.s, self.r, self.d
        s[:] = 0
        np.negative(g, out=r)
        d[:] = 0
        self._meet()
        self._turn(0.0)
        rz = float(r @ d)
        sd, dd = self._along(0.0, 0.0, rz, 0.0)
        ss = decrease = 0.0
        k = 0
        while rz > 0:
            self.product(d, self.Hd)
            k += 1
            dHd = float(d @ self.Hd)
            a = rz / dHd if dHd > 0 else math.inf
            bound = not ss + 2 * a * sd + a * a * dd < radius * radius
            if bound and math.isinf(radius):
                break  # flat: no minimum that way
            if bound:
                a = (math.sqrt(sd * sd + dd * (radius * radius - ss)) - sd) / dd
            gain = a * rz - a * a * dHd / 2
            decrease += gain
            ss += 2 * a * sd + a * a * dd
            before, (rr, rz) = rz, self._advance(a)
            if bound or enough(k, decrease, gain, math.sqrt(rr)):
                return Promise(decrease, math.sqrt(ss), bound, k)
            b = rz / before
            self._turn(b)
            sd, dd = self._along(b, sd + a * dd, rz, dd)
        return Promise(decrease, math.sqrt(ss), False, k)

    def state(self):
        """What one solution leaves to the next."""
        return {}

    def restore(self, state):
        pass

    def _meet(self):
        """r is a new one."""

    def _along(self, b, sd, rz, dd):
        """s'd and d'd of the next direction, from those of the last: r is conjugate to s."""
        return b * sd, rz + b * b * dd

    def _advance(self, a):
        """s += a d, r -= a Hd; |r|^2 and r'z."""
        rr = rz = 0.0
        for columns in self._columns():
            r, room = self.r[columns], self.room[: len(self.r[columns])]
            self.s[columns] += np.multiply(self.d[columns], a, out=room)
            r -= np.multiply(self.Hd[columns], a, out=room)
            rr += float(r @ r)
            rz += float(r @ self._z(columns)) if self.inverse is not None else 0.0
        return rr, rz if self.inverse is not None else rr

    def _turn(self, b):
        """d = z + b d."""
        for columns in self._columns():
            d = self.d[columns]
            d *= b
            d += self._z(columns)

    def _z(self, columns):
        r = self.r[columns]
        return r if self.inverse is None else np.multiply(r, self.inverse[columns], out=self.room[: len(r)])

    def _columns(self):
        return (slice(first, first + COLUMNS) for first in range(0, len(self.s), COLUMNS))


class TrustRegion:
    """The outer loop. evaluate(w, g) -> f with the gradient in g, after which the subproblem's products are those at w."""

    def __init__(self, evaluate, subproblem, w, g, f, radius=math.inf):
        self.evaluate, self.subproblem = evaluate, subproblem
        self.w, self.g, self.f, self.radius = w, g, f, radius

    def step(self, enough):
        """Steps 1) to 3); the Promise, or None where no step lowers f any more."""
        inner = self.subproblem
        promise = inner.solve(self.g, self.radius, enough)
        if not promise.decrease > 0:
            return None
        slope, a = float(self.g @ inner.s), 1.0
        before, gradient = inner.Hd, inner.r
        before[:] = self.w
        f = self._try(a)
        rho = self._decrease(f, gradient, slope, a) / promise.decrease
        if rho >= ETA:
            self._resize(rho, promise)
        else:
            for _ in range(TRIALS):
                # the minimum of the parabola through f, its slope and the trial
                curve = f - self.f - a * slope
                a *= min(max(-a * slope / (2 * curve), 0.1), 0.5) if math.isfinite(curve) and curve > 0 else 0.1
                f = self._try(a)
                if self._decrease(f, gradient, slope, a) >= -C1 * a * slope:
                    break
            else:
                self.w[:] = before
                self.evaluate(self.w, self.g)
                return None
            self.radius = a * promise.norm
        self.f, self.g[:] = f, gradient
        return promise

    def _try(self, a):
        """f at w + a s; w moves there, and the subproblem's vectors keep w as it was and the gradient."""
        inner = self.subproblem
        np.multiply(inner.s, a, out=self.w)
        self.w += inner.Hd
        return self.evaluate(self.w, inner.r)

    def _decrease(self, f, gradient, slope, a):
        if drowned(f, self.f):
            return -a * (slope + float(gradient @ self.subproblem.s)) / 2
        return self.f - f

    def _resize(self, rho, promise):
        if rho < POOR:
            self.radius = promise.norm / 2
        elif rho > GOOD and promise.bound:
            self.radius = 2 * self.radius
