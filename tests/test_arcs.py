"""Label pairs as a list: the sums, gradients, products and paths of the recursion over all pairs, in the time of those there are."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from problems import Instance, lattice
from reference import best_path, chain, path_score

from crftrain.chain._sequences import Sequences
from crftrain.chain.layout import Layout, nearest_product
from crftrain.tagging._decoder import Decoder
from crftrain.tagging.query import Query
from crftrain.text.encode import Corpus, Observations
from crftrain.text.legal import Legal


def chosen(rng, n_labels, kind):
    """bool[L][L]: which label pairs have weights."""
    there = rng.random((n_labels, n_labels)) < {"few": 0.15, "half": 0.5, "all": 1.1, "none": -1, "uneven": 0.1}[kind]
    if kind == "uneven":
        there[0], there[:, 1], there[2], there[:, n_labels - 1] = True, True, False, False
    return there


def instances(psi, e, there, label):
    """One sequence with these scores, pairs that are not there scoring 0: by arcs and by all pairs, with the weights."""
    made, _ = lattice(psi, np.where(there, e, 0.0), label)
    pairs = np.flatnonzero(there.ravel()).astype(np.int32)
    first = int(made.layout.ptr[-1])
    layout = replace(made.layout, transition=pairs, pair_ptr=np.array([first + len(pairs)], np.int64), lattice="arcs")
    w = np.concatenate([psi.ravel(), e.ravel()[pairs]])
    return Instance(made.corpus, made.vocabulary, layout), Instance(made.corpus, made.vocabulary, replace(layout, lattice="dense")), w


def scores(seed, length, n_labels, scale):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(0, scale, (length, n_labels)), rng.normal(0, scale, (n_labels, n_labels))


def assert_like_logarithms(psi, e, there, label, *, rtol=1e-12):
    """log Z, marginals and the best path are those of the recursion on logarithms in long double."""
    made, dense, w = instances(psi, e, there, label)
    at_each = np.broadcast_to(np.where(there, e, 0.0), (len(psi), *e.shape))
    log_z, node, pair = chain(psi, at_each)
    path, score = best_path(psi, at_each)
    g, length = np.empty_like(w), len(psi)
    loss = made.problem().value_and_gradient(w, g)
    assert loss + path_score(psi, at_each, label) == pytest.approx(log_z, rel=rtol, abs=rtol * length)
    assert made.problem().value(w) == pytest.approx(loss, rel=rtol, abs=rtol)
    found = g[: psi.size].reshape(psi.shape).copy()
    found[np.arange(length), label] += 1
    np.testing.assert_allclose(found, node, rtol=0, atol=rtol * 100)
    summed = np.zeros(e.shape)
    summed[there] = g[psi.size :]
    for t in range(1, length):
        summed[label[t - 1], label[t]] += there[label[t - 1], label[t]]
    np.testing.assert_allclose(summed, pair.sum(axis=0) * there, rtol=0, atol=rtol * 100 * length)
    best, log_p, marginals = made.decode(w, probabilities=True, marginals=True)
    assert best.tolist() == dense.decode(w)[0].tolist()
    assert path_score(psi, at_each, best) == pytest.approx(score, rel=1e-12, abs=1e-12)
    assert log_p[0] == pytest.approx(score - log_z, rel=1e-9, abs=rtol * length * (1 + abs(log_z)))
    np.testing.assert_allclose(marginals, node, rtol=0, atol=rtol * 100)


@pytest.mark.parametrize("kind", ["few", "half", "all", "none", "uneven"])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 9, 33])
@pytest.mark.parametrize("scale", [0.0, 1.0, 6.0, 40.0, 1000.0])
def test_sums_and_paths_by_arcs_are_those_over_all_pairs(kind, n_labels, scale):
    rng, psi, e = scores(n_labels, 7, n_labels, scale)
    if kind == "uneven" and n_labels < 5:
        kind = "half"
    label = rng.integers(0, n_labels, len(psi))
    assert_like_logarithms(psi, e, chosen(rng, n_labels, kind), label, rtol=1e-12 if scale < 1000 else 1e-10)


def enumerated(psi, e):
    """(log Z, P(y_t = j), sum over t of P(y_{t-1} = i, y_t = j)) by all paths, in long double."""
    length, n = psi.shape
    paths = np.array(list(itertools.product(range(n), repeat=length)))
    score = psi.astype(np.longdouble)[np.arange(length), paths].sum(axis=1) + e.astype(np.longdouble)[paths[:, :-1], paths[:, 1:]].sum(
        axis=1
    )
    p = np.exp(score - score.max())
    log_z, p = score.max() + np.log(p.sum()), p / p.sum()
    node, pair = np.zeros((length, n)), np.zeros((n, n))
    for t in range(length):
        np.add.at(node[t], paths[:, t], p)
        if t:
            np.add.at(pair, (paths[:, t - 1], paths[:, t]), p)
    return float(log_z), node, pair


@pytest.mark.parametrize("kind", ["few", "half", "all", "none", "uneven"])
@pytest.mark.parametrize("wild", [0.0, 1e3, -1e3, "both", -np.inf])
@pytest.mark.parametrize("seed", range(4))
def test_lists_of_any_weights_agree_with_enumeration(kind, wild, seed):
    """A third of the listed weights are 1000, -1000, of either sign, or minus infinity."""
    n, rng = 5, np.random.default_rng(seed)
    _, psi, e = scores(seed, 5, n, 1.0)
    there, some = chosen(rng, n, kind), rng.random((n, n)) < 1 / 3
    e[some] = rng.choice([1e3, -1e3], np.count_nonzero(some)) if wild == "both" else wild if wild else e[some]
    e[0], e[:, 0] = np.where(e[0] == -np.inf, 0, e[0]), np.where(e[:, 0] == -np.inf, 0, e[:, 0])
    made, _, w = instances(psi, e, there, np.zeros(5, np.int64))
    log_z, node, pair = enumerated(psi, np.where(there, e, 0.0))
    g, gold = np.empty_like(w), psi[:, 0].sum() + 4 * e[0, 0] * there[0, 0]
    loss = made.problem().value_and_gradient(w, g)
    assert loss + gold == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    found = g[: psi.size].reshape(psi.shape) + (np.arange(n) == 0)
    np.testing.assert_allclose(found, node, rtol=0, atol=1e-12)
    pair[0, 0] -= 4
    np.testing.assert_allclose(g[psi.size :], pair[there], rtol=0, atol=4e-12)
    np.testing.assert_allclose(made.decode(w, marginals=True)[2], node, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [5, 8, 20, 60, 150, 1000])
@pytest.mark.parametrize("n_labels", [3, 12, 40])
def test_nothing_is_lost_where_arcs_cancel(n_labels, depth):
    """All but certain labels whose arcs are all but forbidden: 1 + S is the small difference of large numbers."""
    rng, psi, e = scores(n_labels, 9, n_labels, 1.0)
    psi[np.arange(9), rng.integers(0, n_labels, 9)] += 40
    there = rng.random(e.shape) < 0.7
    e = np.where(rng.random(e.shape) < 0.6, -depth, e)
    assert_like_logarithms(psi, e, there, rng.integers(0, n_labels, 9), rtol=1e-12 if depth < 1000 else 1e-11)


@pytest.mark.parametrize("n_labels", [3, 12])
def test_a_pair_of_weight_minus_infinity_is_on_no_path(n_labels):
    rng, psi, e = scores(4, 6, n_labels, 1.0)
    there = rng.random(e.shape) < 0.5
    there[0, 1] = True
    e[0, 1] = -np.inf
    made, dense, w = instances(psi, e, there, np.zeros(6, np.int64))
    best, _, p = made.decode(w, marginals=True)
    right_best, _, right = dense.decode(w, marginals=True)
    assert best.tolist() == right_best.tolist()
    np.testing.assert_allclose(p, right, atol=1e-13)
    limit = np.where(e == -np.inf, -800.0, e)
    _, node, _ = chain(psi, np.broadcast_to(np.where(there, limit, 0.0), (6, *e.shape)))
    np.testing.assert_allclose(p, node, atol=1e-12)


def corpus(seed, lengths, n_labels, attributes=30):
    """Sequences of these lengths, three attributes a token."""
    rng = np.random.default_rng(seed)
    seq = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    label = rng.integers(0, n_labels, seq[-1]).astype(np.int32)
    ptr = np.arange(seq[-1] + 1, dtype=np.int64) * 3
    return Corpus(seq, label, Observations(ptr, rng.integers(0, attributes, ptr[-1]).astype(np.int32), None), None, n_labels)


def both(seed=0, *, n_labels=12, lengths=None, density=0.3):
    """(Instance by arcs, the same by all pairs, weights)."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 20, 45) if lengths is None else lengths
    made = corpus(seed, lengths, n_labels)
    ptr = np.arange(31, dtype=np.int64) * n_labels
    pairs = np.flatnonzero(rng.random(n_labels**2) < density).astype(np.int32)
    layout = Layout(n_labels, ptr, None, 30, pairs, ptr[-1:] + len(pairs), np.empty(0, np.int32), "arcs")
    return Instance(made, None, layout), Instance(made, None, replace(layout, lattice="dense")), rng.normal(0, 1, layout.n_features)


