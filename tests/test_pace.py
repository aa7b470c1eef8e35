"""sag, saga and svrg notice that they swing, shorten their steps, and come to an end; while all is well nothing is changed."""

import numpy as np
import pytest
from problems import larger

from crftrain import optimizers
from crftrain.optimizers.average._pace import CALM, Pace
from crftrain.training.loop import Limits, fit


def swinging(name, seed=0, *, share=0.1, too_small=60.0):
    """(problem, optimiser) in the midst of a run, with constants of some sequences far too small that nobody searches any more."""
    made = larger(seed, sequences=120)
    problem, algorithm = made.problem(l2=0.1 / 120), optimizers.get(name)
    w = np.zeros(problem.n_features)
    opt = algorithm.make(problem, w, np.random.default_rng(seed), **algorithm.defaults())
    for _ in range(6):
        opt.step()
    state = opt.state()
    stale = np.random.default_rng(seed).random(120) < share
    state["sampler_L"] = np.where(stale, state["sampler_L"] / too_small, state["sampler_L"] / 4)
    state["skip"] = np.where(state["sampler_visited"] > 0, 1 << 19, 0).astype(np.int32)
    opt.restore(state)
    return problem, opt


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["sag", "saga", "svrg"])
def test_a_run_that_swings_ends(name, seed):
    problem, opt = swinging(name, seed)
    outcome = fit(problem, opt, tol=1e-3, monitors=[Limits(steps=400)])
    assert outcome.reason == "converged"


def test_the_constructed_run_does_swing_without_shorter_steps():
    problem, opt = swinging("sag")
    opt.pace.look = lambda bound, objective: False
    outcome = fit(problem, opt, tol=1e-3, monitors=[Limits(steps=100)])
    assert outcome.reason != "converged"


def test_steps_are_shortened_where_the_bound_falls_and_not_before():
    pace = Pace()
    for bound in (0.0, 0.5, 0.4, 0.7, 0.6):
        assert not pace.look(bound, 1.0)
    assert pace.length == 1
    assert not pace.look(0.5, 1.0)  # one pass alone may be chance
    assert pace.look(0.5, 1.0)
    assert pace.length == 0.5
    assert not pace.look(0.4, 1.0)  # a swing that is dying down is no second one
    assert not pace.look(0.2, 1.0)
    assert pace.look(0.2, 1.0)
    assert pace.length == 0.25


def test_steps_get_longer_again_in_a_long_calm_and_the_next_calm_has_to_be_longer():
    pace, bound = Pace(), 0.5
    for seen in (0.5, 0.1, 0.1):
        pace.look(seen, 1.0)
    for patience in (CALM, 2 * CALM):
        for _ in range(patience):
            assert pace.length == 0.5
            bound += 1e-3
            pace.look(bound, 1.0)
        assert pace.length == 1.0
        pace.look(0.1, 1.0)
        pace.look(0.1, 1.0)


def test_what_rounding_does_is_no_swing():
    pace = Pace()
    assert not any(pace.look(1 - 2e-7 * (k % 2), 1.0) for k in range(9)) and pace.length == 1


def test_without_a_bound_the_value_itself_is_watched():
    pace = Pace()
    for value in (3.0, 2.0, 2.005, 2.005, 1.0):
        assert not pace.look(None, value)
    assert not pace.look(None, 1.1)
    assert pace.look(None, 1.1)


@pytest.mark.parametrize("name", ["sag", "svrg"])
def test_what_was_seen_goes_into_a_checkpoint(name):
    _, opt = swinging(name)
    for _ in range(60):
        opt.step()
        if opt.pace.length < 1:
            break
    assert opt.pace.length < 1
    _, other = swinging(name)
    other.restore(opt.state())
    assert other.pace.state() == opt.pace.state()
    other.rng.bit_generator.state = opt.rng.bit_generator.state
    opt.step(), other.step()
    assert opt.w.tobytes() == other.w.tobytes()
