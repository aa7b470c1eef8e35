"""Sums do not depend on their order: any number of threads gives the same bits, and rounding costs no more than is stated."""

import math
from dataclasses import replace

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain._order_free import largest_sum, limit
from crftrain.chain._parts import even, shared_numbers
from crftrain.chain.rounding import Rounding

WAYS = {"scaled": 0.5, "logarithms": 300.0}
THREADS = (2, 3, 7, 12)  # more than there are sequences, so that some parts are empty


def everything(made, w, *, threads=1, listed=False, keep=None, l2=0.3):
    """All that batch methods ask of a problem: value, gradient, products, diagonal."""
    problem = made.problem(l2=l2, threads=threads)
    if listed:
        problem.list_weights()
    g, product, anew, diagonal = (np.full_like(w, np.nan) for _ in range(4))
    curvature = problem.curvature(keep=keep)
    rng = np.random.default_rng(1)
    weight = rng.random(made.corpus.n_sequences) * 5
    curvature.sample(np.where(weight < 1, 0, weight))
    value = problem.value_and_gradient(w, g, keep=curvature)
    v = rng.normal(0, 1, len(w))
    curvature.times(v, product)
    problem.curvature(w).times(v, anew)
    problem.diagonal(w).times(np.ones_like(w), diagonal)
    return [np.array([value, problem.value(w)]), g, product, anew, diagonal]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
