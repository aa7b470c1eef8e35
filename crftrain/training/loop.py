"""The one outer loop: an algorithm steps, monitors watch, and something says stop.

    1. step = opt.step(), timed: these seconds are the optimisation alone
    2. monitors look at (k, step, solution): log, progress bar, score on held-out data, plateau, limits, signals
    3. stop when as much is proved as was asked for (proof), when the algorithm cannot go on, or when a monitor has a reason

The loop never asks which family an algorithm belongs to. A measurement for a proof takes its time and counts as a pass.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from ..errors import TrainingError
from .proof import Goal, Prover


@dataclass
class Progress:
    """What monitors see after step k: `step` as the algorithm reported it (--trace makes its objective exact)."""

    iteration: int
    step: object
    solution: np.ndarray
    passes: float
    seconds: float
    dev: dict | None = None
    distance: float | None = None  # (f - f*) / f: proved, if `proved`, else as estimated; None: unknown
    proved: bool = False
    goal: float | None = None  # what it is to come to
    traffic: object = None  # of shards that are elsewhere: rounds, bytes, slowest


@dataclass
class Outcome:
    """How training ended: the weights to save, why, and the numbers of the end event."""

    w: np.ndarray
    reason: str
    converged: bool
    iteration: int
    passes: float
    seconds: float
    objective: float = math.nan
    gap: float = math.nan
    bound: float | None = None
    first_gap: float = math.nan  # at w = 0, where the goal is a share of it
    proved: float | None = None  # (f - f*) / f of these weights is at most this; None: nothing can be proved
    proved_last: float | None = None  # the same of the last weights, where others are kept
    goal: float | None = None
    best_iteration: int | None = None
    dev: dict | None = None
    dev_score: float = -math.inf
    active: int = 0
    model_bytes: int = 0


def fit(problem, optimiser, *, tol=None, prover=None, monitors=(), trace=False, start=None, traffic=None):
    """Run the optimiser until it or a Monitor has a reason to stop.

    start: iterations, seconds and the last step of the run that is gone on with; where that had a reason to stop which still
    holds, no step is made. prover: one that knows where to stop; else what tol means does, a Goal or a number (Goal.of).
    traffic: of shards that are elsewhere, for the monitors.
    """
    prover = prover or Prover(problem, optimiser, tol if isinstance(tol, Goal) else Goal.of(problem, tol))
    passes, k, seconds, reason, converged = problem.passes, 0, 0.0, None, False
    if start is not None:
        problem.passes = passes  # the run that is gone on with has counted what came before its steps
        k, seconds, step = start
        solution = optimiser.solution()
        progress = Progress(k, step, solution, passes, seconds)
        converged = prover.converged
        reasons = [monitor.reason(progress) for monitor in monitors]
        reason = "converged" if converged else next((said for said in reasons if said), step.done or None)
    while reason is None:
        started = time.perf_counter()
        step = optimiser.step()
        solution = optimiser.solution()
        step = prover.look(step, solution)
        seconds += time.perf_counter() - started
        k += 1
        if not math.isfinite(step.objective):
            raise TrainingError(f"step {k}", f"the objective is {step.objective}", "a finite number")
        if trace and not step.exact:
            step = step._replace(objective=problem.exact_objective(solution), exact=True)
        progress = Progress(k, step, solution, problem.passes, seconds, traffic=traffic)
        progress.distance, progress.proved, progress.goal = prover.estimate, prover.distance is not None, prover.goal.distance
        reasons = [monitor(progress) for monitor in monitors]
        converged = prover.converged
        reason = "converged" if converged else next((said for said in reasons if said), step.done or None)
    outcome = Outcome(solution, reason, converged, k, problem.passes, seconds, goal=prover.goal.distance, first_gap=prover.first_slope)
    for monitor in monitors:
        monitor.conclude(outcome)
    prover.conclude(outcome)
    if not math.isfinite(outcome.objective):
        raise TrainingError(f"after step {k}", f"the objective of the weights to keep is {outcome.objective}", "a finite number")
    outcome.active = int(np.count_nonzero(outcome.w))
    return outcome


class Monitor:
    """Looks on after each step, and may have a reason to stop."""

    key = ""  # under which a checkpoint keeps its counters(); none: nothing is remembered
    keeps_best = False  # `best` is, from the first step on, what shall be saved in place of the last weights
    best = None

    def __call__(self, progress):
        """A reason to stop; None to go on."""

    def reason(self, progress):
        """The same of a step that it has seen before."""

    def conclude(self, outcome):
        """Training has ended: the outcome may be another one."""

    def counters(self):
        """What restore() goes on from, for JSON."""

    def restore(self, counters):
        pass


class Asked(Monitor):
    """A function of Progress."""

    def __init__(self, function):
        self.function = function

    def __call__(self, progress):
        return self.function(progress)


class Limits(Monitor):
    """Steps, effective passes and seconds: whichever runs out first."""

    def __init__(self, *, steps, max_passes=None, max_seconds=None, step_name="pass"):
        self.steps, self.max_passes, self.max_seconds, self.step_name = steps, max_passes, max_seconds, step_name

    def __call__(self, progress):
        if progress.iteration >= self.steps:
            plural = {"pass": "passes"}.get(self.step_name, self.step_name + "s")
            return f"limit of {self.steps} {plural if self.steps != 1 else self.step_name}"
        if self.max_passes is not None and progress.passes >= self.max_passes:
            return f"limit of {self.max_passes:g} effective passes"
        if self.max_seconds is not None and progress.seconds >= self.max_seconds:
            return f"limit of {self.max_seconds:g} seconds"
        return None

    reason = __call__


class Plateau(Monitor):
    """For algorithms without a gap: stop when `window` steps together lower the objective by less than a share of it.

    The objective is the step's own, so a running estimate for stochastic methods: its mean over a window is compared
    with the mean over the window before.
    """

    key = "Plateau"
    LAW = "the mean objective of five steps is less than 0.01 % below that of the five before (--tol 0: never)"

    def __init__(self, *, share=1e-4, window=5):
        self.share, self.window, self.seen = share, window, []

    def __call__(self, progress):
        if not math.isnan(progress.step.gap):
            return None
        self.seen.append(progress.step.objective)
        return self.reason(progress)

    def reason(self, progress):
        if not math.isnan(progress.step.gap) or len(self.seen) < 2 * self.window:
            return None
        before, now = np.mean(self.seen[-2 * self.window : -self.window]), np.mean(self.seen[-self.window :])
        if before - now < self.share * abs(before):
            return f"plateau: {self.window} steps lowered the objective by less than {self.share:g} of it"
        return None

    def counters(self):
        return self.seen

    def restore(self, counters):
        if not isinstance(counters, list) or not all(isinstance(seen, float) for seen in counters):
            raise ValueError("the objectives seen")
        self.seen = counters


class HeldOut(Monitor):
    """Score the solution on held-out data after each step, keep the best, stop after `patience` steps without a better one."""

    key = "HeldOut"
    keeps_best = True

    def __init__(self, evaluate, *, patience=None, last=False):
        self.evaluate, self.patience, self.last = evaluate, patience, last  # last: scores are told and choose nothing
        self.best, self.best_iteration, self.best_dev, self.best_score = None, None, None, -math.inf

    def __call__(self, progress):
        score, progress.dev = self.evaluate(progress.solution)
        if score > self.best_score or self.last:
            self.best_score, self.best_dev, self.best_iteration = score, progress.dev, progress.iteration
            if self.best is None:
                self.best = progress.solution.copy()
            else:
                self.best[:] = progress.solution
        return self.reason(progress)

    def reason(self, progress):
        if self.best_iteration is None:
            return None
        if self.patience is not None and progress.iteration - self.best_iteration >= self.patience:
            return f"no better score on held-out data for {self.patience} steps"
        return None

    def conclude(self, outcome):
        if self.best is not None:
            outcome.w, outcome.best_iteration = self.best, self.best_iteration
            outcome.dev, outcome.dev_score = self.best_dev, self.best_score

    def counters(self):
        return {"best_iteration": self.best_iteration, "best_dev": self.best_dev, "best_score": self.best_score}

    def restore(self, counters):
        iteration, dev, score = counters["best_iteration"], counters["best_dev"], counters["best_score"]
        named = isinstance(dev, dict) and all(isinstance(name, str) and isinstance(value, float) for name, value in dev.items())
        if not named or type(iteration) is not int or not isinstance(score, float) or iteration < 1:
            raise ValueError("the best step on held-out data")
        self.best_iteration, self.best_dev, self.best_score = iteration, dev, score