@pytest.mark.parametrize("density", [0.3, 1.1], ids=["some pairs", "all pairs"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 300.0])
@pytest.mark.parametrize("threads", [1, 3])
def test_gradients_of_many_sequences_are_those_over_all_pairs(scale, threads, density):
    """Lanes are filled and left empty, sequences end early, and some go alone by logarithms."""
    arcs, dense, w = both(density=density)
    w = w * scale
    found, right = np.empty_like(w), np.empty_like(w)
    value = arcs.problem(l2=0.1, threads=threads).value_and_gradient(w, found)
    assert value == pytest.approx(dense.problem(l2=0.1).value_and_gradient(w, right), rel=1e-12)
    np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-12 * max(1, np.abs(w).max()))


@pytest.mark.parametrize("ad", [False, True])
@pytest.mark.parametrize("keep", [None, 0, 20])
@pytest.mark.parametrize("scale", [0.5, 3.0, 200.0])
def test_hessian_products_are_those_over_all_pairs(scale, keep, ad):
    arcs, dense, w = both(1)
    w, v = w * scale, np.random.default_rng(5).normal(0, 1, len(w))
    products = []
    for made in (arcs, dense):
        problem, g, out = made.problem(l2=0.1), np.empty_like(w), np.empty_like(w)
        point = problem.curvature(keep=keep, ad=ad)
        problem.value_and_gradient(w, g, keep=point)
        point.times(v, out)
        products.append(out)
        diagonal = np.empty_like(w)
        problem.diagonal(w).times(np.ones_like(w), diagonal)
        products.append(diagonal)
    np.testing.assert_allclose(products[0], products[2], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(products[1], products[3], rtol=1e-10, atol=1e-11)


def test_the_bits_of_a_sequence_do_not_depend_on_its_neighbours():
    """Alone or between others, a loss and a gradient have the same bits."""
    lengths = [5, 9, 9, 1, 30, 9, 2, 9, 9, 9, 9, 4]
    arcs, _, w = both(2, lengths=lengths)
    together, alone, g = np.zeros_like(w), np.zeros_like(w), np.empty_like(w)
    arcs.problem().value_and_gradient(w, together)
    losses = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        one = Instance(arcs.corpus.take(np.array([i])), None, arcs.layout)
        losses.append(one.problem().value_and_gradient(w, g))
        alone += g
    np.testing.assert_allclose(together * len(lengths), alone, rtol=1e-13, atol=1e-12)  # sums are rounded, the longer the more
    assert arcs.problem().value(w) == pytest.approx(sum(losses) / len(lengths), rel=1e-14)


@pytest.mark.parametrize("scale", [1.0, 5.0, 300.0])
def test_bits_do_not_depend_on_how_lanes_are_filled(scale):
    """In another order, and in parts, others go side by side: each loss has the bits that it has alone, the gradient those of any order."""
    arcs, _, w = both(4)
    w, n = w * scale, len(arcs.corpus.seq) - 1
    right, problem = np.empty_like(w), arcs.problem()
    problem.value_and_gradient(w, right)
    losses = problem.last_losses.copy()
    for i in range(n):
        assert Instance(arcs.corpus.take(np.array([i])), None, arcs.layout).problem().losses_at(w)[0] == losses[i]
    for seed, threads in ((0, 1), (1, 1), (2, 2), (3, 3)):
        order, g = np.random.default_rng(seed).permutation(n), np.empty_like(w)
        problem = Instance(arcs.corpus.take(order), None, arcs.layout).problem(threads=threads)
        problem.value_and_gradient(w, g)
        assert problem.last_losses.tobytes() == losses[order].tobytes()
        assert g.tobytes() == right.tobytes()


def test_a_weight_that_is_no_number_is_an_error():
    arcs, _, w = both(3)
    w[arcs.layout.transitions.start] = np.nan
    with pytest.raises(Exception, match="its loss is nan"):
        arcs.problem().value(w)


# ---- where not everything is legal ------------------------------------------------------------------------------------

CHUNKS = ["O", *(f"{tag}-{kind}" for kind in "ABCD" for tag in "BI")]
SINGLES = ["O", *(f"{tag}-{kind}" for kind in "ABC" for tag in "BIES")]
RULES = {
    "iob2": lambda rng: Legal.of(CHUNKS, scheme="iob2"),
    "bioes": lambda rng: Legal.of(SINGLES, scheme="bioes"),
    "one pair": lambda rng: Legal.of(CHUNKS, forbid=["O I-*"]),
    "some": lambda rng: any_rules(rng, 9, 0.6),
    "most": lambda rng: any_rules(rng, 13, 0.9),
    "few": lambda rng: any_rules(rng, 9, 0.15),
    "a circle": lambda rng: Legal.where(np.roll(np.eye(6, dtype=bool), 1, axis=1), np.ones(6, bool), np.ones(6, bool)),
}


def any_rules(rng, n, share):
    """Random ones, under which the first label may go on for ever."""
    pairs, first, last = (rng.random(shape) < share for shape in ((n, n), n, n))
    pairs[0, 0] = first[0] = last[0] = True
    return Legal.where(pairs, first, last)


def under_rules(name, seed=0, density=0.2):
    """(by arcs, by all pairs, weights) of a corpus whose gold labels keep to the rules."""
    rng = np.random.default_rng(seed)
    legal = RULES[name](rng)
    n = len(legal.first)
    made = corpus(seed, rng.integers(1, 20, 45), n)
    for i in range(45):
        own = slice(made.seq[i], made.seq[i + 1])
        made.label[own] = legal.nearest(made.label[own])
    pairs = np.flatnonzero(legal.pairs.ravel() & (rng.random(n * n) < density)).astype(np.int32)
    ptr = np.arange(31, dtype=np.int64) * n
    layout = Layout(n, ptr, None, 30, pairs, ptr[-1:] + len(pairs), np.empty(0, np.int32), "arcs", legal)
    return Instance(made, None, layout), Instance(made, None, replace(layout, lattice="dense")), rng.normal(0, 1, layout.n_features)


@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0, 300.0])
@pytest.mark.parametrize("name", RULES)
def test_rules_say_the_same_by_arcs_as_over_all_pairs(name, scale):
    arcs, dense, w = under_rules(name)
    w = w * scale
    found = []
    for made in (arcs, dense):
        assert made.layout.sparse == (made is arcs)
        problem, g, out = made.problem(l2=0.1), np.empty_like(w), np.empty_like(w)
        point = problem.curvature()
        value = problem.value_and_gradient(w, g, keep=point)
        point.times(np.sin(np.arange(len(w))), out)
        decoded = made.decoded(w, probabilities=True, marginals=True)
        found.append((value, g, out, decoded.log_p, decoded.marginals, decoded.scores))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10 * max(1, scale))
    assert not arcs.layout.legal.broken(arcs.corpus.seq, arcs.decoded(w).labels).any()


