"""What sums over sequences are rounded for, where that is learnt as they are made, or comes from elsewhere; see _order_free."""

import math
from typing import NamedTuple

import numpy as np

from ._order_free import largest_sum, limit

NARROW = 1 / 64  # a product is rounded by no more than is wanted for tangents so many times as small


class Whole(NamedTuple):
    """What a shard has to know of the corpus that it is a part of."""

    n_sequences: int
    n_tokens: int
    bound: float  # the largest sum of values, and of their squares: _order_free
    square_bound: float

    @classmethod
    def of(cls, corpus):
        return cls(corpus.n_sequences, corpus.n_tokens, largest_sum(corpus), largest_sum(corpus, 2))


class Rounding:
    """What the tangents of products are rounded for: by how large those of the product before were, for vectors as long."""

    def __init__(self, first):
        self.limit, self.ratio, self.wanted = first, 0.0, 0.0

    def attempts(self, norm):
        """Limits for a product with a vector of that norm, until one does; `wanted` is what would have done, each time."""
        if not self._does(self.ratio * norm):
            self.limit = limit(4 * self.ratio * norm)
        while True:
            yield self.limit
            if self._does(self.wanted):
                break
            self.limit = limit(4 * self.wanted)
        if norm > 0 and math.isfinite(8 * self.wanted):
            self.ratio = self.wanted / norm

    def _does(self, wanted):
        """Nothing does where the limit would be beyond all numbers: what is wanted is then as good as infinite."""
        return wanted == 0 or not math.isfinite(8 * wanted) or NARROW * self.limit <= wanted <= self.limit

    def state(self):
        return np.array([self.limit, self.ratio])

    @classmethod
    def restored(cls, state):
        made = cls(limit(state[0]))
        made.ratio = float(state[1])
        return made
