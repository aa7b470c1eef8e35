"""The objective is its formula, its gradient the derivative, and neither threads nor failures before change what is computed."""

import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from problems import KINDS, instance, kind, larger
from reference import central_differences, features, gold, objective

from crftrain.chain import _measures, _problem
from crftrain.chain._sequences import Sequences, order_occurrences
from crftrain.chain.layout import arrange
from crftrain.chain.threads import in_threads
from crftrain.errors import TrainingError
from crftrain.text.encode import read_corpus
from crftrain.text.template import Template
from crftrain.training import events, learn
from crftrain.training.train import fit_point


def value_and_gradient(problem, w):
    g = np.full_like(w, np.nan)  # whatever was there before must not matter
    return problem.value_and_gradient(w, g), g


def big():
    """A pass over it takes some hundredths of a second."""
    return instance(0, sequences=1500, length=(60, 80), labels=20, attributes=50, per_token=(2, 2), features="full")


# ---- values and gradients


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("name", KINDS)
def test_value_and_gradient_agree_with_enumeration(name, l2):
    made = kind(name, seed=2)
    w = made.weights(3)
    f, g = value_and_gradient(made.problem(l2=l2), w)
    right_f, right_g = objective(made.corpus, made.layout, w, l2=l2)
    assert f == pytest.approx(right_f, rel=1e-12)
    assert len(g) == made.layout.n_features
    np.testing.assert_allclose(g, right_g, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [0.5, 100.0], ids=["scaled", "logarithms"])
@pytest.mark.parametrize("name", KINDS)
def test_gradient_is_the_central_difference(name, scale):
    made = kind(name, seed=4)
    w, problem = made.weights(5, scale), made.problem(l2=0.3)
    _, g = value_and_gradient(problem, w)
    np.testing.assert_allclose(g, central_differences(problem.value, w, h=1e-5), atol=1e-6 * max(1, scale))


@pytest.mark.parametrize("name", KINDS)
def test_value_and_gradient_agree_with_value(name):
    made = kind(name, seed=6)
    problem, w = made.problem(l2=0.2), made.weights(7)
    assert problem.value(w) == pytest.approx(value_and_gradient(problem, w)[0], rel=1e-14)


