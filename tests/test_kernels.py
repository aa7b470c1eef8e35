"""log Z, marginals and the best path are those of all label paths, whatever the scores, the labels and the length."""

from dataclasses import replace

import numpy as np
import pytest
from problems import KINDS, instance, kind, lattice
from reference import best_path, chain, enumerate_paths, gold, path_score, scores

from crftrain.errors import TrainingError
from crftrain.text.encode import Observations

LABELS = [1, 2, 3, 7, 8, 9, 16, 17, 24, 25, 33, 48]  # around the widths of vectors and of panels


class Solved:
    """What the kernels say of a lattice(psi, e)."""

    def __init__(self, psi, e, label=None):
        length, n_labels = psi.shape
        made, w = lattice(psi, e, label)
        label = made.corpus.label
        best, log_p, self.node = made.decode(w, probabilities=True, marginals=True)
        self.best, self.log_p = best.tolist(), log_p[0]
        g = np.empty_like(w)
        at_each = e if e.ndim == 3 else np.broadcast_to(e, (length, n_labels, n_labels))
        self.loss = made.problem().value_and_gradient(w, g)
        self.log_z = self.loss + path_score(psi, at_each, label)
        self.node_from_gradient = g[: psi.size].reshape(psi.shape)  # and the gradient is marginals minus gold
        self.node_from_gradient[np.arange(length), label] += 1
        self.pair = g[psi.size :].reshape(-1, n_labels, n_labels)  # one a position, or their sum
        for t in range(1, length):
            self.pair[t - 1 if e.ndim == 3 else 0, label[t - 1], label[t]] += 1


def assert_right(psi, e, *, rtol=1e-12, label=None):
    """The kernels agree with the recursion on logarithms in long double, both with one e for all and with its own e at each position."""
    length, n_labels = psi.shape
    at_each = e if e.ndim == 3 else np.broadcast_to(e, (length, n_labels, n_labels))
    log_z, node, pair = chain(psi, at_each)
    path, score = best_path(psi, at_each)
    pair = pair[1:] if e.ndim == 3 else pair.sum(axis=0, keepdims=True)
    for way in [e] if e.ndim == 3 else [e, at_each]:
        found = Solved(psi, way, path if label is None else label)
        np.testing.assert_allclose(found.log_z, log_z, rtol=rtol, atol=rtol * length)
        np.testing.assert_allclose(found.node, node, rtol=0, atol=rtol * 100)
        np.testing.assert_allclose(found.node_from_gradient, node, rtol=0, atol=rtol * 100)
        summed = found.pair if way is e else found.pair.sum(axis=0, keepdims=True)
        np.testing.assert_allclose(summed, pair, rtol=0, atol=rtol * 100 * length)
        assert path_score(psi, at_each, found.best) == pytest.approx(score, rel=1e-12, abs=1e-12)
        assert found.log_p == pytest.approx(score - log_z, rel=1e-9, abs=rtol * length * (1 + abs(log_z)))


def random_scores(seed, length, n_labels, scale=1.0, *, each=False):
    rng = np.random.default_rng(seed)
    return rng.normal(0, scale, (length, n_labels)), rng.normal(0, scale, (length,) * each + (n_labels, n_labels))


# ---- against all paths


