"""The outer loop stops for the right reason, keeps the right weights and counts only the optimisation, whoever steps."""

import contextlib
import itertools
import math
import os
import signal
import time

import numpy as np
import pytest

from crftrain.errors import TrainingError
from crftrain.optimizers.base import Optimiser, Step
from crftrain.training.loop import Asked, HeldOut, Limits, Monitor, Plateau, Progress, fit
from crftrain.training.signals import StopSignal


class FakeProblem:
    """Exact numbers that can be told from an algorithm's own: the objective of w is 1000 + w[0], its gap the next of `gaps`, then |w[0]|.

    It has no penalty, so that the largest entry of the gradient decides.
    """

    l2 = l1 = 0.0
    n_sequences = 1

    def __init__(self, first_gap=1.0, gaps=()):
        self.first_gap, self.gaps, self.passes, self.asked = first_gap, iter(gaps), 0.0, []

    def gap_at_zero(self):
        return self.first_gap

    def uncounted(self):
        return contextlib.nullcontext()

    def value_and_gradient(self, w, g):
        self.asked.append("gradient")
        g[:] = 0
        return 1000 + float(w[0])

    def gap(self, w, g):
        return next(self.gaps, abs(float(w[0])))

    def exact_objective(self, w):
        self.asked.append("objective")
        return 1000 + float(w[0])


class FakeOptimiser(Optimiser):
    """Takes its steps from a list (the last one for ever); w[0] counts them."""

    def __init__(self, problem, steps, *, passes=1.0, pause=0.0):
        super().__init__(problem, np.zeros(3), None)
        self.steps, self.passes, self.pause = list(steps), passes, pause

    def step(self):
        time.sleep(self.pause)
        self.w[0] += 1
        self.objective.passes += self.passes
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]

    def state(self):
        return {"w": self.w}

    def restore(self, state):
        self.w[:] = state["w"]


def run(steps, *monitors, tol=0.01, trace=False, first_gap=1.0, measured=(), **options):
    problem = FakeProblem(first_gap, measured)
    optimiser = FakeOptimiser(problem, steps, **options)
    watching = [monitor if isinstance(monitor, Monitor) else Asked(monitor) for monitor in monitors]
    return fit(problem, optimiser, tol=tol, monitors=[*watching, Limits(steps=100)], trace=trace), problem, optimiser


def gaps(*values, exact=True):
    return [Step(5.0, gap, exact) for gap in values]


def falling(*objectives):
    return [Step(objective, exact=False) for objective in objectives]


# ---- convergence


def test_converged_when_the_gap_is_a_share_of_the_first():
    outcome, _, _ = run(gaps(4.0, 0.5, 0.02, 0.005), first_gap=2.0)
    assert (outcome.reason, outcome.converged, outcome.iteration) == ("converged", True, 3)
    assert outcome.first_gap == 2.0


def test_the_first_gap_is_that_of_zero_weights_whatever_the_start():
    outcome, _, _ = run(gaps(0.015, 0.009))
    assert outcome.iteration == 2


def test_without_tol_no_gap_is_small_enough():
    outcome, problem, _ = run(gaps(0.0), tol=0)
    assert (outcome.reason, outcome.converged, outcome.iteration) == ("limit of 100 passes", False, 100)
    assert math.isnan(outcome.first_gap)


def test_a_gap_of_zero_converges_even_where_the_first_is_zero():
    outcome, _, _ = run(gaps(0.0), first_gap=0.0)
    assert (outcome.reason, outcome.iteration) == ("converged", 1)


def test_an_estimated_gap_is_measured_before_it_counts():
    """The first estimate is 20 times too small, which those after it are corrected by: training goes on until one passes still."""
    steps = gaps(0.5, 0.001, 0.002, 0.0004, exact=False)
    outcome, problem, _ = run(steps, measured=[0.02, 0.004])
    assert (outcome.reason, outcome.iteration, problem.asked) == ("converged", 4, ["gradient"] * 3)  # the last one for the end


def test_an_estimate_is_not_measured_while_it_does_not_pass():
    outcome, problem, _ = run(gaps(0.5, exact=False), Limits(steps=7))
    assert (outcome.iteration, problem.asked, outcome.converged) == (7, ["gradient"], False)


