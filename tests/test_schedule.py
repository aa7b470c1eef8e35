"""Step sizes fall as their formulas say, and calibration finds the best one of a grid."""

import math

import numpy as np
import pytest

from crftrain.errors import TrainingError
from crftrain.optimizers.descent._schedule import (
    ALPHA,
    ENDLESS,
    ETA,
    FIRST,
    FORMULAS,
    PASSES,
    Brief,
    Schedule,
    calibrate,
    grid,
    schedule_option,
)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_first_step_has_the_first_size_and_later_ones_are_not_longer(name):
    eta = Schedule(name).rates(0.5, 0, 1000, 100)
    assert eta[0] == (0.5 if name != "pegasos" else 50.0)
    assert (np.diff(eta) < 0).all() or name == "constant"
    assert (np.diff(eta) <= 0).all()
    assert (eta > 0).all()


@pytest.mark.parametrize("name", FORMULAS)
def test_passes_join(name):
    """The rates of a pass do not depend on where the one before was cut."""
    schedule = Schedule(name, decay=0.7)
    whole = schedule.rates(0.3, 0, 70, 35)
    parts = [schedule.rates(0.3, first, 10, 35) for first in range(0, 70, 10)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_formulas():
    """Of 0.4, after passes over 50 units at lambda = 0.06, which is decay 3."""
    after = {
        ("constant", 7.0): 0.4,
        ("inverse", 1.0): 0.2,
        ("inverse", 3.0): 0.1,
        ("exponential", 1.0): 0.34,
        ("exponential", 1.5): 0.4 * 0.85**1.5,
        ("bottou", 2.0): 0.4 / (1 + 0.4 * 0.06 * 100),
        ("pegasos", 2.0): 0.4 / (0.06 * 101),
    }
    for (name, passes), value in after.items():
        assert Schedule(name, 0.85, 3.0).rates(0.4, round(50 * passes), 1, 50) == pytest.approx(value, rel=1e-14)
    assert Schedule("exponential", 1.0).rates(0.4, 1000, 1, 50) == 0.4


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


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_a_trial_is_the_beginning_of_the_training(name):
    schedule = Schedule(name, decay=0.7)
    np.testing.assert_allclose(schedule.trial_rates(0.5, 90, 400), schedule.rates(0.5, 0, 90, 400), rtol=1e-12)
    assert schedule.trial_passes(90, 400) == 90 / 400


def test_a_trial_for_a_few_passes_is_their_beginning():
    brief = Brief("exponential", 0.7)
    np.testing.assert_allclose(brief.trial_rates(0.5, 90, 400), brief.rates(0.5, 0, 90, 400), rtol=1e-12)
    assert brief.trial_passes(90, 400) == 90 / 400 and not brief.pictured


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - ENDLESS))
def test_a_trial_is_a_picture_of_the_whole_training(name):
    """As many rates as asked for, from the first to what the last pass would have come to."""
    schedule = Schedule(name, decay=0.7)
    np.testing.assert_allclose(schedule.trial_rates(0.5, 90, 400), schedule.rates(0.5, 0, PASSES * 90, 90)[::PASSES], rtol=1e-12)


@pytest.mark.parametrize("best, found", [(1e-4, 1e-4), (0.02, 0.01), (0.05, 0.1), (4.0, 10.0), (90.0, 100.0)])
def test_the_grid_finds_the_nearest_power_of_ten(best, found):
    assert grid(lambda eta: math.log(eta / best) ** 2) == pytest.approx(found, rel=1e-12)


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
