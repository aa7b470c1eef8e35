"""Natural gradient descent against its twin and against sgd; transforms and their tables."""

import math

import numpy as np
import pytest
import reference
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain._sequences import Sequences
from crftrain.errors import TrainingError
from crftrain.optimizers.descent import _compiled as transforms
from crftrain.optimizers.descent._schedule import Schedule
from crftrain.optimizers.descent.ngd import natural
from crftrain.optimizers.descent.sgd import Sgd
from crftrain.text.encode import Corpus, Observations

NGD, SGD = optimizers.get("ngd"), optimizers.get("sgd")
FUNCTIONS = {  # as the paper writes them, and their slopes at 0 for epsilon 0.1
    "Reciprocal": (lambda x, epsilon: x / (x**2 + epsilon), 10),
    "Arctan": (lambda x, epsilon: math.atan(x / math.sqrt(epsilon)), math.sqrt(10)),
    "Erf": (lambda x, epsilon: math.erf(5 * math.sqrt(math.pi) * 0.1 / epsilon * x), 10),
    "Gudermann": (lambda x, epsilon: 2 * math.atan(math.exp(x / epsilon)) - math.pi / 2, 10),
}


# ---- the functions


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_the_paper(name):
    function, slope = FUNCTIONS[name]
    x = np.linspace(-3, 3, 501)
    for epsilon in (0.1, 0.01, 0.5):
        made = getattr(transforms, name)(epsilon, table=False)
        np.testing.assert_allclose(made.values(x), [function(v, epsilon) for v in x], rtol=1e-12, atol=1e-14)
        assert made.values([1e-9])[0] / 1e-9 == pytest.approx(made.slope, rel=1e-9)
    assert getattr(transforms, name)(0.1).slope == pytest.approx(slope, rel=1e-12)


def test_the_slope_of_arctan_with_a_hundredth():
    assert transforms.Arctan(0.01).slope == pytest.approx(10)


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_odd_and_monotone(name, table):
    made = getattr(transforms, name)(0.1, table=table)
    x = np.concatenate([np.geomspace(1e-12, 2, 3000), [1.0]])
    x.sort()
    y = made.applied(x)
    assert (made.applied(-x) == -y).all()
    assert made.applied([0.0])[0] == 0
    rising = x <= math.sqrt(0.1) if name == "Reciprocal" else x < np.inf
    assert (np.diff(y[rising]) >= 0).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 1e-3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_step_with_a_table_is_within_1e_4_of_one_without(name, epsilon):
    """In rows of mixed sizes, in rows of small numbers, and beyond the table."""
    made, exact = getattr(transforms, name)(epsilon), getattr(transforms, name)(epsilon, table=False)
    rng = np.random.default_rng(0)
    for scale in (1e-9, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 5.0):
        for size in (1, 3, 8, 22, 24, 30):
            x = rng.uniform(-scale, scale, size)
            np.testing.assert_allclose(made.applied(x), exact.applied(x), rtol=0, atol=2e-5)
            np.testing.assert_allclose(made.applied(x, -0.3), -0.3 * made.applied(x), rtol=1e-12, atol=1e-300)


def test_a_function_too_steep_for_a_table_does_without():
    made = transforms.Reciprocal(1e-9)
    x = np.linspace(-1, 1, 101)
    np.testing.assert_array_equal(made.applied(x), made.values(x))


# ---- the steps


def start(made, *, function=None, l2=0.1, w=None, eta=0.3, **options):
    """(w, optimiser)"""
    problem = made.problem(l2=l2)
    w, rng = np.zeros(problem.n_features) if w is None else w, np.random.default_rng(1)
    if function is not None:
        return w, natural(problem, w, rng, function, eta=eta)
    return w, NGD.make(problem, w, rng, **{**NGD.defaults(), "eta": eta, **options})


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_with_the_identity_it_is_sgd(name, table):
    made = kind(name, seed=2)
    w, opt = start(made, function=transforms.Identity(0.1, table=table), w=made.weights(3, 0.3))
    problem, v = made.problem(l2=0.1), made.weights(3, 0.3)
    sgd = SGD.make(problem, v, np.random.default_rng(1), **{**SGD.defaults(), "eta": 0.3})
    for _ in range(3):
        opt.step()
        sgd.step()
        np.testing.assert_allclose(w, v, rtol=0, atol=1e-12 * max(1, np.abs(v).max()))


def tail(corpus, i):
    """The sequences from number i on, as a corpus of their own."""

    def cut(o):
        begin = o.ptr[first]
        return o and Observations(o.ptr[first:] - begin, o.attr[begin:].copy(), None if o.value is None else o.value[begin:].copy())

    first = corpus.seq[i]
    return Corpus(corpus.seq[i:] - first, corpus.label[first:], cut(corpus.nodes), corpus.pairs and cut(corpus.pairs), corpus.n_labels)


@pytest.mark.parametrize("name", KINDS)
def test_with_the_identity_it_takes_in_other_sequences_as_sgd_does(name):
    made = kind(name, seed=2)
    w, opt = start(made, function=transforms.Identity(0.1))
    problem, v = made.problem(l2=0.1), np.zeros(len(w))
    sgd = SGD.make(problem, v, np.random.default_rng(1), **{**SGD.defaults(), "eta": 0.3})
    for i in (made.corpus.n_sequences // 2, 1, 0):
        for optimiser in (opt, sgd):
            Sgd.take_in(optimiser, Sequences(tail(made.corpus, i), made.layout))
        np.testing.assert_allclose(Sgd.settled(opt), sgd.settled(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "function", "epsilon"),
    [
        ({"update": "u1"}, "Reciprocal", 0.1),
        ({}, "Arctan", 0.1),
        ({"epsilon": 0.01}, "Arctan", 0.01),
        ({"transform": "erf"}, "Erf", 0.1),
        ({"transform": "gd"}, "Gudermann", 0.1),
    ],
)
@pytest.mark.parametrize("name", KINDS)
def test_a_weight_moves_by_the_transform_of_its_whole_gradient(name, options, function, epsilon):
    made = kind(name, seed=2)
    w, opt = start(made, w=made.weights(3, 0.3), table="off", **options)
    twin, f = w.copy(), FUNCTIONS[function][0]
    n, draws, schedule = made.corpus.n_sequences, np.random.default_rng(1), Schedule("bottou", decay=0.1 * made.corpus.n_sequences)
    for k in range(2):
        opt.step()
        for i, eta in zip(draws.permutation(n), schedule.rates(0.3, k * n, n, n), strict=True):
            g = reference.enumerate_paths(made.corpus, made.layout, twin, i).gradient
            twin = (twin - eta * np.array([f(x, epsilon) for x in g])) / (1 + eta * 0.1)
        np.testing.assert_allclose(w, twin, rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{"update": "u1"}, {}, {"transform": "erf"}, {"transform": "gd"}])
def test_tables_change_little(options):
    made = larger()
    (w, opt), (v, exact) = start(made, **options), start(made, table="off", **options)
    for _ in range(3):
        opt.step()
        exact.step()
    np.testing.assert_allclose(w, v, rtol=0, atol=2e-3)
    assert (w != v).any()


def test_u1_has_a_function_of_its_own():
    with pytest.raises(TrainingError, match="--update u1"):
        start(larger(), update="u1", transform="erf")