def test_an_unknown_gap_never_converges():
    outcome, _, _ = run(falling(*range(100, 0, -1)), Limits(steps=5))
    assert outcome.reason == "limit of 5 passes"


def test_a_step_that_says_done_ends_training():
    steps = [*gaps(0.5, 0.4), Step(5.0, 0.3, done="nothing more to gain")]
    outcome, _, _ = run(steps)
    assert (outcome.reason, outcome.converged, outcome.iteration) == ("nothing more to gain", False, 3)
    assert run([Step(5.0, 0.001, done="nothing more to gain")])[0].reason == "converged"


def test_an_estimate_that_is_no_number_is_an_error():
    with pytest.raises(TrainingError, match="step 2: the objective is nan"):
        run([Step(5.0, exact=False), Step(math.nan, exact=False)])


# ---- limits


@pytest.mark.parametrize(
    "limits, reason, iteration",
    [
        (Limits(steps=1), "limit of 1 pass", 1),
        (Limits(steps=4), "limit of 4 passes", 4),
        (Limits(steps=1, step_name="iteration"), "limit of 1 iteration", 1),
        (Limits(steps=3, step_name="iteration"), "limit of 3 iterations", 3),
        (Limits(steps=50, max_passes=7), "limit of 7 effective passes", 3),
        (Limits(steps=50, max_passes=2.5), "limit of 2.5 effective passes", 1),
        (Limits(steps=50, max_seconds=1e-9), "limit of 1e-09 seconds", 1),
    ],
)
def test_limits(limits, reason, iteration):
    outcome, _, _ = run(gaps(0.5), limits, passes=2.5)
    assert (outcome.reason, outcome.iteration, outcome.converged) == (reason, iteration, False)


def test_the_last_step_allowed_may_still_converge():
    outcome, _, _ = run(gaps(0.5, 0.001), Limits(steps=2))
    assert outcome.reason == "converged"


# ---- plateau


def test_a_plateau_is_where_windows_stop_falling():
    """100, 50, 25 ...: until five steps together win less than 1e-4 of the five before."""
    objectives = [10 + 90 * 0.5**k for k in range(100)]
    outcome, _, _ = run(falling(*objectives), Plateau(share=1e-4, window=5))
    k = outcome.iteration
    assert outcome.reason == "plateau: 5 steps lowered the objective by less than 0.0001 of it"
    assert outcome.converged is False

    def share(k):
        before, now = np.mean(objectives[k - 10 : k - 5]), np.mean(objectives[k - 5 : k])
        return (before - now) / before

    assert share(k) < 1e-4 <= share(k - 1)


def test_a_plateau_needs_two_windows():
    assert run(falling(5.0), Plateau(window=3))[0].iteration == 6


def test_noise_upon_descent_is_no_plateau():
    rng = np.random.default_rng(0)
    objectives = [100 * 0.97**k + rng.normal(0, 1) for k in range(60)]
    assert run(falling(*objectives), Plateau(), Limits(steps=60))[0].reason == "limit of 60 passes"


def test_a_plateau_is_also_where_objectives_are_negative_or_rise():
    assert run(falling(*range(1, 100)), Plateau(window=2))[0].reason.startswith("plateau")
    assert run(falling(*[-10.0 - k for k in range(100)]), Plateau(window=2), Limits(steps=30))[0].iteration == 30


def test_algorithms_with_a_gap_have_no_plateau():
    assert run(gaps(0.5), Plateau(), Limits(steps=40))[0].reason == "limit of 40 passes"


# ---- held-out data


def scores(*values):
    """An evaluation that gives these scores, one a step."""
    steps = iter(values)
    return lambda w: ((score := next(steps)), {"accuracy": score})


def test_the_best_step_on_held_out_data_is_kept():
    heldout = HeldOut(scores(1, 5, 3, 5, 2))
    outcome, problem, optimiser = run(gaps(0.5), heldout, Limits(steps=5))
    assert (outcome.best_iteration, outcome.dev, outcome.dev_score) == (2, {"accuracy": 5}, 5)
    assert outcome.w.tolist() == [2, 0, 0]
    assert optimiser.w.tolist() == [5, 0, 0]  # the optimiser's own are not touched
    assert (outcome.objective, outcome.gap) == (1002, 2)  # of the weights that are kept
    assert outcome.iteration == 5


