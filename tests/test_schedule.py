"""Step sizes fall as their formulas say, and calibration finds the best one of a grid."""

import math

import numpy as np
import pytest

from crftrain.errors import TrainingError
from crftrain.optimizers._schedule import ALPHA, ETA, FIRST, FORMULAS, PASSES, calibrate, rates, schedule_option, trial_rates


@pytest.mark.parametrize("schedule", FORMULAS)
def test_the_first_step_has_the_first_size_and_later_ones_are_shorter(schedule):
    eta = rates(schedule, 0.5, 0.9, 0, 1000, 100)
    assert eta[0] == 0.5
    assert (np.diff(eta) < 0).all()
    assert (eta > 0).all()


@pytest.mark.parametrize("schedule", FORMULAS)
def test_passes_join(schedule):
    """The rates of a pass do not depend on where the one before was cut."""
    whole = rates(schedule, 0.3, 0.85, 0, 70, 35)
    parts = [rates(schedule, 0.3, 0.85, first, 10, 35) for first in range(0, 70, 10)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_formulas():
    """After one pass: half of it, and alpha of it."""
    assert rates("inverse", 0.4, 0.85, 50, 1, 50) == pytest.approx(0.2, rel=1e-15)
    assert rates("inverse", 0.4, 0.85, 150, 1, 50) == pytest.approx(0.1, rel=1e-15)
    assert rates("exponential", 0.4, 0.85, 50, 1, 50) == pytest.approx(0.34, rel=1e-15)
    assert rates("exponential", 0.4, 0.85, 75, 1, 50) == pytest.approx(0.4 * 0.85**1.5, rel=1e-14)
    assert rates("exponential", 0.4, 1.0, 1000, 1, 50) == 0.4


def test_options():
    assert ETA.parse("auto") == "auto"
    assert ETA.parse("0.5") == 0.5
    assert schedule_option("b", "a").default == "b"
    for option, text in ((ETA, "0"), (ALPHA, "0"), (ALPHA, "1.1"), (schedule_option("b", "a"), "c")):
        with pytest.raises(ValueError, match="is not"):
            option.parse(text)


@pytest.mark.parametrize("best", [1e-4, 0.03, 0.1, 0.7, 90.0])
def test_calibration_finds_the_bottom_of_a_valley(best):
    """A parabola over log eta: its minimum, in about as many trials as there are doublings on the way."""
    tried = []

    def trial(eta):
        tried.append(eta)
        return 3 + math.log(eta / best) ** 2

    assert calibrate(trial) == pytest.approx(best, rel=1e-9)
    assert len(tried) == len(set(tried)) <= 4 + abs(math.log2(best / FIRST))


def test_the_minimum_is_between_the_neighbours_of_the_best_trial():
    """Whatever the values, if only the best is the best."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = {}

        def trial(eta, values=values):
            return values.setdefault(eta, rng.normal())

        found = calibrate(trial)
        nearest = min(values, key=lambda eta: abs(math.log(eta / found)))
        assert abs(math.log2(found / nearest)) <= 0.5
        assert all(values[nearest] <= values[eta] for eta in (nearest / 2, 2 * nearest))


@pytest.mark.parametrize("schedule", FORMULAS)
def test_a_trial_is_a_picture_of_the_whole_training(schedule):
    """As many rates as asked for, from the first to what the last pass would have come to."""
    eta = trial_rates(schedule, 0.5, 0.85, 90)
    whole = rates(schedule, 0.5, 0.85, 0, PASSES * 90, 90)
    np.testing.assert_allclose(eta, whole[::PASSES], rtol=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_trial_that_fails_is_too_large(bad):
    def trial(eta):
        if eta > 0.02:
            if bad != bad:
                raise TrainingError("step 1", "the loss is not finite")
            return bad
        return -eta

    assert 0.01 <= calibrate(trial) <= 0.02


def test_where_everything_fails_calibration_ends():
    count = []

    def trial(eta):
        count.append(eta)
        return math.nan

    assert calibrate(trial) > 0
    assert len(count) < 100
