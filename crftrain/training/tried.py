"""The table of the strengths that were tried: what each came to, and why one was chosen."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tried:
    """One strength; of several folds the means."""

    l2: str
    l1: str
    active: float
    objective: float
    scores: dict  # on held-out data; empty: there are none
    seconds: float

    @classmethod
    def of(cls, strengths, scores, outcomes, seconds):
        l2, l1 = map(str, strengths)
        active, objective = (float(np.mean([getattr(outcome, name) for outcome in outcomes])) for name in ("active", "objective"))
        return cls(l2, l1, active, objective, scores or {}, seconds)

    @property
    def name(self):
        return f"lambda {self.l2}, l1 {self.l1}"

    @property
    def facts(self):
        """What a model says of it: nothing that differs between two runs alike."""
        return {"lambda": self.l2, "l1": self.l1, "active": round(self.active), "objective": self.objective, **self.scores}

    @property
    def event(self):
        return {**self.facts, "seconds": self.seconds}

    def why(self, select, n):
        """Why it is the one that is chosen of n."""
        best = "likelihood" if select == "likelihood" else next(iter(self.scores))
        return f"the best {best} of {n} strengths"


def table(rows):
    """Lines: strength, active weights, objective, held-out scores, seconds, in columns."""
    names = list(rows[0].scores)
    cells = [["lambda", "l1", "active", "objective", *names, "seconds"]]
    for row in rows:
        scores = [f"{value:.4f}" if name == "likelihood" else f"{value:.2f}" for name, value in row.scores.items()]
        cells.append([row.l2, row.l1, f"{row.active:,.0f}", f"{row.objective:.6g}", *scores, f"{row.seconds:.1f}"])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)) for line in cells]
