"""The algorithm that suits the data: sag where it is ahead, another one where it is not.

Before the first step counts decide, the first of these that applies:

    shards, so no single sequences              owlqn with l1; else newton-cg, if it fits; else lbfgs
    l1 above 0, lambda = 0                      owlqn
    l1 above 0                                  sag, if it fits without entries of several sequences; else owlqn
    more than THREADS threads                   newton-cg, whose passes all threads share, if it fits
    the mean squared length is above UNEVEN times the squared mean
                                                the same: a few sequences that are very much longer than the others are what sag draws, so
                                                that its passes take a hundred times as long
    sag fits into --max-memory                  sag; where its table takes too much, with 2, 4, .. MOST sequences in an entry, as long as
                                                there are FEWEST entries
    newton-cg fits                              newton-cg, keeping for its products what fits
    else                                        lbfgs, whatever it takes: it takes the least

While sag runs its own estimate of the distance decides, pass by pass. It falls by a factor, the same for many passes; from
the last WINDOW of them the passes that are left to GOAL follow. Where these are more than SLOW, AGAIN times in a row, as they are on
few long sequences with few attributes, or where twice as many passes have not come nearer, newton-cg goes on from the weights that
sag has reached, or from none where these are no better; under l1 sag goes on, since there neither newton-cg nor owlqn gets on better.
Nothing here looks at a clock or at what memory is free, so the same command has the same bytes.

Why THREADS: seconds until 1e-3 is proved, sag on one thread and newton-cg on one and two (learn -a A -j N): CoNLL-2000 3.9, 7.6, 5.3; Dutch
names 3.4, 9.2, 6.1; OCR 1.0, 2.1, 1.2; JNLPBA 28 and, on two, 37. What two threads bring says that newton-cg draws level with four or five.
Threads for sag itself would bring less than 1.5: what can go beside another sequence, scores and forward and backward runs, is a third of
its time there; the rest is weights that the next sequence wants.
"""

import math
from collections import deque
from dataclasses import replace

import numpy as np

from ...chain._tangent import kept_bytes
from ...chain.sizes import sizes
from ...errors import TrainingError
from ..average import sag
from ..base import Algorithm, Optimiser, Option, counted
from ..batch import lbfgs, newton_cg, owlqn

THREADS, MOST, FEWEST, UNEVEN = 4, 64, 500, 600
FIRST, WINDOW, SLOW, AGAIN, GOAL = 20, 10, 100, 3, 1e-3
GIGABYTE = 1 << 30
NAMES = ("sag", "newton-cg", "lbfgs", "owlqn")
ALGORITHMS = {"sag": sag.ALGORITHM, "newton-cg": newton_cg.ALGORITHM, "lbfgs": lbfgs.ALGORITHM, "owlqn": owlqn.ALGORITHM}


def choose(facts, max_memory, *, threads=1, l1=0.0, l2=1.0, shards=False):
    """(name, the options that are not the defaults, why) from counts alone."""
    room = max_memory * GIGABYTE
    if shards and l1:
        return "owlqn", {}, "for --l1 of data in shards"
    if l1:
        need = sum(sag.ALGORITHM.memory(facts, sag.ALGORITHM.defaults()).values())
        return ("sag", {}, "for --l1 with --lambda") if l2 and need <= room else ("owlqn", {}, "for --l1")
    newton = newton_options(facts, room)
    if shards and newton is not None:
        return "newton-cg", newton, "for data in shards"
    if threads > THREADS and newton is not None:
        return "newton-cg", newton, f"for {threads} threads"
    if not shards and newton is not None and facts.n_sequences * facts.n_tokens_squared > UNEVEN * facts.n_tokens**2:
        return "newton-cg", newton, "for a few sequences that are very much longer than the others"
    batch = 1
    while not shards and batch <= MOST and (batch == 1 or facts.n_sequences >= batch * FEWEST):
        need = sum(sag.ALGORITHM.memory(facts, {**sag.ALGORITHM.defaults(), "batch": batch}).values())
        if need <= room:
            why = f"its table takes {need / GIGABYTE:.2g} GB" + (f" with {batch} sequences in an entry" if batch > 1 else "")
            return "sag", {"batch": batch} if batch > 1 else {}, why
        batch *= 2
    if newton is not None:
        return "newton-cg", newton, f"sag's table does not fit into {max_memory:g} GB (--max-memory)"
    return "lbfgs", {"memory": 5}, f"nothing else fits into {max_memory:g} GB (--max-memory)"


def newton_options(facts, room):
    """What newton-cg keeps for its products, of what is left of the room; None: not even its vectors fit."""
    least = (88 + 16) * facts.n_features
    if least > room:
        return None
    kept = kept_bytes(facts.n_tokens, facts.n_labels)
    return {"cache": float(facts.n_sequences if kept <= room - least else int(facts.n_sequences * (room - least) / kept))}


