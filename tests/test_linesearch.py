"""A step that is accepted satisfies the conditions; where none can, there is no step."""

import math

import numpy as np
import pytest

from crftrain.optimizers.batch._linesearch import C1, C2, DELTA, TRIALS, armijo, strong_wolfe


class Along:
    """phi(a) = f(a), phi'(a) = slope(a), and where it was asked for."""

    def __init__(self, f, slope):
        self.f, self.slope, self.asked = f, slope, []

    def __call__(self, a):
        self.asked.append(a)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.f(a)), float(self.slope(a))

    def search(self, first=1.0):
        self.asked.clear()
        return strong_wolfe(self, float(self.f(0.0)), float(self.slope(0.0)), first)


FUNCTIONS = {
    "parabola": Along(lambda a: (a - 1) ** 2, lambda a: 2 * (a - 1)),
    "far parabola": Along(lambda a: (a - 1e4) ** 2, lambda a: 2 * (a - 1e4)),
    "near parabola": Along(lambda a: (a - 1e-6) ** 2, lambda a: 2 * (a - 1e-6)),
    "a wall": Along(lambda a: np.exp(a) - 3 * a, lambda a: np.exp(a) - 3),
    "logistic": Along(lambda a: np.log1p(np.exp(1 - a)) + 0.01 * a * a, lambda a: -1 / (1 + np.exp(a - 1)) + 0.02 * a),
    "flat valley": Along(lambda a: (a - 2) ** 4, lambda a: 4 * (a - 2) ** 3),
    "waves": Along(lambda a: 0.1 * np.sin(9 * a) - 2 * a + 0.1 * a * a, lambda a: 0.9 * np.cos(9 * a) - 2 + 0.2 * a),
    "More and Thuente 1": Along(lambda a: -a / (a * a + 2), lambda a: (a * a - 2) / (a * a + 2) ** 2),
    "More and Thuente 2": Along(lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4, lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3),
}


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_strong_wolfe_conditions_hold(name, first):
    phi = FUNCTIONS[name]
    a = phi.search(first)
    assert a > 0
    assert phi.f(a) <= phi.f(0) + C1 * a * phi.slope(0)
    assert abs(phi.slope(a)) <= C2 * abs(phi.slope(0))
    assert phi.asked[-1] == a  # so that whoever searched has what was computed there
    assert len(phi.asked) <= TRIALS


@pytest.mark.parametrize("first", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_armijo_takes_the_first_of_ever_shorter_steps_that_lowers_enough(name, first):
    phi = FUNCTIONS[name]
    phi.asked.clear()
    a = armijo(phi, float(phi.f(0.0)), float(phi.slope(0.0)), first)
    assert phi.asked[0] == first
    assert phi.asked[-1] == a
    assert (np.diff(phi.asked) < 0).all()
    lowered = [phi(b)[0] <= phi.f(0) + C1 * b * phi.slope(0) for b in list(phi.asked)]
    assert lowered == [False] * (len(lowered) - 1) + [True]


def test_armijo_gives_up_where_nothing_is_lower():
    assert armijo(lambda a: (1.0 + a, 1.0), 1.0, -1.0, 1.0) is None
    assert armijo(lambda a: (math.nan, math.nan), 1.0, -1.0, 1.0) is None


def test_a_first_trial_that_is_good_is_the_only_one():
    phi = FUNCTIONS["parabola"]
    assert phi.search(0.9) == 0.9
    assert phi.asked == [0.9]


@pytest.mark.parametrize("seed", range(30))
def test_on_random_convex_functions(seed):
    """Sums of softplus and a parabola, of any scale, from any first step."""
    rng = np.random.default_rng(seed)
    slope, shift, size = rng.normal(0, 3, 6), rng.normal(0, 3, 6), 10 ** rng.uniform(-6, 6)

    def f(a):
        return size * (np.logaddexp(0, slope * a + shift).sum() + 0.05 * (a - 4) ** 2)

    def derivative(a):
        return size * ((slope / (1 + np.exp(-(slope * a + shift)))).sum() + 0.1 * (a - 4))

    sign = 1 if derivative(0) < 0 else -1
    phi = Along(lambda a: f(sign * a), lambda a: sign * derivative(sign * a))
    a = phi.search(10 ** rng.uniform(-4, 4))
    assert phi.f(a) <= phi.f(0) + C1 * a * phi.slope(0)
    assert abs(phi.slope(a)) <= C2 * abs(phi.slope(0))


@pytest.mark.parametrize("beyond", [math.inf, math.nan])
def test_what_is_not_finite_is_too_far(beyond):
    phi = Along(lambda a: -a if a < 1e-3 else beyond, lambda a: -1.0 if a < 5e-4 else -0.1 if a < 1e-3 else beyond)
    a = phi.search(1e6)
    assert 5e-4 <= a < 1e-3


def test_infinite_everywhere_is_no_step():
    phi = Along(lambda a: math.inf if a else 1.0, lambda a: math.nan if a else -1.0)
    assert phi.search() is None
    assert len(phi.asked) <= TRIALS


@pytest.mark.parametrize("name", ["uphill", "uphill whatever the slope says", "flat whatever the slope says"])
def test_ascent_is_refused(name):
    phi = {
        "uphill": Along(lambda a: a, lambda a: 1.0),
        "uphill whatever the slope says": Along(lambda a: 1 + a, lambda a: 1.0 if a else -1.0),
        "flat whatever the slope says": Along(lambda a: 1.0, lambda a: 0.0 if a else 0.5),
    }[name]
    assert phi.search() is None
    assert len(phi.asked) <= TRIALS


def test_a_slope_without_end_gives_no_step():
    """Unbounded below at constant slope: the second condition cannot hold, and the search ends all the same."""
    phi = Along(lambda a: -a, lambda a: -1.0)
    assert phi.search() is None
    assert len(phi.asked) <= TRIALS
    assert all(math.isfinite(a) for a in phi.asked)


@pytest.mark.parametrize("height", [1e8, 1e12])
def test_where_the_decrease_drowns_in_rounding_slopes_decide(height):
    """A parabola of depth 1e-8 on a plateau: every value is rounded to the plateau, the step is found all the same."""
    phi = Along(lambda a: height + 1e-8 * (a - 1) ** 2, lambda a: 2e-8 * (a - 1))
    assert phi.f(1.0) == phi.f(0.0) or height == 1e8
    for first in (0.01, 1.0, 30.0):
        a = phi.search(first)
        assert (2 * DELTA - 1) * phi.slope(0) >= phi.slope(a) >= C2 * phi.slope(0)


def test_noise_of_the_size_of_rounding_is_tolerated():
    rng = np.random.default_rng(0)
    phi = Along(lambda a: 1 + 1e-14 * (a - 1) ** 2 + 1e-13 * rng.random(), lambda a: 2e-14 * (a - 1))
    for first in (0.02, 1.0, 25.0):
        assert phi.slope(phi.search(first)) <= 0.8 * 2e-14


def test_a_real_increase_is_not_rounding():
    """Up by 1e-11 of the value: more than rounding, so the step is shortened."""
    phi = Along(lambda a: 1 + (2e-11 if a > 0.5 else -1e-13 * a), lambda a: -1e-13 if a > 0.5 or a == 0 else -0.5e-13)
    assert phi.search() <= 0.5
