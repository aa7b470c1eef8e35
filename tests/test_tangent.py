"""Hessian-vector products: H is the derivative of the gradient, symmetric, and bounded below; no way of computing it matters."""

import numpy as np
import pytest
from problems import KINDS, instance, kind, larger
from reference import chain, scores

from crftrain.chain._tangent import kept_bytes
from crftrain.errors import TrainingError

SCALES = pytest.mark.parametrize("scale", [0.5, 100.0], ids=["scaled", "logarithms"])


def product(problem, w, v, **options):
    """H(w) v, of a curvature filled at w."""
    curvature, out = problem.curvature(**options), np.empty_like(w)
    problem.value_and_gradient(w, out, keep=curvature)
    out[:] = np.nan  # whatever was there before must not matter
    curvature.times(v, out)
    return out


def slope_of_gradients(problem, w, v, h):
    """(grad f(w + h v) - grad f(w - h v)) / 2h"""
    up, down = np.empty_like(w), np.empty_like(w)
    problem.value_and_gradient(w + h * v, up)
    problem.value_and_gradient(w - h * v, down)
    return (up - down) / (2 * h)


@pytest.mark.parametrize("ad", [False, True], ids=["dp", "ad"])
@SCALES
@pytest.mark.parametrize("name", KINDS)
def test_product_is_the_central_difference_of_gradients(name, scale, ad):
    made = kind(name, seed=3)
    problem, w, v = made.problem(l2=0.3), made.weights(4, scale), made.weights(5)
    right = slope_of_gradients(problem, w, v, 1e-5)
    np.testing.assert_allclose(product(problem, w, v, ad=ad), right, atol=1e-6 * max(1, np.abs(right).max()))


@pytest.mark.parametrize("name", KINDS)
def test_product_of_many_positions(name):
    made = instance(1, **{**KINDS[name], "length": (30, 70), "sequences": 3})
    problem, w, v = made.problem(l2=0.3), made.weights(4, 0.3), made.weights(5)
    right = slope_of_gradients(problem, w, v, 1e-5)
    np.testing.assert_allclose(product(problem, w, v), right, atol=1e-6 * max(1, np.abs(right).max()))


