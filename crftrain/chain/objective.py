"""What an algorithm may ask of the objective, whatever computes it: this process, its threads, or other machines.

    f(w) = 1/n sum_i -log p(y_i | x_i; w)  +  l2/2 |w|^2  +  l1 |w|_1

The smooth part is the first two terms. `passes` counts the work as a multiple of one forward run over all sequences. Whoever needs
the sequences themselves asks for more than this, and says so (Optimiser.shards).
"""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np


class Matrix(Protocol):
    """A symmetric matrix at one point, as a sum over sequences: _tangent.Curvature is one."""

    doubts: np.ndarray  # float64[n]: how much each sequence bends the objective there
    sampled: np.ndarray  # float64[n]: the weights of the sequences in the sum

    def sample(self, weight: np.ndarray) -> None:
        """Other weights, from the next point on."""

    def times(self, v: np.ndarray, out: np.ndarray) -> None:
        """out = the product with v."""


class Apart(NamedTuple):
    """What a shard knows that is asked to work on its own."""

    problem: "Objective"
    l2: float  # what the problem lacks of it
    share: np.ndarray | float  # of each weight: its tokens here, of those in all shards
    k: int  # which shard
    matrix: "Matrix | None"  # its part of one


class Objective(Protocol):
    """_problem.Problem is one."""

    l2: float
    l1: float
    threads: int
    passes: float
    in_shards: bool  # nobody here has the sequences
    n_sequences: int
    n_tokens: int
    n_labels: int
    n_features: int

    def uncounted(self) -> AbstractContextManager:
        """What is computed within is no pass."""

    def at(self, *, l2: float, l1: float) -> "Objective":
        """The same corpus and weights under another regularisation."""

    def value(self, w: np.ndarray) -> float:
        """The smooth part."""

    def value_and_gradient(self, w: np.ndarray, out: np.ndarray, *, keep: "Matrix | None" = None) -> float:
        """The same, its gradient in `out`; `keep`, a curvature, takes along what products at w need."""

    def curvature(self, w: np.ndarray | None = None, *, keep: int | None = None, ad: bool = False) -> "Matrix":
        """The Hessian at w, or without w where value_and_gradient takes it."""

    def diagonal(self, w: np.ndarray) -> "Matrix":
        """The Hessian's diagonal at w, about."""

    def list_weights(self) -> None:
        """Spend memory, if there is some, on what is gathered again and again."""

    def gold_counts(self) -> np.ndarray:
        """How often each feature fires on the gold labels."""

    def feature_sums(self) -> tuple[float, float]:
        """(the least value of an occurrence, the largest sum of values in a sequence)."""

    def gap(self, w: np.ndarray, g: np.ndarray, *, lacks: float = 0.0) -> float:
        """The largest entry of the subgradient of least norm, from g, the gradient of the smooth part at w, or what lacks an l2 term."""

    def gap_at_zero(self) -> float:
        """The gap at w = 0, against which --tol is measured whatever the start."""

    def exact(self, w: np.ndarray) -> tuple[float, float, float | None]:
        """(objective, gap, bound) at w, for reports: not counted as passes."""

    def exact_objective(self, w: np.ndarray) -> float:
        """The objective at w, l1 term and all, for monitors: not counted as a pass."""

    def apart(self, function, v: np.ndarray, *arguments, matrix: "Matrix | None" = None) -> tuple[np.ndarray, list]:
        """(The sum of what function(Apart, v_k, ...) makes in each shard, what it says besides in each); its third answer are passes."""
