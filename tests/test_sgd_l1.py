"""Lazy penalties equal their dense twins on the same draws, and what they promise of zeros holds."""

import numpy as np
import pytest
import reference
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError
from crftrain.optimizers.descent._schedule import Schedule
from crftrain.optimizers.descent.sgd_l1 import PENALTIES

SGD = optimizers.get("sgd-l1")


def start(made, penalty="cumulative", l1=0.0, l2=0.0, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    problem = made.problem(l1=l1, l2=l2)
    w = np.zeros(problem.n_features) if w is None else w
    options = {**SGD.defaults(), "eta": 0.5, **options}
    return problem, w, SGD.make(problem, w, np.random.default_rng(seed), **{**options, "penalty": penalty})


# ---- the dense twins


def clipped(z, by):
    return np.sign(z) * np.maximum(np.abs(z) - by, 0)


class Twin:
    """Every step on every weight, as the paper writes it; the l2 term divides what is there, and what is owed for it."""

    def __init__(self, made, penalty, l1, l2, w):
        self.made, self.penalty, self.l1, self.l2 = made, penalty, l1, l2
        self.w, self.q, self.u = w.copy(), np.zeros_like(w), 0.0

    def step(self, i, eta):
        w, c = self.w, eta * self.l1
        half = w - eta * reference.enumerate_paths(self.made.corpus, self.made.layout, w, i).gradient
        if self.penalty == "naive":
            self.w = half - c * np.sign(w)
        elif self.penalty == "clipping":
            self.w = clipped(half, c)
        else:
            self.u += c
            own = reference.own_features(self.made, i)
            paid = np.where(own, self.paid(half), half)
            self.q += paid - half
            self.w = paid
        for owed in (self.w, self.q):
            owed /= 1 + eta * self.l2
        self.u /= 1 + eta * self.l2

    def paid(self, z):
        return np.where(z > 0, np.maximum(0, z - (self.u + self.q)), np.minimum(0, z + (self.u - self.q)))

    def settled(self):
        return self.paid(self.w) if self.penalty == "cumulative" else self.w


@pytest.mark.parametrize("l1, l2", [(0.02, 0.0), (0.01, 0.3)])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", KINDS)
def test_lazy_weights_equal_the_dense_twin(name, penalty, l1, l2):
    made = kind(name, seed=2)
    w = made.weights(3, 0.3)
    twin = Twin(made, penalty, l1, l2, w)
    problem, w, opt = start(made, penalty, l1, l2, w=w)
    n, draws = made.corpus.n_sequences, np.random.default_rng(1)
    for k in range(3):
        opt.step()
        for i, eta in zip(draws.permutation(n), Schedule("exponential").rates(0.5, k * n, n, n), strict=True):
            twin.step(i, eta)
        np.testing.assert_allclose(w, twin.settled(), rtol=0, atol=1e-12)
        if penalty == "cumulative":
            scale, u = opt.weights.state()["scale"]
            assert scale * u == pytest.approx(twin.u, rel=1e-12)
            np.testing.assert_allclose(scale * opt.weights.state()["q"], twin.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_scale_that_becomes_tiny_changes_nothing(penalty):
    """A penalty that shrinks w by e^20 a step: beta is brought back to 1 many times in a pass."""
    made = kind("plain", seed=2)
    l1, l2 = 0.01, np.exp(20) / 0.5
    problem, w, opt = start(made, penalty, l1, l2, w=made.weights(3), schedule="inverse")
    twin, n, draws = Twin(made, penalty, l1, l2, w), made.corpus.n_sequences, np.random.default_rng(1)
    for k in range(6):
        opt.step()
        for i, eta in zip(draws.permutation(n), Schedule("inverse").rates(0.5, k * n, n, n), strict=True):
            twin.step(i, eta)
        np.testing.assert_allclose(w, twin.settled(), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", ["plain", "pair attributes", "real values, full"])
def test_without_l1_all_penalties_are_the_same(name):
    runs = []
    for penalty in PENALTIES:
        _, w, opt = start(kind(name), penalty, 0.0, 0.1)
        for _ in range(3):
            opt.step()
        runs.append(w)
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-14)
    np.testing.assert_allclose(runs[2], runs[0], atol=1e-14)


# ---- what the penalties promise


@pytest.mark.parametrize("penalty", ["clipping", "cumulative"])
@pytest.mark.parametrize("name", ["plain", "pair attributes", "full", "many labels"])
def test_no_weight_changes_sign_when_it_pays(name, penalty):
    """After a step a weight is zero or on the side to which the gradient alone would have taken it."""
    made = kind(name, seed=4)
    _, _, opt = start(made, penalty, 0.05, w=made.weights(0, 0.2))
    for i in np.random.default_rng(0).integers(0, made.corpus.n_sequences, 20):
        before, after = np.empty(made.layout.n_features), np.empty(made.layout.n_features)
        if penalty == "clipping":
            opt.weights.write(before)
        else:
            before[:] = opt.weights.state()["v"]
        opt.steps.descend(np.array([i]), np.array([0.5]))
        opt.weights.write(after)
        half = before - 0.5 * reference.enumerate_paths(made.corpus, made.layout, before, i).gradient
        half[np.abs(half) < 1e-12] = 0
        assert (np.sign(after) * np.sign(half) >= 0).all()
        assert (np.abs(after) <= np.abs(half) + 1e-12).all()


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_no_weight_receives_more_than_it_could_have(l2):
    """|q| <= u, after each pass."""
    _, _, opt = start(larger(), "cumulative", 0.01, l2)
    for _ in range(8):
        opt.step()
        state = opt.weights.state()
        assert np.abs(state["q"]).max() <= state["scale"][1] * (1 + 1e-12)
        assert np.abs(state["q"]).max() > 0.9 * state["scale"][1]


@pytest.mark.parametrize("penalty", PENALTIES)
def test_writing_the_settled_weights_changes_no_debt(penalty):
    """Neither v nor q nor u; so passes with and without a look in between give the same bits."""
    made = larger()
    _, w, opt = start(made, penalty, 0.01, 0.001)
    _, v, other = start(made, penalty, 0.01, 0.001)
    opt.step()
    before, looks = opt.weights.state(), [np.empty_like(w) for _ in range(3)]
    for look in looks:
        opt.weights.write(look)
    assert all(look.tobytes() == w.tobytes() for look in looks)
    assert all(before[key].tobytes() == array.tobytes() for key, array in opt.weights.state().items())
    n, draws = made.corpus.n_sequences, np.random.default_rng(1)
    eta = Schedule("exponential").rates(0.5, 0, 2 * n, n)
    other.steps.descend(np.concatenate([draws.permutation(n), draws.permutation(n)]), eta)
    other.weights.write(v)
    opt.step()
    assert v.tobytes() == w.tobytes()


@pytest.mark.parametrize("penalty", ["clipping", "cumulative"])
def test_features_of_other_sequences_are_not_touched(penalty):
    made = larger(attributes=400)
    _, _, opt = start(made, penalty, 0.01, w=made.weights())
    for i in range(10):
        foreign = ~reference.own_features(made, i)
        before = opt.weights.state()
        opt.steps.descend(np.array([i]), np.array([0.5]))
        after = opt.weights.state()
        assert foreign.any()
        for key in ("v", "q"):
            assert after[key][foreign].tobytes() == before[key][foreign].tobytes()
            assert key == "q" or (after[key] != before[key]).any()


def test_naive_pulls_every_weight_at_every_step():
    made = larger(attributes=400)
    _, w, opt = start(made, "naive", 0.01, w=made.weights())
    foreign, before, after = ~reference.own_features(made, 0), w.copy(), w.copy()
    opt.steps.descend(np.array([0]), np.array([0.5]))
    opt.weights.write(after)
    np.testing.assert_allclose(after[foreign], (before - 0.005 * np.sign(before))[foreign], rtol=0, atol=1e-15)


@pytest.mark.parametrize("penalty", ["clipping", "cumulative"])
def test_exact_zeros(penalty):
    """Lazy penalties leave zeros, more with a stronger one; a strong one leaves nothing."""
    counts = []
    for l1 in (0.001, 0.01, 10.0):
        _, w, opt = start(larger(attributes=400), penalty, l1)
        for _ in range(10):
            opt.step()
        counts.append(np.count_nonzero(w))
    assert len(w) > counts[0] > counts[1] > counts[2] == 0


def test_the_order_of_the_paper():
    """Fewer active features from one penalty to the next, at an objective that is no worse."""
    made, active, objective = larger(sequences=300, attributes=600), {}, {}
    for name, penalty, schedule in (
        ("naive", "naive", "inverse"),
        ("clipping", "clipping", "inverse"),
        ("cumulative", "cumulative", "inverse"),
        ("decay", "cumulative", "exponential"),
    ):
        problem, w, opt = start(made, penalty, 1 / 300, schedule=schedule)
        for _ in range(30):
            opt.step()
        active[name], objective[name] = np.count_nonzero(w), problem.exact_objective(w)
    assert active["naive"] > active["clipping"] > active["cumulative"] >= active["decay"]
    assert objective["naive"] > objective["cumulative"] > objective["decay"]


def test_cumulative_penalty_comes_near_the_optimum():
    """Thirty passes with a falling rate against OWL-QN."""
    made = larger(sequences=300, attributes=600)
    problem, w, opt = start(made, "cumulative", 1 / 300, eta="auto")
    for _ in range(30):
        opt.step()
    v = np.zeros_like(w)
    owlqn = optimizers.get("owlqn")
    best = owlqn.make(problem, v, np.random.default_rng(0), **owlqn.defaults())
    for _ in range(300):
        best.step()
    assert problem.exact_objective(w) < 1.03 * problem.exact_objective(v)
    assert np.count_nonzero(w) < 1.5 * np.count_nonzero(v)


# ---- step sizes, state, failure


@pytest.mark.parametrize("penalty", PENALTIES)
def test_calibration_leaves_no_trace_but_its_eta(penalty):
    """The first pass starts where a run with that eta would, with nothing paid."""
    made = larger()
    w = made.weights(1, 0.1)
    problem, v, opt = start(made, penalty, 0.01, 0.01, w=w.copy(), eta="auto")
    opt.step()
    assert problem.passes > 3
    draws = np.random.default_rng(1)
    draws.permutation(made.corpus.n_sequences)
    again = SGD.make(made.problem(l1=0.01, l2=0.01), w, draws, **{**SGD.defaults(), "penalty": penalty, "eta": opt.eta})
    again.step()
    assert v.tobytes() == w.tobytes()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_restored_state_goes_on_with_the_same_bits(penalty):
    made = larger()
    _, w, opt = start(made, penalty, 0.01, 0.01, eta="auto")
    opt.step()
    state = {key: np.copy(array) for key, array in opt.state().items()}
    _, v, other = start(made, penalty, 0.01, 0.01, eta="auto")
    other.restore(state)
    assert v.tobytes() == w.tobytes()
    other.rng.bit_generator.state = opt.rng.bit_generator.state
    opt.step()
    other.step()
    assert v.tobytes() == w.tobytes()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_step_size_beyond_numbers_is_an_error(penalty):
    _, _, opt = start(larger(), penalty, 0.01, eta=1e308)
    with pytest.raises(TrainingError):
        for _ in range(3):
            opt.step()
