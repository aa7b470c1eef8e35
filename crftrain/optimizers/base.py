"""The contract between the outer loop (train.fit) and an algorithm.

A file in this folder named some_name.py is the algorithm `-a some-name`. It declares

    ALGORITHM = Algorithm(summary=..., reference=..., solves={"l2"}, options=(Option(...), ...), make=Class)

and everything else -- flags, ranges, help, README rows, tests, benchmarks -- is derived from that declaration.

    opt = ALGORITHM.make(problem, w, rng, **options)    w: float64[F], updated in place; not zero: a warm start
    opt.step() -> Step                                  one batch iteration, or one pass over the sequences
    opt.solution() -> ndarray                           what to save: w, or an average of iterates

After step() w is dense, settled and finite, or TrainingError was raised. All randomness comes from rng. An algorithm
whose gap is an estimate also has `confirm() -> Step`, which makes it exact; one whose gap is a duality gap has
`gap_at_start() -> float`, which --tol is a share of; one that can be stopped and resumed has `state() -> dict of arrays`
and `restore(state)`. One that learns from streams (crftrain.stream) has besides

    opt.take_in(sequences) -> sum of losses             learn from others of its layout, in their order; w may stay behind
    opt.settled() -> ndarray                            what to save, brought up to date
    opt.resized(resizing) -> state                      its state() for a larger layout, by way of a layout.Resizing
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """What a step reached."""

    objective: float
    gap: float = math.nan  # distance from the optimum as the algorithm measures it; nan: it does not
    exact: bool = True  # False: objective and gap are running estimates
    note: str = ""
    done: str = ""  # a reason for which no further step can help


@dataclass(frozen=True)
class Option:
    """One option: its flag, type, range, default and help, said here and nowhere else.

    The type is the default's (a number where that is one of `words`); a choice is a string out of `choices`; `words` are
    accepted beside numbers.
    """

    name: str
    default: object
    help: str
    choices: tuple = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None  # as minimum, but excluded
    words: tuple = ()

    @property
    def flag(self):
        return "--" + self.name.replace("_", "-")

    @property
    def kind(self):
        return float if self.default in self.words else type(self.default)

    @property
    def range(self):
        """What a value may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "yes or no"
        bounds = [
            f"{sign} {bound:g}" for sign, bound in ((">=", self.minimum), (">", self.above), ("<=", self.maximum)) if bound is not None
        ]
        number = "a whole number" if self.kind is int else "a number"
        return " or ".join([*self.words, number + (" " + " and ".join(bounds) if bounds else "")])

    def parse(self, text):
        """The value of a string (or of a value already parsed); ValueError says what was expected."""
        if isinstance(text, str):
            text = text.strip()
        if self.choices or text in self.words:
            if text in self.choices or text in self.words:
                return text
            raise ValueError(f"{text!r} is not {self.range}")
        if self.kind is bool:
            known = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False, True: True, False: False}
            if text not in known:
                raise ValueError(f"{text!r} is not {self.range}")
            return known[text]
        try:
            value = self.kind(text)
        except (TypeError, ValueError):
            value = math.nan
        if not self._allows(value):
            raise ValueError(f"{text!r} is not {self.range}")
        return value

    def _allows(self, value):
        return (
            math.isfinite(value)
            and (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
        )


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's declaration."""

    summary: str  # one line
    reference: str  # where it was published
    solves: frozenset  # of "l2", "l1" (both: elastic net), "no-l2": works with lambda = 0
    make: Callable
    options: tuple = ()
    minimises: bool = True  # what it converges to is the optimum of f, where it solves a penalty
    online: bool = False  # its steps descend from whatever w is: `update` can use it on new sequences alone
    streams: bool = False  # it can take in sequences that are not its problem's, and move to a larger layout
    step_name: str = "pass"  # what a step is: "pass" over the sequences, or "iteration" of a batch method
    tol: float = 1e-6  # stop at gap <= tol * gap at w = 0
    passes: int = 200  # the largest number of steps
    gap: str = "gradient"  # what steps report: "gradient", the largest entry of the subgradient, or "duality", f(w) - D >= f - f*
    memory: Callable = None  # (sizes of the problem, options) -> {what: bytes} that it will hold, w included
    lighter: str = "--min-freq 2, --features observed"  # what takes less
    details: str = ""  # a paragraph for `crftrain algorithms NAME`
    name: str = field(default="", compare=False)

    def option(self, name):
        return next((option for option in self.options if option.name == name), None)

    def defaults(self):
        return {option.name: option.default for option in self.options}
