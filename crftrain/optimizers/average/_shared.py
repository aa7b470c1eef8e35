"""What SAG, SAGA and SVRG share outside their loops: the options, the pace of the steps, a bound of the optimum, checkpoints."""

from functools import partial

import numpy as np

from ...chain import certificate
from ...chain._occurrence_list import few
from ...chain.sizes import listed, padded_row
from ...errors import TrainingError
from ..base import Optimiser, Option, Step, no_better_than_zero
from ._compiled import PRECISIONS, SAMPLERS, TABLES
from ._pace import Pace

SAMPLING = Option("sampling", "nus", "draws by Lipschitz constants (nus, nus2013) or all alike", choices=tuple(SAMPLERS))
SKIP = Option("skip", True, "leave out line searches that keep being satisfied")
TABLE = Option("table", "mixed", "what is remembered of a sequence", choices=tuple(TABLES))
PRECISION = Option("table_precision", "single", "precision of that memory; single floors the gap near 2e-9", choices=tuple(PRECISIONS))
BATCH = Option("batch", 1, "sequences that are drawn, and remembered, as one", minimum=1)
FIRST_PASS = Option("first_pass", "sample", "the first n draws: like the others, or a permutation", choices=("sample", "permute"))
INITIAL = Option("initial_constant", 1.0, "the Lipschitz constant that the first line search starts from", above=0.0)

OPTIONS = (SAMPLING, SKIP, TABLE, PRECISION, BATCH, FIRST_PASS, INITIAL)


def n_units(facts, options):
    return -(-facts.n_sequences // options["batch"])


def table_kind(table, n_pair_features):
    """`mixed` remembers one sum of edge marginals, which is not enough where attributes sit on label pairs."""
    return "marginals" if table == "mixed" and n_pair_features else table


def vectors(facts, count):
    """Bytes of w and of so many vectors that are padded to whole rows."""
    return int(8 * facts.n_features * (1 + count * (padded_row(facts.n_labels) / facts.n_labels)))


def lists(facts):
    """Bytes of the lists of each sequence's attributes, at most, and of their weights, where these are few."""
    weights = listed(facts) if few(facts.listed_bytes, facts.n_occurrences) else 0
    return {"attributes by sequence": 16 * facts.n_tokens + 4 * facts.n_occurrences, "listed weights": weights}


def memory(facts, options):
    """w, v and d, the attributes by sequence, and the table."""
    kind = TABLES[table_kind(options["table"], facts.n_pair_features)]
    numbers = kind.numbers(facts, n_units(facts, options))
    table = numbers * PRECISIONS[options["table_precision"]][1]
    return {"weights": vectors(facts, 2), **lists(facts), "table": table}


LIGHTER = "--table mixed, --table-precision single, --min-freq 2, --features observed, or -a svrg, which has no table"


FAR = 0.99  # of f, proved: a start that is no better gets an empty table


class Remembering(Optimiser):
    """What remembers gradients to reduce the variance of its steps: it bounds the optimum by them, and keeps them for another strength."""

    movable = True

    def lower_bound(self):
        """By the distributions whose gradients are remembered."""
        return self.bound

    def move_to(self, objective):
        """The next strength of a path, with all that is known of the sequences."""
        self.objective, self.bound = objective, -np.inf
        self.pace.forget()
        self.steps.move_to(objective)

    def state(self):
        return {**self.steps.state(), "w": np.array(self.w), "pace_seen": np.array(self.pace.state())}

    def state_shapes(self):
        """The pace is infinite before the first look; the order empty, or of the first draws."""
        return {"pace_seen": (np.float64, (len(self.pace.state()),)), "order": (np.int64, (None,))}


class AveragedGradient(Remembering):
    """An algorithm around TableSteps: a step is n draws."""

    def __init__(self, objective, w, rng, steps, *, table, table_precision, sampling, skip, batch, first_pass, initial_constant):
        super().__init__(objective, w, rng)
        kind = TABLES[table_kind(table, len(objective.layout.pair))]
        order = rng.permutation(-(-objective.n_sequences // batch)) if first_pass == "permute" else None
        self.begin = partial(
            steps,
            objective,
            w,
            rng,
            sampler=SAMPLERS[sampling],
            table=lambda objective, units: kind(PRECISIONS[table_precision][0], objective, units),
            order=order,
            batch=batch,
            skip=skip,
            first=initial_constant,
            all_pairs=kind is TABLES["marginals"],
        )
        self.steps = self.begin()
        self.pace, self.bound, self.dual = Pace(), -np.inf, -np.inf
        self.warm = bool(w.any())

    def step(self):
        if self.warm:  # a table of the start's gradients: an optimum is recognised, a good start not lost
            self.warm = False
            start = self.refresh()
            if self.objective.l1 or not self.objective.l2 or certificate.distance(start.objective, self.bound) <= FAR:
                return start
            self._begin_anew()
        self.steps.run(self.steps.n_units)
        gap, objective, mean = self.steps.settle(), self._objective(), None
        if self.objective.l1 and np.isfinite(gap):
            mean = self.steps.mean_gradient()
            gap = self.objective.gap(self.w, mean, lacks=self.objective.l2)  # that of the subgradient of least norm
        self._prove(mean)
        self._look(objective)
        return Step(objective, gap, exact=False, note=self.pace.note)

    def _prove(self, mean=None):
        """The bound of what is remembered now. mean: d/n, if known."""
        self.bound, self.dual = self.steps.lower_bound(mean)

    def _look(self, objective):
        """The pace of the next pass."""
        if self.steps.sampler.seen == self.steps.n_units:
            keep_pace(self, objective)

    def _begin_anew(self):
        """With an empty table: gradients of weights that are far off lead astray, as do constants measured there."""
        self.steps = None  # its memory is free before the next takes some
        if no_better_than_zero(self.objective, self.w):
            self.w[:] = 0
        self.steps = self.begin()

    def refresh(self):
        """One exact pass, which makes the table and d those of this w."""
        gap = self.objective.gap(self.w, self.steps.refresh(), lacks=self.objective.l2)
        self._prove()
        return Step(self._objective(), gap)

    def _objective(self):
        w = self.w
        l1 = self.objective.l1 * float(np.abs(w).sum()) if self.objective.l1 else 0.0
        with np.errstate(over="ignore"):
            objective = self.steps.mean_loss() + 0.5 * self.objective.l2 * float(w @ w) + l1
        if not np.isfinite(objective):
            raise TrainingError("this pass", f"the objective is {objective}", "weights of moderate size")
        return objective

    def restore(self, state):
        self.w[:] = state["w"]
        self.pace.restore(state["pace_seen"])
        self.warm = False
        self.steps.restore(state)


def keep_pace(optimiser, objective):
    """Steps as long as the way that the dual has gone allows."""
    told = optimiser.objective.l2 and not optimiser.objective.l1  # under l1 the dual rises and falls by far more than f
    if optimiser.pace.look(optimiser.dual if told else None, objective):
        optimiser.steps.search_anew()
    optimiser.steps.pace = optimiser.pace.length
