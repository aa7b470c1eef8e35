"""Shards: a corpus cut into runs of sequences with numbers of their own is minimised to the same bits as one."""

from dataclasses import replace

import numpy as np
import pytest
from problems import KINDS, kind, larger
from test_constrained import legal_instance

from crftrain import optimizers
from crftrain.chain.rounding import Whole
from crftrain.chain.shard import Shard, cut
from crftrain.chain.sharded import Inline, Sharded, sharded
from crftrain.errors import SettingsError
from crftrain.training.learn import learn
from crftrain.training.settings import Settings

WAYS = {"scaled": 0.5, "logarithms": 300.0}


def cuts(made, seed):
    """Random cuts, an empty shard among them; one sentence a shard; all in one."""
    n = made.corpus.n_sequences
    rng = np.random.default_rng(seed)
    yield np.sort(np.append(rng.integers(0, n + 1, 3), (0, 0, n)))
    yield np.arange(n + 1)
    yield np.array([0, n])


def everything(problem, w):
    rng = np.random.default_rng(1)
    g, product, anew, diagonal = (np.full_like(w, np.nan) for _ in range(4))
    curvature = problem.curvature(keep=2)
    weight = rng.random(problem.n_sequences) * 5
    curvature.sample(np.where(weight < 1, 0, weight))
    value, v = problem.value_and_gradient(w, g, keep=curvature), rng.normal(0, 1, len(w))
    for scale in (1e-6, 1.0):  # the second is done again
        curvature.times(scale * v, product)
    problem.curvature(w).times(v, anew)
    problem.diagonal(w).times(np.ones_like(w), diagonal)
    more = np.array([value, problem.value(w), problem.gap_at_zero(), problem.passes, *problem.exact(w)])
    return more, g, product, anew, diagonal, curvature.doubts, problem.gold_counts(), np.array(problem.feature_sums())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_random_cuts_give_the_bits_of_one_piece(name, way):
    made = kind(name, seed=9)
    w = made.weights(2, WAYS[way])
    whole = everything(made.problem(l2=0.2), w)
    for where in cuts(made, 3):
        for threads in (1, 3):
            parts = everything(sharded(made.corpus, made.layout, where, l2=0.2, threads=threads), w)
            for mine, theirs in zip(whole, parts, strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["lbfgs", "owlqn", "newton-cg", "gis"])
def test_batch_methods_go_the_same_way(name):
    algorithm, made, found = optimizers.get(name), larger(), []
    n = made.corpus.n_sequences
    for problem in (made.problem(l2=1 / n), sharded(made.corpus, made.layout, np.array([0, 7, 50, n]), l2=1 / n, threads=2)):
        w = np.zeros(made.layout.n_features)
        optimiser = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
        steps = [optimiser.step() for _ in range(10)]
        found.append((w, np.array([step.objective for step in steps]), problem.passes))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["lbfgs", "newton-cg"])
def test_the_model_is_the_same_file(name, train_file, tmp_path):
    written = []
    for k, options in enumerate(({}, {"threads": 2}, {"threads": 7}, {"shards": 5}, {"shards": 3, "threads": 2})):
        model = tmp_path / f"{k}.bin"
        learn(Settings(paths=(str(train_file),), algorithm=name, passes=8, model=str(model), **options))
        written.append(model.read_bytes())
    assert all(one == written[0] for one in written[1:])


def test_a_checkpoint_goes_on_in_shards(train_file, tmp_path):
    whole, rest, state = (str(tmp_path / name) for name in ("whole.bin", "rest.bin", "state"))
    settings = Settings(paths=(str(train_file),), algorithm="newton-cg", tol=0.0, model=whole, passes=6)
    learn(settings)
    learn(replace(settings, passes=3, checkpoint=state, model=rest))
    learn(replace(settings, resume=state, shards=4, threads=3, model=rest))
    assert (tmp_path / "whole.bin").read_bytes() == (tmp_path / "rest.bin").read_bytes()


@pytest.mark.parametrize("name", ["sag", "hybrid", "psa"])
def test_who_looks_at_single_sequences_refuses_shards(name):
    with pytest.raises(SettingsError, match=f"{name} looks at single sequences, .*these can: .*lbfgs"):
        Settings(paths=("train.txt",), algorithm=name, shards=2).check()


def test_the_weights_of_a_shard_are_those_of_its_attributes():
    made = larger(features="full", attributes=3000)
    parts = sharded(made.corpus, made.layout, np.array([0, 10, 80]))
    assert sum(share.layout.n_features for share in parts.shares) < 1.5 * made.layout.n_features
    w = made.weights(1)
    for share in parts.shares:
        blocks = w[: made.layout.ptr[-1]].reshape(-1, made.layout.n_labels)
        mine = share.gather(w)[: share.layout.ptr[-1]].reshape(-1, made.layout.n_labels)
        np.testing.assert_array_equal(mine[share.names >= 0], blocks[share.names[share.names >= 0]])


@pytest.mark.parametrize("name", ["plain", "real values, full", "pair attributes"])
def test_the_bits_are_those_of_one_piece_where_some_labellings_are_not_legal(name):
    made = legal_instance(name)
    w = made.weights(2)
    whole = everything(made.problem(l2=0.2), w)
    for parts in (sharded(made.corpus, made.layout, np.array([0, 2, made.corpus.n_sequences]), l2=0.2), made.problem(l2=0.2, threads=3)):
        for mine, theirs in zip(whole, everything(parts, w), strict=True):
            np.testing.assert_array_equal(mine, theirs)


class Forgetful(Inline):
    """Makes a shard anew before each question, and tells it what it was told."""

    def __init__(self, make):
        super().__init__(make())
        self.make, self.asked = make, 0

    def map(self, method, arguments):
        k = self.asked % len(self.shards)
        self.asked, self.shards[k] = self.asked + 1, self.make()[k]
        for told, own in self.recalled(k):
            getattr(self.shards[k], told)(*own)
        return super().map(method, arguments)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", ["plain", "pair attributes"])
def test_a_shard_that_is_made_anew_is_told_what_it_was_told(name, listed):
    made = kind(name, seed=9)
    w, where, whole = made.weights(2, 0.5), next(cuts(made, 3)), Whole.of(made.corpus)
    parts = cut(made.corpus, made.layout, where)
    engine = Forgetful(lambda: [Shard(own, share.layout, whole) for share, own in parts])
    found = []
    for problem in (
        made.problem(l2=0.2),
        Sharded(engine, made.layout, [share for share, _ in parts], np.diff(where), whole, l2=0.2),
    ):
        if listed:
            problem.list_weights()
        found.append(everything(problem, w))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
