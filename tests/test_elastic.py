"""sag and newton-cg under l1: their steps are those of a twin, their ends satisfy Karush, Kuhn and Tucker, zeros are exact."""

import json
from itertools import product

import numpy as np
import pytest
from problems import KINDS, instance, kind, larger
from sag_twin import SAMPLERS, ProximalSag, assert_same_steps, start

from crftrain import optimizers
from crftrain.chain import certificate
from crftrain.optimizers.average._rates import rates
from crftrain.training.learn import learn
from crftrain.training.loop import Limits, fit
from crftrain.training.proof import Goal
from crftrain.training.strength import Strength

EXACT = {"table_precision": "double"}
SHAPES = ["plain", "full", "observed transitions", "arcs", "real values", "pair attributes", "pair attributes, full", "nine labels"]
REST = sorted(set(KINDS) - set(SHAPES))


def small(name, seed=3, sequences=20):
    return instance(seed, **{**KINDS[name], "sequences": sequences})


def assert_optimal(problem, w, near):
    """g = -l1 sign(w) where w is not zero, |g| <= l1 where it is, for all weights."""
    g, l1 = np.empty_like(w), problem.l1
    problem.value_and_gradient(w, g)
    on = w != 0
    np.testing.assert_allclose(g[on], -l1 * np.sign(w[on]), atol=near)
    assert (np.abs(g[~on]) <= l1 + near).all()
    assert (w[np.abs(g) < l1 - 1e-5] == 0).all()


def solved(name, made, *, l1, l2, tol=1e-8, steps=3000, threads=1, **options):
    """(problem, w, outcome); penalties are multiples of 1/n."""
    n, algorithm = made.corpus.n_sequences, optimizers.get(name)
    problem = made.problem(l1=l1 / n, l2=l2 / n, threads=threads)
    w = np.zeros(problem.n_features)
    optimiser = algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), **options})
    return problem, w, fit(problem, optimiser, tol=Goal(slope=tol), monitors=[Limits(steps=steps)])


# ---- the steps of sag


@pytest.mark.parametrize("sampling", SAMPLERS)
@pytest.mark.parametrize("name", SHAPES)
def test_late_proximal_steps_are_those_of_the_twin(name, sampling):
    made = small(name)
    for (l2, l1), skip, batch in product([(0.05, 0.01), (0.0, 0.002)], (True, False), (1, 3)):
        options = {"skip": skip, "batch": batch, "sampling": sampling}
        assert_same_steps("sag", ProximalSag, made, l2=l2, l1=l1, passes=8, first_pass="permute" if skip else "sample", **options, **EXACT)


@pytest.mark.parametrize("table", ["marginals", "sparse"])
@pytest.mark.parametrize("name", REST)
def test_late_proximal_steps_are_those_of_the_twin_whatever_the_corpus(name, table):
    assert_same_steps("sag", ProximalSag, small(name), l2=0.05, l1=0.01, table=table, **EXACT)


@pytest.mark.parametrize("name", SHAPES)
def test_steps_from_another_methods_weights_grow_as_sequences_are_met(name):
    made, how = small(name), {"l2": 0.05, "l1": 0.01, "first_pass": "permute"}
    w = made.weights(2, 0.3)
    problem, own, opt = start("sag", made, w=w.copy(), **how, **EXACT)
    opt.go_on()
    opt.pace.look = lambda *seen: False
    twin = ProximalSag(made, np.random.default_rng(1), w=w, **how)
    twin.risen = 0
    for _ in range(4):
        opt.step()
        twin.run(twin.n)
        np.testing.assert_allclose(own, twin.w, atol=1e-12 * np.abs(twin.w).max())
    assert problem.passes == pytest.approx(twin.passes)


def test_rates_are_1_in_the_mean_over_occurrences_and_larger_for_rare_attributes():
    made = larger()
    corpus, layout = made.corpus, made.layout
    blocks, transitions = rates(corpus, layout, made.problem().gold_counts())
    counts = np.bincount(corpus.nodes.attr, minlength=layout.n_attributes)
    assert blocks[corpus.nodes.attr].mean() == pytest.approx(1)
    order = np.argsort(counts[counts > 0])
    assert (np.diff(blocks[: layout.n_attributes][counts > 0][order]) <= 0).all()
    assert (transitions > 0).all()


# ---- optima


@pytest.mark.parametrize("l2", [1.0, 0.1])
@pytest.mark.parametrize("name", KINDS)
def test_the_end_of_newton_satisfies_the_conditions_of_karush_kuhn_and_tucker(name, l2):
    problem, w, outcome = solved("newton-cg", kind(name, seed=4), l1=0.3, l2=l2, tol=1e-7, steps=300)
    assert outcome.reason == "converged"
    assert_optimal(problem, w, 2e-7)


@pytest.mark.parametrize("name", KINDS)
def test_the_end_of_sag_satisfies_the_conditions_of_karush_kuhn_and_tucker(name):
    problem, w, outcome = solved("sag", small(name), l1=0.3, l2=1.0, tol=1e-7, **EXACT)
    assert outcome.reason == "converged"
    assert_optimal(problem, w, 2e-7)


