"""Under l1: mixtures of all passes bound the optimum, steps are as long as these say, and a path is looked ahead."""

import numpy as np
import pytest
from problems import KINDS, kind, larger
from sag_twin import start
from test_elastic import assert_optimal

from crftrain import optimizers
from crftrain.chain import certificate
from crftrain.chain._measures import beyond
from crftrain.optimizers.average import _mixture
from crftrain.optimizers.average._course import Course
from crftrain.optimizers.average._mixture import BEGIN, DOUBTED, LEAST, LONG, MOST, TRUSTED, Mixture, Stride
from crftrain.training.loop import Limits, fit
from crftrain.training.proof import Goal


def test_the_best_of_two_points_is_found_between_them():
    """Where neither gains by the labels, as at the end of a run."""
    rng, l2, l1 = np.random.default_rng(5), 0.3, 0.1
    for _ in range(20):
        mixture, (one, other) = Mixture(40), 0.15 * rng.standard_normal((2, 40)).astype(np.float32).astype(float)
        entropy = 50.0
        mixture.add(entropy, one.copy(), l2=l2, l1=l1)
        bound, t = mixture.add(entropy, other.copy(), l2=l2, l1=l1)
        tried = [phi(entropy, (1 - x) * one + x * other, l2=l2, l1=l1) for x in np.linspace(0, 1, 1001)]
        assert bound == pytest.approx(max(tried), abs=1e-4) and t == pytest.approx(np.argmax(tried) / 1000, abs=0.02)


def phi(entropy, g, *, l2, l1):
    return entropy - float((np.maximum(0.0, np.abs(g) - l1) ** 2).sum()) / (2 * l2)


@pytest.mark.parametrize("l2, l1", [(0.1, 0.05), (1e-3, 0.2), (5.0, 1.0)])
def test_a_mixture_proves_what_it_says_and_no_less_than_each_of_both(l2, l1):
    rng = np.random.default_rng(2)
    for scale in (0.01, 0.3, 3.0):
        mixture, bound = Mixture(30), 0.0
        for _ in range(6):
            entropy, g = rng.uniform(0.5, 2.0), scale * rng.standard_normal(30).astype(np.float32).astype(float)
            alone, last = certificate.lower_bound(entropy, g, l2=l2, l1=l1), bound
            bound, t = mixture.add(entropy, g.copy(), l2=l2, l1=l1)
            proved = phi(mixture.entropy, mixture.g.astype(float), l2=l2, l1=l1)
            assert 0 <= t <= 1 and bound == pytest.approx(max(0, proved), rel=1e-5, abs=1e-6)
            assert bound >= max(alone, last) * (1 - 1e-3)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "one label"])
def test_what_is_proved_under_one_strength_after_the_other_is_below_each_optimum(name):
    made = kind(name)
    n = made.corpus.n_sequences
    problem, _, opt = start("sag", made, l1=0.5 / n, l2=0.2 / n)
    for l1 in (0.5, 0.2, 0.7):
        there = problem.at(l1=l1 / n, l2=0.2 / n)
        if opt.objective.l1 != there.l1:
            opt.move_to(there)
        bounds = []
        for _ in range(12):
            opt.step()
            bounds.append(opt.lower_bound())
        algorithm, w = optimizers.get("owlqn"), np.zeros(problem.n_features)
        owlqn = algorithm.make(there, w, np.random.default_rng(1), **algorithm.defaults())
        fit(there, owlqn, tol=Goal(slope=1e-9), monitors=[Limits(steps=3000)])
        assert max(bounds) <= there.exact_objective(w) * (1 + 1e-6)
        assert bounds[-1] > 0


def test_steps_are_longer_where_each_pass_is_worth_more_than_all_before_and_shorter_where_it_is_worth_little():
    stride = Stride(BEGIN)
    lengths = [(stride.look(0.0), stride.length)[1] for _ in range(BEGIN)]
    assert lengths == [1.0] * (BEGIN - 1) + [LONG]
    for _ in range(20):
        assert not stride.look((1 + TRUSTED) / 2)
    assert stride.length == MOST
    assert not stride.look((TRUSTED + DOUBTED) / 2) and stride.length == MOST
    assert stride.look(DOUBTED / 2) and stride.length < MOST  # constants are searched again, once
    before = stride.length
    assert not stride.look(DOUBTED / 4) and stride.length < before
    before = stride.length
    assert not stride.look(DOUBTED / 2) and stride.length == before  # it mends already
    for k in range(40):
        stride.look(DOUBTED / (10 + k))
    assert stride.length == LEAST and stride.note
    other = Stride(0)
    other.restore(stride.state())
    assert other.state() == stride.state()


