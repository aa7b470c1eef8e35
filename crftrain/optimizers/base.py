"""The contract between the outer loop (training.loop.fit) and an algorithm.

A file some_name.py in the folder of its family is the algorithm `-a some-name`. It declares

    ALGORITHM = Algorithm(summary=..., reference=..., solves={"l2"}, options=(Option(...), ...), optimiser=Class)

where Class is an Optimiser; flags, ranges, help, documents, tests and benchmarks are derived from the two. What an optimiser can do
beside its steps it declares by a class attribute, and has the methods that belong to it; nobody looks for methods.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import CrftrainError, TrainingError
from .option import Option

if TYPE_CHECKING:
    from ..chain.objective import Objective

__all__ = ["MOST", "Algorithm", "Optimiser", "Option", "Step", "counted", "within"]


class Step(NamedTuple):
    """What a step reached."""

    objective: float
    gap: float = math.nan  # distance from the optimum as the algorithm measures it; nan: it does not
    exact: bool = True  # False: objective and gap are running estimates
    note: str = ""
    done: str = ""  # a reason for which no further step can help


MOST = 2**53  # of what is counted


def counted(state, name, most=MOST):
    """A count out of a checkpoint's arrays, from 0 to most; else a ValueError."""
    value = int(state[name][0])
    if not 0 <= value <= most:
        raise ValueError(f"{name} {value}, not 0 to {most}")
    return value


def within(state, name, low, high):
    """The array of that name, if all its numbers lie in low .. high; else a ValueError."""
    array = state[name]
    if array.size and not (array.min() >= low and array.max() <= high):
        raise ValueError(f"{name} from {array.min()} to {array.max()}, not {low} to {high}")
    return array


def no_better_than_zero(objective, w):
    """Whether zero weights are as near to the optimum as these; where these are no numbers a step will say so."""
    return bool(np.isfinite(w).all()) and not objective.objective(w) < objective.objective(np.zeros_like(w))


