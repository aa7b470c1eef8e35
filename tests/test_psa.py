"""Rates that only the blocks at hand pay for equal their dense twin on the same batches, and stay within their bounds."""

import numpy as np
import pytest
import reference
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError
from crftrain.optimizers.descent.psa import GAMMAS
from crftrain.optimizers.weights._compiled import ALPHA, BETA, KAPPA

PSA = optimizers.get("psa")


def start(made, l2=0.0, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l2=l2)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, PSA.make(problem, w, np.random.default_rng(seed), **{**PSA.defaults(), **options})


# ---- the dense twin


def discount(gamma):
    """Equations 4.18 and 4.19 as they stand."""
    m, n = (ALPHA + BETA) / (ALPHA - BETA) * KAPPA, 2 * (1 - ALPHA) / (ALPHA - BETA) * KAPPA
    return (m + np.sign(gamma) * np.minimum(np.abs(gamma), KAPPA)) / (m + KAPPA + n)


def divided(x, y):
    """x / y, 0 where y is."""
    return np.divide(x, y, out=np.zeros_like(x), where=y != 0)


class Twin:
    """Every update on every weight, every rate in a vector; only which weights the batches looked at is kept apart."""

    def __init__(self, made, w, *, gamma, period, eta, l2):
        self.made, self.gamma, self.period, self.l2 = made, gamma, period, l2
        self.w, self.eta, self.updates = w.copy(), np.full(len(w), eta), 0
        self.start, self.middle = np.empty_like(w), np.empty_like(w)
        self.first, self.both = np.zeros(len(w), bool), np.zeros(len(w), bool)

    def update(self, batch):
        own = np.any([reference.own_features(self.made, i) for i in batch], axis=0)
        if self.updates // self.period % 2 == 0:
            self.start = np.where(own & ~self.first, self.w, self.start)
            self.first |= own
        else:
            self.middle = np.where(own & self.first & ~self.both, self.w, self.middle)
            self.both |= own & self.first
        g = sum(reference.enumerate_paths(self.made.corpus, self.made.layout, self.w, i).gradient for i in batch)
        self.w = (self.w - self.eta * g) * np.exp(-self.eta * self.l2 * len(batch))
        self.updates += 1
        if self.updates % (2 * self.period) == 0:
            self.adapt()
            self.first[:] = self.both[:] = False

    def adapt(self):
        before, after = self.middle - self.start, self.w - self.middle
        before[~self.both] = after[~self.both] = 0
        if self.gamma == "component":
            self.eta = np.where(self.both, self.eta * discount(divided(after, before)), self.eta)
            return
        old, both, new = (np.array(x @ y) for x, y in ((before, before), (before, after), (after, after)))
        self.eta = self.eta * discount({"1": divided(both, old), "2": np.sqrt(divided(new, old)), "3": divided(new, both)}[self.gamma])


@pytest.mark.parametrize("gamma, l2", [("component", 0.0), ("component", 2.0), ("1", 0.002), ("2", 0.02), ("3", 0.002)])
@pytest.mark.parametrize("name", KINDS)
def test_lazy_rates_equal_the_dense_twin(name, gamma, l2):
    """Weights and rates, over full and partial batches, within a period and at its end."""
    made = kind(name, seed=2)
    w, n = made.weights(3, 0.3), made.corpus.n_sequences
    for batch, period in ((1, 2), (2, 1)):
        twin = Twin(made, w, gamma=gamma, period=period, eta=0.1, l2=l2)
        _, v, opt = start(made, l2, w=w.copy(), gamma=gamma, batch=batch, period=period)
        draws = np.random.default_rng(1)
        for _ in range(2):
            opt.step()
            order = draws.permutation(n)
            for first in range(0, n, batch):
                twin.update(order[first : first + batch])
            np.testing.assert_allclose(v, twin.w, rtol=0, atol=1e-10)
            np.testing.assert_allclose(opt.weights.rates(), twin.eta, rtol=1e-6)


# ---- what the rates promise


