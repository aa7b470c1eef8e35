"""A trust region: the outer loop of Newton's method, and its subproblem.

    model of f around w:    f(w + s) ~ f + g's + s'Hs/2,   trusted where |s| <= radius

    1. s: the minimum of the model, about, by the conjugate gradients of the subproblem; a flat model, without minimum, gets a radius
    2. rho = (f(w) - f(w + s)) / (what the model promised); where f drowns in rounding, slopes tell: -(g + g').s/2
    3. rho < ETA: the step is shortened along s until f falls enough, and with it the radius;
       else w <- w + s, and the radius shrinks where the promise was poor and grows where a bound step kept it
    4. where the gradient at w + s is what the model says, -r = g + Hs, about, the next step goes on with the same model and
       the same conjugate gradients, which a new model would have to begin anew; if f is higher there, a new model is made here

With 3) no step is in vain. Without 4) what a trial at w + s has computed for products there is never computed twice; with it
the last point of a model is visited twice, and the steps can be short.

References: Steihaug, "The conjugate gradient method and trust regions in large scale optimization", 1983; Lin, Weng, Keerthi,
"Trust region Newton method for large-scale logistic regression", 2008 (constants); Nocedal and Yuan, "Combining trust region
and line search techniques", 1998 (step 3).
"""

import math
from typing import NamedTuple

import numpy as np

from ._linesearch import C1, drowned
from ._pieces import COLUMNS, columns

ETA, POOR, GOOD = 1e-4, 0.25, 0.75
AGREE = 0.15
FIRST = 1.0  # radius where there was none
FLAT = 1e-12  # curvature, as a part of the largest, that may be rounding alone
TRIALS = 40


class Promise(NamedTuple):
    """What the subproblem's step should do."""

    decrease: float  # of the model
    norm: float
    bound: bool  # it ends at the radius, or would go on without end: the model is flat
    products: int


class Scalars(NamedTuple):
    """The scalar products that conjugate gradients go by, and the decrease of the model so far."""

    rr: float
    rz: float
    sd: float
    dd: float
    ss: float = 0.0
    decrease: float = 0.0


class Steihaug:
    """min g's + s'Hs/2 over |s| <= radius, by conjugate gradients from s = 0, along which both |s| and the decrease grow.

    |s|^2 = s'Ds where a diagonal D is set, which also preconditions: z = r / D in place of r.

    begin() poses the problem; a run() ends at the radius, or when `enough(k, decrease, gain, fall)` says so after k products: gain
    is the last step's part of the decrease, r = -g - Hs, fall is |r| over what it was when the run began. Another run() goes on
    from there. |s| and the scalar products that it takes follow by recursion. product(d, out) is H d.
    """

    def __init__(self, size, product):
        self.product = product
        self.s, self.r, self.d, self.Hd = (np.empty(size) for _ in range(4))  # between runs Hd is free for use
        self.room, self.inverse = np.empty(min(size, COLUMNS)), None  # of D

    def precondition(self, inverse):
        """Set D, once: lengths are measured otherwise from then on."""
        self.inverse = inverse

    def begin(self, g):
        self.s[:] = 0
        np.negative(g, out=self.r)
        self.d[:] = 0
        self._meet()
        self._turn(0.0)
        rz = float(self.r @ self.d)
        self.sums = Scalars(float(self.r @ self.r), rz, *self._along(0.0, 0.0, rz, 0.0))

    def run(self, radius, enough):
        rr, rz, sd, dd, ss, decrease = self.sums
        first, bound, k, top = rr, False, 0, 0.0
        while rz > 0:
            self.product(self.d, self.Hd)
            k += 1
            dHd = float(self.d @ self.Hd)
            top = max(top, dHd / dd)
            a = rz / dHd if dHd > FLAT * top * dd else math.inf
            bound = not ss + 2 * a * sd + a * a * dd < radius * radius
            if bound and math.isinf(radius):
                break  # flat: no minimum that way
            if bound:
                a = (math.sqrt(sd * sd + dd * (radius * radius - ss)) - sd) / dd
            gain = a * rz - a * a * dHd / 2
            decrease += gain
            ss += 2 * a * sd + a * a * dd
            before, (rr, rz) = rz, self._advance(a)
            b = rz / before
            self._turn(b)
            sd, dd = self._along(b, sd + a * dd, rz, dd)
            if bound or enough(k, decrease, gain, math.sqrt(rr / first)):
                break
        self.sums = Scalars(rr, rz, sd, dd, ss, decrease)
        return Promise(decrease, math.sqrt(ss), bound, k)

    def state(self, on):
        """`on`: the next run() goes on."""
        return {"s": self.s, "r": self.r, "d": self.d, "sums": np.array(self.sums)} if on else {}

    def restore(self, state):
        if "sums" in state:
            self.s[:], self.r[:], self.d[:] = state["s"], state["r"], state["d"]
            self.sums = Scalars(*map(float, state["sums"]))

    @property
    def unfinished(self):
        """There is something left for another run()."""
        return self.sums.rz > 0

    def agrees(self, gradient):
        """The gradient at s is what the model says: |gradient + r| <= AGREE |r|."""
        rr = self.sums.rr
        return float(gradient @ gradient + 2 * (gradient @ self.r)) + rr <= AGREE**2 * rr

    def _meet(self):
        """A model begins: before its first direction."""

    def _along(self, b, sd, rz, dd):
        """s'd and d'd of the next direction, from those of the last: r is orthogonal to s and d."""
        return b * sd, rz + b * b * dd

    def _advance(self, a):
        """s += a d, r -= a Hd; |r|^2 and r'z."""
        rr = rz = 0.0
        for part in columns(len(self.s)):
            r, room = self.r[part], self.room[: len(self.r[part])]
            self.s[part] += np.multiply(self.d[part], a, out=room)
            r -= np.multiply(self.Hd[part], a, out=room)
            rr += float(r @ r)
            rz += float(r @ self._z(part)) if self.inverse is not None else 0.0
        return rr, rz if self.inverse is not None else rr

    def _turn(self, b):
        """d = z + b d."""
        for part in columns(len(self.s)):
            d = self.d[part]
            d *= b
            d += self._z(part)

    def _z(self, part):
        r = self.r[part]
        return r if self.inverse is None else np.multiply(r, self.inverse[part], out=self.room[: len(r)])


