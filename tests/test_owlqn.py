"""OWL-QN ends where the subgradient of least norm is zero, and stays in its orthants on the way."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain import _measures
from crftrain.model import model
from crftrain.optimizers.batch._compiled import align, project, slope_beyond
from crftrain.training.loop import Limits, fit

OWLQN, LBFGS = optimizers.get("owlqn"), optimizers.get("lbfgs")


def start(problem, w, algorithm=OWLQN, **options):
    return algorithm.make(problem, w, np.random.default_rng(0), **{**algorithm.defaults(), **options})


def solve(made, l1, l2=0.0, *, gap=1e-8, w=None, algorithm=OWLQN, steps=3000, threads=1, **options):
    """(problem, w, objectives) at a gap; penalties are multiples of 1/n."""
    n = made.corpus.n_sequences
    problem = made.problem(l2=l2 / n, l1=l1 / n, threads=threads)
    w = np.zeros(problem.n_features) if w is None else w
    opt = start(problem, w, algorithm, **options)
    objectives = [problem.exact_objective(w)]
    for _ in range(steps):
        step = opt.step()
        objectives.append(step.objective)
        if step.gap <= gap or step.done:
            break
    return problem, w, np.array(objectives)


def smooth_gradient(problem, w):
    g = np.empty_like(w)
    problem.value_and_gradient(w, g)
    return g


# ---- optima


@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("name", KINDS)
def test_the_end_satisfies_the_conditions_of_karush_kuhn_and_tucker(name, l2):
    """g = -l1 sign(w) where w is not zero, |g| <= l1 where it is."""
    problem, w, _ = solve(kind(name, seed=4), 0.3, l2)
    g, l1 = smooth_gradient(problem, w), problem.l1
    on = w != 0
    np.testing.assert_allclose(g[on], -l1 * np.sign(w[on]), atol=1e-8)
    assert (np.abs(g[~on]) <= l1 + 1e-8).all()


@pytest.mark.parametrize("l1, l2", [(0.5, 0.0), (2.0, 0.0), (0.5, 1.0), (5.0, 0.1)])
def test_a_larger_problem_has_exact_zeros(l1, l2):
    problem, w, f = solve(larger(), l1, l2)
    assert problem.exact(w)[1] <= 1e-8
    assert 0 < np.count_nonzero(w) < 0.9 * len(w)
    assert (np.diff(f) <= 1e-12 * f[:-1]).all()


def shrink(x, by):
    return np.sign(x) * np.maximum(np.abs(x) - by, 0)


@pytest.mark.parametrize("l1, l2", [(1.0, 0.0), (0.5, 1.0)])
def test_proximal_gradient_meets_at_the_same_optimum(l1, l2):
    """FISTA with restarts, a method that has nothing in common with this one."""
    made = larger(sequences=40)
    problem, w, _ = solve(made, l1, l2, gap=1e-9)
    v = before = np.zeros_like(w)
    point, momentum, rate = v, 1.0, 0.2
    for _ in range(20_000):
        v = shrink(point - rate * smooth_gradient(problem, point), rate * problem.l1)
        if (point - v) @ (v - before) > 0:
            momentum = 1.0
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        point, before, momentum = v + (momentum - 1) / following * (v - before), v, following
        if np.abs(point - v).max() < 1e-12 and problem.gap(v, smooth_gradient(problem, v)) < 1e-8:
            break
    assert problem.objective(v) == pytest.approx(problem.objective(w), rel=1e-10)
    if l2:
        np.testing.assert_allclose(v, w, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "real values, full", "pair attributes", "many labels"])
def test_without_l1_it_meets_lbfgs(name):
    made = kind(name, seed=7)
    _, w, _ = solve(made, 0.0, 1.0)
    _, v, _ = solve(made, 0.0, 1.0, algorithm=LBFGS)
    np.testing.assert_allclose(w, v, atol=1e-6)


def test_without_l1_it_meets_lbfgs_on_a_larger_problem():
    _, w, _ = solve(larger(), 0.0, 1.0)
    _, v, _ = solve(larger(), 0.0, 1.0, algorithm=LBFGS)
    np.testing.assert_allclose(w, v, atol=1e-5)


def test_a_path_from_large_to_small_ends_where_a_cold_start_does():
    made, w = larger(), None
    for l1 in (10.0, 3.0, 1.0, 0.3):
        problem, w, _ = solve(made, l1, 0.01, w=w)
        assert problem.exact(w)[1] <= 1e-8
    _, cold, _ = solve(made, 0.3, 0.01)
    np.testing.assert_allclose(w, cold, atol=1e-4)
    assert problem.objective(w) == pytest.approx(problem.objective(cold), rel=1e-10)


WAYS = [{"memory": 1}, {"memory": 3}, {"memory": 40}, {"align": "all"}, {"align": "zero", "memory": 40}]


@pytest.mark.parametrize("options", [*WAYS, {"precondition": True}, {"precondition": True, "memory": 2, "align": "zero"}])
def test_any_memory_alignment_and_diagonal_meet_at_the_same_objective(options):
    problem, w, _ = solve(larger(), 1.0)
    _, v, _ = solve(larger(), 1.0, **options)
    assert problem.objective(v) == pytest.approx(problem.objective(w), rel=1e-9)


def test_threads_meet_at_the_same_objective():
    problem, w, _ = solve(larger(), 1.0)
    _, v, _ = solve(larger(), 1.0, threads=2)
    assert problem.objective(v) == pytest.approx(problem.objective(w), rel=1e-9)


def test_a_penalty_above_every_gradient_leaves_nothing():
    """l1 >= |g(0)|_inf: zero is optimal, and found without a step."""
    made = larger()
    problem = made.problem()
    largest = np.abs(smooth_gradient(problem, np.zeros(problem.n_features))).max()
    problem, w, _ = solve(made, 1.0001 * largest * made.corpus.n_sequences)
    assert not w.any()
    w = np.zeros_like(w)
    outcome = fit(problem, start(problem, w), tol=1e-4, monitors=[Limits(steps=5)])
    assert (outcome.reason, outcome.iteration, outcome.active) == ("converged", 1, 0)
    problem, w, _ = solve(made, 0.999 * largest * made.corpus.n_sequences)
    assert w.any()


def test_a_start_at_the_optimum_stays_there():
    problem, w, _ = solve(larger(), 1.0, 0.1, gap=1e-10)
    v = w.copy()
    outcome = fit(problem, start(problem, v), tol=1e-6, monitors=[Limits(steps=50)])
    assert (outcome.reason, outcome.iteration) == ("converged", 1)
    np.testing.assert_allclose(v, w, atol=1e-9)


def test_zeros_survive_the_model_file(tmp_path):
    """Weights that are zero are not stored, and attributes without weights are gone."""
    made = larger(attributes=4000, sequences=400)
    _, w, _ = solve(made, 2.0, gap=1e-5)
    full, small = tmp_path / "full", tmp_path / "small"
    model.save(full, made.vocabulary, made.layout, np.where(w == 0, 1.0, w), {})
    model.save(small, made.vocabulary, made.layout, w, {})
    read = model.load(small)
    assert np.count_nonzero(read.w) == np.count_nonzero(w)
    used = sum(np.any(w[first:end]) for first, end in zip(made.layout.ptr, made.layout.ptr[1:], strict=False))
    assert len(read.vocabulary.attributes) == used < len(made.vocabulary.attributes)
    assert small.stat().st_size < 0.5 * full.stat().st_size


# ---- steps


@pytest.mark.parametrize("align", ["late", "all", "zero"])
def test_every_step_stays_in_its_orthant(align):
    """No weight changes sign in a step, and one that leaves zero goes against the subgradient."""
    made = larger()
    problem = made.problem(l1=0.5 / made.corpus.n_sequences)
    w = np.random.default_rng(0).normal(size=problem.n_features)
    opt, crossed = start(problem, w, align=align), 0
    for _ in range(60):
        before, least = w.copy(), np.empty_like(w)
        _measures.subgradient(before, smooth_gradient(problem, before), problem.l1, least)
        opt.step()
        side = np.where(before != 0, np.sign(before), -np.sign(least))
        assert (w * side >= 0).all()
        assert not w[side == 0].any()
        crossed += np.sum((before != 0) & (w == 0))
    assert crossed > 50


ROWS = st.lists(
    st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, -3.5, 1e9]) | st.floats(-1e3, 1e3)] * 3), min_size=1, max_size=30
)


@given(ROWS, st.floats(1e-6, 1e6), st.booleans())
@settings(deadline=None)
def test_aligned_and_projected(rows, a, everywhere):
    w, p, pg = map(np.array, zip(*rows, strict=True))
    given_p, out = p.copy(), np.empty_like(w)
    slope = align(w, p, pg, everywhere)
    changed = (np.sign(given_p) != -np.sign(pg)) & (everywhere | (w == 0))
    assert not p[changed].any()
    assert (p[~changed] == given_p[~changed]).all()
    assert slope == pytest.approx(p @ pg, rel=1e-12, abs=1e-12 * np.abs(p * pg).max())
    assert slope <= 0 or not everywhere
    norm, decrease = project(w, a, p, pg, out)
    side = np.where(w != 0, np.sign(w), -np.sign(pg))
    inside = np.sign(w + a * p) * side > 0
    assert (out[inside] == (w + a * p)[inside]).all()
    assert not out[~inside].any()
    assert norm == pytest.approx(np.abs(out).sum(), rel=1e-12)
    assert decrease == pytest.approx(pg @ (out - w), rel=1e-9, abs=1e-9 * np.abs(pg * (out - w)).max())


def test_the_slope_beyond_is_that_of_the_objective():
    """Along the way to the point f is smooth, and its derivative there is a difference quotient's."""
    made = larger(sequences=20)
    problem = made.problem(l1=0.02, l2=0.01)
    rng = np.random.default_rng(1)
    w = rng.normal(size=problem.n_features) * (rng.random(problem.n_features) < 0.5)
    least, point = np.empty_like(w), np.empty_like(w)
    _measures.subgradient(w, smooth_gradient(problem, w), problem.l1, least)
    project(w, 3.0, -least, least, point)
    h = 1e-6
    ahead, behind = (problem.objective(w + t * (point - w)) for t in (1 - h, 1 - 3 * h))
    slope = slope_beyond(w, point, smooth_gradient(problem, point), problem.l1)
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-3)
