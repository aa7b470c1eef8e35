"""What an algorithm declares, it can; and whatever happened before, its objective is the whole one."""

import numpy as np
import pytest
from problems import larger

from crftrain import optimizers
from crftrain.chain._sequences import Sequences
from crftrain.chain.layout import Resizing, arrange, complete
from crftrain.chain.objective import Objective
from crftrain.chain.sharded import sharded
from crftrain.errors import TrainingError
from crftrain.optimizers.base import Optimiser
from crftrain.training import train as learn
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength

NAMES = optimizers.names()


def path(name, made):
    """(settings, training): two strengths of an algorithm, each stopped after a pass."""
    algorithm = optimizers.get(name)
    none, falling = (Strength(0.0),), (Strength(10.0, True), Strength(1.0, True))
    lambdas, l1s = (falling, none) if "l2" in algorithm.solves else (none, falling) if "l1" in algorithm.solves else (none * 2, none)
    limits = {"max_passes": 1, "passes": 2}
    settings = Settings(paths=("train.txt",), algorithm=algorithm, lambdas=lambdas, l1s=l1s, **limits)
    return settings, learn.Training(made.corpus, made.vocabulary, 0, arrange(made.corpus, made.vocabulary), 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_stopped_early_tells_the_objective_of_the_whole(name):
    """At every point, after a few passes or within the first."""
    made = larger(sequences=85)
    settings, training = path(name, made)
    w, before = np.zeros(training.layout.n_features), None
    for point, (l2, l1) in enumerate(settings.points):
        outcome, before = learn.fit_point(settings, training, point=point, w=w, before=before)
        n = training.corpus.n_sequences
        whole = made.problem(l2=l2.at(n), l1=l1.at(n))
        assert before.objective.n_sequences == n
        assert (before.objective.l2, before.objective.l1) == (l2.at(n), l1.at(n))
        assert outcome.objective == pytest.approx(whole.exact(outcome.w)[0], rel=1e-12)


# ---- what is declared, and nothing is looked for


CAPABILITIES = {"movable": ("move_to",), "streams": ("take_in", "settled", "resized")}


def begun(name, made=None, l2=1.0, **options):
    """An optimiser after a step; l2 as a multiple of 1/n, where it takes any."""
    algorithm, made = optimizers.get(name), made or larger()
    problem = made.problem(l2=(l2 if "l2" in algorithm.solves else 0.0) / made.corpus.n_sequences)
    asked = {**algorithm.defaults(), **options}
    optimiser = algorithm.make(problem, np.zeros(problem.n_features), np.random.default_rng(1), **asked)
    optimiser.step()
    return optimiser


@pytest.mark.parametrize("name", NAMES)
def test_what_is_declared_is_there_and_nothing_else_is(name):
    declared, optimiser = optimizers.get(name), begun(name)
    assert isinstance(optimiser, declared.optimiser)
    for capability, methods in CAPABILITIES.items():
        assert getattr(type(optimiser), capability) == getattr(declared.optimiser, capability)
        for method in methods:
            assert (getattr(type(optimiser), method) is not getattr(Optimiser, method)) >= getattr(optimiser, capability), method
    assert (declared.online, declared.streams, declared.gap) == tuple(
        getattr(declared.optimiser, fact) for fact in ("online", "streams", "gap")
    )


@pytest.mark.parametrize("name", [name for name in NAMES if optimizers.get(name).optimiser.movable])
def test_a_move_to_another_strength_ends_at_that_optimum(name):
    """What it knows of the sequences goes with it, and w is the same array."""
    optimiser = begun(name)
    other, w = optimiser.objective.at(l2=5 * optimiser.objective.l2, l1=0.0), optimiser.w
    assert optimiser.can_move_to(other)
    assert not optimiser.can_move_to(optimiser.objective.at(l2=1.0, l1=1.0))
    optimiser.move_to(other)
    assert optimiser.objective is other
    for _ in range(80):
        optimiser.step()
    assert optimiser.w is w
    _, gap, bound = other.exact(optimiser.solution())
    assert bound < 1e-6
    assert gap < 1e-3 * other.gap_at_zero()


@pytest.mark.parametrize("name", [name for name in NAMES if optimizers.get(name).streams])
def test_a_stream_goes_on_in_a_larger_layout(name):
    """What is taken in after a move to more attributes is learnt as if there had been as many from the start."""
    made = larger()
    small, large = (complete(4, 60 + more, transitions=True) for more in (0, 5))
    reached = []
    for first in (small, large):
        weights = []
        for layout in {first.n_features: first, large.n_features: large}.values():
            problem = type(made)(made.corpus, made.vocabulary, layout).problem(l2=0.01)
            algorithm = optimizers.get(name)
            options = {**algorithm.defaults(), "eta": 0.1}
            optimiser = algorithm.make(problem, np.zeros(layout.n_features), np.random.default_rng(1), **options)
            if weights:
                optimiser.restore(weights[-1].resized(Resizing(first, large)))
            if not weights or first is small:
                optimiser.take_in(Sequences(made.corpus, layout))
            weights.append(optimiser)
        if first is large:
            optimiser.take_in(Sequences(made.corpus, large))
        reached.append(optimiser.settled().copy())
    np.testing.assert_allclose(reached[0], reached[1], rtol=1e-12, atol=1e-15)


class Facade:
    """An objective that has what chain.objective.Objective promises, and nothing else."""

    def __init__(self, problem):
        self._problem = problem

    def __getattr__(self, name):
        if name not in PROMISED:
            raise AssertionError(f"asked for {name}")
        found = getattr(self._problem, name)
        return (lambda **kept: Facade(found(**kept))) if name == "at" else found

    @property
    def passes(self):
        return self._problem.passes


PROMISED = {*Objective.__annotations__, *(name for name in vars(Objective) if not name.startswith("_"))}


@pytest.mark.parametrize("name", [name for name in NAMES if optimizers.get(name).optimiser.shards])
def test_who_can_do_with_shards_asks_for_nothing_but_what_an_objective_promises(name):
    algorithm, made = optimizers.get(name), larger()
    reached = []
    for wrap in (Facade, lambda problem: problem):
        problem = made.problem(l2=0.01)
        if name == "auto":  # which chooses by where the data are
            problem = sharded(made.corpus, made.layout, [0, 2, problem.n_sequences], l2=0.01)
        optimiser = algorithm.make(wrap(problem), np.zeros(problem.n_features), np.random.default_rng(1), **algorithm.defaults())
        for _ in range(5):
            optimiser.step()
        reached.append(optimiser.solution().tobytes())
    assert reached[0] == reached[1]


# ---- what does not go together is said before anything is read


REFUSED = [
    ("saga", {"draws": "two"}, (0.0, 1.0), {}, "--draws two"),
    ("sgd", {"schedule": "pegasos"}, (0.0, 0.0), {}, "--schedule pegasos"),
    ("sgd", {"average": False, "average_from": 2}, (1.0, 0.0), {}, "--no-average"),
    ("sgd", {"schedule": "inverse"}, (1.0, 0.0), {"stream": True}, "--schedule inverse"),
    ("ngd", {"update": "u1", "transform": "erf"}, (1.0, 0.0), {}, "--update u1"),
    ("sag", {}, (1.0, 0.0), {"stream": True}, "sag cannot learn from a stream; these can: psa, sgd"),
    ("lbfgs", {}, (1.0, 1.0), {}, "lbfgs cannot solve --l1; these can: "),
    ("oeg", {}, (0.0, 0.0), {}, "oeg needs --lambda above 0"),
    ("ap", {}, (1.0, 0.0), {}, "ap has no penalty"),
]


@pytest.mark.parametrize("name, options, strengths, wanted, said", REFUSED)
def test_what_does_not_go_together_is_refused_without_data(name, options, strengths, wanted, said):
    (refusal,) = optimizers.get(name).check(options, *strengths, **wanted)
    assert refusal.startswith(said)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_go_together(name):
    algorithm = optimizers.get(name)
    assert (
        algorithm.check({}, float("l2" in algorithm.solves), 0.0 if "no-l2" in algorithm.solves or "l2" in algorithm.solves else 1.0) == []
    )


def test_options_that_do_not_go_together_make_no_optimiser():
    algorithm, problem = optimizers.get("ngd"), larger().problem(l2=0.1)
    with pytest.raises(TrainingError, match="--update u1: --transform erf, expected --update u2"):
        algorithm.make(problem, np.zeros(problem.n_features), None, **{**algorithm.defaults(), "update": "u1", "transform": "erf"})


@pytest.mark.parametrize(
    "asked",
    [
        ("-a", "saga", "--draws", "two", "--l1", "0.1"),
        ("-a", "sgd", "--no-average", "--average-from", "2"),
        ("-a", "sgd", "--lambda", "0", "--schedule", "pegasos"),
        ("-a", "ngd", "--update", "u1", "--transform", "erf"),
        ("-a", "sgd", "--stream", "--lambda", "0.1", "--schedule", "inverse"),
    ],
)
def test_wrong_usage_has_status_2_before_anything_is_read(crftrain, asked):
    ended = crftrain("learn", *asked, "there-is-no-such-file.txt")
    assert ended.status == 2
    assert "no-such-file" not in ended.err