def passes_left(seen, back, stuck):
    """To GOAL, at the rate of the WINDOW passes that ended so many passes ago; where there is none, infinitely many if it is stuck."""
    recent = seen[len(seen) - back - WINDOW - 1 : len(seen) - back]
    rate = max((recent[k] - recent[-1]) / (WINDOW - k) for k in (0, WINDOW // 2))  # which still gets better at first
    return (recent[-1] - math.log(GOAL)) / rate if rate > 0 else math.inf if stuck else 0


class Auto(Optimiser):
    """Another optimiser, and the decision which."""

    resumable = movable = shards = True

    def __init__(self, objective, w, rng, *, max_memory):
        super().__init__(objective, w, rng)
        self.max_memory = max_memory
        self.facts = objective if objective.in_shards else sizes(objective.sequences.corpus, objective.layout)
        how = {"threads": objective.threads, "l1": objective.l1, "l2": objective.l2, "shards": objective.in_shards}
        name, options, why = choose(self.facts, max_memory, **how)
        self.told = [f"algorithm: {name}, {why} (-a chooses another)"]
        self.seen, self.passes = deque(maxlen=2 * WINDOW + 1), 0  # the logarithms of sag's last estimates; its passes
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
        step = self.inner.step()
        if self.name == "sag" and not step.exact:
            self._look(step)
        return step

    def _look(self, step):
        """The rate at which sag gets on, and whether that is too slow."""
        bound = self.inner.lower_bound()
        distance = (step.objective - max(0.0, bound)) / step.objective if step.objective > 0 and math.isfinite(bound) else 0.0
        self.passes += 1
        self.seen.append(math.log(max(distance, 1e-300)))
        if self.passes < FIRST or len(self.seen) < WINDOW + AGAIN or distance <= GOAL:
            return
        stuck = len(self.seen) == self.seen.maxlen and min(self.seen) == self.seen[0]  # while it swings the estimate may rise for a time
        left = min(passes_left(list(self.seen), back, stuck) for back in range(AGAIN))
        if left > SLOW and self.objective.l2 and not self.objective.l1:
            self._leave(f"would take {left:,.0f} passes more" if left < 10_000 else "gets no nearer")

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
        return self.inner.can_move_to(objective)

    def move_to(self, objective):
        self.objective = objective
        self.seen.clear()
        self.inner.move_to(objective)

    def state(self):
        if not self.inner.resumable:
            raise TrainingError("auto", f"{self.name}, which was chosen, cannot be resumed", "more --max-memory, or no --checkpoint")
        own = {"choice": np.array([NAMES.index(self.name)]), "seen": np.array(self.seen, float), "passes": np.array([self.passes])}
        return own | {f"inner_{name}": array for name, array in self.inner.state().items()}

    def state_shapes(self):
        """Those of the choice at hand and of newton-cg, which may have followed."""
        vectors = dict.fromkeys(("w", "inverse", "s", "r", "d", "origin"), (np.float64, self.w.shape))
        newton = vectors | {"sums": (np.float64, (6,)), "radius": (np.float64, ()), "ratio": (np.float64, ())}
        newton["sample"] = (np.float64, (self.objective.n_sequences,))
        own = {name: (array.dtype, array.shape) for name, array in self.inner.state().items()}
        inner = {f"inner_{name}": shape for name, shape in {**newton, **own, **self.inner.state_shapes()}.items()}
        return inner | {"seen": (np.float64, (None,))}

    def restore(self, state):
        name = NAMES[counted(state, "choice", len(NAMES) - 1)]
        if name != self.name:
            self.told.append(f"algorithm: {name}, as the checkpoint says")
            self._turn_to(name, newton_options(self.facts, self.max_memory * GIGABYTE) or {})
        self.seen.extend(state["seen"].tolist())
        self.passes = counted(state, "passes")
        self.inner.restore({name.removeprefix("inner_"): array for name, array in state.items() if name.startswith("inner_")})


def memory(facts, options):
    """That of the choice, as far as the counts tell."""
    how = {"threads": 1, "l1": 0.0, "l2": 1.0, "shards": False}
    name, chosen, _ = choose(facts, options["max_memory"], **{key: getattr(facts, key, value) for key, value in how.items()})
    return ALGORITHMS[name].memory(facts, {**ALGORITHMS[name].defaults(), **chosen})


class Choice(Algorithm):
    def check(self, options, l2, l1, *, stream=False, checkpoint=False):
        """What is chosen for l1 without lambda cannot be resumed."""
        found = super().check(options, l2, l1, stream=stream, checkpoint=checkpoint)
        return found + (owlqn_alone(l2, l1) if checkpoint and l1 and not l2 else [])


def owlqn_alone(l2, l1):
    return replace(owlqn.ALGORITHM, name="owlqn").check({}, l2, l1, checkpoint=True)


ALGORITHM = Choice(
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
        "With --l1 alone it is owlqn; with more than 4 threads newton-cg; where sag's table fits into --max-memory, sag. If sag's rate\n"
        "says after 20 passes or more that 100 are not enough, newton-cg goes on from its weights. Counts decide, and the run's own\n"
        "numbers, no clock."
    ),
)
