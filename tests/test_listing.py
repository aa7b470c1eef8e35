"""Listed weights are gathered and scattered as by their blocks, to the bit."""

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain._occurrence_list import list_weights, listed_bytes
from crftrain.training.train import Training


def everything(problem, w, v):
    """The value, its gradient, a product that is kept and one computed anew, and the Hessian's diagonal."""
    g, kept, anew, diagonal = (np.empty_like(w) for _ in range(4))
    curvature = problem.curvature()
    value = problem.value_and_gradient(w, g, keep=curvature)
    curvature.times(v, kept)
    problem.curvature(w).times(v, anew)
    problem.diagonal(w).times(np.ones(len(w)), diagonal)
    return np.concatenate([[value, problem.value(w)], g, kept, anew, diagonal]).tobytes()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scale", [0.5, 100.0], ids=["scaled", "logarithms"])
@pytest.mark.parametrize("name", KINDS)
def test_the_list_gives_the_bits_of_the_blocks(name, scale, threads):
    made = kind(name, seed=5)
    problem, w, v = made.problem(l2=0.2, threads=threads), made.weights(1, scale), made.weights(2)
    right = everything(problem, w, v)
    list_weights(problem.sequences, problem.layout)
    assert everything(problem, w, v) == right
    list_weights(problem.sequences, problem.layout)  # once is enough
    assert everything(problem, w, v) == right


@pytest.mark.parametrize("values", [False, True])
def test_long_sequences_of_attributes_met_again(values):
    """An attribute that comes again while the sums of its last time are still on their way."""
    made = larger(3, values=values, attributes=9, per_token=(3, 6), length=(20, 50), dense=False)
    problem, w, v = made.problem(), made.weights(1), made.weights(2)
    right = everything(problem, w, v)
    list_weights(problem.sequences, problem.layout)
    assert everything(problem, w, v) == right


@pytest.mark.parametrize("algorithm", ["sag", "saga", "svrg"])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("batch", [1, 3])
def test_steps_go_the_same_way_by_the_list(algorithm, name, batch, monkeypatch):
    algorithm, met = optimizers.get(algorithm), []
    for by_list in (False, True):
        monkeypatch.setattr("crftrain.optimizers.loop._compiled.few", lambda n_bytes, n, by_list=by_list: by_list)
        problem = kind(name, seed=5).problem(l2=0.05)
        w = np.zeros(problem.n_features)
        optimiser = algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), "batch": batch})
        for _ in range(3):
            optimiser.step()
        met.append(w.tobytes())
    assert met[0] == met[1]


@pytest.mark.parametrize("name", KINDS)
def test_the_list_is_as_large_as_is_said_beforehand(name):
    made = kind(name, seed=5)
    o, sizes, problem = made.corpus.nodes, np.diff(made.layout.ptr), made.problem()
    met = sum(sizes[a] for a in o.attr if a >= made.layout.dense)
    assert listed_bytes(made.corpus, made.layout) == met * (8 if o.value is None else 16)
    training = Training(made.corpus, made.vocabulary, made.layout.dense, made.layout, 0.0)
    assert training.sizes.listed_bytes == listed_bytes(problem.sequences.corpus, problem.layout)