@pytest.mark.parametrize("gamma", GAMMAS)
def test_rates_stay_within_the_bounds_of_the_paper(gamma):
    """In a period a rate falls by a factor between BETA and ALPHA, or stays as it is."""
    _, _, opt = start(larger(), 0.01, gamma=gamma, batch=2, period=3)
    moved = 0
    for _ in range(30):
        before = opt.weights.rates()
        opt.steps.descend(np.random.default_rng(moved).permutation(80)[:12])
        factor = opt.weights.rates() / before
        changed = factor != 1
        moved += changed.sum()
        assert (factor[changed] >= BETA * (1 - 1e-12)).all()
        assert (factor[changed] <= ALPHA * (1 + 1e-12)).all()
    assert moved


def test_blocks_that_no_sentence_touched_keep_weights_and_rates():
    made = larger(attributes=400)
    _, w, opt = start(made, 0.0, w=made.weights(), batch=1, period=1)
    before, foreign = (w.copy(), opt.weights.rates()), ~(reference.own_features(made, 3) | reference.own_features(made, 4))
    opt.steps.descend(np.array([3, 4, 3, 4]))
    opt.weights.write(w)
    for old, new in zip(before, (w, opt.weights.rates()), strict=True):
        assert old[foreign].tobytes() == new[foreign].tobytes()
        assert (old != new).any()
    assert foreign.any()


def test_the_first_adaptation_by_hand():
    """One weight whose gradient is known: a token with one attribute and two labels, seen again and again."""
    made = larger(sequences=1, length=(1, 1), labels=2, attributes=1, per_token=(1, 1), features="full")
    _, w, opt = start(made, batch=1, period=1, eta=0.5)
    way = [0.0]  # the score of the gold label minus that of the other
    for _ in range(2):
        way.append(way[-1] + 2 * 0.5 * (1 - 1 / (1 + np.exp(-way[-1]))))
    opt.steps.descend(np.zeros(2, np.int64))
    gamma = (way[2] - way[1]) / (way[1] - way[0])
    np.testing.assert_allclose(opt.weights.rates()[:2], 0.5 * discount(gamma), rtol=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_look_at_the_weights_and_pieces_of_a_pass_change_nothing(gamma):
    made = larger()
    _, w, opt = start(made, 0.01, gamma=gamma, batch=3, period=2)
    _, v, other = start(made, 0.01, gamma=gamma, batch=3, period=2)
    order = np.random.default_rng(1).permutation(80)
    opt.steps.descend(order)
    for first in range(0, 80, 6):
        other.steps.descend(order[first : first + 6])
        other.weights.write(v)
    opt.weights.write(w)
    assert v.tobytes() == w.tobytes()


def test_without_shuffling_a_pass_takes_the_sequences_as_they_come():
    made = larger()
    _, w, opt = start(made, 0.01, shuffle=False)
    _, v, other = start(made, 0.01)
    opt.step()
    other.steps.descend(np.arange(80))
    other.weights.write(v)
    assert v.tobytes() == w.tobytes()


@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_state_within_a_period_goes_on_with_the_same_bits(gamma):
    made = kind("pair attributes", seed=4)
    _, w, opt = start(made, 0.1, gamma=gamma, batch=1, period=3)
    _, v, other = start(made, 0.1, gamma=gamma, batch=1, period=3)
    order = np.arange(5)
    opt.steps.descend(order[:4])
    other.weights.restore({key: np.copy(array) for key, array in opt.weights.state().items()})
    for _ in range(3):
        opt.steps.descend(order)
        other.steps.descend(order)
    opt.weights.write(w)
    other.weights.write(v)
    assert v.tobytes() == w.tobytes()


def test_rates_fall_until_the_optimum_is_near():
    """Where the corpus is gone over often, f comes within 1e-3 of the optimum, which one rate for all would circle around."""
    made = larger(sequences=200)
    problem, w, opt = start(made, 1 / 200, batch=5, period=1)
    lbfgs = optimizers.get("lbfgs")
    best = np.zeros_like(w)
    solver = lbfgs.make(problem, best, np.random.default_rng(0), **lbfgs.defaults())
    for _ in range(100):
        solver.step()
    for _ in range(100):
        opt.step()
    assert problem.exact_objective(w) < 1.001 * problem.exact_objective(best)


def test_rates_beyond_numbers_are_an_error():
    _, _, opt = start(larger(), eta=1e308)
    with pytest.raises(TrainingError):
        for _ in range(3):
            opt.step()
