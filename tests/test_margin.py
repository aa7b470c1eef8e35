"""The margin methods against plain twins that write every vector out, and what they promise."""

import math

import numpy as np
import pytest
import reference
from click.testing import CliRunner
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.cli.main import commands
from crftrain.errors import TrainingError

MARGIN = ["ap", "pa", "arow", "mira"]
OPTIONS = [
    ("ap", {}),
    ("pa", {"type": "0"}),
    ("pa", {"type": "1", "c": 0.05, "augment": 0.5}),
    ("pa", {"type": "2", "c": 0.3, "error_sensitive": False, "averaging": False}),
    ("arow", {"variance": 0.5, "gamma": 2.0}),
    ("arow", {"augment": 1.0}),
    ("mira", {"c": 0.3, "shrinking_size": 2}),
    ("mira", {"averaging": True, "augment": 0.2}),
]
IDS = [" ".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in OPTIONS]


def start(name, made, *, w=None, seed=1, **options):
    """(problem, w, optimiser)"""
    algorithm, problem = optimizers.get(name), made.problem()
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), **options})


def best_path(made, w, i, augment=0.0):
    """The path with the highest score and bonus by the textbook's recursion, and its lead over the gold one."""
    psi, e = reference.scores(made.corpus, made.layout, w, i)
    gold = reference.gold(made.corpus, i)
    bonus = np.full_like(psi, augment)
    bonus[np.arange(len(gold)), gold] = 0
    y, _ = reference.best_path(psi + bonus, e)
    return y, gold, reference.path_score(psi, e, y) - reference.path_score(psi, e, gold)


def difference(made, i, y, gold):
    return reference.features(made.corpus, made.layout, i, y) - reference.features(made.corpus, made.layout, i, gold)


class Twin:
    """Every weight at every step, and every iterate in the sum."""

    def __init__(self, name, made, w, options):
        self.made, self.w, self.name = made, w.copy(), name
        self.options = {**optimizers.get(name).defaults(), **options}
        self.sum, self.steps = np.zeros_like(w), 0
        self.variance = np.full_like(w, self.options.get("variance", 1.0))
        self.given, self.right = np.zeros(made.corpus.n_sequences), np.zeros(made.corpus.n_sequences)

    def step(self, i):
        if self.right[i] < self.options.get("shrinking_size", math.inf):
            y, gold, lead = best_path(self.made, self.w, i, self.options.get("augment", 0.0))
            errors, g = sum(a != b for a, b in zip(y, gold, strict=True)), difference(self.made, i, y, gold)
            self.right[i] = self.right[i] + 1 if errors == 0 else 0
            if g @ g > 0:
                getattr(self, self.name)(i, g, lead, errors)
        self.sum += self.w
        self.steps += 1

    def ap(self, i, g, lead, errors):
        self.w -= g

    def pa(self, i, g, lead, errors):
        c, loss = self.options["c"], max(0, lead + (math.sqrt(errors) if self.options["error_sensitive"] else 1))
        tau = {"0": loss / (g @ g), "1": min(c, loss / (g @ g)), "2": loss / (g @ g + 1 / (2 * c))}[self.options["type"]]
        self.w -= tau * g

    def arow(self, i, g, lead, errors):
        loss = max(0, lead + errors)
        self.w -= loss / (self.options["gamma"] + self.variance @ g**2) * self.variance * g
        if loss > 0:
            self.variance = 1 / (1 / self.variance + g**2 / self.options["gamma"])

    def mira(self, i, g, lead, errors):
        tau = min(max(0, (lead + errors) / (g @ g)), self.options["c"] - self.given[i])
        self.given[i] += tau
        self.w -= tau * g


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
@pytest.mark.parametrize("kind_name", KINDS)
def test_weights_and_averages_equal_the_twin(kind_name, name, options):
    """The mean that comes of a sum weighted by time is the plain mean of the iterates."""
    made = kind(kind_name, seed=2)
    w = made.weights(3, 0.3)  # where no two paths tie
    twin = Twin(name, made, w, options)
    _, _, opt = start(name, made, w=w, **options)
    draws = np.random.default_rng(1)
    for _ in range(3):
        opt.step()
        for i in draws.permutation(made.corpus.n_sequences):
            twin.step(i)
        np.testing.assert_allclose(w, twin.w, rtol=0, atol=1e-12 * max(1, np.abs(twin.w).max()))
        right = twin.sum / twin.steps if twin.options.get("averaging", name == "ap") else twin.w
        np.testing.assert_allclose(opt.solution(), right, rtol=0, atol=1e-12 * max(1, np.abs(right).max()))