class TrustRegion:
    """The outer loop over w, which is at the point reached; f and `gradient` are those there. `on`: the next step goes on with its model.

    enter(w, g) -> f with the gradient in g, after which the subproblem's products are those at w, as long as w has these values;
    evaluate(w, g) is the same and leaves the products alone. w is entered already.
    """

    def __init__(self, enter, evaluate, subproblem, w, g, f, radius=math.inf):
        self.enter, self.evaluate, self.subproblem = enter, evaluate, subproblem
        self.w, self.g, self.f, self.radius = w, g, f, radius
        self.on = False
        self.origin, self.reached = np.empty_like(w), np.empty_like(w)  # of a model, with f `before` and g; w where it goes on

    @property
    def gradient(self):
        return self.subproblem.Hd if self.on else self.g

    def step(self, enough, exact=False):
        """Steps 1) to 4), 4) where the model is exact; the Promise, or None where no step lowers f any more."""
        inner, evaluate = self.subproblem, self.evaluate if exact else self.enter
        if self.on:
            self.reached[:], self.w[:] = self.w, self.origin
        else:
            self.origin[:], self.before = self.w, self.f
            inner.begin(self.g)
        promise = inner.run(self.radius, enough)
        if promise.bound and not promise.decrease > 0:
            self.radius = FIRST
            promise = inner.run(self.radius, enough)
        if not promise.decrease > 0:
            return None
        slope, a = float(self.g @ inner.s), 1.0
        f = self._try(evaluate, a)
        rho = self._decrease(f, slope, a) / promise.decrease
        if self.on and not (rho >= ETA and (f <= self.f or drowned(f, self.f))):
            return self._turn_back(promise)
        self.on = exact and rho >= ETA and not promise.bound and inner.unfinished and inner.agrees(inner.Hd)
        if self.on:
            self.f = f
            return promise
        if rho >= ETA:
            self._resize(rho, promise)
        else:
            for _ in range(TRIALS):
                # the minimum of the parabola through f, its slope and the trial
                curve = f - self.before - a * slope
                a *= min(max(-a * slope / (2 * curve), 0.1), 0.5) if math.isfinite(curve) and curve > 0 else 0.1
                f = self._try(evaluate, a)
                if self._decrease(f, slope, a) >= -C1 * a * slope:
                    break
            else:
                self.w[:] = self.origin
                self.f = self.enter(self.w, self.g)
                return None
            self.radius = a * promise.norm
        if exact:
            self.f = self.enter(self.w, self.g)
        else:
            self.f, self.g[:] = f, inner.Hd
        return promise

    def state(self):
        state = {"radius": np.array(self.radius)} | self.subproblem.state(self.on)
        return state | {"origin": self.origin} if self.on else state

    def restore(self, state):
        """After w, or its origin where state() had one, was entered."""
        self.radius, self.on = float(state["radius"]), "origin" in state
        self.subproblem.restore(state)
        if self.on:
            self.origin[:], self.before = self.w, self.f
            self.w[:] = state["w"]
            self.f = self.evaluate(self.w, self.subproblem.Hd)

    def _turn_back(self, promise):
        """To the point reached, for a new model there."""
        self.w[:] = self.reached
        self.f = self.enter(self.w, self.g)
        self.radius, self.on = promise.norm / 2, False
        return promise

    def _try(self, evaluate, a):
        """f at a steps s from the origin; w moves there, and the subproblem's Hd becomes the gradient."""
        inner = self.subproblem
        np.multiply(inner.s, a, out=self.w)
        self.w += self.origin
        return evaluate(self.w, inner.Hd)

    def _decrease(self, f, slope, a):
        if drowned(f, self.before):
            return -a * (slope + float(self.subproblem.Hd @ self.subproblem.s)) / 2
        return self.before - f

    def _resize(self, rho, promise):
        if rho < POOR:
            self.radius = promise.norm / 2
        elif rho > GOOD and promise.bound:
            self.radius = 2 * self.radius
