"""Callbacks for `fit`: functions of the Progress of each step, which return a reason to stop or None.

progress.iteration, .passes, .seconds     how far it is
progress.step.objective, .gap, .exact     what the step reached
progress.dev                              scores on X_val, if there is one
progress.solution                         the weights
"""

from __future__ import annotations

from typing import Any

from ..training.events import Observer, distance_text, scores_text, step_event


class History(Observer):
    """Keeps a dict of each step, as `crftrain learn --log` writes them."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def step(self, progress):
        self.steps.append(step_event(progress))

    __call__ = step


class EarlyStopping(Observer):
    """Stops when a score on X_val, or without one the objective, has not bettered by min_delta for `patience` steps.

    monitor: "f1", "accuracy", "likelihood" or "objective"; None is the first of them that there is.
    """

    def __init__(self, patience: int = 5, *, min_delta: float = 0.0, monitor: str | None = None) -> None:
        self.patience, self.min_delta, self.monitor = patience, min_delta, monitor
        self.best: float | None = None
        self.waited = 0

    def step(self, progress):
        name = self.monitor or next((name for name in ("f1", "accuracy") if name in (progress.dev or {})), "objective")
        value = -progress.step.objective if name == "objective" else progress.dev[name]
        if self.best is None or value > self.best + self.min_delta:
            self.best, self.waited = value, 0
            return None
        self.waited += 1
        return f"no better {name} for {self.patience} steps" if self.waited >= self.patience else None

    __call__ = step


class ProgressBar(Observer):
    """One line that changes, in a notebook or on a terminal."""

    def __init__(self) -> None:
        self.bar: Any = None

    def step(self, progress):
        from tqdm.auto import tqdm

        if self.bar is None:
            self.bar = tqdm(unit="step")
        self.bar.update(progress.iteration - self.bar.n)
        shown = [f"objective {progress.step.objective:.6f}", distance_text(progress), scores_text(progress.dev or {})]
        self.bar.set_postfix_str(", ".join(text for text in shown if text))

    __call__ = step

    def end(self, event):
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class Told(Observer):
    """Prints what a training says."""

    def say(self, text):
        print(text)


class Asked(Observer):
    """Functions of Progress as an observer."""

    def __init__(self, functions) -> None:
        self.functions = functions

    def step(self, progress):
        reasons = [function(progress) for function in self.functions]
        return next((reason for reason in reasons if reason), None)
