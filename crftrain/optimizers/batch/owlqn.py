"""Orthant-wise limited-memory quasi-Newton: L-BFGS for an objective with an l1 term, and exact zeros.

    f(w) = smooth(w) + l1 |w|_1,    g the gradient of the smooth part, l2 term included

    1. pg = g + l1 sign(w) where w is not 0, else g moved towards 0 by l1: the subgradient of least norm    (_penalty)
    2. p = -H pg, H from pairs of the smooth part; p_i = 0 where it does not point against pg_i            (_history)
    3. w' = w + a p, zero where it leaves the orthant of w (of -pg where w is 0): there f is smooth        (_orthant)
    4. shorten a until f(w') <= f(w) + C1 pg.(w' - w); where the decrease drowns in rounding, slopes decide
    5. stop when |pg|_inf is small: pg = 0 if and only if w is optimal

The first step, or one after the curvature failed, is the steepest descent with a = 1/|pg|. Nearly every later one is
accepted at a = 1, so that a step costs one pass for value and gradient.

Only where w is 0 is the orthant a guess that p has to agree with; elsewhere a weight may well move against its own slope for
the sake of the others, and to forbid it costs a third of the iterations, more with more pairs. On the other hand it makes
weights zero sooner. So --align late aligns all weights, as published, until of the last WINDOW iterations half needed a
shorter step or all together lowered f by less than WINDOW SLOW of it; and from then on those at zero.

--precondition puts D^-1 in the middle of H in place of 1, D the Hessian's diagonal at the start, scaled to the newest pair:
D^-1 s.y / y.D^-1 y. From zero that is of no use, since there D says nothing of where w goes; from where a stochastic method has come it
is worth twenty iterations, in which the pairs would first have to learn what D says.

Reference: Andrew and Gao 2007, "Scalable training of L1-regularized log-linear models", section 3.
"""

import math
from collections import deque

import numpy as np

from ...chain._blocks import give_back
from ...chain._measures import max_norm, subgradient
from ...chain.sizes import listed
from ..base import Algorithm, Optimiser, Option, Step
from ._compiled import align, dot, project, slope_beyond
from ._history import History
from ._linesearch import C1, drowned, flat_enough
from ._preconditioner import diagonal

TRIALS = 40
WINDOW, SLOW = 10, 1e-4


