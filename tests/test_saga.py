"""SAGA: lazy and proximal steps are the dense ones, however long a weight slept; l1 solutions are optimal, with exact zeros."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems import KINDS, instance, larger
from sag_twin import SAMPLERS, Saga, TwoDraws, assert_same_steps, optimum, soft, start, steps_until, sum_of_table

from crftrain import optimizers
from crftrain.chain import _measures
from crftrain.errors import TrainingError
from crftrain.training.learn import learn
from crftrain.training.loop import Limits, fit
from crftrain.training.proof import Goal
from crftrain.training.strength import Strength

EXACT = {"table_precision": "double"}
TABLES = ("mixed", "marginals")
SHAPES = ["plain", "full", "observed transitions", "real values", "pair attributes", "pair attributes, full", "nine labels"]
REST = sorted(set(KINDS) - set(SHAPES))
PENALTIES = [(0.05, 0.0), (0.05, 0.01), (0.0, 0.01), (0.0, 0.0)]  # l2, l1


def small(name, seed=3, sequences=20):
    return instance(seed, **{**KINDS[name], "sequences": sequences})


# ---- steps


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("name", SHAPES)
def test_lazy_steps_are_the_dense_ones(name, sampling):
    made = small(name)
    for (l2, l1), table, skip, batch in product(PENALTIES, TABLES, (True, False), (1, 3)):
        options = {"table": table, "skip": skip, "batch": batch, "sampling": sampling}
        assert_same_steps("saga", Saga, made, l2=l2, l1=l1, first_pass="permute" if skip else "sample", **options, **EXACT)


@pytest.mark.parametrize("name", REST)
def test_lazy_steps_are_the_dense_ones_whatever_the_corpus(name):
    for (l2, l1), table in product(PENALTIES, TABLES):
        assert_same_steps("saga", Saga, small(name), l2=l2, l1=l1, table=table, **EXACT)


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("name", SHAPES)
def test_two_draws_are_those_of_the_dense_twin(name, sampling):
    made = small(name)
    for table, skip, batch in product(TABLES, (True, False), (1, 3)):
        options = {"table": table, "skip": skip, "batch": batch, "sampling": sampling}
        assert_same_steps("saga", TwoDraws, made, l2=0.05, draws="two", **options, **EXACT)


@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("sequences, batch", [(1, 1), (2, 1), (7, 7), (7, 100), (33, 4)])
def test_lazy_steps_are_the_dense_ones_for_any_number_of_units(sequences, batch, l1):
    assert_same_steps("saga", Saga, larger(sequences=sequences), l2=0.1, l1=l1, batch=batch, passes=8, **EXACT)


@pytest.mark.parametrize("l1", [0.0, 1e-6])
def test_products_of_shrinkage_are_scaled_before_they_underflow(l1):
    """Lambda so large that a pass shrinks w by far more than the smallest number."""
    made = larger(sequences=900, length=(1, 2))
    assert_same_steps("saga", Saga, made, l2=1e5, l1=l1, passes=3, sampling="uniform", **EXACT)


# ---- sleep


def asleep(seed, *, sequences=40, attributes=500, **shape):
    """Most blocks belong to one sequence, or to none."""
    return larger(seed, sequences=sequences, attributes=attributes, length=(1, 4), per_token=(1, 3), features="full", **shape)


@pytest.mark.parametrize("searches", [True, False])
@pytest.mark.parametrize("l2, l1", [(0.01, 0.02), (0.0, 0.02), (0.3, 0.001), (0.01, 1.0), (5.0, 0.5), (0.01, 0.0)])
def test_a_weight_that_slept_is_where_an_awake_one_went(l2, l1, searches):
    """From random w, many of them 0, and random d, whose means lie around -l1, l1 and 0; steps of all lengths."""
    for seed in range(4):
        made, rng = asleep(seed), np.random.default_rng(seed)
        n, size = made.corpus.n_sequences, made.layout.n_features
        penalties = {"l2": l2, "l1": l1 or 1e-300}  # proximal, but it takes nothing
        _, w, opt = start("saga", made, seed=seed, **penalties, **EXACT)
        twin = Saga(made, np.random.default_rng(seed), **penalties)
        twin.w = rng.normal(0, 1, size) * 10 ** rng.uniform(-6, 1, size) * (rng.random(size) < 0.7)
        scale = (l1 or 0.02) * n
        twin.d = scale * np.choose(rng.integers(0, 4, size), [rng.normal(0, 1, size), rng.choice([-1, 1], size), rng.normal(0, 9, size), 0])
        twin.sampler.L[:] = 10 ** rng.uniform(-1, 3, n)
        twin.sampler.seen[:] = True
        twin.left_out[:] = 0 if searches else 10**6
        state = opt.state()
        state |= {"w": twin.w, "d": twin.d, "sampler_L": np.maximum(twin.sampler.L, l2), "skip": twin.left_out.astype(np.int32)}
        twin.sampler.L = state["sampler_L"].copy()
        state["sampler_visited"][:] = 1
        opt.restore(state)
        for steps in (1, 2, 3, n, 5 * n):
            opt.steps.run(steps)
            opt.steps.settle()
            twin.run(steps)
            assert np.abs(w - twin.w).max() <= 1e-12 * np.abs(twin.w).max()
            near = np.abs(twin.w) < 1e-12
            assert ((w == 0) == (twin.w == 0))[~near].all()
            assert np.mean((w == 0) == (twin.w == 0)) > 0.999


def test_settling_more_often_changes_nothing_but_roundings():
    made, ends = asleep(1), []
    for often in (1, 7, 200):
        _, w, opt = start("saga", made, l2=0.01, l1=0.002, **EXACT)
        for _ in range(200 // often):
            opt.steps.run(often)
            opt.steps.settle()
        opt.steps.run(200 % often)
        opt.steps.settle()
        ends.append(w)
    for w in ends[1:]:
        np.testing.assert_allclose(w, ends[0], atol=1e-13)


def test_the_soft_threshold():
    x = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    assert soft(x, 1.0).tolist() == [-2, 0, 0, 0, 0, 0, 2]


# ---- the table


@pytest.mark.parametrize("options", [{}, {"draws": "two"}, {"batch": 3}, {"table": "marginals"}])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", ["plain", "real values, full", "pair attributes"])
def test_d_is_the_sum_of_the_table_after_every_pass(name, precision, options):
    made = small(name)
    kind = "marginals" if made.corpus.pairs is not None else options.get("table", "mixed")
    for l1 in (0.0,) if "draws" in options else (0.0, 0.01):
        _, _, opt = start("saga", made, l1=l1, table_precision=precision, **options)
        for _ in range(4):
            opt.step()
            np.testing.assert_allclose(opt.steps.lazy.d_in_vector(), sum_of_table(made, opt, kind), rtol=1e-12, atol=1e-12)
        opt.refresh()
        np.testing.assert_allclose(opt.steps.lazy.d_in_vector(), sum_of_table(made, opt, kind), rtol=1e-12, atol=1e-12)


# ---- optima


def test_the_optimum_of_the_repositorys_data():
    """f - f* <= 1e-10 f*, f* from L-BFGS at gap 1e-9."""
    assert steps_until("saga", 1e-10) <= 300


@pytest.mark.parametrize("draws", ["one", "two"])
@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("sequences", [1, 4, 10, 40, 80])
def test_every_sampling_reaches_the_optimum(sampling, draws, sequences):
    made = larger(sequences=sequences)
    best = optimum(made, 1 / sequences)[1]
    for skip in (True, False):
        problem, w, opt = start("saga", made, sampling=sampling, skip=skip, draws=draws, **EXACT)
        outcome = fit(problem, opt, tol=Goal(slope=1e-7), monitors=[Limits(steps=800)])
        assert outcome.reason == "converged", (sampling, skip)
        assert outcome.objective - best <= 1e-10 * best


@pytest.mark.parametrize("l2, l1", [(1 / 60, 0.02), (0.0, 0.02), (1 / 60, 0.001), (0.0, 0.15)])
@pytest.mark.parametrize("options", [{}, {"sampling": "uniform"}, {"sampling": "nus2013", "batch": 4}])
def test_l1_solutions_are_optimal(l2, l1, options):
    """The subgradient of least norm vanishes; a weight is exactly 0 where it can be, and OWL-QN finds the same."""
    made = larger(sequences=60)
    problem, w, opt = start("saga", made, l2=l2, l1=l1, **options, **EXACT)
    outcome = fit(problem, opt, tol=Goal(slope=1e-8), monitors=[Limits(steps=2500)])
    assert outcome.reason == "converged"
    g, least = np.empty_like(w), np.empty_like(w)
    problem.value_and_gradient(w, g)
    _measures.subgradient(w, g, problem.l1, least)
    assert np.abs(least).max() <= 1e-8 * outcome.first_gap
    assert problem.gap(w, g) == np.abs(least).max()
    np.testing.assert_allclose(g[w != 0], -l1 * np.sign(w[w != 0]), atol=1e-8)
    assert (np.abs(g[w == 0]) <= l1 + 1e-8).all()
    assert (w[np.abs(g) < l1 - 1e-6] == 0).all()
    assert (w == 0).any()
    other, v = made.problem(l2=l2, l1=l1), np.zeros_like(w)
    owlqn = optimizers.get("owlqn")
    fit(other, owlqn.make(other, v, None, **owlqn.defaults()), tol=Goal(slope=1e-7), monitors=[Limits(steps=2000)])
    assert outcome.objective <= problem.exact(v)[0] + 1e-10


def test_l1_beyond_the_first_gradient_leaves_zero():
    made = larger()
    _, w, opt = start("saga", made, l1=1.0, w=made.weights(1))
    problem = made.problem(l2=1 / 80, l1=1.0)
    outcome = fit(problem, opt, tol=Goal(slope=1e-6), monitors=[Limits(steps=100)])
    assert outcome.reason == "converged"
    assert not w.any()


def test_estimated_gaps_with_l1_tend_to_the_exact_ones():
    made = larger()
    problem, w, opt = start("saga", made, l1=0.005, **EXACT)
    for _ in range(150):
        opt.step()
    step = opt.step()
    assert not step.exact
    assert step.gap == pytest.approx(problem.exact(w)[1], rel=0.9, abs=1e-9)
    assert opt.refresh().gap == pytest.approx(problem.exact(w)[1], rel=1e-6, abs=1e-14)


def test_a_corpus_twice_over_has_the_same_optimum():
    made = larger(sequences=30)
    twice = replace(made, corpus=made.corpus.take(np.tile(np.arange(30), 2)))
    reached = []
    for one in (made, twice):
        problem, w, opt = start("saga", one, l2=0.02, l1=0.01, **EXACT)
        assert fit(problem, opt, tol=Goal(slope=1e-9), monitors=[Limits(steps=2000)]).reason == "converged"
        reached.append(w)
    np.testing.assert_allclose(reached[1], reached[0], atol=1e-6)
    assert ((reached[0] == 0) == (reached[1] == 0)).all()


@pytest.mark.parametrize("path", ["0,0.02", "0.02,0", "0.05,0.02,0.005", "0.005,0.05"])
def test_a_path_of_l1_reaches_every_optimum_on_it(settings, tmp_path, path):
    """From one strength to the next, also to and from no l1 at all, and without an exact pass for every step."""
    log = tmp_path / "log"
    learn(settings("saga", lambdas=Strength.parse_list("2/n"), l1s=Strength.parse_list(path), log=str(log), tol=1e-6, passes=400))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ends = [event for event in events if event["event"] == "end" and "path" in event]
    assert [end["reason"] for end in ends] == ["converged"] * len(path.split(","))
    for k, l1 in enumerate(path.split(",")):
        exact = [event["exact"] for event in events if event["event"] == "step" and event["path"] == k]
        assert sum(exact) <= 1 + len(exact) / 4
        assert (ends[k]["active"] < ends[k - 1]["active"]) == (float(l1) > float(path.split(",")[k - 1]))


def test_two_draws_do_not_take_l1():
    with pytest.raises(TrainingError, match="--draws one"):
        start("saga", larger(), l1=0.1, draws="two")


def test_sparse_tables_are_sags_alone():
    assert optimizers.get("saga").option("table").choices == TABLES


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(l1):
    ends = []
    for seed in (1, 1, 2):
        _, w, opt = start("saga", larger(), l1=l1, seed=seed)
        steps = [opt.step()[:2] for _ in range(3)]
        ends.append((w.tobytes(), steps))
    assert ends[0] == ends[1]
    assert ends[2][0] != ends[0][0]