@pytest.mark.parametrize("name", KINDS)
def test_all_that_decoding_says_agrees_with_enumeration(name):
    made = kind(name, seed=1)
    for scale in (0.0, 0.3, 3.0):
        w = made.weights(seed=2, scale=scale)
        best, log_p, node = made.decode(w, probabilities=True, marginals=True)
        for i in range(made.corpus.n_sequences):
            own = slice(made.corpus.seq[i], made.corpus.seq[i + 1])
            right = enumerate_paths(made.corpus, made.layout, w, i)
            np.testing.assert_allclose(node[own], right.node, rtol=1e-11, atol=1e-13)
            assert log_p[i] == pytest.approx(right.best_score - right.log_z, rel=1e-11, abs=1e-12)
            psi, e = scores(made.corpus, made.layout, w, i)
            assert path_score(psi, e, best[own]) == pytest.approx(right.best_score, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("each", [False, True], ids=["plain transitions", "transitions of each position"])
@pytest.mark.parametrize("seed", range(6))
def test_log_z_and_pair_marginals_agree_with_enumeration(seed, each):
    rng = np.random.default_rng(seed)
    length, n_labels = rng.integers(1, 6), rng.integers(1, 5)
    psi, e = random_scores(seed, length, n_labels, 2.0, each=each)
    label = rng.integers(0, n_labels, length)
    made, w = lattice(psi, e, label)
    right, found = enumerate_paths(made.corpus, made.layout, w, 0), Solved(psi, e, label)
    assert found.loss == pytest.approx(right.loss, rel=1e-12)
    assert found.log_z == pytest.approx(right.log_z, rel=1e-12)
    pair = right.pair[1:] if each else right.pair.sum(axis=0, keepdims=True)
    np.testing.assert_allclose(found.pair, pair, atol=1e-13)
    assert found.best == right.best


def test_the_reference_recursion_agrees_with_enumeration():
    psi, e = random_scores(3, 4, 3, 2.0, each=True)
    made, w = lattice(psi, e)
    right = enumerate_paths(made.corpus, made.layout, w, 0)
    log_z, node, pair = chain(psi, e)
    assert log_z == pytest.approx(right.log_z, rel=1e-13)
    np.testing.assert_allclose(node, right.node, atol=1e-14)
    np.testing.assert_allclose(pair, right.pair, atol=1e-14)
    assert best_path(psi, e) == (right.best, pytest.approx(right.best_score))


# ---- sizes


@pytest.mark.parametrize("n_labels", LABELS)
def test_any_number_of_labels(n_labels):
    assert_right(*random_scores(n_labels, 6, n_labels, 1.5))


def test_500_labels():
    psi, e = random_scores(0, 6, 500)
    assert_right(psi, e)


@pytest.mark.parametrize("n_labels", [1, 4, 11])
def test_a_sequence_of_5000(n_labels):
    assert_right(*random_scores(1, 5000, n_labels, 2.0), rtol=1e-11)


@pytest.mark.parametrize("n_labels", [1, 3, 20])
def test_a_sequence_of_1(n_labels):
    psi, e = random_scores(2, 1, n_labels)
    assert_right(psi, e)
    assert Solved(psi, e).best == [int(psi[0].argmax())]


def test_one_label_is_certain():
    found = Solved(*random_scores(0, 7, 1, 100.0))
    assert found.loss == pytest.approx(0, abs=1e-10)
    assert (found.best, found.log_p) == ([0] * 7, pytest.approx(0, abs=1e-10))
    np.testing.assert_allclose(found.node, 1, rtol=1e-14)


@pytest.mark.parametrize("n_labels", LABELS)
def test_marginals_sum_to_one(n_labels):
    for scale, rounding in ((0.1, 1e-13), (5.0, 1e-13), (500.0, 1e-9)):  # logarithms of 1e5 have 1e-11 to spare
        found = Solved(*random_scores(n_labels, 40, n_labels, scale))
        np.testing.assert_allclose(found.node.sum(axis=1), 1, rtol=rounding)
        assert (found.node >= 0).all()
        assert found.pair.sum() == pytest.approx(39, rel=rounding)


def test_sequences_do_not_see_each_other():
    """Long after short and short after long give the bits that each gives alone."""
    made = instance(5, sequences=30, length=(1, 200), labels=5, template="U:%x[0,0]\nB:%x[0,0]\nB\n", pair_attributes=3)
    w = made.weights(1)
    w[::50] *= 1000  # some take the logarithmic way
    together = made.decode(w, probabilities=True, marginals=True)
    order = np.random.default_rng(0).permutation(30)
    for i in order:
        own = slice(made.corpus.seq[i], made.corpus.seq[i + 1])
        alone = replace(made, corpus=made.corpus.take(np.array([i]))).decode(w, probabilities=True, marginals=True)
        assert alone[0].tolist() == together[0][own].tolist()
        assert alone[1][0] == together[1][i]
        assert (alone[2] == together[2][own]).all()


def test_only_what_is_asked_for():
    made = kind("plain")
    w = made.weights()
    best, log_p, node = made.decode(w)
    assert (log_p, node) == (None, None)
    assert made.decode(w, probabilities=True)[2] is None
    for wanted in ({"probabilities": True}, {"marginals": True}, {"probabilities": True, "marginals": True}):
        assert made.decode(w, **wanted)[0].tolist() == best.tolist()


# ---- extreme scores


@pytest.mark.parametrize("each", [False, True], ids=["plain transitions", "transitions of each position"])
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_a_thousand(seed, each):
    rng = np.random.default_rng(seed)
    psi, e = rng.choice([-1e3, 0, 1e3], (9, 5)), rng.choice([-1e3, 0, 1e3], (9,) * each + (5, 5))
    assert_right(psi, e)
    assert_right(psi, e, label=rng.integers(0, 5, 9))


@pytest.mark.parametrize("where", ["nodes", "transitions"])
def test_a_thousand_in_one_place_only(where):
    psi, e = random_scores(4, 12, 9)
    (psi if where == "nodes" else e)[3, 4] = 1e3
    (psi if where == "nodes" else e)[5, 6] = -1e3
    assert_right(psi, e)


@pytest.mark.parametrize("each", [False, True], ids=["plain transitions", "transitions of each position"])
def test_forbidden_transitions(each):
    """exp(-inf) is 0: a path through them has no probability, every other one is as likely as before among the rest."""
    rng = np.random.default_rng(7)
    psi, e = random_scores(7, 30, 6, each=each)
    e[rng.random(e.shape) < 0.5] = -np.inf
    e[..., 0] = 0.5  # some path is left
    assert_right(psi, e)
    found = Solved(psi, e, best_path(psi, np.broadcast_to(e, (30, 6, 6)))[0])
    assert not np.isnan(found.node).any()
    assert (found.pair[0][np.broadcast_to(e, (30, 6, 6))[1] == -np.inf] == 0).all()


def test_only_one_path_is_allowed():
    e = np.full((4, 4), -np.inf)
    e[[0, 1, 2, 3], [1, 2, 3, 0]] = 1.0
    psi = np.full((6, 4), -np.inf)
    psi[0, 2], psi[1:] = 0.0, 1.0
    found = Solved(psi, e, [2, 3, 0, 1, 2, 3])
    assert found.best == [2, 3, 0, 1, 2, 3]
    assert found.log_z == pytest.approx(10)
    assert found.log_p == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.node, np.eye(4)[found.best], atol=1e-13)