@pytest.mark.parametrize("l1, l2", [(0.5, 0.0), (2.0, 0.0), (0.5, 1.0), (5.0, 0.1)])
def test_all_meet_at_owlqns_optimum_and_its_zeros(l1, l2):
    """No weight is left out that the optimum has."""
    made, reached = larger(), {}
    for name in ("owlqn", "newton-cg", "sag"):
        slow = name == "sag" and not l2
        problem, w, outcome = solved(name, made, l1=l1, l2=l2, tol=1e-5 if slow else 1e-8, **EXACT if name == "sag" else {})
        assert outcome.reason == "converged", name
        reached[name] = w
    f = {name: problem.exact(w)[0] for name, w in reached.items()}
    assert f["newton-cg"] == pytest.approx(f["owlqn"], rel=1e-10)
    assert f["sag"] == pytest.approx(f["owlqn"], rel=1e-10 if l2 else 1e-6)
    assert 0 < np.count_nonzero(reached["sag"]) < 0.9 * len(w)
    if l2:
        for name in ("newton-cg", "sag"):
            np.testing.assert_allclose(reached[name], reached["owlqn"], atol=1e-5)
            assert np.mean((reached[name] == 0) == (reached["owlqn"] == 0)) > 0.98


@pytest.mark.parametrize("name", ["sag", "newton-cg"])
def test_l1_beyond_the_first_gradient_leaves_zero(name):
    made = larger()
    problem = made.problem(l2=1 / 80, l1=1.0)
    w, algorithm = made.weights(1), optimizers.get(name)
    optimiser = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
    assert fit(problem, optimiser, tol=Goal(slope=1e-6), monitors=[Limits(steps=200)]).reason == "converged"
    assert not w.any()


@pytest.mark.parametrize("options", [{"hessian_share": 1.0}, {"precondition": False}, {"cache": 0}, {"hvp": "ad"}])
def test_newtons_options_change_no_optimum(options):
    made = larger()
    problem, w, _ = solved("newton-cg", made, l1=0.5, l2=1.0, **options)
    assert_optimal(problem, w, 1e-7)


def test_newton_without_l1_is_newton():
    made, ends = larger(), []
    for l1 in (0.0, 1e-300):  # the orthants, but nothing to keep a weight in one
        problem, w, outcome = solved("newton-cg", made, l1=l1, l2=1.0)
        assert outcome.reason == "converged"
        ends.append(w)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_newton_begun_at_the_optimum_stays_there():
    made = larger()
    problem, w, _ = solved("newton-cg", made, l1=0.5, l2=1.0)
    optimum, algorithm = w.copy(), optimizers.get("newton-cg")
    step = algorithm.make(problem, w, np.random.default_rng(2), **algorithm.defaults()).step()
    assert step.gap <= 1e-7
    assert (w == optimum).all()


def test_what_is_proved_is_true_pass_by_pass():
    made = larger()
    problem, best, _ = solved("newton-cg", made, l1=0.3, l2=0.5, tol=1e-9)
    least = problem.exact(best)[0]
    _, _, optimiser = start("sag", made, l1=problem.l1, l2=problem.l2)
    for _ in range(60):
        optimiser.step()
        assert optimiser.lower_bound() <= least * (1 + 1e-6)  # the table is in single precision
    assert certificate.distance(least, optimiser.lower_bound()) < 1e-3


# ---- the same bits, and another strength


@pytest.mark.parametrize("name", ["sag", "newton-cg"])
def test_the_same_seed_gives_the_same_bytes(name):
    one, other = (solved(name, larger(), l1=0.5, l2=0.5, steps=8)[1] for _ in range(2))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["sag", "newton-cg"])
def test_a_run_that_is_taken_up_again_ends_in_the_same_bytes(name):
    made, algorithm = larger(), optimizers.get(name)
    problem, ends = made.problem(l1=0.005, l2=0.01), []
    for breaks in (False, True):
        w, rng = np.zeros(problem.n_features), np.random.default_rng(1)
        optimiser = algorithm.make(problem, w, rng, **algorithm.defaults())
        for k in range(9):
            if breaks and k == 4:
                state = {key: np.array(value) for key, value in optimiser.state().items()}
                w = np.zeros(problem.n_features)
                optimiser = algorithm.make(problem, w, rng, **algorithm.defaults())
                optimiser.restore(state)
            optimiser.step()
        ends.append(w.tobytes())
    assert ends[0] == ends[1]


def test_a_path_of_l1_reaches_every_optimum_and_takes_along_what_is_known(settings, tmp_path):
    log = tmp_path / "log"
    path = {"lambdas": Strength.parse_list("2/n"), "l1s": Strength.parse_list("0.05,0.02,0.005")}
    learn(settings("sag", log=str(log), tol=1e-6, passes=400, **path))
    ends = [event for event in map(json.loads, log.read_text().splitlines()) if event["event"] == "end" and "path" in event]
    assert [end["reason"] for end in ends] == ["converged"] * 3
    assert ends[0]["active"] < ends[1]["active"] < ends[2]["active"]
