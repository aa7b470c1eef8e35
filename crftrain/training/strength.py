"""Regularisation strengths as people write them: a number, c/n with n the number of training sequences, or auto."""

import math
import numbers
from dataclasses import dataclass


@dataclass(frozen=True)
class Strength:
    """`number`, or number / n; auto: whatever is found to be the best, for which 1/n stands until then."""

    number: float
    per_sequence: bool = False
    auto: bool = False

    @classmethod
    def parse(cls, text):
        """ValueError says what was expected."""
        if text.strip() == "auto":
            return cls(1.0, True, True)
        numerator, slash, rest = text.strip().partition("/")
        try:
            number = float(numerator)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0 and (not slash or rest.strip() == "n")):
            raise ValueError(f"{text!r} is not a number >= 0 or one divided by n, as in 0.01 or 1/n")
        return cls(number, bool(slash))

    @classmethod
    def parse_list(cls, text):
        return tuple(cls.parse(part) for part in text.split(","))

    @classmethod
    def several(cls, value):
        """A tuple of strengths out of a text, a number, a strength or several of them; ValueError says what was expected."""
        if isinstance(value, str):
            return cls.parse_list(value)
        if isinstance(value, cls):
            return (value,)
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            return (cls.parse(repr(float(value))),)
        return tuple(strength for part in value for strength in cls.several(part))

    def at(self, n):
        return self.number / n if self.per_sequence else self.number

    def __str__(self):
        if self.auto:
            return "auto"
        return f"{self.number:g}" + ("/n" if self.per_sequence else "")
