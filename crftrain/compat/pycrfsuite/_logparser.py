"""A log of CRFsuite's training, understood line by line.

start            what comes before the features are made
featgen_progress a tenth, or a dot between two
featgen_end      the number of features, the seconds
prepared         the algorithm and its parameters
iteration        one step, as a dict
optimization_end, end      how it ended; the model is stored
"""

from __future__ import annotations

import re
from collections import namedtuple
from fractions import Fraction
from typing import Any

LabelScore = namedtuple("LabelScore", "match model ref precision recall f1")

HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
NUMBERS = (
    ("loss", float, "Loss"),
    ("feature_norm", float, "Feature norm"),
    ("error_norm", float, "Error norm"),
    ("active_features", int, "Active features"),
    ("linesearch_trials", int, "Line search trials"),
    ("linesearch_step", float, "Line search step"),
    ("time", float, "Seconds required for this iteration"),
)
COUNTS = (("item_accuracy", "Item accuracy"), ("instance_accuracy", "Instance accuracy"))
AVERAGES = re.compile(r"Macro-average precision, recall, F1: \(([\d.]+), ([\d.]+), ([\d.]+)\)")
SCORE = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")


class TrainLogParser:
    """feed(line) returns the event that the line completes, or None; last_log is the text of the last event."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        _, first, end = self.events[-1]
        return "".join(self.log[first:end])

    def feed(self, line: str) -> str | None:
        self.log.append(line)
        before, first = self.state, self.events[-1][2] if self.events else 0
        event = getattr(self, f"_{self.state or 'begin'}")(line)
        if event is not None:
            later = event in ("prepared", "optimization_end") and before is not None  # the line belongs to the next event
            self.events.append((event, first, len(self.log) - later))
        return event

    def _begin(self, line):
        self.state = "starting"
        self._starting(line)
        return "start"

    def _starting(self, line):
        if line.startswith("Feature generation"):
            self.state = "features"

    def _features(self, line):
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if (number := _number(line, "Number of features")) is not None:
            self.featgen_num_features = int(number)
        if (seconds := _number(line, "Seconds required")) is not None:
            self.featgen_seconds, self.state = seconds, "preparing"
            return "featgen_end"
        return None

    def _preparing(self, line):
        if HEAD.match(line):
            self.state = "iterating"
            self._iterating(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "ending"
            return "prepare_error"
        if line.startswith("Storing the model"):  # nothing to learn from
            self.state = "storing"
            return "optimization_end"
        return None

    def _iterating(self, line):
        if head := HEAD.match(line):
            self.last_iteration = {"num": int(head[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "ending"
            return "iteration"
        found = self.last_iteration
        for key, kind, name in NUMBERS:
            if (number := _number(line, name)) is not None:
                found[key] = kind(number)
        for key, name in COUNTS:
            if match := re.match(rf"{name}: (\d+) / (\d+)", line):
                found[key] = Fraction(int(match[1]), int(match[2]))
                found[f"{key}_float"] = float(found[key])
        if match := AVERAGES.match(line):
            found.update(zip(("avg_precision", "avg_recall", "avg_f1"), map(float, match.groups()), strict=True))
        if match := SCORE.match(line):
            shares = [None if "*" in share else float(share) for share in match.groups()[4:]]
            found["scores"][match[1]] = LabelScore(*map(int, match.groups()[1:4]), *shares)
        return None

    def _ending(self, line):
        if HEAD.match(line):
            self.state = "iterating"
            return self._iterating(line)
        if (seconds := _number(line, "Total seconds required for training")) is not None:
            self.training_seconds = seconds
        if line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _storing(self, line):
        if (seconds := _number(line, "Seconds required")) is not None:
            self.storing_seconds = seconds
        return "end" if line == "\n" else None


def _number(line, name):
    match = re.match(rf"{name}: (\d+(?:\.\d+)?)", line)
    return float(match[1]) if match else None
