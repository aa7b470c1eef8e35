"""What follows from an objective's value and gradient, however these come about: Problem and Sharded are Measures."""

from contextlib import contextmanager

import numpy as np

include "_penalty.pyx"


cdef class Measures:
    """Over value(w), value_and_gradient(w, g) and n_features; passes counts what those cost."""

    in_shards, traffic = False, None

    def objective(self, w):
        """The value and the l1 term: what is printed, logged and minimised."""
        return self.value(w) + (self.l1 * np.abs(w).sum() if self.l1 else 0.0)

    def gap(self, w, g, *, lacks=0.0):
        """Max-norm of the subgradient of least norm at w, given the smooth gradient g, or one that lacks an l2 term of that strength."""
        return gap(w, g, self.l1, lacks)

    @contextmanager
    def uncounted(self):
        """What is computed within is no pass."""
        passes = self.passes
        try:
            yield
        finally:
            self.passes = passes

    def gap_at_zero(self):
        """The gap at w = 0, against which --tol is measured whatever the start."""
        if self.first_gap is None:
            zero, g = np.zeros(self.n_features), np.empty(self.n_features)
            with self.uncounted():
                self.value_and_gradient(zero, g)
            self.first_gap = self.gap(zero, g)
        return self.first_gap

    def exact(self, w):
        """(objective, gap, bound) at w, for reports: not counted as passes."""
        g = np.empty(self.n_features)
        with self.uncounted():
            value = self.value_and_gradient(w, g)
        return value + self.l1 * float(np.abs(w).sum()), self.gap(w, g), bound(g, self.l2, self.l1)

    def exact_objective(self, w):
        """The objective at w, for monitors: not counted as a pass."""
        with self.uncounted():
            return self.objective(w)