class Optimiser(ABC):
    """An algorithm at work.

    objective    the whole one, whatever part of it a step looks at
    w            float64[F], changed in place; not zero at first: a warm start. After step() it is dense, settled and finite
    rng          where all randomness comes from
    """

    online = False  # its steps descend from whatever w is: `update` can use it on new sequences alone
    movable = False  # move_to(): it takes what it knows along to another strength
    streams = False  # take_in(), settled(), resized(): it learns from sequences that are not its objective's
    shards = False  # it asks the objective for what Objective promises, no more: never for single sequences
    hope = 0.5  # what a measurement of the distance is of what is estimated, until one was made
    gap = "gradient"  # what steps report: "gradient", the largest entry of the subgradient, or "duality", f(w) - D >= f - f*

    def __init__(self, objective: "Objective", w: np.ndarray, rng: np.random.Generator):
        self.objective, self.w, self.rng = objective, w, rng

    @abstractmethod
    def step(self) -> Step:
        """One batch iteration, or one pass over the sequences; TrainingError where numbers leave the range."""

    def solution(self) -> np.ndarray:
        """What to save: w, or an average of iterates."""
        return self.w

    def news(self) -> list[str]:
        """What the user should be told, once."""
        return []

    def lower_bound(self) -> float:
        """Of the optimum, as far as the algorithm knows one by itself; -inf: it does not. Costs no pass, changes nothing."""
        return -math.inf

    def gradient(self) -> np.ndarray | None:
        """Of the smooth part at solution(), where the last step is exact and had it; not to be changed."""
        return None

    # ---- it can be stopped, and goes on to the same bits

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """All that the next step depends on beside rng."""

    def state_shapes(self) -> dict[str, tuple]:
        """{name: (dtype, shape)} of what state() has that is not always there, has a length that varies (None), or may be infinite."""
        return {}

    def become(self, state: dict[str, np.ndarray]) -> None:  # noqa: B027
        """Be what has a state of that kind, before its types and shapes are looked at, where there are several."""

    @abstractmethod
    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from there; a ValueError where a number is out of its range. Types and shapes have been looked at."""

    # ---- movable

    def can_move_to(self, objective: "Objective") -> bool:
        """Whether move_to() may be asked: with l1 steps are other ones than without."""
        return self.movable and bool(self.objective.l1) == bool(objective.l1)

    def move_to(self, objective: "Objective") -> None:
        """Go on with the same corpus under another strength."""
        raise NotImplementedError

    # ---- streams

    def take_in(self, sequences) -> float:
        """Learn from others of the same layout, in order; the sum of the losses, each before it was learnt from. w may stay behind."""
        raise NotImplementedError

    def settled(self) -> np.ndarray:
        """What to save, brought up to date."""
        raise NotImplementedError

    def resized(self, resizing) -> dict[str, np.ndarray]:
        """state() for a larger layout, by way of a layout.Resizing."""
        raise NotImplementedError


def nothing_against(options, l2, l1, stream):
    """What most algorithms have to say: any option goes with any other."""
    return ()


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's declaration."""

    summary: str  # one line
    reference: str  # where it was published
    solves: frozenset  # of "l2", "l1" (both: elastic net), "no-l2": works with lambda = 0
    optimiser: type[Optimiser]
    build: Callable | None = None  # (objective, w, rng, **options) -> an optimiser of that class, where it is not the class itself
    options: tuple = ()
    refuse: Callable = nothing_against  # (options, l2, l1, stream) -> (place, finding, expectation) of each thing that does not go together
    minimises: bool = True  # what it converges to is the optimum of f, where it solves a penalty
    constrained: bool = True  # it learns over legal labellings alone, where not all are
    adapts: bool = False  # to its options, so that less free memory than it takes is told, but refuses nothing
    step_name: str = "pass"  # what a step is: "pass" over the sequences, or "iteration" of a batch method
    tol: float | None = None  # where nothing can be proved, stop at gap <= tol * gap at w = 0; None: steps have no gap, a plateau ends it
    passes: int = 200  # the largest number of steps
    memory: Callable = None  # (sizes of the objective, options) -> {what: bytes} that it will hold, w included
    lighter: str = "--min-freq 2, --features observed"  # what takes less
    details: str = ""  # a paragraph for `crftrain algorithms NAME`
    name: str = field(default="", compare=False)

    online = property(lambda self: self.optimiser.online)
    streams = property(lambda self: self.optimiser.streams)
    gap = property(lambda self: self.optimiser.gap)

    def option(self, name):
        return next((option for option in self.options if option.name == name), None)

    def defaults(self):
        return {option.name: option.default for option in self.options}

    def check(self, options, l2, l1, *, stream=False) -> list[str]:
        """What speaks against these options and strengths (0, or not), and what else is wanted; [] where nothing does. Needs no data."""
        found = self._unsolved(l2, l1)
        if stream and not self.streams:
            found.append(f"{self.name} cannot learn from a stream{_able(lambda other: other.streams)}")
        return found + [str(CrftrainError(*refusal)) for refusal in self.refuse({**self.defaults(), **options}, l2, l1, stream)]

    def _unsolved(self, l2, l1):
        if l1 and "l1" not in self.solves:
            return [f"{self.name} cannot solve --l1{_able(lambda other: 'l1' in other.solves)}"]
        if l2 and "l2" not in self.solves:
            return [f"{self.name} has no penalty: it takes no --lambda above 0"]
        if not l2 and "no-l2" not in self.solves:
            return [f"{self.name} needs --lambda above 0"]
        return []

    def make(self, objective, w, rng, **options) -> Optimiser:
        """An optimiser, with all options given; TrainingError where these do not go together."""
        for refusal in self.refuse(options, objective.l2, objective.l1, False):
            raise TrainingError(*refusal)
        return (self.build or self.optimiser)(objective, w, rng, **options)


def _able(wanted):
    """Of all algorithms those that can, as the end of a sentence."""
    from . import get, names  # the registry reads the algorithms, which import this

    able = [name for name in names() if wanted(get(name))]
    return f"; these can: {', '.join(able)}" if able else ""
