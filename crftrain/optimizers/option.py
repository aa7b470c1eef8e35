"""An option of an algorithm: its flag, its help, its range, and what a string says of it."""

import math
from dataclasses import dataclass

LARGEST = 2**31 - 1  # of a whole number: loops hold it in 32 bits


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
        if self.kind is int and abs(value) > LARGEST:
            raise ValueError(f"{str(text)[:24]!r} is not a whole number <= {LARGEST}")
        if not self._allows(value):
            raise ValueError(f"{text!r} is not {self.range}")
        return value

    def _allows(self, value):
        return (
            (abs(value) <= LARGEST if self.kind is int else math.isfinite(value))
            and (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
        )
