"""The algorithm that suits the data: sdca or sag where they are ahead, another one where they are not.

Before the first step counts decide (_counts). Weights to start from that are no better than zero weights are left for these.

While sdca, lbfgs or sag run their own estimate of the distance decides, pass by pass (_rates): the passes that are left to GOAL follow from
the factor by which it falls. sdca goes over to sag, which takes half as long for a pass, lbfgs too, and sag to newton-cg. The one that
follows begins at the weights that were reached, or at none where these are no better.

Under l1 and lambda one goes on after the other (_way).

Nothing here looks at a clock or at what memory is free, so the same command has the same bytes.
"""

import math

import numpy as np

from ...chain import certificate
from ...chain._blocks import give_back
from ...chain.sizes import sizes
from ...errors import TrainingError
from ..base import Algorithm, Optimiser, Option, counted, no_better_than_zero
from ._counts import (
    ALGORITHMS,
    BEGINNING_OPTIONS,
    GIGABYTE,
    LEAST_OPTIONS,
    MIDDLE_OPTIONS,
    SDCA_OPTIONS,
    choose,
    memory,
    newton_options,
    owlqn_between,
    sag_options,
)
from ._rates import WATCHES
from ._way import ALONE, BEGIN, END, MIDDLE, Way

NAMES = tuple(ALGORITHMS)  # checkpoints have the numbers


class Auto(Optimiser):
    """Another optimiser, and the decision which."""

    movable = shards = True

    def __init__(self, objective, w, rng, *, max_memory):
        super().__init__(objective, w, rng)
        self.max_memory = max_memory
        self.facts = objective if objective.in_shards else sizes(objective.sequences.corpus, objective.layout)
        how = {name: getattr(objective, name) for name in ("threads", "l1", "l2")}
        self.told = []
        if objective.l2 and w.any() and no_better_than_zero(objective, w):
            w[:] = 0
            self.told.append("the weights to start from are no better than zero, where training starts")
        how |= {"shards": objective.in_shards, "warm": bool(w.any())}
        name, options, why = choose(self.facts, max_memory, **how)
        between = bool(objective.l1) and name != "owlqn" and owlqn_between(self.facts, max_memory * GIGABYTE)
        self.way = Way(BEGIN if name == "sgd-l1" or between else ALONE, between)
        alone = " on one thread" if objective.threads > 1 and name in ("sag", "sdca", "sgd-l1") else ""
        self.told.append(f"algorithm: {name}{alone}, {why} (-a chooses another)")
        self._turn_to(name, options)

    def _turn_to(self, name, options):
        self.inner = None  # its memory is free before the next one takes some
        self.name, algorithm = name, ALGORITHMS[name]
        self.inner = algorithm.make(self.objective, self.w, self.rng, **{**algorithm.defaults(), **options})
        give_back()
        last = name == "lbfgs" and (options == LEAST_OPTIONS or not self.objective.l2)  # what nothing could follow
        self.watch = WATCHES[name](self.facts) if name in WATCHES and not last else None

    def news(self):
        """What has been decided and not been told yet."""
        told, self.told = self.told, []
        return told

    def step(self):
        """What follows is decided before a step, so that a checkpoint is never between two algorithms."""
        if turn := self.way.turn(self.name, self.inner, self.facts):
            self._go_on(turn)
        elif self.watch and self.objective.l2 and not self.objective.l1 and (why := self.watch.slow()):
            self._leave(why)
        try:
            step = self.inner.step()
        except TrainingError:
            if self.name != "sgd-l1":
                raise
            self._go_on(self.way.anew("where numbers do not leave the range"))
            step = self.inner.step()
        if self.watch and (not step.exact or self.name == "lbfgs"):
            self._look(step)
        self.way.see(step)
        if self.name == "sgd-l1":
            return step._replace(gap=math.inf)  # it knows none
        return step._replace(done="") if self.way.part == MIDDLE else step

    def _look(self, step):
        """What sdca or sag estimate of their distance, or lbfgs proves."""
        bound = self.inner.lower_bound()
        if step.exact:
            bound = certificate.bound_at(self.objective, step.objective, self.w, self.inner.gradient())
        distance = (step.objective - max(0.0, bound)) / step.objective if step.objective > 0 and math.isfinite(bound) else 0.0
        self.watch.see(distance, step.objective)

    def _go_on(self, turn):
        """From part to part of the way."""
        self.way.part = turn.part
        self.told.append(f"algorithm: {turn.name} {turn.why}")
        if turn.anew:
            self.w[:] = 0
        self._turn_to(turn.name, self._options(turn.name))
        if turn.name == "sag" and not turn.anew:
            self.inner.go_on()

    def _options(self, name):
        """Of one that goes on; None: it does not fit."""
        room = self.max_memory * GIGABYTE
        if name == "sag":
            return {"first_pass": "permute"} if self.objective.l1 else sag_options(self.facts, room, self.objective.l2)
        if name == "newton-cg":
            return newton_options(self.facts, room)
        return {"owlqn": MIDDLE_OPTIONS, "sdca": SDCA_OPTIONS, "sgd-l1": BEGINNING_OPTIONS}.get(name, {})

    def _leave(self, why):
        """The next one goes on from the weights that were reached, or from zero."""
        before, far, name = self.name, self.watch.far(), "newton-cg" if self.name == "sag" else "sag"
        options = self._options(name)
        if options is None:
            return
        if no_better_than_zero(self.objective, self.w):
            self.w[:] = 0
            why += ", and is no better than zero weights"
        self.told.append(f"algorithm: {name} from here on, as {before} {why}")
        self._turn_to(name, options)
        if name == "sag":
            self.inner.warm = not far  # a table of gradients at weights that are far off yet would be worse than an empty one

    def solution(self):
        return self.inner.solution()

    def lower_bound(self):
        return self.inner.lower_bound()

    def gradient(self):
        return self.inner.gradient()

    @property
    def hope(self):
        return 1.0 if self.objective.l1 else self.inner.hope  # sag's, which ends the way

    def can_move_to(self, objective):
        """Another algorithm is chosen where lambda becomes zero, or is no longer."""
        return self.way.part in (END, ALONE) and bool(objective.l2) == bool(self.objective.l2) and self.inner.can_move_to(objective)

    def move_to(self, objective):
        """sag follows sdca: on a path from strength to strength it takes two thirds of the time, by its table."""
        self.objective = objective
        if self.name == "sdca":
            self._turn_to("sag", {})
            return
        if self.watch:
            self.watch.forget()
        self.inner.move_to(objective)

    def state(self):
        own = {"choice": np.array([NAMES.index(self.name)]), **self.way.state(), **(self.watch.state() if self.watch else {})}
        return own | {f"inner_{name}": array for name, array in self.inner.state().items()}

    def state_shapes(self):
        inner = {f"inner_{name}": shape for name, shape in self.inner.state_shapes().items()}
        return inner | {"lowered": (np.float64, (2,))} | ({"seen": (np.float64, (None, 2))} if self.watch else {})

    def become(self, state):
        name = NAMES[counted(state, "choice", len(NAMES) - 1)]
        if name != self.name:
            self.told.append(f"algorithm: {name}, as the checkpoint says")
            self._turn_to(name, self._options(name) or {})

    def restore(self, state):
        self.become(state)
        self.way.restore(state)
        if self.watch:
            self.watch.restore(state)
        self.inner.restore({name.removeprefix("inner_"): array for name, array in state.items() if name.startswith("inner_")})