def test_steps_are_not_shortened_while_less_than_half_is_proved():
    stride = Stride(0)
    for t in (0.5, 0.2, 0.1, 0.05):
        stride.look(t, 0.4)
        assert stride.length >= 1
    stride.look(0.01, 0.6)
    assert stride.length < 1


def test_a_pass_that_is_worth_nothing_is_found_so_at_once(monkeypatch):
    """Where it has the same gradient, and less entropy."""
    g, asked = 0.03 * np.random.default_rng(1).standard_normal(50).astype(np.float32).astype(float), []
    mixture = Mixture(50)
    bound, _ = mixture.add(1.0, g.copy(), l2=0.01, l1=0.02)
    monkeypatch.setattr(_mixture, "beyond", lambda *arguments: asked.append(0) or beyond(*arguments))
    again, t = mixture.add(0.5, g.copy(), l2=0.01, l1=0.02)
    assert t == 0 and again == pytest.approx(bound, rel=1e-6) and len(asked) < 30


def test_steps_of_a_run_that_is_taken_up_on_a_path_are_as_long_as_without_a_break():
    made, algorithm, ends = larger(), optimizers.get("sag"), []
    problem = made.problem(l1=0.005, l2=0.01)
    one = algorithm.make(problem, np.zeros(problem.n_features), np.random.default_rng(1), **algorithm.defaults())
    for _ in range(9):
        one.step()
    one.move_to(problem.at(l1=0.002, l2=0.01))
    one.step()
    other = algorithm.make(one.objective, np.zeros(problem.n_features), np.random.default_rng(7), **algorithm.defaults())
    other.restore({key: np.array(value) for key, value in one.state().items()})
    other.rng.bit_generator.state = one.rng.bit_generator.state
    for each in (one, other):
        for _ in range(9):
            each.step()
        ends.append((each.w.tobytes(), each.lower_bound(), each.steps.pace))
    assert ends[0] == ends[1]


def test_a_path_goes_straight_on_and_no_weight_changes_its_sign():
    class At:
        def __init__(self, l1, l2=1.0):
            self.l1, self.l2 = l1, l2

    course, w = Course(), np.array([1.0, -1.0, 0.0, 0.5, 0.0])
    course.look_ahead(w, At(1.0), At(0.5))
    assert w.tolist() == [1.0, -1.0, 0.0, 0.5, 0.0]  # nothing is known yet
    w[:] = [1.5, -1.25, 0.25, 0.1, 0.0]
    course.look_ahead(w, At(0.5), At(0.25))
    assert w.tolist() == [2.0, -1.5, 0.5, 0.0, 0.0]
    at = w.copy()
    for there in (At(0.25), At(0.5)):  # no way, or back
        course.look_ahead(w, At(0.25), there)
        assert (w == at).all()


@pytest.mark.parametrize("name", ["auto", "sag"])
def test_every_point_of_a_path_satisfies_the_conditions_of_karush_kuhn_and_tucker(name):
    made, algorithm = larger(3, sequences=120), optimizers.get(name)
    problem = made.problem(l1=2 / 120, l2=0.5 / 120)
    opt = algorithm.make(problem, np.zeros(problem.n_features), np.random.default_rng(1), **algorithm.defaults())
    for k, l1 in enumerate((2.0, 1.0, 0.5, 0.25)):
        there = problem.at(l1=l1 / 120, l2=0.5 / 120)
        if k:
            assert opt.can_move_to(there)
            opt.move_to(there)
        assert fit(there, opt, tol=Goal(slope=1e-6), monitors=[Limits(steps=3000)]).reason == "converged"
        assert_optimal(there, opt.w, 1e-6 * there.gap_at_zero())