def test_a_forbidden_gold_path_is_an_error_not_a_number():
    psi, e = random_scores(0, 3, 2)
    e[0, 0] = -np.inf
    made, w = lattice(psi, e, [0, 0, 1])
    with pytest.raises(TrainingError, match="sequence 1"):
        made.problem().value(w)


@pytest.mark.parametrize("where", ["nodes", "transitions", "both"])
@pytest.mark.parametrize("spread", [150, 199.999, 200.001, 250, 650, 750])
def test_both_ways_agree_where_one_takes_over(spread, where):
    """Probabilities where label pairs span less than 200, logarithms above: the answers do not jump."""
    psi, e = random_scores(8, 40, 10, 3.0)
    for table in [psi] * (where != "transitions") + [e] * (where != "nodes"):
        row = table if table is e else table[7]
        row -= row.max()
        row[np.unravel_index(row.argmin(), row.shape)] = -spread
    assert_right(psi, e, rtol=1e-12)


@pytest.mark.parametrize("pull", [199.9, 398, 401, 499, 501, 720, 1e5])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_worst_case_of_the_scaled_way(sign, pull):
    """Every position pulls against the one before, label pairs as far apart as the scaled way allows."""
    psi, e = np.zeros((60, 8)), np.full((8, 8), -199.9)
    psi[0::2, :4], psi[1::2, 4:] = pull, pull
    np.fill_diagonal(e, 0)
    assert_right(sign * psi, e)


