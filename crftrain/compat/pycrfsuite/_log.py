"""CRFsuite's log of a training, line by line; it ends where CRFsuite's does (stops.py)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...training.events import Observer
from ..stops import CRFsuite

TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
SHOWN = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}


class TrainLog(Observer):
    """Tells a training to message(line) and stops it as CRFsuite does."""

    def __init__(self, message: Callable[[str], None], algorithm: str, values: dict[str, Any], holdout: int, n_tokens: int):
        self.message, self.algorithm, self.values, self.holdout = message, algorithm, values, holdout
        self.corpus: Any = None
        epsilon = values["epsilon"] if algorithm == "lbfgs" else None
        self.stop = CRFsuite(period=values["period"], delta=values["delta"], epsilon=epsilon) if "period" in values else Observer()
        self.began = self.last = time.perf_counter()

    def start(self, event, step_name):
        lines = [f"Holdout group: {self.holdout + 1}", ""] if self.holdout >= 0 else []
        lines += ["Feature generation", "type: CRF1d"]
        lines += [f"{name}: {_shown(value)}" for name, value in self.values.items() if name.startswith("feature.")]
        for line in lines:
            self.message(line + "\n")
        for tenth in range(11):
            self.message(str(tenth))
            for _ in range(4 if tenth < 10 else 0):
                self.message(".")
        own = [f"{SHOWN.get(name, name)}: {_shown(value)}" for name, value in self.values.items() if not name.startswith("feature.")]
        self._tell("", f"Number of features: {event['n_features']}", f"Seconds required: {self._seconds():.3f}", "")
        self._tell(TITLES[self.algorithm], *own, "")
        self.began = time.perf_counter()
        if self.corpus is not None:
            self.stop.start(event, step_name)

    def step(self, progress):
        n, step = self.corpus.n_sequences, progress.step
        loss, norm = n * step.objective, float(np.linalg.norm(progress.solution))
        name = "Epoch" if self.algorithm == "l2sgd" else "Iteration"
        lines = [f"***** {name} #{progress.iteration} *****", f"Loss: {loss:f}", f"Feature norm: {norm:f}"]
        if self.algorithm == "lbfgs":
            lines.append(f"Error norm: {n * step.gap:f}")
            lines += [f"Active features: {np.count_nonzero(progress.solution)}", "Line search trials: 1", "Line search step: 1.000000"]
        lines.append(f"Seconds required for this iteration: {self._seconds():.3f}")
        if progress.dev:
            lines.append(f"Item accuracy on the held-out group: {progress.dev['accuracy'] / 100:.6f}")
        self._tell(*lines, "")
        return self.stop.step(progress)

    def stored(self, model, seconds):
        """The lines after training."""
        if self.corpus is not None:
            seconds_all = time.perf_counter() - self.began
            self._tell("Terminated with the stopping criterion", f"Total seconds required for training: {seconds_all:.3f}", "")
        n_labels, n_attributes = len(model.vocabulary.labels), len(model.vocabulary.attributes)
        self._tell("Storing the model", f"Number of active features: {model.active} ({len(model.w)})")
        self._tell(f"Number of active attributes: {n_attributes} ({n_attributes})", f"Number of active labels: {n_labels} ({n_labels})")
        self._tell("Writing labels", "Writing attributes", "Writing feature references for transitions")
        self._tell("Writing feature references for attributes", f"Seconds required: {seconds:.3f}", "")

    def _tell(self, *lines):
        for line in lines:
            self.message(line + "\n")

    def _seconds(self):
        before, self.last = self.last, time.perf_counter()
        return self.last - before


def _shown(value):
    return f"{value:f}" if isinstance(value, float) else str(int(value)) if isinstance(value, bool) else str(value)
