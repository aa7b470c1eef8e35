"""The algorithm that suits the data: sag where it is ahead, another one where it is not.

Before the first step counts decide (_counts).

While sag runs its own estimate of the distance decides, pass by pass. It falls by a factor, the same for many passes; from
the last WINDOW of them the passes that are left to GOAL follow. Where these are more than SLOW, AGAIN times in a row, as they are on
few long sequences with few attributes, or where twice as many passes have not come nearer, newton-cg goes on from the weights that
sag has reached, or from none where these are no better.

Under l1 sag gets on slowly in the middle of the way, on rare attributes and where lambda is small. So after BEGINNING passes owlqn goes
on, with the Hessian's diagonal at sag's weights (--precondition), until FEW iterations lower f by less than FEW times FLAT of it. The
end is sag's again, which is better at the last tenths of a per cent and at bounding the optimum. Weights to start from, other than
zero, take the place of the beginning. In the end constants are those measured near the optimum, as small as they get: where the bound has
not risen for STILL passes, and is not yet CLOSE, steps are SHORTER.

Nothing here looks at a clock or at what memory is free, so the same command has the same bytes.
"""

import math
from collections import deque

import numpy as np

from ...chain.sizes import sizes
from ..base import Algorithm, Optimiser, Option, counted
from ..batch import owlqn
from ._counts import ALGORITHMS, GIGABYTE, MIDDLE_OPTIONS, choose, memory, newton_options, owlqn_between

FIRST, WINDOW, SLOW, AGAIN, GOAL = 20, 10, 100, 3, 1e-3
BEGINNING, FEW, FLAT = 8, 5, 5e-4
STILL, SHORTER, SHORTEST, CLOSE = 6, 0.5, 0.25, 1e-4
BEGIN, MIDDLE, END, ALONE = 0, 1, 2, 3  # of a run under l1 that sag begins; ALONE: there are no parts
NAMES = tuple(ALGORITHMS)  # checkpoints have the numbers


