"""AdaGrad's lazy proximal steps equal a dense twin's on the same draws; asleep or not, the steps are the same."""

import numpy as np
import pytest
import reference
from problems import KINDS, instance, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError

ADAGRAD = optimizers.get("adagrad")


def start(made, l2=0.0, l1=0.0, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=l2, l1=l1)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, ADAGRAD.make(problem, w, np.random.default_rng(seed), **{**ADAGRAD.defaults(), "eta": 0.5, **options})


class Twin:
    """Every step on every weight, as the paper writes it."""

    def __init__(self, made, w, *, l2, l1, delta=1.0, batch=1):
        n = made.corpus.n_sequences
        self.made, self.w, self.l2, self.l1, self.delta = made, w.copy(), l2, l1, delta
        self.units = [range(first, min(first + batch, n)) for first in range(0, n, batch)]
        self.squares, self.draws = np.zeros_like(w), np.random.default_rng(1)

    def run(self, eta):
        n, corpus, layout = len(self.units), self.made.corpus, self.made.layout
        for u in self.draws.permutation(n):
            g = sum(reference.enumerate_paths(corpus, layout, self.w, i).gradient for i in self.units[u]) * n / corpus.n_sequences
            self.squares += g * g
            alpha = eta / (self.delta + np.sqrt(self.squares))
            half = self.w - alpha * g
            self.w = np.sign(half) * np.maximum(np.abs(half) - alpha * self.l1, 0) / (1 + alpha * self.l2)


@pytest.mark.parametrize("l2, l1", [(0.3, 0.0), (0.0, 0.02), (0.2, 0.01)])
@pytest.mark.parametrize("name", KINDS)
def test_lazy_weights_equal_the_dense_twin(name, l2, l1):
    made = kind(name, seed=2)
    w = made.weights(3, 0.3)
    twin = Twin(made, w, l2=l2, l1=l1)
    _, w, opt = start(made, l2, l1, w=w)
    for _ in range(3):
        opt.step()
        twin.run(0.5)
        np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(opt.state()["roots"], np.sqrt(twin.squares), rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch", [3, 100])
def test_batches_equal_the_dense_twin(batch):
    made = instance(3, sequences=7, length=(1, 3))
    w = made.weights(3, 0.3)
    twin = Twin(made, w, l2=0.2, l1=0.01, delta=0.1, batch=batch)
    _, w, opt = start(made, 0.2, 0.01, w=w, batch=batch, delta=0.1)
    for _ in range(3):
        opt.step()
        twin.run(0.5)
    np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("l2, l1", [(0.3, 0.0), (0.0, 0.002), (1e-9, 0.002), (0.2, 0.001)])
def test_a_long_sleep_is_many_steps(l2, l1):
    """An attribute seen once, before or after hundreds of sequences without it."""
    made = larger(sequences=400, attributes=400, length=(1, 2))
    w = made.weights(3)
    twin = Twin(made, w, l2=l2, l1=l1)
    _, w, opt = start(made, l2, l1, w=w)
    opt.step()
    twin.run(0.5)
    np.testing.assert_allclose(w, twin.w, rtol=1e-11, atol=1e-13)
    assert ((w == 0) == (twin.w == 0)).all()


def test_l1_leaves_zeros():
    counts = []
    for l1 in (0.001, 0.01, 10.0):
        _, w, opt = start(larger(attributes=400), 0.0, l1)
        for _ in range(10):
            opt.step()
        counts.append(np.count_nonzero(w))
    assert len(w) > counts[0] > counts[1] > counts[2] == 0


def test_the_first_passes_lower_the_objective():
    for seed in range(6):
        problem, w, opt = start(larger(seed), 1 / 80, seed=seed, eta="auto")
        before = problem.value(w)
        for _ in range(3):
            opt.step()
        assert problem.value(w) < 0.9 * before, seed


@pytest.mark.parametrize("eta", [1e6, 1e308])
def test_steps_that_are_too_long_end_in_numbers_or_an_error(eta):
    _, w, opt = start(larger(), 1 / 80, 0.001, eta=eta)
    try:
        for _ in range(3):
            opt.step()
            assert np.isfinite(w).all()
    except TrainingError:
        assert eta == 1e308
