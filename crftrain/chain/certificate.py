"""How far a value of the objective is from the optimum, proved.

    f(w) = L(w) + l2/2 |w|_2^2 + l1 |w|_1,    L the mean loss

Any distributions q_i over the labellings of the sequences bound the optimum from below: with H the mean of their entropies and
g = 1/n sum_i (E_q_i F_i - F_i(y_i)), what they say of the gradient,

    f*  >=  H - sum_j max(0, |g_j| - l1)^2 / (2 l2)            l2 = 0: H, if no |g_j| is above l1            (Fenchel's duality)

The mixture c q + (1 - c) gold has the gradient c g, and at least the entropy c H, so that for any c in [0, 1]

    f*  >=  phi(c) = c H - sum_j max(0, c |g_j| - l1)^2 / (2 l2)

phi is concave and piecewise quadratic: Newton's method on its slope, begun at c = 1, where the slope is least, never passes the
maximum and ends on its piece. c = 0 says that f* >= 0.

What a value and a gradient say is the case of q = p(w): H = L(w) - w.g. Then f(w) - phi(1) is  |g + l2 w|^2 / (2 l2)  where l1 = 0.
"""

import math

import numpy as np

PIECE = 1 << 16  # of a vector, so that no temporary is large
STEPS = 100
NOTHING = 1e-13  # of f, which is no less than 0: below it is only what rounding leaves of losses, as where there is a single label


def lower_bound(entropy, g, *, l2, l1):
    """The best phi(c): f* is no less. g may be any array of the entries' values, in any order."""
    if not (math.isfinite(entropy) and entropy > 0):
        return 0.0
    if l2 == 0:
        return _without_l2(entropy, g, l1)
    c = 1.0
    for _ in range(STEPS):
        above, square, count = _beyond(g, c, l1)
        slope = entropy - above / l2
        if slope >= 0 or square == 0:
            break
        # phi'(c) = H - sum |g| (c |g| - l1) / l2 over the entries beyond l1: the zero of this piece
        nearer = max(0.0, (entropy * l2 + l1 * count) / square)
        if not nearer < c:
            break
        c = nearer
    return max(0.0, c * entropy - _penalty(g, c, l1) / (2 * l2))


def dual(entropy, g, *, l2, l1):
    """phi(1); -inf where that is no bound."""
    return entropy - _penalty(g, 1.0, l1) / (2 * l2) if l2 else -math.inf


def at_point(mean_loss, w, g, *, l2, l1):
    """The bound from a point's mean loss and its gradient, no penalty in either."""
    return lower_bound(mean_loss - float(w @ g), g, l2=l2, l1=l1)


def bound_at(objective, value, w, g):
    """The same from the objective's value (with l1) and the smooth part's gradient at w."""
    l2, l1 = objective.l2, objective.l1
    mean_loss = value - 0.5 * l2 * float(w @ w) - l1 * float(np.abs(w).sum())
    return at_point(mean_loss, w, g - l2 * w if l2 else g, l2=l2, l1=l1)


def distance(objective, bound):
    """What is proved of (f(w) - f*) / f(w): at most this."""
    if not math.isfinite(objective):
        return math.inf
    return max(0.0, objective - max(0.0, bound)) / objective if objective > NOTHING else 0.0


def _without_l2(entropy, g, l1):
    largest = max((float(np.abs(part).max()) for part in _pieces(g)), default=0.0)
    return entropy * (min(1.0, l1 / largest) if largest else 1.0)


def _beyond(g, c, l1):
    """sum |g_j| (c |g_j| - l1), sum g_j^2 and sum |g_j| over the entries with c |g_j| > l1."""
    if not l1:
        square = float(g @ g)
        return c * square, square, 0.0
    square = total = 0.0
    for part in _pieces(g):
        size = np.abs(part)
        size = size[c * size > l1]
        square += float(size @ size)
        total += float(size.sum())
    return c * square - l1 * total, square, total


def _penalty(g, c, l1):
    """sum max(0, c |g_j| - l1)^2."""
    if not l1:
        return c * c * float(g @ g)
    total = 0.0
    for part in _pieces(g):
        beyond = np.maximum(c * np.abs(part) - l1, 0.0)
        total += float(beyond @ beyond)
    return total


def _pieces(g):
    return (g[k : k + PIECE] for k in range(0, len(g), PIECE))