@pytest.mark.parametrize("kind_name", ["plain", "full", "pair attributes", "real values"])
@pytest.mark.parametrize("options", [{"type": "0"}, {"type": "1", "c": 1e6}])
def test_passive_aggressive_meets_its_margin(kind_name, options):
    """After the update the gold path leads the one that beat it by just the square root of the wrong labels."""
    made = kind(kind_name, seed=4)
    _, w, opt = start("pa", made, w=made.weights(1, 0.5), averaging=False, **options)
    met = 0
    for i in np.tile(np.arange(made.corpus.n_sequences), 3):
        y, gold, _ = best_path(made, w, i)
        errors, g = sum(a != b for a, b in zip(y, gold, strict=True)), difference(made, i, y, gold)
        opt.steps.learn(np.array([i]))
        opt.steps.write(w, w)
        if g @ g > 0:
            assert -(g @ w) == pytest.approx(math.sqrt(errors), abs=1e-10)
            met += 1
    assert met > 2


def test_variances_only_shrink():
    made = larger()
    problem, w, opt = start("arow", made, variance=0.7)
    before = opt.steps.state()["d"]
    assert (before == 0.7).all()
    for _ in range(4):
        opt.step()
        after = opt.steps.state()["d"]
        assert (after > 0).all()
        assert (after <= before).all()
        assert (after < before).any()
        assert (w[after == 0.7] == 0).all()  # who has not moved is as unsure as at first
        before = after


@pytest.mark.parametrize("name", MARGIN)
def test_what_can_be_told_apart_is_learnt_without_a_mistake(name):
    """And then training ends by itself."""
    made = larger(noise=0.0, per_token=(1, 1))
    _, _, opt = start(name, made)
    for _ in range(60):
        step = opt.step()
        if step.done:
            break
    assert step.done == "a pass that changed nothing"
    assert (made.decode(opt.w)[0] == made.corpus.label).all()


@pytest.mark.parametrize("name", MARGIN)
def test_epsilon_stops(name):
    _, _, opt = start(name, larger(), epsilon=1e9)
    assert opt.step().done == "mean loss below 1e+09"


def test_mira_gives_a_sequence_no_more_than_c():
    _, _, opt = start("mira", larger(), c=0.01)
    for _ in range(5):
        opt.step()
    given = opt.steps.state()["given"]
    assert given.max() == pytest.approx(0.01)
    assert given.min() >= 0


def test_sequences_that_mira_left_out_take_part_again_before_it_ends():
    made = larger(noise=0.0, per_token=(1, 1), sequences=30)
    problem, _, opt = start("mira", made, shrinking_size=1)
    passes = []
    for _ in range(60):
        before = problem.passes
        step = opt.step()
        passes.append(problem.passes - before)
        if step.done:
            break
    assert step.done
    assert min(passes) < 1
    assert passes[-1] == 1


@pytest.mark.parametrize("name", MARGIN)
def test_weights_beyond_numbers_are_an_error(name):
    made = larger(values=True)
    made.corpus.nodes.value[:] *= 1e200
    _, _, opt = start(name, made)
    with pytest.raises(TrainingError):
        for _ in range(30):
            opt.step()


# ---- as people use it


@pytest.mark.parametrize("name", MARGIN)
def test_there_is_no_penalty_to_ask_for(name, tmp_path):
    result = CliRunner().invoke(commands, ["learn", "-a", name, "--lambda", "1/n", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert f"{name} has no penalty" in result.output


@pytest.mark.parametrize("name", MARGIN)
def test_a_model_of_margins_tags_dumps_and_gives_marginals(crftrain, train_file, name):
    assert crftrain("learn", "-q", "-a", name, "-p", "epsilon=0.01", "--passes", "5", "train.txt").status == 0
    tagged = crftrain("tag", "--marginals", "all", "model.bin", "train.txt")
    assert tagged.status == 0
    for line in filter(None, tagged.lines):
        p = [float(part.rpartition(":")[2]) for part in line.split()[4:]]
        assert sum(p) == pytest.approx(1, abs=1e-4 * len(p))
    assert crftrain("dump", "model.bin").status == 0