@pytest.mark.parametrize("depth", [300, 395, 399.8, 405, 499, 501, 1e4])
def test_a_label_far_below_another_is_found_where_both_neighbours_want_it(depth):
    """Label 1 is e^-depth of label 0 in the middle, and the way through label 0 costs 199.9 on either side."""
    psi, e = np.array([[-1e4, 0.0], [0.0, -depth], [-1e4, 0.0]]), np.array([[0.0, -199.9], [-199.9, 0.0]])
    assert_right(psi, e)
    assert_right(psi, e, label=[1, 0, 1])


@pytest.mark.parametrize("shift", [1e4, -1e6])
def test_a_shift_of_all_scores_changes_no_probability(shift):
    psi, e = random_scores(9, 20, 7)
    here, there = Solved(psi, e), Solved(psi + shift, e - 2 * shift)
    np.testing.assert_allclose(here.node, there.node, atol=1e-9)
    assert here.best == there.best
    assert there.log_z - here.log_z == pytest.approx(20 * shift - 19 * 2 * shift)


# ---- models that are the same


@pytest.mark.parametrize("observed", [False, True])
def test_plain_transitions_are_a_pair_attribute_that_always_fires(observed):
    plain = instance(6, sequences=20, length=(1, 9), labels=5, transitions="observed" if observed else "full", features="full")
    corpus, layout = plain.corpus, plain.layout
    fires = np.ones(corpus.n_tokens, np.int64)
    fires[corpus.seq[:-1]] = 0
    pairs = Observations(np.concatenate([[0], np.cumsum(fires)]), np.zeros(fires.sum(), np.int32), None)
    ptr = np.array([layout.transitions.start, layout.n_features], np.int64)
    other = replace(layout, transition=np.empty(0, np.int32), pair_ptr=ptr, pair=layout.transition)
    written = replace(plain, corpus=replace(corpus, pairs=pairs), layout=other)
    for scale in (1, 300):  # scaled, logarithms
        w = plain.weights(3, scale)
        g, h = np.empty_like(w), np.empty_like(w)
        assert plain.problem().value_and_gradient(w, g) == pytest.approx(written.problem().value_and_gradient(w, h), rel=1e-12)
        np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-12)
        one, two = plain.decode(w, probabilities=True), written.decode(w, probabilities=True)
        assert one[0].tolist() == two[0].tolist()
        np.testing.assert_allclose(one[1], two[1], rtol=1e-10, atol=1e-10)


def test_ties_go_to_the_lower_label():
    assert Solved(np.zeros((5, 9)), np.zeros((9, 9))).best == [0] * 5
    psi = np.zeros((3, 20))
    psi[1, [7, 12, 19]] = 1.0
    assert Solved(psi, np.zeros((20, 20))).best == [0, 7, 0]


def test_a_value_scales_its_attribute():
    """An occurrence with value v counts as v occurrences."""
    made = kind("real values", seed=4)
    w = made.weights(1)
    for i in range(made.corpus.n_sequences):
        psi, e = scores(made.corpus, made.layout, w, i)
        own = slice(made.corpus.seq[i], made.corpus.seq[i + 1])
        np.testing.assert_allclose(made.decode(w, marginals=True)[2][own], chain(psi, e)[1], atol=1e-12)
        assert len(gold(made.corpus, i)) == len(psi)
