"""What CRFsuite's training algorithms can be asked for: names, defaults and help, and what each is here."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

from ... import optimizers
from ...optimizers.base import Algorithm
from ...training.settings import Settings

ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
OURS = {"lbfgs": "lbfgs", "l2sgd": "sgd", "averaged-perceptron": "ap", "passive-aggressive": "pa", "arow": "arow"}
LONGEST = 2147483647


class Parameter(NamedTuple):
    default: Any
    help: str
    used: bool = True  # False: has no meaning here


FEATURES = {
    "feature.minfreq": Parameter(0.0, "The least frequency of attributes (CRFsuite: of features)."),
    "feature.possible_states": Parameter(False, "Weights also for attributes and labels that were not seen together."),
    "feature.possible_transitions": Parameter(False, "Weights also for label pairs that were not seen."),
}
ROUNDS = {
    "max_iterations": Parameter(100, "The most passes over the data."),
    "epsilon": Parameter(0.0, "Stop when the mean loss is at most this."),
}
PARAMETERS = {
    "lbfgs": {
        "c1": Parameter(0.0, "Coefficient for L1 regularization; above 0 the method is OWL-QN."),
        "c2": Parameter(1.0, "Coefficient for L2 regularization."),
        "max_iterations": Parameter(LONGEST, "The most iterations."),
        "num_memories": Parameter(6, "Pairs of steps and gradient changes that are kept."),
        "epsilon": Parameter(1e-5, "Stop when the gradient is below this share of the weights."),
        "period": Parameter(10, "Iterations over which the stopping criterion looks back."),
        "delta": Parameter(1e-5, "Stop when the loss has bettered by less than this share over a period."),
        "linesearch": Parameter("MoreThuente", "The line search.", used=False),
        "max_linesearch": Parameter(20, "The most trials of the line search.", used=False),
    },
    "l2sgd": {
        "c2": Parameter(1.0, "Coefficient for L2 regularization."),
        "max_iterations": Parameter(1000, "The most passes over the data."),
        "period": Parameter(10, "Passes over which the stopping criterion looks back."),
        "delta": Parameter(1e-6, "Stop when the loss has bettered by less than this share over a period."),
        "calibration.eta": Parameter(0.1, "The first step size of the calibration.", used=False),
        "calibration.rate": Parameter(2.0, "The factor of the calibration.", used=False),
        "calibration.samples": Parameter(1000, "Sequences for the calibration.", used=False),
        "calibration.candidates": Parameter(10, "Candidates of the calibration.", used=False),
        "calibration.max_trials": Parameter(20, "The most trials of the calibration.", used=False),
    },
    "averaged-perceptron": ROUNDS,
    "passive-aggressive": {
        "type": Parameter(1, "0: without slack variables, 1: PA-I, 2: PA-II."),
        "c": Parameter(1.0, "Aggressiveness."),
        "error_sensitive": Parameter(True, "Let the cost grow with the number of wrong labels."),
        "averaging": Parameter(True, "Average the weights of all steps."),
        **ROUNDS,
    },
    "arow": {
        "variance": Parameter(1.0, "The first variance of each weight."),
        "gamma": Parameter(1.0, "Trade-off between loss and change of the weights."),
        **ROUNDS,
    },
}


def parameters_of(algorithm: str) -> dict[str, Parameter]:
    return FEATURES | PARAMETERS[algorithm]


def settings_of(algorithm: str, given: dict[str, Any], *, held_out: bool) -> Settings:
    """The training that CRFsuite's parameters ask for; one warning for what has no meaning here."""
    known = parameters_of(algorithm)
    if odd := [name for name, value in given.items() if not known[name].used and value != known[name].default]:
        warnings.warn(f"crftrain has no {', '.join(odd)}: without effect", stacklevel=4)
    common = {
        "features": "full" if given["feature.possible_states"] else "observed",
        "transitions": "full" if given["feature.possible_transitions"] else "observed",
        "min_freq": int(given["feature.minfreq"]),
        "passes": given["max_iterations"],
        "tol": 0.0,
        **({"dev": "the holdout group", "select": "last"} if held_out else {}),
    }
    if algorithm == "lbfgs":
        name, options = ("owlqn" if given["c1"] else "lbfgs"), {"memory": given["num_memories"]}
        return Settings(algorithm=name, options=options, lambdas=f"{2 * given['c2']!r}/n", l1s=f"{given['c1']!r}/n", **common)
    if algorithm == "l2sgd":
        return Settings(algorithm="sgd", lambdas=f"{2 * given['c2']!r}/n", l1s="0", **common)
    own = {name: str(given[name]) if name == "type" else given[name] for name in known if name not in FEATURES | {"max_iterations": 0}}
    return Settings(algorithm=patient(optimizers.get(OURS[algorithm])), options=own, lambdas="0", l1s="0", **common)


def patient(algorithm: Algorithm) -> Algorithm:
    """The same without an end where a pass changed nothing: a mean of all passes comes nearer to the last weights."""

    def build(objective, w, rng, **options):
        optimiser = algorithm.make(objective, w, rng, **options)
        optimiser._done = lambda loss: "mean loss below epsilon" if loss < options["epsilon"] else ""
        return optimiser

    return replace(algorithm, build=build)
