"""A preconditioner for conjugate gradients that are run again and again on matrices much alike: pairs (d, H d) of the runs before.

M is the inverse BFGS matrix of the last m pairs that were kept, as in L-BFGS, but their second halves are exact products
(_history). A run keeps pairs evenly spread over its products: every p-th of them, and p doubles whenever m are kept. M stays as it
is while a run lasts; then it takes in the run's pairs.

Reference: Morales and Nocedal, "Automatic preconditioning by limited memory quasi-Newton updating", 2000.
"""

import numpy as np

from ._history import History
from ._trust import Steihaug

LEAST, MOST = 3, 30


def kept_pairs(pairs, sizes):
    """How many for `--pairs`; auto: those that hold as many numbers as there are marginals, so that M costs a part of a product."""
    most = min(MOST, sizes.n_tokens * sizes.n_labels // max(2 * sizes.n_features, 1))
    return int(pairs) if pairs != "auto" else most if most >= LEAST else 0


class Spread:
    """Up to m of the vectors that it is offered one after the other, evenly spread."""

    def __init__(self, m):
        self.m, self.kept, self.period, self.seen = m, [], 1, 0

    def offer(self, *vectors):
        self.seen += 1
        if self.seen % self.period == 0 and len(self.kept) == self.m:
            self.kept, self.period = self.kept[1::2], 2 * self.period
        if self.seen % self.period == 0:
            self.kept.append([vector.copy() for vector in vectors])


class Preconditioned(Steihaug):
    """The subproblem with M in place of a diagonal; |s| stays the Euclidean norm, since M changes from run to run."""

    def __init__(self, size, product, m, threads):
        super().__init__(size, product)
        self.history, self.z, self.spread = History(m, size, threads), np.empty(size), None

    def solve(self, g, radius, enough):
        self.spread = Spread(self.history.m)
        promise = super().solve(g, radius, enough)
        if promise.products > 1:
            for pair in self.spread.kept:
                for row, vector in zip(self.history.scratch, pair, strict=True):
                    row[:] = vector
                self.history.add(g)
        self.spread = None
        return promise

    def state(self):
        return self.history.state()

    def restore(self, state):
        self.history.restore(state)

    def _meet(self):
        """z = M r; r'z."""
        self.history.meet(self.r)
        rz = -self.history.direction(self.r, self.z)
        np.negative(self.z, out=self.z)
        return rz

    def _advance(self, a):
        self.spread.offer(self.d, self.Hd)
        return super()._advance(a)[0], self._meet()

    def _z(self, columns):
        return self.z[columns]

    def _along(self, b, sd, rz, dd):
        return float(self.s @ self.d), float(self.d @ self.d)