class OWLQN(Optimiser):
    shards = True

    def __init__(self, objective, w, rng, *, memory, align, precondition):
        super().__init__(objective, w, rng)
        self.precondition, self.inverse, self.scale = precondition, None, 1.0  # D^-1, and what it is multiplied by
        objective.list_weights()
        self.everywhere = align != "zero"
        self.history = History(memory, objective.n_features, objective.threads)
        self.g, self.pg, self.p = w.copy(), w.copy(), w.copy()
        self.f, self.recent = None, deque(maxlen=WINDOW) if align == "late" else None  # f before and trials refused, of each step

    def step(self):
        if self.f is None:
            if self.precondition and (found := diagonal(self.objective, self.w)) is not None:
                self.inverse = np.divide(1, found, out=found)
                give_back()  # what that took besides, before the pairs come
            self._evaluate()
            if self.w.any():  # a warm start may be the optimum: no search where there is nothing to find
                return Step(self.f, max_norm(self.pg))
        before, self.refused = self.f, 0
        searched = self._search() or (self.history.count and self._restart())
        if self.recent is not None:
            self.recent.append((before, self.refused))
            self.everywhere = self.everywhere and not self._is_slow()
        return Step(self.f, max_norm(self.pg), done="" if searched else "no step lowers the objective any more: rounding")

    def _evaluate(self):
        """f, g and pg at w."""
        self.f = self.objective.value_and_gradient(self.w, self.g) + self.objective.l1 * float(np.abs(self.w).sum())
        subgradient(self.w, self.g, self.objective.l1, self.pg)

    def _is_slow(self):
        lowered, refused = self.recent[0][0] - self.f, sum(refused for _, refused in self.recent)
        return len(self.recent) == WINDOW and (lowered < WINDOW * SLOW * abs(self.f) or refused >= WINDOW / 2)

    def gradient(self):
        return self.g

    def state(self):
        recent = np.array(self.recent or [], float).reshape(-1, 2)
        inverse = {} if self.inverse is None else {"inverse": self.inverse}
        return {"w": self.w, "everywhere": np.array([self.everywhere]), "recent": recent, **self.history.tidied(), **inverse}

    def state_shapes(self):
        return {name: shapes(len(self.w), memory=self.history.m)[name] for name in ("recent", "inverse")}

    def restore(self, state):
        self.w[:] = state["w"]
        with self.objective.uncounted():
            self._evaluate()
        self.history.restore(state)
        self.history.meet(self.pg)
        if "inverse" in state:
            self.inverse = state["inverse"].copy()
            self._scale()
        self.everywhere = bool(state["everywhere"][0])
        if self.recent is not None:
            self.recent.extend((float(before), float(refused)) for before, refused in state["recent"])

    def _restart(self):
        """Forget the pairs and try the subgradient itself."""
        self.history.clear()
        return self._search()

    def _search(self):
        """2) to 4); False if no step was found."""
        w, g, pg, p = self.w, self.g, self.pg, self.p
        slope = self.history.direction(pg, p, None if self.inverse is None else self._divided)
        if self.objective.l1:
            slope = align(w, p, pg, self.everywhere)
            if not slope < 0:
                slope = align(w, p, pg, True)
        if not slope < 0:
            return False
        point, gradient = self.history.scratch
        a = 1.0 if self.history.count else (-slope) ** -0.5
        for _ in range(TRIALS):
            norm, slope = project(w, a, p, pg, point)
            f = self.objective.value_and_gradient(point, gradient) + self.objective.l1 * norm
            if self._accepts(f, slope, point, gradient):
                break
            self.refused += 1
            # the minimum of the parabola through f, its slope and the trial
            a *= min(max(-slope / (2 * (f - self.f - slope)), 0.1), 0.5) if math.isfinite(f) else 0.1
        else:
            return False
        self.f = f
        self.history.advance(w, g)
        subgradient(w, g, self.objective.l1, pg)
        self.history.add(pg)
        self._scale()
        return True

    def _scale(self):
        """That of D^-1, by the newest pair."""
        if self.inverse is not None and self.history.count:
            s, y = self.history.newest
            np.multiply(self.inverse, y, out=self.p)
            self.scale = dot(s, y, self.objective.threads) / dot(y, self.p, self.objective.threads)

    def _divided(self, q):
        """H without pairs, times q, in its place."""
        q *= self.inverse
        if self.history.count:
            q *= self.scale
        return q

    def _accepts(self, f, slope, point, gradient):
        if drowned(f, self.f):
            return flat_enough(f, self.f, slope_beyond(self.w, point, gradient, self.objective.l1), slope)
        return f <= self.f + C1 * slope


def shapes(size, *, memory, **_):
    """{name: (dtype, shape)} of state()."""
    own = {"w": (size,), "inverse": (size,), "recent": (None, 2), "pairs": (2 * memory, size), "products": (2 * memory, 2 * memory)}
    whole = {"everywhere": (np.bool_, (1,)), "place": (np.int64, (2,))}
    return {name: (np.float64, shape) for name, shape in own.items()} | whole


def memory(facts, options):
    weights = (32 + 8 * options["precondition"]) * facts.n_features
    return {"weights": weights, "listed weights": listed(facts), "pairs": 16 * facts.n_features * options["memory"]}


ALGORITHM = Algorithm(
    summary="orthant-wise L-BFGS: the batch method for l1, with exact zeros",
    reference="Andrew and Gao, Scalable training of L1-regularized log-linear models, ICML 2007",
    solves=frozenset({"l1", "l2", "no-l2"}),
    options=(
        Option("memory", 10, "pairs of steps and gradient changes that are kept", minimum=1),
        Option(
            "align",
            "late",
            "weights that must follow their own slope: all, those at zero, or all until it gets slow",
            choices=("late", "all", "zero"),
        ),
        Option("precondition", False, "divide by the Hessian's diagonal where the run begins: after another algorithm, not from zero"),
    ),
    optimiser=OWLQN,
    memory=memory,
    lighter="--memory 5, --min-freq 2, --features observed, or -a sgd-l1",
    step_name="iteration",
    tol=5e-7,
    passes=1000,
    details=(
        "As published, every weight has to move against its own slope (--align all). Where it is not zero it need not, which takes\n"
        "a third fewer iterations to the same objective, but weights become zero later (--align zero). The default does the first\n"
        "and changes to the second when half of ten iterations needed a shorter step, or the ten together lowered the objective by\n"
        "less than a thousandth of it (where the paper on cumulative penalties stopped). A few rare attributes keep the largest\n"
        "slope long after the objective is done: what is proved tells how far it is."
    ),
)