ALGORITHM = Algorithm(
    summary="the default: sdca or sag where they are ahead, else newton-cg, lbfgs, owlqn, by counts and progress",
    reference="the algorithms' own",
    solves=frozenset({"l2", "l1", "no-l2"}),
    options=(Option("max_memory", 2.5, "GB that the algorithm may take; where one takes more, another one is chosen", above=0.0),),
    optimiser=Auto,
    memory=memory,
    adapts=True,
    lighter="--max-memory 1, --min-freq 2, --features observed",
    step_name="step",
    tol=5e-7,
    passes=1000,
    details=(
        "With --l1 alone it is owlqn, without a penalty lbfgs; with --l1 and --lambda some passes of sgd-l1, then owlqn from their\n"
        "weights with --precondition, and sag at the end; without owlqn where l1 is strong or weights are more than occurrences.\n"
        "With --lambda alone it is newton-cg with more than 4 threads; with few labels sdca,\n"
        "else sag, each where it fits into --max-memory; with 100 labels or more lbfgs at first. If sdca's rate says after 3 passes that\n"
        "15 are not enough, or 50 where sequences are long, sag goes on from its weights, as it does if lbfgs has proved nothing after\n"
        "2 iterations, or its rate says after 6 that 30 are not enough; and if sag's says after 20 passes that 200 are not, newton-cg.\n"
        "Counts decide, and the run's own numbers, no clock. Weights to start from (--init) that are no better than zero weights are\n"
        "left for these.\n\n"
        "sag and sdca run on one thread. Seconds of optimisation to a proved 0.001 on CoNLL-2000, Dutch and OCR: sag 3.9, 3.6, 1.0;\n"
        "newton-cg on one thread 7.6, 9.2, 2.1, on two 5.3, 6.1, 1.2. What of it runs side by side would draw level with sag on four or\n"
        "five threads (two cores were there to measure)."
    ),
)
