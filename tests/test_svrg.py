"""SVRG: the lazy steps are the dense ones, each step ends with an exact gap, and the optimum is reached."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems import KINDS, instance, larger
from sag_twin import SAMPLERS, Svrg, assert_same_steps, optimum, start, steps_until

from crftrain.training.loop import Limits, fit
from crftrain.training.proof import Goal


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("name", KINDS)
def test_lazy_steps_are_the_dense_ones(name, sampling):
    made = instance(3, **{**KINDS[name], "sequences": 20})
    for mixed, skip, batch in product((False, True), (True, False), (1, 3)):
        assert_same_steps("svrg", Svrg, made, l2=1 / 20, sampling=sampling, mixed=mixed, skip=skip, batch=batch)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("sequences, batch, l2", [(1, 1, 1.0), (2, 1, 0.0), (7, 7, 0.1), (7, 100, 0.1), (33, 4, 0.0), (500, 1, 1e4)])
def test_lazy_steps_are_the_dense_ones_for_any_number_of_units(sequences, batch, l2, mixed):
    made = larger(sequences=sequences, length=(1, 4))
    for initial_constant in (1e-4, 1.0, 1e4):
        assert_same_steps("svrg", Svrg, made, l2=l2, batch=batch, mixed=mixed, initial_constant=initial_constant, passes=4)


@pytest.mark.parametrize("mixed", [False, True])
def test_every_step_ends_with_the_exact_objective_and_gap(mixed):
    problem, w, opt = start("svrg", larger(), mixed=mixed)
    for _ in range(4):
        step = opt.step()
        objective, gap, _ = problem.exact(w)
        assert step.exact
        assert (step.objective, step.gap) == (pytest.approx(objective, rel=1e-12), pytest.approx(gap, rel=1e-9))
        g = np.empty_like(w)
        problem.value_and_gradient(w, g)
        np.testing.assert_allclose(opt.steps.lazy.d_in_vector() / 80 + w / 80, g, atol=1e-13)


@pytest.mark.parametrize("mixed, batch", [(False, 1), (True, 3)])
def test_any_number_of_threads_gives_the_same_bytes(mixed, batch):
    found = []
    for threads in (1, 2, 7):
        problem, w, opt = start("svrg", larger(), mixed=mixed, batch=batch, threads=threads)
        steps = [opt.step() for _ in range(4)]
        found.append((w.tobytes(), opt.bound, [(step.objective, step.gap) for step in steps]))
    assert problem.threads == 7 and found[0] == found[1] == found[2]


def test_a_step_is_a_full_pass_and_two_evaluations_a_draw():
    problem, _, opt = start("svrg", larger())
    opt.step()
    for _ in range(5):
        before = problem.passes
        opt.step()
        assert problem.passes - before >= 3 - 1e-9
    for _ in range(15):
        opt.step()
    before = problem.passes
    opt.step()
    assert problem.passes - before <= 3.5  # most searches are left out by now


@pytest.mark.parametrize("mixed", [False, True])
def test_a_warm_start_begins_with_a_full_pass_there(mixed):
    """SAG's start would throw a good w away."""
    made = larger()
    best, f = optimum(made, 1 / 80)
    problem, w, opt = start("svrg", made, mixed=mixed, w=best.copy())
    step = opt.step()
    assert step.objective - f <= 1e-12
    assert step.gap < 1e-8


def test_the_optimum_of_the_repositorys_data():
    """f - f* <= 1e-10 f*, f* from L-BFGS at gap 1e-9."""
    assert steps_until("svrg", 1e-10) <= 300


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("sequences", [4, 10, 40, 80])
def test_every_sampling_reaches_the_optimum(sampling, sequences, mixed):
    made = larger(sequences=sequences)
    best = optimum(made, 1 / sequences)[1]
    for skip in (True, False):
        problem, w, opt = start("svrg", made, sampling=sampling, skip=skip, mixed=mixed)
        outcome = fit(problem, opt, tol=Goal(slope=1e-7), monitors=[Limits(steps=800)])
        assert outcome.reason == "converged", (sampling, skip)
        assert outcome.gap <= 1e-7 * outcome.first_gap
        assert outcome.objective - best <= 1e-10 * best


def test_a_corpus_twice_over_has_the_same_optimum():
    made = larger(sequences=30)
    twice = replace(made, corpus=made.corpus.take(np.tile(np.arange(30), 2)))
    reached = []
    for one in (made, twice):
        problem, w, opt = start("svrg", one, l2=0.05)
        assert fit(problem, opt, tol=Goal(slope=1e-9), monitors=[Limits(steps=500)]).reason == "converged"
        reached.append(w)
    np.testing.assert_allclose(reached[1], reached[0], atol=1e-6)


def test_without_a_penalty_it_reaches_the_optimum():
    made = larger(noise=0.6, attributes=4, per_token=(1, 1), sequences=100, features="full")
    best = optimum(made, 0.0)[1]
    problem, w, opt = start("svrg", made, l2=0.0)
    outcome = fit(problem, opt, tol=Goal(slope=1e-6), monitors=[Limits(steps=300)])
    assert outcome.reason == "converged"
    assert outcome.objective - best <= 1e-9 * best


@pytest.mark.parametrize("mixed", [False, True])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(mixed):
    ends = []
    for seed in (1, 1, 2):
        _, w, opt = start("svrg", larger(), seed=seed, mixed=mixed)
        steps = [opt.step()[:2] for _ in range(3)]
        ends.append((w.tobytes(), steps))
    assert ends[0] == ends[1]
    assert ends[2][0] != ends[0][0]
