"""Lazy descent and its average equal dense twins on the same draws; step sizes that are too long end in numbers or errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
import reference
from problems import KINDS, instance, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError
from crftrain.optimizers.descent._schedule import FORMULAS, GRID_PASSES, Schedule

SGD = optimizers.get("sgd")
AVERAGES = pytest.mark.parametrize("average", [{"average": False}, {}, {"average_from": 1}], ids=["last", "ends", "all"])


def start(made, l2=0.3, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=l2)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, SGD.make(problem, w, np.random.default_rng(seed), **{**SGD.defaults(), "eta": 0.5, **options})


def gradient(made, w, unit):
    """Of the sequences of a unit, without penalty: their sum."""
    return sum(reference.enumerate_paths(made.corpus, made.layout, w, i).gradient for i in unit)


class Twin:
    """Every step on every weight; `iterates` are all it has been."""

    def __init__(self, made, w, *, l2, batch=1, schedule="bottou"):
        n = made.corpus.n_sequences
        self.made, self.w, self.l2, self.iterates = made, w.copy(), l2, []
        self.units = [range(first, min(first + batch, n)) for first in range(0, n, batch)]
        self.scale, self.schedule = len(self.units) / n, Schedule(schedule, decay=l2 * len(self.units))
        self.draws, self.passes = np.random.default_rng(1), 0

    def run(self, eta):
        n = len(self.units)
        for u, rate in zip(self.draws.permutation(n), self.schedule.rates(eta, self.passes * n, n, n), strict=True):
            g = self.scale * gradient(self.made, self.w, self.units[u])
            self.w = (self.w - rate * g) / (1 + rate * self.l2)
            self.iterates.append(self.w)
        self.passes += 1

    def mean(self, first):
        """Of the iterates since that pass began."""
        return np.mean(self.iterates[(first - 1) * len(self.units) :], axis=0)


# ---- the dense twin


@pytest.mark.parametrize("average_from", [1, 2])
@pytest.mark.parametrize("name", KINDS)
def test_lazy_weights_and_their_average_equal_the_dense_twin(name, average_from):
    made = kind(name, seed=2)
    w = made.weights(3, 0.3)
    twin = Twin(made, w, l2=0.3)
    _, w, opt = start(made, w=w, average_from=average_from)
    for k in range(1, 4):
        opt.step()
        twin.run(0.5)
        np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(opt.solution(), twin.mean(average_from) if k >= average_from else w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("schedule", FORMULAS)
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_every_schedule_and_batch_equals_the_dense_twin(schedule, batch):
    made = instance(3, sequences=7, length=(1, 3))
    w = made.weights(3, 0.3)
    twin = Twin(made, w, l2=0.2, batch=batch, schedule=schedule)
    _, w, opt = start(made, 0.2, w=w, batch=batch, schedule=schedule, average_from=1)
    for _ in range(3):
        opt.step()
        twin.run(0.5)
    np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(opt.solution(), twin.mean(1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("average_from", ["auto", 1])
def test_averaging_changes_nothing_but_the_solution(average_from):
    plain, averaged = start(larger(), average=False), start(larger(), average_from=average_from)
    for _, _, opt in (plain, averaged):
        opt.step()
        opt.step()
    np.testing.assert_allclose(averaged[1], plain[1], rtol=0, atol=1e-13)
    assert plain[2].solution() is plain[1]
    assert np.abs(averaged[2].solution() - averaged[1]).max() > 0.01


def test_the_mean_of_the_ends_weighs_pass_k_by_about_its_cube():
    """The weights of Shamir and Zhang: k (k + 1) (k + 2) of pass k, for G = 3."""
    made = larger()
    _, w, opt = start(made)
    assert opt.solution() is w  # as long as there is no end
    ends = []
    for _ in range(6):
        opt.step()
        ends.append(w.copy())
        share = np.array([k * (k + 1) * (k + 2) for k in range(1, len(ends) + 1)], dtype=float)
        np.testing.assert_allclose(opt.solution(), share @ np.array(ends) / share.sum(), rtol=0, atol=1e-14)


def test_the_mean_of_the_ends_is_nearer_to_the_optimum_than_the_last():
    for seed in range(6):
        problem, w, opt = start(larger(seed), 1 / 80, seed=seed, eta="auto")
        for _ in range(20):
            opt.step()
        assert problem.value(opt.solution()) < problem.value(w), seed


def test_where_a_mean_begins_is_not_asked_for_without_one():
    with pytest.raises(TrainingError, match="--no-average: --average-from is 5, expected one of them"):
        start(larger(), average=False, average_from=5)


def test_a_scale_that_becomes_tiny_changes_nothing():
    """A penalty that shrinks w by e^20 a step: beta is brought back to 1 many times in a pass."""
    made = kind("plain", seed=2)
    w = made.weights(3)
    twin = Twin(made, w, l2=math.exp(20) / 0.5, schedule="constant")
    _, w, opt = start(made, math.exp(20) / 0.5, w=w, schedule="constant", average_from=1)
    for _ in range(6):
        opt.step()
        twin.run(0.5)
        np.testing.assert_allclose(w, twin.w, rtol=1e-9, atol=1e-20)
        np.testing.assert_allclose(opt.solution(), twin.mean(1), rtol=1e-9, atol=1e-20)


def test_pegasos_is_the_mean_of_its_gradients():
    """w after K steps of 1/(lambda k), counted from two: -1/(lambda (K+1)) times the sum of all gradients."""
    made, l2 = larger(sequences=6, length=(1, 3)), 0.4
    problem, w, opt = start(made, l2, schedule="pegasos", eta=1.0)
    total, draws, twin = np.zeros_like(w), np.random.default_rng(1), np.zeros_like(w)
    for k, i in enumerate(draws.permutation(6), 1):
        total += gradient(made, twin, [i])
        twin = -total / (l2 * (k + 1))
    opt.step()
    np.testing.assert_allclose(w, twin, rtol=0, atol=1e-12)


def test_a_stream_has_no_pass_from_which_to_average():
    (refusal,) = SGD.check({"average_from": 5}, 1.0, 0.0, stream=True)
    assert refusal == "--average-from 5: a stream has no passes, expected --average-from 1, or none"
    assert SGD.check({"average_from": 5}, 1.0, 0.0) == SGD.check({"average_from": 1}, 1.0, 0.0, stream=True) == []


# ---- step sizes


@pytest.mark.parametrize("schedule", [name for name in FORMULAS if name != "pegasos"])
@AVERAGES
def test_the_first_passes_lower_the_objective(schedule, average):
    for seed in range(6):
        problem, w, opt = start(larger(seed), 1 / 80, seed=seed, schedule=schedule, eta="auto", **average)
        before = problem.value(w)
        for _ in range(5):
            opt.step()
        assert problem.value(opt.solution()) < 0.9 * before, seed


@pytest.mark.parametrize("schedule", FORMULAS)
@pytest.mark.parametrize("eta", [1e6, 1e308])
@pytest.mark.parametrize("average_from", ["auto", 1])
def test_steps_that_are_too_long_end_in_numbers_or_an_error(schedule, eta, average_from):
    """At 1e308 weights cannot be numbers, but for Pegasos, whose shrinking keeps up."""
    _, w, opt = start(larger(), 1 / 80, schedule=schedule, eta=eta, average_from=average_from)
    try:
        for _ in range(3):
            opt.step()
            assert np.isfinite(w).all()
            assert np.isfinite(opt.solution()).all()
    except TrainingError:
        assert eta == 1e308


@AVERAGES
@pytest.mark.parametrize("eta", ["auto", "grid"])
def test_looking_for_a_step_size_leaves_no_trace_but_it(eta, average):
    made = larger()
    w = made.weights(1, 0.1)
    problem, v, opt = start(made, 0.01, w=w.copy(), eta=eta, **average)
    opt.step()
    assert problem.passes > 3
    assert eta == "auto" or math.log10(opt.eta) == pytest.approx(round(math.log10(opt.eta)), abs=1e-12)
    _, w, again = start(made, 0.01, w=w, eta=opt.eta, **average)
    for _ in range(GRID_PASSES if eta == "grid" else 1):
        again.rng.permutation(made.corpus.n_sequences)
    again.step()
    assert v.tobytes() == w.tobytes()
    assert again.solution().tobytes() == opt.solution().tobytes()


class Ordered:
    """Draws one permutation again and again."""

    def __init__(self, order):
        self.order = order

    def permutation(self, n):
        return self.order.copy()


@pytest.mark.parametrize("seed", range(4))
def test_a_long_sequence_at_the_end_of_a_trial_does_not_shorten_steps(seed):
    """Judged just after it, all but the shortest steps look bad; it is a hundred times as long as the others."""
    made = larger(seed, sequences=300, attributes=200)
    made = replace(made, corpus=replace(made.corpus, seq=np.delete(made.corpus.seq, range(-101, -1))))
    problem = made.problem(l2=1 / 200)
    found = []
    for place in (100, 199):
        order = np.insert(np.random.default_rng(seed).permutation(199), place, 199)
        opt = SGD.make(problem, np.zeros(problem.n_features), Ordered(order), **SGD.defaults())
        opt.step()
        found.append(opt.eta)
    assert found[1] > 0.7 * found[0]


@pytest.mark.parametrize("sequences", [1, 2, 3])
@AVERAGES
def test_a_step_size_is_found_on_hardly_any_data(sequences, average):
    for schedule in FORMULAS:
        problem, w, opt = start(larger(sequences=sequences), 0.1, schedule=schedule, eta="auto", **average)
        opt.step()
        assert opt.eta > 0
        assert np.isfinite(opt.solution()).all()


def test_pegasos_has_a_step_size_of_its_own():
    problem, _, opt = start(larger(), 1 / 80, schedule="pegasos", eta="auto")
    opt.step()
    assert opt.eta == 1
    assert problem.passes == 1


def test_the_best_of_the_grid_is_no_worse_than_its_neighbours():
    """After as many passes as a trial is a picture of, with a falling rate."""
    made = larger(sequences=200)
    _, _, opt = start(made, 1 / 200, eta="grid")
    opt.step()
    reached = []
    for eta in (opt.eta / 10, opt.eta, opt.eta * 10):
        problem, w, other = start(made, 1 / 200, eta=eta)
        for _ in range(30):
            other.step()
        reached.append(problem.value(w))
    assert reached[1] <= 1.05 * min(reached)


def test_pegasos_needs_a_penalty():
    with pytest.raises(TrainingError, match="lambda is 0"):
        start(larger(), 0.0, schedule="pegasos")


# ---- state


@pytest.mark.parametrize("average_from", ["auto", 1, 2, 3])
def test_a_restored_average_goes_on_with_the_same_bits(average_from):
    made, options = larger(), {"average_from": average_from, "eta": "auto", "batch": 3}
    _, w, opt = start(made, **options)
    for _ in range(2):
        opt.step()
    state = {key: np.copy(array) for key, array in opt.state().items()}
    _, v, other = start(made, **options)
    other.restore(state)
    assert other.solution().tobytes() == opt.solution().tobytes()
    other.rng.bit_generator.state = opt.rng.bit_generator.state
    for _ in range(2):
        opt.step()
        other.step()
        assert v.tobytes() == w.tobytes()
        assert other.solution().tobytes() == opt.solution().tobytes()
