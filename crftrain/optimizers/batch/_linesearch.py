"""A step length along a descent direction: phi(a) = f(w + a d), phi'(a) its slope.

Strong Wolfe conditions:    phi(a) <= phi(0) + C1 a phi'(0)   and   |phi'(a)| <= C2 |phi'(0)|

Where the decrease drowns in the rounding of f, |phi(a) - phi(0)| < 1e-10 |phi(0)|, only slopes can tell (Hager and
Zhang 2005, "approximate Wolfe"):

    (2 DELTA - 1) phi'(0) >= phi'(a) >= C2 phi'(0)   and   phi(a) <= phi(0) + 1e-12 |phi(0)|

1. A trial that satisfies either is taken.
2. Too high, or sloping upwards: the step is bracketed from above. Else it is too short: bracketed from below.
3. The next trial is the minimum of the cubic through both ends, kept away from them; or a longer step.
"""

import math

C1, C2, DELTA = 1e-4, 0.9, 0.1
TRIALS = 40


def strong_wolfe(phi, f0, slope0, first):
    """The accepted step length, or None; the last call of phi was at the step returned."""
    low, high = (0.0, f0, slope0), None
    a = first
    for _ in range(TRIALS):
        f, slope = phi(a)
        if not (math.isfinite(f) and math.isfinite(slope)):
            high = (a, math.inf, math.inf)
        else:
            if drowned(f, f0):
                if flat_enough(f, f0, slope, slope0) and slope >= C2 * slope0:
                    return a
                too_long = slope > 0 or not low_enough(f, f0)
            else:
                if f <= f0 + C1 * a * slope0 and abs(slope) <= -C2 * slope0:
                    return a
                too_long = f > f0 + C1 * a * slope0 or slope > 0
            if too_long:
                high = (a, f, slope)
            else:
                low = (a, f, slope)
        a = _between(low, high) if high else _beyond(low)
        if a is None:
            return None
    return None


def armijo(phi, f0, slope0, first):
    """The same for the first of the Wolfe conditions alone: shorter and shorter steps, as long as rounding can tell them apart."""
    a = first
    for _ in range(TRIALS):
        f, slope = phi(a)
        finite = math.isfinite(f) and math.isfinite(slope)
        if finite and f <= f0 + C1 * a * slope0:
            return a
        if drowned(f, f0):
            return None
        a = _between((0.0, f0, slope0), (a, f, slope) if finite else (a, math.inf, math.inf))
    return None


def drowned(f, f0):
    return abs(f - f0) < 1e-10 * abs(f0)


def low_enough(f, f0):
    return f <= f0 + 1e-12 * abs(f0)


def flat_enough(f, f0, slope, slope0):
    """The first half of the approximate conditions: what replaces a sufficient decrease."""
    return low_enough(f, f0) and slope <= (2 * DELTA - 1) * slope0


def _between(low, high):
    """The minimum of the cubic through both ends, at least a tenth of the way from either."""
    (a, fa, da), (b, fb, db) = low, high
    width = b - a
    if width <= 1e-15 * b:
        return None
    t = 0.1
    if math.isfinite(fb):
        theta = 3 * (fa - fb) / width + da + db
        root = math.sqrt(max(0.0, theta * theta - da * db))
        t = 1 - (db + root - theta) / (db - da + 2 * root) if db - da + 2 * root else 0.5
    return a + width * min(max(t, 0.1), 0.9)


def _beyond(low):
    return low[0] * 4 if low[0] < 1e20 else None
