"""Shards that learn alone, are averaged, and go on together."""

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from problems import kind, larger

from crftrain import optimizers
from crftrain.chain.shard import Shard
from crftrain.chain.sharded import Inline, sharded
from crftrain.optimizers.batch import mixing
from crftrain.optimizers.batch.mixing import alone, sampled, solved
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
    plain = sgd.ALGORITHM.make(problem, np.zeros(problem.n_features), np.random.default_rng([7, 0]), **sgd.ALGORITHM.defaults())
    for _ in range(2):
        plain.step()
    np.testing.assert_array_equal(problem.apart(alone, np.zeros(problem.n_features), 7, 2)[0], plain.solution())


def numbered_by_shard(part, w):
    assert part.l2 == 0.25
    return part.share * (part.k + 1), part.k, 0


@pytest.mark.parametrize("name", ["plain", "pair attributes", "full", "real values"])
def test_a_share_is_of_the_tokens_that_have_the_attribute(name):
    data = kind(name, seed=3)
    corpus, layout, n = data.corpus, data.layout, data.corpus.n_sequences
    problem = sharded(corpus, layout, np.array([0, 1, 1, n]), l2=0.25)
    mixed, said = problem.apart(numbered_by_shard, np.zeros(layout.n_features))
    assert said == [0, 1, 2]
    shard = np.repeat(np.searchsorted([1, 1, n], np.arange(n), "right"), np.diff(corpus.seq)) + 1.0  # of each token
    for a in range(layout.n_attributes):
        tokens = np.repeat(shard, np.diff(corpus.nodes.ptr))[corpus.nodes.attr == a]
        np.testing.assert_allclose(mixed[layout.ptr[a] : layout.ptr[a + 1]], tokens.mean() if len(tokens) else 0, rtol=1e-14)
    np.testing.assert_allclose(mixed[layout.transitions], shard.mean(), rtol=1e-14)


@pytest.mark.parametrize("name", ["plain", "pair attributes", "real values", "full"])
@pytest.mark.parametrize("cuts", [(), (2,), (1, 3)])
def test_what_shards_make_of_a_vector_is_the_sum_of_their_inverses(name, cuts):
    """Against dense matrices."""
    data = kind(name, seed=5)
    corpus, layout, n, l2 = data.corpus, data.layout, data.corpus.n_sequences, 0.3
    problem, w = sharded(corpus, layout, np.array([0, *cuts, n]), l2=l2), 0.5 * data.weights(2)
    matrix, g = problem.curvature(), np.empty(layout.n_features)
    problem.value_and_gradient(w, g, keep=matrix)
    q, expected = np.random.default_rng(4).normal(size=len(w)), np.zeros(len(w))
    tokens = [share_of(problem, k) for k in range(len(cuts) + 1)]
    for k, own in enumerate(tokens):
        H, R = hessian(problem, k, matrix), np.sqrt(own / np.maximum(sum(tokens), 1))
        here = R > 0
        H = H[np.ix_(here, here)] / np.outer(R[here], R[here]) + l2 * np.eye(here.sum())
        expected[here] += R[here] * np.linalg.solve(H, R[here] * q[here])
    found, products = problem.apart(partial(solved, fall=1e-10), q, 500, matrix=matrix)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert 0 < max(products) <= 500


def share_of(problem, k):
    out = np.zeros(problem.n_features)
    problem.shares[k].scatter(problem.engine.shards[k].tokens(), out)
    return out


def hessian(problem, k, matrix):
    """What shard k adds to it, in the numbers of the whole."""
    share, own = problem.shares[k], problem.engine.shards[k].matrices[matrix.name]
    H = np.zeros((problem.n_features, problem.n_features))
    for e, row in zip(np.eye(problem.n_features), H, strict=True):
        column = np.empty(share.layout.n_features)
        own.times(share.gather(e), column)
        share.scatter(column, row)
    return H


