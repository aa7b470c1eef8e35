"""A preconditioner for conjugate gradients on models much alike, one after the other: the directions of one model, for the next.

    M = S B S,  S = D^(-1/2), or I without a diagonal D;  B: the BFGS matrix of the last m pairs (S^-1 d, S H d) of the model before

Directions of conjugate gradients are conjugate, so that B is the inverse of S H S on all of their space, exactly if H has not
changed: what was solved with one model need not be solved again with the next. While a model lasts, M stays as it is.

Reference: Morales and Nocedal, "Automatic preconditioning by limited memory quasi-Newton updating", 2000, who keep a few pairs.
"""

import numpy as np

from ._history import History
from ._trust import Steihaug

LEAST, MOST = 10, 100
FEW = 4  # a model that ends after fewer products leaves M as it is


def kept_pairs(pairs, sizes):
    """How many for `--pairs`; auto: those that hold as many numbers as there are marginals, so that M costs a part of a product."""
    most = min(MOST, sizes.n_tokens * sizes.n_labels // max(4 * sizes.n_features, 1))
    return int(pairs) if pairs != "auto" else most if most >= LEAST else 0


def diagonal(objective, w):
    """The Hessian's at w, about, nowhere zero; None where all of it is: one label, without l2."""
    found = np.empty_like(w)
    objective.diagonal(w).times(np.ones_like(w), found)
    return np.maximum(found, 1e-9 * found.max(), out=found) if found.any() else None  # without l2 some are 0


class Preconditioned(Steihaug):
    """The subproblem with M in place of 1 / D; |s| stays that of D, since M changes from model to model."""

    def __init__(self, size, product, m, threads):
        super().__init__(size, product)
        self.used, self.met = History(m, size, threads), History(m, size, threads)
        self.z, self.root = np.empty(size), 1.0  # of 1 / D

    def precondition(self, inverse):
        super().precondition(inverse)
        self.root = np.sqrt(inverse)
        self.used.clear()
        self.met.clear()

    def begin(self, g):
        if self.met.count >= min(FEW, self.met.m):
            self.used, self.met = self.met, self.used
        self.met.clear()
        super().begin(g)

    def state(self, on):
        histories = {"used": self.used, "met": self.met}
        return super().state(on) | {f"{name}_{key}": x for name, of in histories.items() for key, x in of.state().items()}

    def restore(self, state):
        super().restore(state)
        for name, history in (("used", self.used), ("met", self.met)):
            history.restore({key: state[f"{name}_{key}"] for key in history.state()})

    def _meet(self):
        """z = M r; r'z."""
        scaled = self.r * self.root
        self.used.meet(scaled)
        rz = -self.used.direction(scaled, self.z)
        self.z *= -self.root
        return rz

    def _advance(self, a):
        np.multiply(self.Hd, self.root, out=self.met.scratch[1])
        self.met.add()
        return super()._advance(a)[0], self._meet()

    def _along(self, b, sd, rz, dd):
        d = np.divide(self.d, self.root, out=self.met.scratch[0])
        return float(self.s @ (d / self.root)), float(d @ d)

    def _z(self, part):
        return self.z[part]