def passes_left(seen, back, stuck):
    """To GOAL, at the rate of the WINDOW passes that ended so many passes ago; where there is none, infinitely many if it is stuck."""
    recent = seen[len(seen) - back - WINDOW - 1 : len(seen) - back]
    rate = max((recent[k] - recent[-1]) / (WINDOW - k) for k in (0, WINDOW // 2))  # which still gets better at first
    return (recent[-1] - math.log(GOAL)) / rate if rate > 0 else math.inf if stuck else 0


class Auto(Optimiser):
    """Another optimiser, and the decision which."""

    movable = shards = True

    def __init__(self, objective, w, rng, *, max_memory):
        super().__init__(objective, w, rng)
        self.max_memory = max_memory
        self.facts = objective if objective.in_shards else sizes(objective.sequences.corpus, objective.layout)
        how = {"threads": objective.threads, "l1": objective.l1, "l2": objective.l2, "shards": objective.in_shards}
        name, options, why = choose(self.facts, max_memory, **how)
        self.told = [f"algorithm: {name}, {why} (-a chooses another)"]
        self.seen, self.passes = deque(maxlen=2 * WINDOW + 1), 0  # the logarithms of sag's last estimates; its passes
        between = objective.l1 and name == "sag" and owlqn_between(self.facts, max_memory * GIGABYTE)
        self.part = BEGIN if between else ALONE
        self.risen = [-math.inf, 0.0]  # the best bound at the end, and the passes since
        self._turn_to(name, options)

    def _turn_to(self, name, options):
        self.inner = None  # its memory is free before the next one takes some
        self.name, algorithm = name, ALGORITHMS[name]
        self.inner = algorithm.make(self.objective, self.w, self.rng, **{**algorithm.defaults(), **options})

    def news(self):
        """What has been decided and not been told yet."""
        told, self.told = self.told, []
        return told

    def step(self):
        self._follow_the_way()
        step = self.inner.step()
        if self.name == "sag" and not step.exact:
            self._look(step)
        return step._replace(done="") if self.part == MIDDLE else step

    def _follow_the_way(self):
        """From part to part of a run under l1, before a step, so that a checkpoint is never between two algorithms."""
        if self.part == BEGIN and (self.passes >= BEGINNING or (self.passes == 0 and self.w.any())):
            self._go_on("owlqn", MIDDLE, "goes on with the Hessian's diagonal at these weights")
        elif self.part == MIDDLE and len(self.inner.recent) > FEW:
            lowered = self.inner.recent[-FEW][0] - self.inner.f
            if lowered < FEW * FLAT * self.inner.f:
                self._go_on("sag", END, f"again, as {FEW} iterations lowered the objective by less than {FEW * FLAT:.2%} of it")

    def _go_on(self, name, part, why):
        """Another algorithm from these weights, under l1."""
        self.part = part
        self.told.append(f"algorithm: {name} {why}")
        self._turn_to(name, MIDDLE_OPTIONS if part == MIDDLE else {})

    def _look(self, step):
        """The rate at which sag gets on, and whether that is too slow."""
        bound = self.inner.lower_bound()
        distance = (step.objective - max(0.0, bound)) / step.objective if step.objective > 0 and math.isfinite(bound) else 0.0
        self.passes += 1
        if self.part == END and distance > CLOSE:
            self._keep_rising(bound)
        self.seen.append(math.log(max(distance, 1e-300)))
        if self.passes < FIRST or len(self.seen) < WINDOW + AGAIN or distance <= GOAL:
            return
        stuck = len(self.seen) == self.seen.maxlen and min(self.seen) == self.seen[0]  # while it swings the estimate may rise for a time
        left = min(passes_left(list(self.seen), back, stuck) for back in range(AGAIN))
        if left > SLOW and self.objective.l2 and not self.objective.l1:
            self._leave(f"would take {left:,.0f} passes more" if left < 10_000 else "gets no nearer")

    def _keep_rising(self, bound):
        """Shorter steps where these are too long for the bound to rise."""
        best, still = self.risen
        self.risen = [bound, 0.0] if bound > best else [best, still + 1]
        if self.risen[1] == STILL:
            self.inner.pace.length = max(SHORTEST, self.inner.pace.length * SHORTER)
            self.risen[1] = 0.0

    def _leave(self, why):
        """newton-cg from sag's weights, or from zero."""
        options = newton_options(self.facts, self.max_memory * GIGABYTE)
        if options is None:
            return
        if not self.objective.objective(self.w) < self.objective.objective(np.zeros_like(self.w)):
            self.w[:] = 0
            why += ", and is no better than zero weights"
        self.told.append(f"algorithm: newton-cg from here on, as sag {why}")
        self._turn_to("newton-cg", options)

    def solution(self):
        return self.inner.solution()

    def lower_bound(self):
        return self.inner.lower_bound()

    def gradient(self):
        return self.inner.gradient()

    def can_move_to(self, objective):
        return self.part in (END, ALONE) and self.inner.can_move_to(objective)

    def move_to(self, objective):
        self.objective = objective
        self.seen.clear()
        self.inner.move_to(objective)
        if self.part == END:
            self.risen, self.inner.pace.length = [-math.inf, 0.0], 1.0

    def state(self):
        own = {"choice": np.array([NAMES.index(self.name)]), "seen": np.array(self.seen, float), "passes": np.array([self.passes])}
        own |= {"part": np.array([self.part]), "risen": np.array(self.risen)}
        return own | {f"inner_{name}": array for name, array in self.inner.state().items()}

    def state_shapes(self):
        """Those of the choice at hand and of newton-cg, which may have followed."""
        vectors = dict.fromkeys(("w", "inverse", "s", "r", "d", "origin"), (np.float64, self.w.shape))
        newton = vectors | {"sums": (np.float64, (6,)), "radius": (np.float64, ()), "ratio": (np.float64, ())}
        newton["sample"] = (np.float64, (self.objective.n_sequences,))
        if self.objective.l1:
            newton |= owlqn.shapes(len(self.w), **MIDDLE_OPTIONS)
        own = {name: (array.dtype, array.shape) for name, array in self.inner.state().items()}
        inner = {f"inner_{name}": shape for name, shape in {**newton, **own, **self.inner.state_shapes()}.items()}
        return inner | {"seen": (np.float64, (None,)), "risen": (np.float64, (2,))}

    def restore(self, state):
        name = NAMES[counted(state, "choice", len(NAMES) - 1)]
        if name != self.name:
            self.told.append(f"algorithm: {name}, as the checkpoint says")
            options = MIDDLE_OPTIONS if name == "owlqn" else newton_options(self.facts, self.max_memory * GIGABYTE)
            self._turn_to(name, options or {})
        self.part, self.risen = counted(state, "part", ALONE), state["risen"].tolist()
        self.seen.extend(state["seen"].tolist())
        self.passes = counted(state, "passes")
        self.inner.restore({name.removeprefix("inner_"): array for name, array in state.items() if name.startswith("inner_")})


ALGORITHM = Algorithm(
    summary="the default: sag where it is ahead, else newton-cg, lbfgs or owlqn, by counts and how the run goes",
    reference="the algorithms' own",
    solves=frozenset({"l2", "l1", "no-l2"}),
    options=(Option("max_memory", 2.5, "GB that the algorithm may take; where sag's table is larger, another one is chosen", above=0.0),),
    optimiser=Auto,
    memory=memory,
    adapts=True,
    lighter="--max-memory 1, --min-freq 2, --features observed",
    step_name="step",
    tol=5e-7,
    passes=1000,
    details=(
        "With --l1 alone it is owlqn; with --l1 and --lambda sag, then owlqn from its weights with --precondition, and sag again at the\n"
        "end. Without --l1 it is newton-cg with more than 4 threads; where sag's table fits into --max-memory, sag. If sag's rate says\n"
        "after 20 passes or more that 100 are not enough, newton-cg goes on from its weights. Counts decide, and the run's own numbers,\n"
        "no clock.\n\n"
        "sag runs on one thread. Seconds of optimisation to a proved 0.001 on CoNLL-2000, Dutch and OCR: sag 3.9, 3.6, 1.0; newton-cg on\n"
        "one thread 7.6, 9.2, 2.1, on two 5.3, 6.1, 1.2. What of it runs side by side would draw level with sag on four or five threads\n"
        "(two cores were there to measure)."
    ),
)