@pytest.mark.parametrize("name", RULES)
def test_labels_of_equal_score_are_the_same_under_rules(name):
    """Whole numbers tie all the time; the lower label is meant."""
    arcs, dense, w = under_rules(name, 3)
    w = np.round(w)
    assert arcs.decode(w)[0].tolist() == dense.decode(w)[0].tolist()


@pytest.mark.parametrize("name", RULES)
def test_labels_that_are_known_are_kept_to_by_arcs_under_rules(name):
    arcs, dense, w = under_rules(name, 1)
    known = np.random.default_rng(1).random((len(arcs.corpus.label), arcs.layout.n_labels)) < 0.7
    known[np.arange(len(known)), arcs.corpus.label] = True
    one, other = (made.decoded(w, known=known, marginals=True) for made in (arcs, dense))
    assert one.labels.tolist() == other.labels.tolist()
    np.testing.assert_allclose(one.marginals, other.marginals, rtol=1e-10, atol=1e-12)


def test_tag_schemes_are_a_product_but_for_a_few_pairs_a_label():
    for labels, scheme in ((CHUNKS, "iob2"), (SINGLES, "bioes")):
        legal = Legal.of(labels, scheme=scheme).pairs
        assert np.count_nonzero(legal != np.outer(*nearest_product(legal))) <= 2 * len(labels)