@pytest.mark.parametrize("name", ["plain", "no attribute is dense", "real values", "nine labels", "many labels", "pair attributes"])
def test_weights_that_do_not_exist_are_zero_and_stay_so(name):
    """The observed layout's gradient is that of the full one, restricted to the weights that exist."""
    made = kind(name, seed=8)
    full = arrange(made.corpus, made.vocabulary, features="full")
    layout, n_labels = made.layout, made.layout.n_labels
    rows = np.repeat(np.arange(layout.n_attributes), np.diff(layout.ptr)) * n_labels + layout.node_labels()
    pairs = np.repeat(np.arange(len(layout.pair_ptr) - 1), np.diff(layout.pair_ptr)) * n_labels**2 + layout.pair
    exists = np.concatenate([rows, full.transitions.start + layout.transition, full.pair_ptr[0] + pairs]).astype(int)
    assert len(exists) == layout.n_features < full.n_features
    w = made.weights(9)
    spread = np.zeros(full.n_features)
    spread[exists] = w
    f, g = value_and_gradient(made.problem(), w)
    dense_f, dense_g = value_and_gradient(_problem.Problem(made.corpus, full), spread)
    assert f == pytest.approx(dense_f, rel=1e-13)
    np.testing.assert_allclose(g, dense_g[exists], atol=1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_nothing_beside_the_vectors_is_read_or_written(name):
    """Rows are read in place, a few numbers beyond their end: what lies around the vector must not matter."""
    made = kind(name, seed=10)
    problem, n = made.problem(l2=0.1), made.layout.n_features
    w, before = np.full(n + 128, np.nan), np.full(n + 128, np.pi)
    w[64 : n + 64] = made.weights(11)
    f, g = value_and_gradient(problem, w[64 : n + 64].copy())
    out = before.copy()
    assert problem.value_and_gradient(w[64 : n + 64], out[64 : n + 64]) == f
    np.testing.assert_array_equal(out[64 : n + 64], g)
    np.testing.assert_array_equal(np.delete(out, np.s_[64 : n + 64]), np.pi)


def test_at_zero_every_label_is_as_likely():
    made = larger(labels=4)
    problem = made.problem(l2=1.0)
    assert problem.value(np.zeros(problem.n_features)) == pytest.approx(made.corpus.n_tokens * np.log(4) / made.corpus.n_sequences)


def test_the_gradient_is_expected_minus_observed_features():
    """At zero weights: each label on L-th of the time."""
    made = kind("full", seed=3)
    g = value_and_gradient(made.problem(), made.weights(0, 0.0))[1]
    corpus, layout = made.corpus, made.layout
    observed = sum(features(corpus, layout, i, gold(corpus, i)) for i in range(corpus.n_sequences))
    count = np.bincount(corpus.nodes.attr, minlength=layout.n_attributes)
    expected = np.repeat(count / layout.n_labels, layout.n_labels)
    np.testing.assert_allclose(g[: len(expected)] * corpus.n_sequences, expected - observed[: len(expected)], atol=1e-13)


def test_an_extreme_weight_vector_has_a_finite_value():
    made = kind("plain", seed=1)
    w = np.random.default_rng(0).choice([-1e3, 1e3], made.layout.n_features)
    f, g = value_and_gradient(made.problem(), w)
    right_f, right_g = objective(made.corpus, made.layout, w)
    assert f == pytest.approx(right_f, rel=1e-12)
    np.testing.assert_allclose(g, right_g, atol=1e-10)


# ---- penalties


def test_the_l2_term():
    made = kind("plain")
    w = made.weights(1)
    f, g = value_and_gradient(made.problem(), w)
    for l2 in (0.01, 3.0):
        penalised, h = value_and_gradient(made.problem(l2=l2), w)
        assert penalised - f == pytest.approx(l2 / 2 * np.sum(w**2))
        np.testing.assert_allclose(h - g, l2 * w, atol=1e-14)


def test_the_l1_term_is_in_the_objective_and_nowhere_else():
    made = kind("plain")
    w = made.weights(1)
    smooth, both = made.problem(l2=0.1), made.problem(l2=0.1, l1=0.3)
    assert both.value(w) == smooth.value(w)
    assert (value_and_gradient(both, w)[1] == value_and_gradient(smooth, w)[1]).all()
    assert both.objective(w) == pytest.approx(smooth.value(w) + 0.3 * np.abs(w).sum(), rel=1e-14)
    assert smooth.objective(w) == smooth.value(w)


def least_subgradient(problem, w):
    out = np.full_like(w, np.nan)
    _measures.subgradient(w, value_and_gradient(problem, w)[1], problem.l1, out)
    return out


def test_the_subgradient_of_least_norm_is_the_steepest_slope():
    """f(w - h v) falls with slope |v|^2, from points with and without zeros."""
    made = larger(sequences=20)
    problem = made.problem(l2=0.1, l1=0.02)
    for seed in range(3):
        w = made.weights(seed, 0.3)
        w[np.random.default_rng(seed).random(len(w)) < 0.5] = 0
        v = least_subgradient(problem, w)
        h = 1e-7
        slope = (problem.objective(w - h * v) - problem.objective(w)) / h
        assert slope == pytest.approx(-np.dot(v, v), rel=1e-4)


def test_the_subgradient_is_zero_if_and_only_if_w_is_optimal():
    """At the fixed point of proximal gradient steps it vanishes; next to it, it does not."""
    made = kind("plain", seed=2)
    problem = made.problem(l2=0.5, l1=0.05)
    w = np.zeros(problem.n_features)
    for _ in range(400):
        trial = w - 0.2 * value_and_gradient(problem, w)[1]
        w = np.sign(trial) * np.maximum(np.abs(trial) - 0.2 * 0.05, 0)
    assert 0 < np.count_nonzero(w) < len(w)
    assert np.abs(least_subgradient(problem, w)).max() < 1e-12
    for p in range(len(w)):
        moved = w.copy()
        moved[p] += 1e-3
        assert np.abs(least_subgradient(problem, moved)).max() > 1e-6
        assert problem.objective(moved) > problem.objective(w)


def test_the_gap_is_the_norm_of_the_subgradient():
    made = kind("plain")
    w = made.weights(2)
    w[::2] = 0
    for l1 in (0.0, 0.1):
        problem = made.problem(l2=0.1, l1=l1)
        g = value_and_gradient(problem, w)[1]
        assert problem.gap(w, g) == np.abs(least_subgradient(problem, w)).max()
        zero = np.zeros_like(w)
        assert problem.gap_at_zero() == np.abs(least_subgradient(problem, zero)).max()
    strong = made.problem(l1=100.0)
    assert strong.gap_at_zero() == 0


def test_max_norm():
    assert _measures.max_norm(np.array([0.5, -2.0, 1.0])) == 2
    assert _measures.max_norm(np.empty(0)) == 0
    assert np.isnan(_measures.max_norm(np.array([1.0, np.nan, 3.0])))
    assert _measures.max_norm(np.array([1.0, -np.inf])) == np.inf


def test_exact_numbers_for_reports():
    made = kind("plain")
    w = made.weights(1)
    problem = made.problem(l2=0.25)
    f, gap, bound = problem.exact(w)
    value, g = value_and_gradient(problem, w)
    assert (f, gap) == (pytest.approx(value), np.abs(g).max())
    assert bound == pytest.approx(np.dot(g, g) / 0.5)
    with_l1 = made.problem(l2=0.25, l1=0.5)
    assert with_l1.exact(w)[0] == pytest.approx(with_l1.objective(w)) == with_l1.exact_objective(w)
    assert with_l1.exact(w)[2] is None
    assert made.problem().exact(w)[2] is None


def test_the_bound_holds():
    """|grad f|^2 / (2 lambda) >= f - f*, by strong convexity."""
    made = kind("plain", seed=5)
    problem = made.problem(l2=0.2)
    w = np.zeros(problem.n_features)
    for _ in range(800):
        w -= 0.2 * value_and_gradient(problem, w)[1]
    best = problem.value(w)
    for seed in range(5):
        f, _, bound = problem.exact(made.weights(seed))
        assert bound >= f - best > 0


# ---- facts and counts


def test_facts():
    made = larger()
    problem = made.problem(l2=0.5, l1=0.25, threads=2)
    assert (problem.n_sequences, problem.n_tokens, problem.n_labels) == (80, made.corpus.n_tokens, 4)
    assert (problem.n_features, problem.n_blocks) == (made.layout.n_features, made.layout.n_blocks)
    assert (problem.l2, problem.l1, problem.threads, problem.passes) == (0.5, 0.25, 2, 0)


def test_passes_count_forward_runs_and_not_what_monitors_compute():
    made = kind("plain")
    problem, w = made.problem(l2=0.1, l1=0.1), made.weights()
    for passes, compute in enumerate((problem.value, problem.objective, lambda w: value_and_gradient(problem, w), problem.value), start=1):
        compute(w)
        assert problem.passes == passes
    for uncounted in (problem.exact, problem.exact_objective, lambda w: problem.gap_at_zero(), lambda w: least_norm(problem, w)):
        uncounted(w)
        assert problem.passes == 4


def least_norm(problem, w):
    return problem.gap(w, w)


def test_another_regularisation_of_the_same_corpus():
    made = kind("plain")
    problem, w = made.problem(l2=0.1, threads=2), made.weights()
    problem.value(w)
    other = problem.at(l2=0.4, l1=0.2)
    assert (other.l2, other.l1, other.threads, other.passes) == (0.4, 0.2, 2, 0)
    assert other.objective(w) == made.problem(l2=0.4, l1=0.2, threads=2).objective(w)
    assert problem.passes == 1


def test_weights_and_corpus_are_left_as_they_are():
    made = kind("real values")
    problem, w = made.problem(l2=0.1, threads=2), made.weights()
    kept, label, value = w.copy(), made.corpus.label.copy(), np.sort(made.corpus.nodes.value)
    value_and_gradient(problem, w)
    problem.value(w)
    problem.exact(w)
    assert (w == kept).all()
    assert (made.corpus.label == label).all()
    assert (np.sort(made.corpus.nodes.value) == value).all()


def test_a_vector_of_another_length_is_refused_before_anything_is_written():
    for l2 in (0.0, 0.1):
        problem = kind("plain").problem(l2=l2)
        n = problem.n_features
        for w, size in ((np.zeros(n - 1), n), (np.zeros(n + 1), n), (np.zeros(n), n - 1), (np.zeros(n), n + 1)):
            room = np.full(n + 64, np.pi)
            with pytest.raises(ValueError, match=f"expected {n}"):
                problem.value_and_gradient(w, room[:size])
            assert (room[size:] == np.pi).all()
        with pytest.raises(ValueError, match=f"expected {n}"):
            problem.value(np.zeros(0))


# ---- threads


@pytest.mark.parametrize("name", ["plain", "full", "pair attributes", "many labels", "real values"])
def test_any_number_of_threads_computes_the_same(name):
    """Also where there are more threads than sequences."""
    made = kind(name, seed=12)
    w = made.weights(1)
    f, g = value_and_gradient(made.problem(l2=0.1), w)
    for threads in (2, 3, 7, 16):
        problem = made.problem(l2=0.1, threads=threads)
        for _ in range(2):  # buffers are used again
            other_f, other_g = value_and_gradient(problem, w)
            assert other_f == pytest.approx(f, rel=1e-13)
            np.testing.assert_allclose(other_g, g, atol=1e-14)
        assert problem.value(w) == pytest.approx(f, rel=1e-13)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_number_of_threads_gives_the_same_bits(threads):
    made = larger(sequences=300)
    w = made.weights(1)
    f, g = value_and_gradient(made.problem(l2=0.1, threads=threads), w)
    problem = made.problem(l2=0.1, threads=threads)
    for _ in range(5):
        again_f, again_g = value_and_gradient(problem, w)
        assert again_f == f
        assert (again_g == g).all()


def test_in_threads_runs_each_once():
    ran = []
    in_threads(ran.append, 5)
    assert sorted(ran) == [0, 1, 2, 3, 4]


def test_threads_that_have_ended_work_again():
    for _ in range(3):
        in_threads(lambda k: None, 4)
    before = threading.active_count()
    in_threads(lambda k: None, 4)
    assert threading.active_count() == before


def test_work_within_work_has_threads_of_its_own():
    ran = []
    in_threads(lambda outer: in_threads(lambda k: ran.append((outer, k)), 3), 3)
    assert sorted(ran) == [(outer, k) for outer in range(3) for k in range(3)]


def test_the_failure_of_the_first_that_failed_leaves_when_all_have_ended():
    ended, cancelled = [], []

    def work(k):
        time.sleep(0.02 * (4 - k))
        ended.append(k)
        if k in (2, 3):
            raise ValueError(k)

    with pytest.raises(ValueError, match="2"):
        in_threads(work, 5, cancel=lambda: cancelled.append(True))
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert not cancelled


@pytest.mark.parametrize("working", [True, False])
def test_a_signal_cancels_the_others_and_leaves_when_they_have_ended(working):
    """Also where it comes while this thread waits for them."""
    over, ended = threading.Event(), []

    def interrupt(number, frame):
        raise Interrupted

    def work(k):
        if k == 0:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            while working:
                time.sleep(0.001)
        else:
            over.wait()
            ended.append(k)

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            in_threads(work, 4, cancel=over.set)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert sorted(ended) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_forks_has_threads_on_both_sides():
    in_threads(lambda k: None, 3)
    child = os.fork()
    if child == 0:
        ran = []
        in_threads(ran.append, 3)
        os._exit(0 if sorted(ran) == [0, 1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
    in_threads(lambda k: None, 3)


# ---- failures


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["plain", "no attribute is dense", "full", "pair attributes", "nine labels", "real values"])
def test_a_weight_that_is_no_number_is_an_error_and_leaves_nothing_broken(name, bad, threads):
    made = kind(name, seed=14)
    problem, w = made.problem(l2=0.0, threads=threads), made.weights(1)
    before = value_and_gradient(problem, w)
    fires = np.zeros(problem.n_features)
    for y in range(made.layout.n_labels):  # weights that some path uses
        for i in range(made.corpus.n_sequences):
            length = made.corpus.seq[i + 1] - made.corpus.seq[i]
            fires += np.abs(features(made.corpus, made.layout, i, [y] * length))
    for p in np.flatnonzero(fires):
        broken = w.copy()
        broken[p] = bad
        with pytest.raises(TrainingError, match=r"sequence \d+: its loss is (nan|inf|-inf), expected a finite number"):
            value_and_gradient(problem, broken)
        with pytest.raises(TrainingError):
            problem.value(broken)
    after = value_and_gradient(problem, w)
    assert after[0] == before[0]
    assert (after[1] == before[1]).all()


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_computation_does_not_spoil_the_next(threads):
    """A signal's exception leaves promptly, and what is computed then is what a new problem computes."""
    made = big()
    w, v = made.weights(1), made.weights(2)
    problem = made.problem(l2=0.1, threads=threads)
    right = value_and_gradient(problem, v)

    def interrupt(number, frame):
        raise Interrupted

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in (0.01, 0.03):
            signal.setitimer(signal.ITIMER_REAL, delay)
            started = time.perf_counter()
            with pytest.raises(Interrupted):
                for _ in range(100):
                    value_and_gradient(problem, w)
            assert time.perf_counter() - started < 5
            f, g = value_and_gradient(problem, v)
            assert f == right[0]
            assert (g == right[1]).all()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_dies_as_it_starts_is_not_waited_for(monkeypatch):
    """An exception just after a thread was begun makes `threading` forget it, of which it dies before it does anything."""
    made = big()
    problem, w = made.problem(threads=2), made.weights(1)
    name = "_start_new_thread" if hasattr(threading, "_start_new_thread") else "_start_joinable_thread"
    start = getattr(threading, name)

    def begin_and_fail(*arguments, **how):
        start(*arguments, **how)
        raise Interrupted

    monkeypatch.setattr(threading, name, begin_and_fail)
    monkeypatch.setattr("crftrain.chain.threads._idle", [])
    with pytest.raises((Interrupted, KeyError)):  # KeyError where the thread was quicker and start() cannot forget it
        value_and_gradient(problem, w)
    monkeypatch.undo()
    f, g = value_and_gradient(problem, w)
    right = value_and_gradient(made.problem(threads=2), w)
    assert f == right[0]
    assert (g == right[1]).all()


def test_a_failed_computation_is_no_pass():
    made = kind("plain")
    problem, w = made.problem(), made.weights()
    w[:] = np.nan
    with pytest.raises(TrainingError):
        problem.value(w)
    assert problem.passes == 0


def test_threads_leave_out_what_their_sequences_do_not_have(tmp_path):
    """Every token has an attribute of its own, so that the first threads touch only the first part of the weights."""
    (tmp_path / "train").write_text("\n".join("".join(f"w{i}-{k} N{(i + k) % 3}\n" for k in range(400)) for i in range(40)))
    corpus, vocabulary = read_corpus([str(tmp_path / "train")], template=Template.parse("U:%x[0,0]\nB\n", "t"))
    layout = arrange(corpus, vocabulary, features="full")
    w = np.random.default_rng(1).normal(size=layout.n_features)
    f, g = value_and_gradient(_problem.Problem(corpus, layout, l2=0.1), w)
    for threads in (2, 3):
        problem = _problem.Problem(corpus, layout, l2=0.1, threads=threads)
        for _ in range(2):
            other_f, other_g = value_and_gradient(problem, w)
            assert other_f == pytest.approx(f, rel=1e-13)
            np.testing.assert_allclose(other_g, g, atol=1e-14)


# ---- the corpus belongs to who made it


def test_a_problem_leaves_the_corpus_as_it_is():
    """Where dense attributes do not come first it goes by a copy in which they do; and nobody can change what it relies on."""
    made = instance(features="full", labels=3, values=True)
    arrays = [array.copy() for array in made.corpus.arrays()]
    problem = made.problem(l2=0.1)
    assert all((now == before).all() for now, before in zip(made.corpus.arrays(), arrays, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        made.corpus.nodes.attr[0] = 0
    order_occurrences(other := made.corpus.take(np.arange(made.corpus.n_sequences)), made.layout)
    assert (problem.sequences.nodes.attr == other.nodes.attr).all()
    assert (problem.sequences.nodes.value == other.nodes.value).all()
    assert (other.nodes.attr != made.corpus.nodes.attr).any()
    assert Sequences(other, made.layout).nodes is other.nodes


@pytest.mark.parametrize("features", ["observed", "full"])
def test_a_corpus_has_one_checksum_before_and_after_training(settings, features):
    asked = settings(features=features, passes=1)
    training = learn.prepare(asked)
    before = events.fingerprint(training)
    fit_point(asked, training)
    assert events.fingerprint(training) == before


def test_an_objective_holds_on_to_no_vector_that_it_was_asked_about():
    """Else an optimiser's pairs would stay after it, next to what the next one takes."""
    problem = kind("plain", seed=1).problem(l2=0.1, l1=0.1)
    rows = np.zeros((3, problem.n_features))
    problem.value_and_gradient(rows[0], rows[1])
    problem.value(rows[2])
    problem.diagonal(rows[0]).times(rows[1], rows[2])
    left = weakref.ref(rows)
    del rows
    assert left() is None
