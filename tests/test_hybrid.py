"""Batches grow as they should, their gradients are renewed exactly, and with everything in the batch the steps are those of L-BFGS."""

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain._problem import Problem

HYBRID, LBFGS = optimizers.get("hybrid"), optimizers.get("lbfgs")


def start(algorithm, made, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=1 / made.corpus.n_sequences)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), **options})


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_first_batch_is_lbfgs(name):
    made = kind(name, seed=2)
    _, w, hybrid = start(HYBRID, made, first_batch=made.corpus.n_sequences)
    _, v, lbfgs = start(LBFGS, made)
    for _ in range(8):
        assert hybrid.step() == lbfgs.step()
        assert w.tobytes() == v.tobytes()


def test_a_batch_that_has_grown_whole_goes_on_as_lbfgs():
    """With the pairs that the batches have left."""
    made = larger()
    problem, w, hybrid = start(HYBRID, made)
    while not hybrid.step().exact:
        assert problem.passes < 30
    _, v, lbfgs = start(LBFGS, made, w=w.copy())
    lbfgs.f, lbfgs.g[:], lbfgs.history = hybrid.f, hybrid.g, hybrid.history
    hybrid.history, shared = type(hybrid.history)(10, len(w)), hybrid.history
    for name in ("count", "next", "with_g"):
        setattr(hybrid.history, name, getattr(shared, name))
    hybrid.history.rows[:], hybrid.history.gram[:] = shared.rows, shared.gram
    for _ in range(10):
        assert hybrid.step() == lbfgs.step()
        assert w.tobytes() == v.tobytes()


def test_sizes_grow_by_a_share_and_passes_are_counted():
    problem, _, opt = start(HYBRID, larger(sequences=300))
    sizes, least = [], 0.0
    while opt.size < 300:
        opt._grow()
        sizes.append(opt.size)
        if opt.size < 300:
            opt._improve()
        least += (opt.size + (opt.size < 300) * opt.size) / 300 - ([0, *sizes])[-2] / 300  # the new ones, and one trial
        assert problem.passes >= least - 1e-9
    expected = [1]
    while expected[-1] < 300:
        expected.append(min(int(1.1 * expected[-1]) + 1, 300))
    assert sizes == expected
    assert problem.passes < 20


@pytest.mark.parametrize("name", ["plain", "pair attributes, full", "real values", "many labels"])
def test_the_gradient_of_a_grown_batch_is_that_of_its_sequences(name):
    made = kind(name, seed=3)
    problem, w, opt = start(HYBRID, made)
    n, g = made.corpus.n_sequences, np.empty(made.layout.n_features)
    while opt.size < n - 1:
        opt._grow()
        opt._improve()
        at, before = w.copy(), opt.size
        opt._grow()
        batch = Problem(made.corpus.take(opt.order[: opt.size]), made.layout, l2=problem.l2)
        assert opt.size == before + 1
        assert batch.value_and_gradient(at, g) == pytest.approx(opt.f, rel=1e-12)
        np.testing.assert_allclose(opt.g, g, rtol=0, atol=1e-13)


def test_steps_lower_the_objective_of_their_batch():
    made = larger()
    problem, w, opt = start(HYBRID, made)
    while opt.size < made.corpus.n_sequences - 10:
        before = w.copy()
        opt._grow()
        opt._improve()
        assert opt.part.value(w) <= opt.part.value(before)


def test_the_first_passes_lower_the_objective():
    for seed in range(6):
        problem, w, opt = start(HYBRID, larger(seed), seed=seed)
        before = problem.value(w)
        for _ in range(7):  # while the batches are small the noise of this little corpus is learnt first
            opt.step()
        assert problem.value(w) < 0.9 * before, seed


def test_a_warm_start_begins_with_the_whole():
    made = larger()
    _, w, opt = start(HYBRID, made, w=made.weights(0, 0.1))
    assert opt.step().exact
