"""One temperature T for a model's probabilities, by held-out data: p(y | x) is proportional to exp(score / T).

    fitted(model, heldout) -> (T, -log p of a sequence before, after)

The best labels stay the best. With b = 1/T the mean of -log p(gold) is convex in b, its slope w . g(b w) with g the gradient of the mean
loss: a bracket by doubling, then the secant method within it (Dekker's), to TOL in b.
"""

import numpy as np

from ..chain._problem import Problem
from ..errors import DataError

TOL, MOST = 1e-4, 60
LEAST, LARGEST = 1e-3, 1e3  # of b


def fitted(model, heldout):
    """(temperature, mean loss at 1, mean loss at the temperature); a DataError where no sequence can be scored."""
    known = heldout.possible(model.layout)
    if not known.any():
        raise DataError(heldout.name, "no sentence whose labels are all known and legal", "held-out data of the same kind")
    problem = Problem(heldout.corpus.take(np.flatnonzero(known)), model.layout)
    g = np.empty(len(model.w))

    def look(b):
        value = problem.value_and_gradient(b * model.w, g)
        return value, float(g @ model.w)

    before, slope = look(1.0)
    low, high = (1.0, slope), (1.0, slope)
    while slope < 0 and high[0] < LARGEST:
        low, high = high, (2 * high[0], look(2 * high[0])[1])
        slope = high[1]
    while slope > 0 and low[1] > 0 and low[0] > LEAST:
        high, low = low, (low[0] / 2, look(low[0] / 2)[1])
    b = _root(lambda b: look(b)[1], low, high)
    return 1 / b, before, look(b)[0]


def _root(slope, low, high):
    """Where a rising function is 0, between two points of which it is known."""
    if not low[1] < 0 < high[1]:
        return low[0] if low[1] >= 0 else high[0]
    for _ in range(MOST):
        if high[0] - low[0] <= TOL * high[0]:
            break
        b = low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])
        margin = 0.05 * (high[0] - low[0])
        b = min(max(b, low[0] + margin), high[0] - margin)  # so that both ends come nearer
        at = (b, slope(b))
        low, high = (at, high) if at[1] < 0 else (low, at)
    return (low[0] + high[0]) / 2
