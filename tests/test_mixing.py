"""Shards that learn alone, are averaged, and go on together."""

import numpy as np
import pytest
from problems import kind, larger

from crftrain import optimizers
from crftrain.chain.sharded import sharded
from crftrain.optimizers.batch.mixing import alone
from crftrain.optimizers.descent import sgd
from crftrain.training.proof import Goal, Prover


def made(problem, **options):
    algorithm = optimizers.get("mixing")
    w = np.zeros(problem.n_features)
    return algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), **options}), w


def cut(data, *cuts, **options):
    n = data.corpus.n_sequences
    return sharded(data.corpus, data.layout, np.array([0, *cuts, n]), l2=1 / n, **options)


def test_in_one_piece_a_round_is_sgd():
    data = larger()
    problem = data.problem(l2=0.01)
    found, _ = alone(problem, np.zeros(problem.n_features), 0, 7, 2)
    plain = sgd.ALGORITHM.make(problem, np.zeros(problem.n_features), np.random.default_rng([7, 0]), **sgd.ALGORITHM.defaults())
    for _ in range(2):
        plain.step()
    np.testing.assert_array_equal(found, plain.solution())
    np.testing.assert_array_equal(problem.mixed(alone, np.zeros(problem.n_features), 7, 2)[0], found)


def numbered_by_shard(problem, w, k, l2):
    assert problem.l2 == l2
    return np.full_like(w, k + 1.0), k


@pytest.mark.parametrize("name", ["plain", "pair attributes", "full", "real values"])
def test_a_weight_is_the_mean_over_the_tokens_that_have_its_attribute(name):
    data = kind(name, seed=3)
    corpus, layout, n = data.corpus, data.layout, data.corpus.n_sequences
    problem = sharded(corpus, layout, np.array([0, 1, 1, n]), l2=0.25)
    mixed, said = problem.mixed(numbered_by_shard, np.zeros(layout.n_features), 0.25)
    assert said == [0, 1, 2]
    shard = np.repeat(np.searchsorted([1, 1, n], np.arange(n), "right"), np.diff(corpus.seq)) + 1.0  # of each token
    for a in range(layout.n_attributes):
        tokens = np.repeat(shard, np.diff(corpus.nodes.ptr))[corpus.nodes.attr == a]
        np.testing.assert_allclose(mixed[layout.ptr[a] : layout.ptr[a + 1]], tokens.mean() if len(tokens) else 0, rtol=1e-15)
    np.testing.assert_allclose(mixed[layout.transitions], shard.mean(), rtol=1e-15)


def test_the_optimum_is_that_of_the_whole_in_fewer_rounds():
    data = larger(sequences=200, attributes=300)
    n, found = data.corpus.n_sequences, []
    for name, options in (("lbfgs", {}), ("mixing", {})):
        problem, algorithm = cut(data, 40, 111), optimizers.get(name)
        w = np.zeros(problem.n_features)
        optimiser = algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), **options})
        prover, steps = Prover(problem, optimiser, Goal(distance=1e-6)), 0
        while not prover.converged:
            prover.look(optimiser.step(), w)
            steps += 1
        found.append((steps, data.problem(l2=1 / n).value(w)))
    assert found[0][1] == pytest.approx(found[1][1], rel=2e-6)
    assert found[1][0] < found[0][0]


def test_the_same_shards_give_the_same_bytes_on_any_number_of_threads():
    data, found = larger(), []
    for threads in (1, 3):
        optimiser, w = made(cut(data, 20, 20, 50, threads=threads))
        for _ in range(6):
            optimiser.step()
        found.append(w)
    np.testing.assert_array_equal(*found)


def test_a_start_that_is_not_zero_is_not_mixed():
    data = larger()
    problem = data.problem(l2=0.01)
    w = data.weights(1)
    before = w.copy()
    optimiser = optimizers.get("mixing").make(problem, w, np.random.default_rng(1), **optimizers.get("mixing").defaults())
    assert optimiser.step().exact
    np.testing.assert_array_equal(w, before)
