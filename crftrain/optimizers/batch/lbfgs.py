"""Limited-memory BFGS: a quasi-Newton method on the whole objective.

    1. d = -H g, H from the last m pairs of steps and gradient changes     (_history)
    2. w <- w + a d, a by a line search for the strong Wolfe conditions    (_linesearch)
    3. stop when |g|_inf is small: f is strongly convex for lambda > 0

Without pairs (the first step, or after the curvature failed) d is the steepest descent and the first trial 1/|g|.

Reference: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.
"""

from ...chain.sizes import listed
from ..base import Algorithm, Optimiser, Option, Step
from ._compiled import dot, go
from ._history import History
from ._linesearch import strong_wolfe


class LBFGS(Optimiser):
    shards = True
    search = staticmethod(strong_wolfe)

    def __init__(self, objective, w, rng, *, memory):
        super().__init__(objective, w, rng)
        objective.list_weights()
        self.part = objective  # what steps look at
        self.history = History(memory, objective.n_features, objective.threads)
        self.g, self.d = w.copy(), w.copy()
        self.f = None

    def step(self):
        if self.f is None:
            self.f = self._evaluate(self.w, self.g)
            if self.w.any():  # a warm start may be the optimum: no search where there is nothing to find
                return Step(self.f, self.part.gap(self.w, self.g))
        if not self._search() and not (self.history.count and self._restart()):
            return Step(self.f, self.part.gap(self.w, self.g), done="no step lowers the objective any more: rounding")
        return Step(self.f, self.part.gap(self.w, self.g))

    def gradient(self):
        return self.g

    def state(self):
        return {"w": self.w, **self.history.tidied()}

    def restore(self, state):
        self.w[:] = state["w"]
        with self.objective.uncounted():
            self.f = self._evaluate(self.w, self.g)
        self.history.restore(state)
        self.history.meet(self.g)

    def _restart(self):
        """Forget the pairs and try the gradient itself."""
        self.history.clear()
        return self._search()

    def _evaluate(self, w, g):
        return self.part.value_and_gradient(w, g)

    def _direction(self, g, out):
        """1), and how long a step is tried first; the slope."""
        slope = self.history.direction(g, out)
        return slope, 1.0 if self.history.count or not slope < 0 else (-slope) ** -0.5

    def _search(self):
        """1) and 2); False if no step length was found."""
        w, g, d, threads = self.w, self.g, self.d, self.history.threads
        slope, length = self._direction(g, d)
        if not slope < 0:
            return False
        (point, gradient), trial = self.history.scratch, [0.0, 0.0]

        def phi(a):
            go(w, a, d, point, threads)
            trial[:] = self._evaluate(point, gradient), dot(gradient, d, threads)
            return trial

        length = self.search(phi, self.f, slope, length)
        if length is None:
            return False
        self.f, self.reached = trial[0], (length, slope, trial[1])
        self.history.advance(w, g)
        self.history.add(g)
        return True


def memory(facts, options):
    return {"weights": 24 * facts.n_features, "listed weights": listed(facts), "pairs": 16 * facts.n_features * options["memory"]}


ALGORITHM = Algorithm(
    summary="limited-memory BFGS on the whole objective: the classic batch method",
    reference="Liu and Nocedal, On the limited memory BFGS method for large scale optimization, Math. Programming 45, 1989",
    solves=frozenset({"l2", "no-l2"}),
    options=(Option("memory", 10, "pairs of steps and gradient changes that are kept", minimum=1),),
    optimiser=LBFGS,
    memory=memory,
    lighter="--memory 5, --min-freq 2, --features observed, or -a sag",
    step_name="iteration",
    tol=2.5e-5,
    passes=1000,
)