def test_any_number_of_threads_gives_the_same_bits(name, way):
    made = kind(name, seed=3)
    w = made.weights(4, WAYS[way])
    one = everything(made, w)
    for threads in THREADS:
        for mine, theirs in zip(one, everything(made, w, threads=threads), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "changes", [{}, {"values": True}, {"labels": 20}, {"features": "full"}, {"transitions": "observed", "lattice": "arcs"}]
)
def test_nor_does_a_list_of_weights_or_what_is_kept_change_a_bit(changes):
    made = larger(**changes)
    w = made.weights(5, 0.7)
    one = everything(made, w)
    for options in ({"listed": True}, {"listed": True, "threads": 3}, {"keep": 20, "threads": 2}, {"keep": 0}):
        for mine, theirs in zip(one, everything(made, w, **options), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("l2", [0.0, 1.0, 1e6], ids=["without l2", "l2", "l2 beyond the residuals"])
@pytest.mark.parametrize("values", [False, True])
def test_rounding_errors_stay_within_what_is_stated(values, l2):
    """Against the sums of the sequences' gradients, each exact to its last bits, made by fsum."""
    made = larger(sequences=60, values=values)
    w, n = made.weights(6), made.corpus.n_sequences
    g = np.empty_like(w)
    made.problem(l2=l2).value_and_gradient(w, g)
    single = np.empty((n, len(w)))
    for i in range(n):
        replace(made, corpus=made.corpus.take(np.array([i]))).problem().value_and_gradient(w, single[i])
    exact = np.array([math.fsum([*column / n, l2 * x]) for column, x in zip(single.T, w, strict=True)])
    unit = limit(max(largest_sum(made.corpus) / n, l2 * np.abs(w).max())) / 2**51
    occurrences = np.bincount(made.corpus.nodes.attr, minlength=made.layout.n_attributes)
    count = np.concatenate([np.repeat(occurrences, np.diff(made.layout.ptr)), np.full(len(made.layout.transition), n)])
    allowed = (count + 1) * unit * (1.5 if values else 0.5) + 1e-15 * (count / n + np.abs(exact))
    assert (np.abs(g - exact) <= allowed).all()


def test_tangents_of_any_size_are_summed_as_well_and_alike_on_any_number_of_threads():
    """A product that outgrows its unit, or is far too small for it, is done again."""
    made = larger()
    w = made.weights(7)
    v = made.weights(8)
    results = []
    for threads in (1, 3):
        curvature, out = made.problem(l2=0.2, threads=threads).curvature(w), np.empty_like(w)
        for scale in (1.0, 1e8, 1e-8, 3.0, 0.0, 1.0):
            curvature.times(scale * v, out)
            results.append(out.copy())
    for one, three in zip(results[:6], results[6:], strict=True):
        np.testing.assert_array_equal(one, three)
    for scaled, scale in zip(results[:6], (1.0, 1e8, 1e-8, 3.0, 0.0, 1.0), strict=True):
        np.testing.assert_allclose(scaled, scale * results[0], rtol=0, atol=1e-9 * scale * np.abs(results[0]).max())


def test_a_product_is_done_again_only_where_its_unit_was_wrong():
    """Tangents are foreseen by the vector's length; in another direction they may be much larger for it."""
    made = larger()
    problem = made.problem(l2=0.2)
    curvature, out, v = problem.curvature(made.weights(7)), np.empty(problem.n_features), made.weights(8)
    curvature.times(v, out)
    problem.passes = 0.0
    for scale in (1.5, 0.5, 1e6, 1e-9):
        curvature.times(scale * v, out)
    assert problem.passes == 4
    curvature.times(np.ones_like(v) * 1e-3, out)  # which moves no marginal but at the ends
    assert 5 <= problem.passes <= 6


def test_rounding_to_no_unit_leaves_numbers_as_they_are():
    assert limit(0.0) == limit(math.inf) == limit(math.nan) == 0
    assert [limit(x) for x in (1.0, 1.0001, 0.7, 4.0, 5e-3)] == [1, 2, 1, 4, 2**-7]


def test_the_largest_sum_is_that_of_the_values_sizes_and_never_below_the_tokens():
    made = kind("real values")
    nodes = made.corpus.nodes
    sums = np.bincount(nodes.attr, np.abs(nodes.value))
    assert (
        max(made.corpus.n_tokens, sums.max()) <= largest_sum(made.corpus) <= max(made.corpus.n_tokens, sums.max() + len(nodes.attr) / 1024)
    )
    assert largest_sum(kind("no attributes at all").corpus) == kind("no attributes at all").corpus.n_tokens


@pytest.mark.parametrize("penalties", [(1.0, 0.0), (0.0, 0.2)], ids=["l2", "l1"])
@pytest.mark.parametrize("name", ["lbfgs", "owlqn", "newton-cg", "gis"])
def test_batch_methods_end_in_the_same_bits(name, penalties):
    algorithm, made = optimizers.get(name), larger()
    if algorithm.check({}, *penalties):
        pytest.skip(f"{name} does not solve that")
    n, found = made.corpus.n_sequences, []
    for threads in (1, 2, 7):
        problem, w = made.problem(l2=penalties[0] / n, l1=penalties[1] / n, threads=threads), np.zeros(made.layout.n_features)
        optimiser = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
        for _ in range(12):
            if optimiser.step().done:
                break
        found.append(w)
    for w in found[1:]:
        np.testing.assert_array_equal(w, found[0])


def test_what_threads_take_is_what_they_share():
    """Not a vector of all weights each: what a part alone has, or is the first to have, takes nothing."""
    made = larger(features="full", sequences=60, attributes=5000, per_token=(8, 12), labels=4)
    corpus, layout = made.corpus, made.layout
    cuts = even(corpus, 4)
    of_parts = [set(corpus.nodes.attr[slice(*corpus.nodes.ptr[corpus.seq[cuts[k : k + 2]]])].tolist()) for k in range(4)]
    expected = 4 * (sum(map(len, of_parts)) - len(set.union(*of_parts)))
    assert 0 < shared_numbers(corpus, layout, cuts) == expected < 0.5 * 3 * layout.n_features
    assert shared_numbers(corpus, layout, even(corpus, 1)) == 0


@pytest.mark.parametrize("wanted", [0.0, 5e-324, 1.0, 2.0**1020, 1e308, np.inf, np.nan])
def test_a_product_is_done_again_a_few_times_at_most(wanted):
    rounding, attempts = Rounding(1.0), 0
    for _ in rounding.attempts(1.0):
        rounding.wanted, attempts = wanted, attempts + 1
        assert attempts < 4