def test_many_labels_with_rules_go_by_arcs_of_their_own_accord():
    labels = ["O", *(f"{tag}-{kind}" for kind in range(60) for tag in "BI")]
    legal, n = Legal.of(labels, scheme="iob2"), len(labels)
    layout = Layout(n, np.array([0, n]), None, 1, np.array([0], np.int32), np.array([n + 1]), np.empty(0, np.int32), legal=legal)
    assert layout.sparse and layout.n_pairs < 4 * n
    assert not replace(layout, legal=any_rules(np.random.default_rng(0), n, 0.5)).sparse


@pytest.mark.parametrize("n_pairs", [5, 7, 19, 21])
def test_best_paths_go_by_fewer_pairs_than_sums_and_are_the_same(n_pairs):
    n, rng = 10, np.random.default_rng(n_pairs)
    there = np.zeros(n * n, bool)
    there[rng.choice(n * n, n_pairs, replace=False)] = True
    _, psi, e = scores(1, 30, n, 2.0)
    made, _, w = instances(psi, e, there.reshape(n, n), np.zeros(30, np.int64))
    layout = replace(made.layout, lattice="auto")
    assert layout.sparse == (n_pairs < 100 / 5) and layout.for_paths().sparse == (n_pairs < 100 / 18)
    ways = [Decoder(one, w).decode(Sequences(made.corpus, one), Query(marginals=True)) for one in (layout, made.layout)]
    assert (ways[0].labels == ways[1].labels).all()
    np.testing.assert_allclose(ways[0].marginals, ways[1].marginals, rtol=1e-12)