def run(problem, name, distance, **options):
    """(steps, their objectives, w) until the distance is proved."""
    algorithm, w = optimizers.get(name), np.zeros(problem.n_features)
    optimiser = algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), **options})
    prover, found = Prover(problem, optimiser, Goal(distance=distance)), []
    while not prover.converged:
        found.append(prover.look(optimiser.step(), w))
        assert not found[-1].done
    return found, w


def test_the_optimum_is_that_of_the_whole_in_fewer_rounds():
    data = larger(sequences=200, attributes=300)
    problem, rounds, values = data.problem(l2=1 / data.corpus.n_sequences), [], []
    for name, options in (("mixing", {}), ("mixing", {"products": 0}), ("lbfgs", {})):
        where = SimpleNamespace(place=lambda make, recipes: Counting([make(*recipe) for recipe in recipes]), threads=1)
        parts = cut(data, 40, 111, cluster=where)
        values.append(problem.value(run(parts, name, 1e-6, **options)[1]))
        rounds.append(parts.engine.rounds)
    np.testing.assert_allclose(values, values[-1], rtol=2e-6)
    assert rounds[0] < rounds[1] < rounds[2]


def test_a_sample_is_of_its_share_and_never_of_nobody():
    for n, share in ((1, 0.25), (5, 0.1), (4000, 0.25), (4000, 1.0)):
        weight = sampled(n, share)
        chance = max(share, min(1.0, 20 / n))
        assert np.count_nonzero(weight) == pytest.approx(chance * n, rel=0.1)
        np.testing.assert_allclose(weight[weight > 0], 1 / chance)


def test_after_the_start_the_objective_never_rises():
    data = larger(sequences=200, attributes=300)
    steps, _ = run(cut(data, 40, 111), "mixing", 1e-7)
    exact = [step.objective for step in steps if step.exact]
    assert len(exact) > 5 and all(later <= before for before, later in pairwise(exact))


@pytest.mark.parametrize("answer", [lambda q: -q, lambda q: np.zeros_like(q), lambda q: np.full_like(q, np.nan)])
def test_where_shards_lead_uphill_it_goes_on_without_them(monkeypatch, answer):
    data = larger(sequences=60)
    monkeypatch.setattr(mixing, "solved", lambda part, q, most: (answer(q), 1, 1))
    _, w = run(cut(data, 20), "mixing", 1e-6)
    _, v = run(cut(data, 20), "lbfgs", 1e-6)
    problem = data.problem(l2=1 / 60)
    assert problem.value(w) == pytest.approx(problem.value(v), rel=2e-6)


class Counting(Inline):
    """Counts exchanges of vectors as long as the weights."""

    rounds = 0

    def map(self, method, arguments):
        self.rounds += method in ("gradient", "losses", "tangents", "apart", "tokens")
        return super().map(method, arguments)


class Forgetful(Inline):
    """Makes a shard anew before each question, and tells it what it was told."""

    asked = 0

    def __init__(self, recipes):
        super().__init__([Shard(*recipe) for recipe in recipes])
        self.recipes = recipes

    def map(self, method, arguments):
        self.asked += 1
        k = self.asked % len(self.shards)
        if self.asked > 2:
            self.shards[k] = Shard(*self.recipes[k])
            for told, own in self.recalled(k):
                getattr(self.shards[k], told)(*own)
        return super().map(method, arguments)


def test_a_shard_that_is_made_anew_changes_no_bit():
    data = larger()
    where = SimpleNamespace(place=lambda make, recipes: Forgetful(recipes), threads=1)
    (steps, w), (others, v) = (run(cut(data, 20, 50, cluster=cluster), "mixing", 1e-6) for cluster in (None, where))
    assert [step.objective for step in steps] == [step.objective for step in others] and len(steps) > 6
    np.testing.assert_array_equal(w, v)


def test_the_same_shards_give_the_same_bytes_on_any_number_of_threads():
    data, found = larger(), []
    for threads in (1, 3):
        optimiser, w = made(cut(data, 20, 20, 50, threads=threads))
        for _ in range(9):
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