@SCALES
@pytest.mark.parametrize("name", KINDS)
def test_the_hessian_is_symmetric_and_bounded_below(name, scale):
    """u'Hv = v'Hu and v'Hv >= l2 |v|^2."""
    made = kind(name, seed=6)
    problem, w = made.problem(l2=0.3), made.weights(7, scale)
    curvature = problem.curvature()
    problem.value_and_gradient(w, np.empty_like(w), keep=curvature)
    vectors = [made.weights(seed) for seed in range(4)]
    images = [np.empty_like(w) for _ in vectors]
    for v, image in zip(vectors, images, strict=True):
        curvature.times(v, image)
        assert v @ image >= 0.3 * (v @ v) * (1 - 1e-12)
    for k in range(4):
        for m in range(k):
            assert vectors[k] @ images[m] == pytest.approx(vectors[m] @ images[k], rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_the_hessian_is_linear(name):
    made = kind(name, seed=6)
    problem, w, u, v = made.problem(l2=0.3), made.weights(7), made.weights(8), made.weights(9)
    right = 2 * product(problem, w, u) - 3 * product(problem, w, v)
    np.testing.assert_allclose(product(problem, w, 2 * u - 3 * v), right, atol=1e-12)
    assert (product(problem, w, 0 * u) == 0).all()


@pytest.mark.parametrize("threads", [1, 2])
@SCALES
@pytest.mark.parametrize("name", KINDS)
def test_what_is_kept_gives_the_bits_of_what_is_computed_anew(name, scale, threads):
    made = kind(name, seed=8)
    problem, w, v = made.problem(l2=0.1, threads=threads), made.weights(1, scale), made.weights(2)
    kept = product(problem, w, v)
    for keep in (0, 1, 3, 1000):
        assert product(problem, w, v, keep=keep).tobytes() == kept.tobytes()
    anew = np.empty_like(w)
    problem.curvature(w).times(v, anew)
    if made.layout.sparse:  # the pair marginals of a gradient come from lanes, in another order of additions
        np.testing.assert_allclose(anew, kept, rtol=1e-12, atol=1e-14)
    else:
        assert anew.tobytes() == kept.tobytes()


@SCALES
@pytest.mark.parametrize("name", KINDS)
def test_differentiated_recursions_agree(name, scale):
    made = instance(1, **{**KINDS[name], "length": (5, 40), "sequences": 4})
    problem, w, v = made.problem(l2=0.1), made.weights(1, scale), made.weights(2)
    right = product(problem, w, v)
    np.testing.assert_allclose(product(problem, w, v, ad=True), right, rtol=0, atol=1e-9 * max(1, np.abs(right).max()))


def test_labels_that_are_all_but_certain_keep_their_digits():
    """Where p(1 - p) is 1e-7, its tangent still is that of the log domain's own way."""
    made = kind("plain", seed=2)
    problem, v = made.problem(), made.weights(3)
    w = 1e2 * made.weights(4) / np.abs(made.weights(4)).max()
    right = slope_of_gradients(problem, w, v, 1e-4)
    np.testing.assert_allclose(product(problem, w, v), right, atol=1e-6 * np.abs(right).max())


@pytest.mark.parametrize("name", ["plain", "full", "pair attributes", "many labels", "real values"])
def test_any_number_of_threads_computes_the_same(name):
    made = kind(name, seed=12)
    w, v = made.weights(1), made.weights(2)
    right = product(made.problem(l2=0.1), w, v)
    for threads in (2, 3, 16):
        problem = made.problem(l2=0.1, threads=threads)
        first, second = product(problem, w, v), product(problem, w, v, keep=2)
        np.testing.assert_allclose(first, right, atol=1e-13)
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("name", KINDS)
def test_nothing_beside_the_vectors_is_read_or_written(name):
    made = kind(name, seed=10)
    problem, n = made.problem(l2=0.1), made.layout.n_features
    w, v, out = np.full(n + 128, np.nan), np.full(n + 128, np.nan), np.full(n + 128, np.pi)
    w[64 : n + 64], v[64 : n + 64] = made.weights(11), made.weights(12)
    curvature = problem.curvature()
    problem.value_and_gradient(w[64 : n + 64], out[64 : n + 64], keep=curvature)
    curvature.times(v[64 : n + 64], out[64 : n + 64])
    assert out[64 : n + 64].tobytes() == product(problem, w[64 : n + 64].copy(), v[64 : n + 64].copy()).tobytes()
    assert (np.delete(out, np.s_[64 : n + 64]) == np.pi).all()


@pytest.mark.parametrize("name", KINDS)
def test_keeping_changes_neither_value_nor_gradient(name):
    made = kind(name, seed=5)
    problem, w = made.problem(l2=0.2), made.weights(6)
    g, h = np.empty_like(w), np.empty_like(w)
    assert problem.value_and_gradient(w, g) == problem.value_and_gradient(w, h, keep=problem.curvature())
    assert g.tobytes() == h.tobytes()


# ---- a sample of the sequences


@pytest.mark.parametrize("keep", [None, 0])
@pytest.mark.parametrize("name", ["plain", "pair attributes", "real values, full"])
def test_the_hessian_of_a_sample_is_the_weighted_sum_of_its_sequences(name, keep):
    made = kind(name, seed=5)
    problem, w, v, n = made.problem(l2=0.2), made.weights(6), made.weights(7), made.corpus.n_sequences
    curvature, g = problem.curvature(keep=keep), np.empty_like(w)

    def sampled(weight):
        out = np.empty_like(w)
        curvature.sample(weight)
        problem.value_and_gradient(w, g, keep=curvature)
        curvature.times(v, out)
        return out - 0.2 * v

    each = np.array([sampled(one) for one in np.eye(n)])
    weight = np.random.default_rng(0).uniform(0, 3, n) * (np.arange(n) % 2)
    np.testing.assert_allclose(sampled(weight), weight @ each, atol=1e-13)
    assert curvature.share == np.count_nonzero(weight) / n
    np.testing.assert_allclose(sampled(np.ones(n)), product(problem, w, v) - 0.2 * v, atol=1e-13)


def test_doubts_are_what_gold_labels_could_change():
    made = kind("plain", seed=4)
    problem, w = made.problem(), made.weights(5)
    curvature = problem.curvature()
    problem.value_and_gradient(w, np.empty_like(w), keep=curvature)
    marginals = made.decode(w, marginals=True)[2]
    doubt = np.add.reduceat(1 - (marginals**2).sum(axis=1), made.corpus.seq[:-1])
    np.testing.assert_allclose(curvature.doubts, doubt, atol=1e-14)


# ---- memory, counts, refusals


def test_what_is_kept_takes_what_is_told():
    made = larger(labels=5)
    curvature = made.problem().curvature()
    assert curvature.n_bytes == pytest.approx(kept_bytes(made.corpus.n_tokens, 5), abs=1000)
    assert made.problem().curvature(keep=0).n_bytes < 1000
    half = made.problem().curvature(keep=40)
    assert 0.3 * curvature.n_bytes < half.n_bytes < 0.7 * curvature.n_bytes


def test_a_product_is_a_pass_and_that_of_a_sample_a_part_of_one():
    made = larger()
    problem, w = made.problem(l2=0.1), made.weights(1)
    curvature, out = problem.curvature(), np.empty_like(w)
    problem.value_and_gradient(w, out, keep=curvature)
    curvature.times(w, out)  # it may be done twice, to find what it is rounded by
    problem.passes = 0.0
    curvature.times(w, out)
    assert problem.passes == 1
    curvature.sample(np.arange(80) % 4 == 0)
    problem.value_and_gradient(w, out, keep=curvature)
    curvature.times(w, out)
    assert problem.passes == 2.25


def test_an_empty_curvature_and_vectors_of_another_length_are_refused():
    made = kind("plain")
    problem, w = made.problem(), made.weights(1)
    n, out = len(w), np.empty(len(w))
    curvature = problem.curvature()
    with pytest.raises(ValueError, match="the curvature is empty"):
        curvature.times(w, out)
    problem.value_and_gradient(w, out, keep=curvature)
    for v, size in ((w[1:], n), (w, n - 1)):
        with pytest.raises(ValueError, match=f"expected {n}"):
            curvature.times(v.copy(), np.empty(size))
    curvature.sample(np.ones(5))
    with pytest.raises(ValueError, match="the curvature is empty"):
        curvature.times(w, out)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failed_filling_leaves_nothing_broken(threads):
    made = kind("plain", seed=3)
    problem, w, v = made.problem(l2=0.1, threads=threads), made.weights(1), made.weights(2)
    right, out = product(problem, w, v), np.empty_like(w)
    curvature = problem.curvature()
    with pytest.raises(TrainingError):
        problem.value_and_gradient(np.full_like(w, np.nan), out, keep=curvature)
    with pytest.raises(ValueError, match="the curvature is empty"):
        curvature.times(v, out)
    problem.value_and_gradient(w, out, keep=curvature)
    curvature.times(v, out)
    assert out.tobytes() == right.tobytes()


# ---- the diagonal


@SCALES
@pytest.mark.parametrize("name", KINDS)
def test_the_diagonal_leaves_out_only_what_positions_have_in_common(name, scale):
    """Of a sequence of one token it is the Hessian's own; else it is the sum over positions of value^2 P (1 - P)."""
    made = instance(3, **{**KINDS[name], "length": (1, 1), "per_token": (1, 1)})
    problem, w = made.problem(l2=0.3), made.weights(4, scale)
    out = np.full_like(w, np.nan)
    problem.diagonal(w).times(np.ones(len(w)), out)
    hessian = np.array([product(problem, w, unit) for unit in np.eye(len(w))])
    np.testing.assert_allclose(out, np.diag(hessian), atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KINDS)
def test_the_diagonal_is_the_sum_of_variances(name, threads):
    made = kind(name, seed=3)
    corpus, layout, w = made.corpus, made.layout, made.weights(4)
    n, labels, right = corpus.n_sequences, layout.node_labels(), np.full(len(w), 0.3)

    def add(block, observations, token, variance, of):
        for k in range(observations.ptr[token], observations.ptr[token + 1]):
            value = 1.0 if observations.value is None else observations.value[k]
            first, end = block[observations.attr[k]], block[observations.attr[k] + 1]
            right[first:end] += value**2 * variance[of(first, end)] / n

    for i in range(n):
        _, node, pair = chain(*scores(corpus, layout, w, i))
        node, pair = node * (1 - node), (pair * (1 - pair)).reshape(len(pair), -1)
        for t, token in enumerate(range(corpus.seq[i], corpus.seq[i + 1])):
            add(layout.ptr, corpus.nodes, token, node[t], lambda first, end: labels[first:end])
            if t:
                right[layout.transitions] += pair[t][layout.transition] / n
            if t and corpus.pairs is not None:
                origin = layout.pair_ptr[0]
                add(layout.pair_ptr, corpus.pairs, token, pair[t], lambda first, end, o=origin: layout.pair[first - o : end - o])
    out = np.full_like(w, np.nan)
    made.problem(l2=0.3, threads=threads).diagonal(w).times(np.ones(len(w)), out)
    np.testing.assert_allclose(out, right, atol=1e-12)
