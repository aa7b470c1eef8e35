"""Stochastic meta-descent's late steps equal a dense twin's on the same draws; without adaptation it is sgd."""

import numpy as np
import pytest
import reference
from problems import KINDS, instance, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError

SMD, SGD = optimizers.get("smd"), optimizers.get("sgd")


def start(made, l2=0.3, *, w=None, seed=1, algorithm=SMD, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=l2)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), "eta": 0.3, **options})


class Twin:
    """Every step on every weight; gains that only the penalty moves stay. H u is a central difference of gradients."""

    def __init__(self, made, w, *, l2, mu, decay, batch):
        n = made.corpus.n_sequences
        self.made, self.w, self.l2, self.mu, self.decay = made, w.copy(), l2, mu, decay
        self.units = [range(first, min(first + batch, n)) for first in range(0, n, batch)]
        self.present = [self.awake(unit) for unit in self.units]
        self.u, self.gains, self.draws = np.zeros_like(w), np.ones_like(w), np.random.default_rng(1)

    def gradient(self, w, unit):
        n = self.made.corpus.n_sequences
        return sum(reference.enumerate_paths(self.made.corpus, self.made.layout, w, i).gradient for i in unit) * len(self.units) / n

    def awake(self, unit):
        """Which weights belong to attributes of the unit, or to label pairs where it has more than one token."""
        corpus, layout, present = self.made.corpus, self.made.layout, np.zeros(len(self.w), bool)
        first, end = corpus.seq[unit[0]], corpus.seq[unit[-1] + 1]
        for observations, ptr in ((corpus.nodes, layout.ptr), (corpus.pairs, layout.pair_ptr)):
            for a in observations.attr[observations.ptr[first] : observations.ptr[end]] if observations else ():
                present[ptr[a] : ptr[a + 1]] = True
        present[layout.transitions] |= end - first > 1
        return present

    def run(self, eta):
        h = 1e-5
        for k in self.draws.permutation(len(self.units)):
            w, u, unit = self.w, self.u, self.units[k]
            g = self.gradient(w, unit) + self.l2 * w
            hu = (self.gradient(w + h * u, unit) - self.gradient(w - h * u, unit)) / (2 * h) + self.l2 * u
            self.gains *= np.where(self.present[k], np.maximum(0.5, 1 - self.mu * g * u), 1)
            a = eta * self.gains
            a = a / (1 + a * self.l2)
            self.w = w - a * g
            self.u = self.decay * u - a * (g + self.decay * hu)


def compare(made, *, l2, passes=3, **options):
    w = made.weights(3, 0.3)
    twin = Twin(made, w, l2=l2, **options)
    _, w, opt = start(made, l2, w=w, **options)
    for _ in range(passes):
        opt.step()
        twin.run(0.3)
        np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-8)
        np.testing.assert_allclose(opt.state()["dependence"], twin.u, rtol=0, atol=1e-8)
        np.testing.assert_allclose(opt.state()["gains"], twin.gains, rtol=0, atol=1e-8)
    assert np.ptp(twin.gains) > 0.01 or not len(w)


@pytest.mark.parametrize("name", KINDS)
def test_lazy_weights_and_gains_equal_the_dense_twin(name):
    compare(kind(name, seed=2), l2=0.3, mu=1.0, decay=0.9, batch=1)


@pytest.mark.parametrize("l2, decay, batch", [(0.0, 0.9, 3), (0.2, 1.0, 3), (0.2, 0.0, 3), (0.2, 0.99, 100)])
def test_batches_and_decays_equal_the_dense_twin(l2, decay, batch):
    compare(instance(3, sequences=7, length=(1, 3)), l2=l2, mu=1.0, decay=decay, batch=batch)


def test_a_long_sleep_is_many_steps():
    """An attribute seen once, before or after dozens of sequences without it."""
    compare(instance(0, sequences=60, attributes=60, length=(1, 2)), l2=0.1, passes=2, mu=1.0, decay=0.95, batch=1)


@pytest.mark.parametrize("batch", [1, 3, 100])
@pytest.mark.parametrize("name", KINDS)
def test_without_adaptation_it_is_sgd_of_constant_steps(name, batch):
    made = kind(name, seed=2)
    w = made.weights(3, 0.3)
    _, v, other = start(made, w=w.copy(), algorithm=SGD, schedule="constant", batch=batch)
    _, w, opt = start(made, w=w, mu=0.0, batch=batch)
    for _ in range(3):
        opt.step()
        other.step()
        np.testing.assert_allclose(w, v, rtol=0, atol=1e-12)


def test_weights_in_the_log_domain_equal_the_dense_twin():
    made = kind("plain", seed=4)
    w = made.weights(3, 100.0)
    twin = Twin(made, w, l2=0.1, mu=1.0, decay=0.9, batch=2)
    _, w, opt = start(made, 0.1, w=w, mu=1.0, batch=2, decay=0.9)
    opt.step()
    twin.run(0.3)
    np.testing.assert_allclose(w, twin.w, rtol=1e-7, atol=1e-7)


def test_the_first_passes_lower_the_objective():
    for seed in range(6):
        problem, w, opt = start(larger(seed), 1 / 80, seed=seed, eta="auto")
        before = problem.value(w)
        for _ in range(5):
            opt.step()
        assert problem.value(w) < 0.9 * before, seed


def test_a_product_is_a_pass():
    problem, _, opt = start(larger())
    opt.step()
    assert problem.passes == pytest.approx(2)


@pytest.mark.parametrize("mu", [0.1, 1e6])
@pytest.mark.parametrize("eta", [1e6, 1e308])
def test_steps_that_are_too_long_end_in_numbers_or_an_error(eta, mu):
    _, w, opt = start(larger(), 1 / 80, eta=eta, mu=mu)
    try:
        for _ in range(3):
            opt.step()
            assert all(np.isfinite(array).all() for array in (w, *opt.state().values()))
    except TrainingError:
        pass
