"""Iterative scaling: its counts and steps by their equations, its fixed point the optimum, its acceleration worth the name."""

import numpy as np
import pytest
import reference
from problems import BOTH, KINDS, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError
from crftrain.optimizers.batch.gis import UPDATES

GIS = optimizers.get("gis")
SHORT = {
    "short": {"length": (1, 4), "per_token": (1, 3)},
    "full": {"length": (1, 3), "per_token": (1, 4), "features": "full"},
    "pairs": {"length": (2, 4), "per_token": (1, 2), "template": BOTH, "pair_attributes": 4, "labels": 3},
}
ACCELERATIONS = [("none", "3"), ("triple-jump", "3"), ("aitken", "1"), ("aitken", "2"), ("aitken", "3")]
POSITIVE = [name for name, shape in KINDS.items() if not shape.get("values")]


def start(made, l2=None, *, w=None, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=1 / made.corpus.n_sequences if l2 is None else l2)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, GIS.make(problem, w, np.random.default_rng(1), **{**GIS.defaults(), **options})


def best_of(made):
    """f at the optimum, lambda 1/n, and its weights, by L-BFGS."""
    problem, lbfgs = made.problem(l2=1 / made.corpus.n_sequences), optimizers.get("lbfgs")
    w = np.zeros(problem.n_features)
    opt = lbfgs.make(problem, w, None, **lbfgs.defaults())
    while opt.step().gap > 1e-11:
        pass
    return problem.exact_objective(w), w


# ---- the parts


@pytest.mark.parametrize("name", KINDS)
def test_gold_counts_are_those_of_the_features_written_out(name):
    made = kind(name, seed=2)
    right = sum(reference.features(made.corpus, made.layout, i, reference.gold(made.corpus, i)) for i in range(made.corpus.n_sequences))
    np.testing.assert_allclose(made.problem().gold_counts(), right, atol=1e-12)


@pytest.mark.parametrize("name", POSITIVE)
def test_no_labelling_fires_more_features_than_S(name):
    made = kind(name, seed=2)
    corpus, layout, S = made.corpus, made.layout, made.problem().feature_sums()[1]
    draws = np.random.default_rng(0)
    for i in range(corpus.n_sequences):
        for _ in range(20):
            y = draws.integers(0, layout.n_labels, len(reference.gold(corpus, i)))
            assert reference.features(corpus, layout, i, y).sum() <= S


def test_values_below_zero_are_refused():
    made = kind("real values")
    with pytest.raises(TrainingError, match="values >= 0"):
        start(made)


@pytest.mark.parametrize("update", UPDATES)
def test_steps_solve_their_equation(update):
    """Over all sizes of expectation, count, weight and S that a corpus may have."""
    draws = np.random.default_rng(0)
    size, n = 2000, 50.0
    for S in (1.0, 20.0, 1000.0):
        for l2 in (1e-4, 1 / n, 10.0):
            E, w = np.exp(draws.uniform(-30, 9, size)), draws.normal(0, 3, size)
            empirical = np.where(draws.random(size) < 0.4, 0, np.exp(draws.uniform(-3, 9, size)))
            E[:100] = 0
            g, d = (E - empirical) / n + l2 * w, np.empty(size)
            E = np.maximum(0, n * (g - l2 * w) + empirical)  # what rounding leaves of it
            UPDATES[update](g, w, empirical, n, l2, S, d)
            grown = E * np.exp(S * np.where(E > 0, d, 0))
            terms = E + empirical + grown * (1 + S * np.abs(d)) + n * l2 * (np.abs(w) + np.abs(d))
            logarithm = (empirical > 0) & (E + n * l2 * w > 0) & (update == "paper")
            assert (np.abs(grown + n * l2 * (w + d) - empirical) <= 1e-13 * terms)[~logarithm].all()
            right = np.log(empirical[logarithm] / (E + n * l2 * w)[logarithm])
            np.testing.assert_allclose(S * d[logarithm], right, rtol=1e-9, atol=1e-12)


# ---- the way and its end


@pytest.mark.parametrize("acceleration, gamma", ACCELERATIONS)
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", SHORT)
def test_the_fixed_point_is_the_optimum(name, update, acceleration, gamma):
    """S <= 20: to 1e-6 of f* and far below, with the weights of L-BFGS."""
    made = larger(**SHORT[name])
    best, optimum = best_of(made)
    _, w, opt = start(made, update=update, acceleration=acceleration, gamma=gamma)
    assert opt.S <= 20
    for _ in range(10_000):
        step = opt.step()
        if step.gap <= 1e-10:
            break
    assert step.objective <= best * (1 + 1e-10)
    np.testing.assert_allclose(w, optimum, atol=1e-10 * 80 * 2)  # |w - w*| <= |gradient| / l2
    before = w.copy()
    opt.step()
    np.testing.assert_allclose(w, before, atol=1e-8)


@pytest.mark.parametrize("acceleration, gamma", ACCELERATIONS)
def test_exact_steps_never_go_up(acceleration, gamma):
    """Nor does an acceleration, which is taken back if it does."""
    problem, w, opt = start(larger(length=(2, 12)), acceleration=acceleration, gamma=gamma)
    last = problem.exact_objective(w)
    for _ in range(200):
        step = opt.step()
        assert step.objective <= last + 1e-13
        last = step.objective


@pytest.mark.parametrize("acceleration, gamma", ACCELERATIONS[1:])
@pytest.mark.parametrize("update", UPDATES)
def test_acceleration_takes_fewer_passes(update, acceleration, gamma):
    """To a tenth and to a hundredth of what is to be gained, counting what was taken back."""
    made = larger(length=(2, 12))
    best, _ = best_of(made)

    def passes(**options):
        problem, w, opt = start(made, update=update, **options)
        first, reached = problem.exact_objective(w), []
        for share in (0.1, 0.01):
            while opt.step().objective - best > share * (first - best):
                pass
            reached.append(problem.passes)
        return reached

    plain = passes(acceleration="none")
    fast = passes(acceleration=acceleration, gamma=gamma)
    assert fast[0] < 0.5 * plain[0]
    assert fast[1] < 0.5 * plain[1]


def test_plain_and_accelerated_steps_alternate():
    _, _, opt = start(larger(length=(1, 4)))
    notes = [opt.step().note for _ in range(40)]
    assert "accelerated" in notes
    assert all(a == "" for a, b in zip(notes[1:], notes, strict=False) if b)