def test_patience_counts_steps_without_a_better_score():
    outcome, _, _ = run(gaps(0.5), HeldOut(scores(1, 2, 2, 1, 3, 2, 3, 1, 9), patience=3))
    assert (outcome.reason, outcome.iteration, outcome.best_iteration) == ("no better score on held-out data for 3 steps", 8, 5)


def test_without_patience_held_out_data_stops_nothing():
    outcome, _, _ = run(gaps(0.5), HeldOut(scores(*range(20, 0, -1))), Limits(steps=20))
    assert (outcome.reason, outcome.best_iteration) == ("limit of 20 passes", 1)


def test_a_flat_score_does_not_stop_while_patience_lasts():
    """Unlike Wapiti, where a flat error ends training after five iterations (its failure on mostly-O data)."""
    outcome, _, _ = run(gaps(*[0.5] * 30, 0.001), HeldOut(scores(*[0] * 40)))
    assert (outcome.reason, outcome.iteration) == ("converged", 31)


def test_the_last_step_can_be_the_best():
    outcome, _, _ = run(gaps(0.5, 0.4, 0.001), HeldOut(scores(1, 2, 3)))
    assert (outcome.reason, outcome.best_iteration, outcome.w[0]) == ("converged", 3, 3)


# ---- what is measured


def test_seconds_are_the_steps_alone():
    def slow(progress):
        time.sleep(0.05)

    started = time.perf_counter()
    outcome, _, _ = run(gaps(0.5), slow, Limits(steps=4), pause=0.005)
    assert 0.02 <= outcome.seconds <= time.perf_counter() - started - 0.2


def test_monitors_see_every_step_in_order():
    seen = []
    outcome, _, _ = run(gaps(0.5, 0.4, 0.001), seen.append)
    assert all(isinstance(progress, Progress) for progress in seen)
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    assert [progress.step.gap for progress in seen] == [0.5, 0.4, 0.001]
    assert [progress.passes for progress in seen] == [1, 2, 3]
    assert [a.seconds < b.seconds for a, b in itertools.pairwise(seen)] == [True, True]
    assert outcome.passes == 3


def test_the_end_is_exact_whatever_the_steps_said():
    outcome, problem, _ = run(falling(7.0), Limits(steps=3))
    assert (outcome.objective, outcome.gap) == (1003, 3)
    assert outcome.active == 1
    assert problem.passes == 3


def test_trace_makes_every_objective_exact():
    seen = []
    _, problem, _ = run(falling(7.0), seen.append, Limits(steps=3), trace=True)
    assert [progress.step[:3] for progress in seen] == [pytest.approx((1000 + k, math.nan, True), nan_ok=True) for k in (1, 2, 3)]
    seen.clear()
    run(gaps(0.5), seen.append, Limits(steps=2), trace=True)
    assert [progress.step.objective for progress in seen] == [5.0, 5.0]  # was exact before


def test_trace_does_not_make_an_estimated_gap_pass():
    outcome, _, _ = run(gaps(0.5, 0.001, exact=False), Limits(steps=9), trace=True, measured=itertools.repeat(0.7))
    assert (outcome.converged, outcome.iteration) == (False, 9)


def test_without_trace_nothing_exact_is_computed_before_the_end():
    _, problem, _ = run(falling(7.0), Limits(steps=5))
    assert problem.asked == ["gradient"]


# ---- signals


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")])
def test_the_first_signal_stops_after_the_running_step(number, name):
    said = []

    def send(progress):
        if progress.iteration == 3:
            os.kill(os.getpid(), number)
            time.sleep(0.001)

    with StopSignal(said.append) as stop, stop.busy():
        outcome, _, _ = run(gaps(0.5), stop.step, send)
    assert outcome.reason == f"interrupted by {name}"
    assert outcome.iteration in (3, 4)
    assert stop.number == number
    assert len(said) == 1
    assert name in said[0]


def test_a_second_signal_aborts():
    def send(progress):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)

    steps = []
    with StopSignal() as stop, stop.busy(), pytest.raises(KeyboardInterrupt):
        run(gaps(0.5), send, send, steps.append)
    assert stop.number == signal.SIGINT
    assert steps == []


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in StopSignal.SIGNALS]
    with pytest.raises(ZeroDivisionError), StopSignal():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in StopSignal.SIGNALS] == before
