"""auto decides by counts and by how a run goes, says so, and gives the same bytes each time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from problems import larger

from crftrain import optimizers
from crftrain.chain.sizes import sizes
from crftrain.errors import TrainingError
from crftrain.optimizers.choice import _counts, _way
from crftrain.optimizers.choice._counts import FEWEST, choose, owlqn_between
from crftrain.optimizers.choice._rates import LbfgsWatch, SagWatch, SdcaWatch
from crftrain.optimizers.choice._way import ALONE, BEGIN, BEGINNING, END, MIDDLE
from crftrain.training.checkpoint import _check_state
from crftrain.training.loop import Asked, Limits, fit
from crftrain.training.proof import Goal


def counts(**changes):
    """Those of a corpus of middle size."""
    sizes = {
        "n_sequences": 10_000,
        "n_tokens": 200_000,
        "n_labels": 20,
        "n_features": 500_000,
        "n_pair_features": 0,
        "n_tokens_squared": 8_000_000,
    }
    facts = {**sizes, "constrained": False, "n_occurrences": 4_000_000, "n_touched": 9_000_000, "listed_bytes": 0}
    facts |= changes
    return SimpleNamespace(**{"n_pairs": facts["n_labels"] ** 2, **facts})


def made_by_auto(problem, seed=1, **options):
    algorithm = optimizers.get("auto")
    return algorithm.make(problem, np.zeros(problem.n_features), np.random.default_rng(seed), **{**algorithm.defaults(), **options})


def few_long_sequences(seed=4):
    """Few attributes that all sequences share, and labels that hardly follow them: sag gets on slowly."""
    return larger(seed, sequences=12, length=(150, 250), labels=6, attributes=12, per_token=(1, 3), noise=0.7)


def test_counts_decide():
    assert choose(counts(), 4)[0] == "sag"
    assert choose(counts(), 4, threads=4)[0] == "sag"
    assert choose(counts(), 4, threads=5)[0] == "newton-cg"
    assert choose(counts(n_tokens_squared=10**10), 4)[0] == "newton-cg"
    assert choose(counts(), 4, l1=0.1)[0] == "sgd-l1" and choose(counts(), 4, l1=0.1, warm=True)[0] == "sag"
    assert choose(counts(), 4, l2=0.0)[0] == choose(counts(), 4, l2=0.0, threads=5, shards=True)[0] == "lbfgs"
    assert choose(counts(), 1e-9, l1=0.1)[0] == choose(counts(), 4, l1=0.1, l2=0.0)[0] == "owlqn"


def test_few_labels_get_sdca_where_nothing_speaks_against_it():
    few, l2 = counts(n_labels=9), 1 / 10_000
    assert choose(few, 4, l2=l2)[0] == "sdca"
    against = [{"l2": 0.05 / 10_000}, {"warm": True}, {"l1": 0.1}, {"threads": 5}]
    assert [choose(few, 4, **{"l2": l2, **how})[0] for how in against] == ["sag", "sag", "sgd-l1", "newton-cg"]
    changed = [{"constrained": True}, {"n_tokens_squared": 200_000 * 300}, {"n_labels": 17}]
    all_long = {"n_labels": 9, "n_sequences": 200, "n_tokens_squared": 200_000 * 1000}
    assert choose(counts(**all_long), 4, l2=1 / 200)[0] == "sdca"
    assert {choose(counts(**{"n_labels": 9, **how}), 4, l2=l2)[0] for how in changed} == {"sag"}
    assert choose(few, 0.08, l2=l2)[0] == "sag"


def test_many_labels_get_lbfgs_at_first_where_sag_could_follow():
    many = counts(n_labels=300)
    assert choose(many, 4)[0] == "lbfgs" and choose(many, 4, warm=True)[0] == "sag"
    assert choose(many, 4, threads=5)[0] == "newton-cg"
    assert choose(many, 1e-3)[:2] == ("lbfgs", {"memory": 5})  # to the end


def test_where_the_penalty_is_strong_the_first_pass_of_sag_sees_each_sequence():
    assert choose(counts(), 4, l2=10 / 10_000)[:2] == ("sag", {"first_pass": "permute"})
    assert choose(counts(), 4, l2=1 / 10_000)[:2] == ("sag", {})


def test_data_in_shards_never_get_a_method_that_visits_sequences():
    facts = SimpleNamespace(n_features=500_000, n_sequences=9, n_tokens=99, n_labels=3)  # no more is known of them
    for room in np.geomspace(1e-6, 1e4, 60):
        assert choose(facts, room, shards=True)[0] in ("newton-cg", "lbfgs")


def test_a_table_that_is_too_large_has_several_sequences_in_an_entry_and_else_there_is_another_method():
    many = counts(n_labels=437, n_sequences=45_872, n_tokens=930_641, n_features=20_000_000)
    name, options, _ = choose(many, 8, warm=True)
    assert name == "sag" and options["batch"] > 1 and many.n_sequences / options["batch"] >= FEWEST
    assert choose(many, 2.2)[0] == "newton-cg"
    assert choose(many, 1)[0] == "lbfgs"
    for room in np.geomspace(1e-6, 1e4, 60):
        assert choose(many, room)[0] in ("sag", "newton-cg", "lbfgs")


@pytest.mark.parametrize("max_memory", [1e-9, 1e-4, 4.0])
def test_it_never_refuses_for_memory(max_memory):
    problem = larger(sequences=40).problem(l2=1 / 40)
    outcome = fit(problem, made_by_auto(problem, max_memory=max_memory), tol=1e-3, monitors=[Limits(steps=1000)])
    assert outcome.reason == "converged"


def test_newton_cg_goes_on_where_sag_is_slow_and_that_is_told_once(monkeypatch):
    monkeypatch.setattr(SagWatch, "SLOW", 0.5)
    made = few_long_sequences()
    problem = made.problem(l2=0.05 / 12)
    opt, told = made_by_auto(problem), []
    outcome = fit(problem, opt, tol=1e-3, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=1000)])
    assert outcome.reason == "converged" and opt.name == "newton-cg"
    assert [text.split()[1].rstrip(",") for text in told] == ["sag", "newton-cg"]


def test_sag_goes_on_where_sdca_is_slow_and_newton_cg_where_that_is_slow_too(monkeypatch):
    monkeypatch.setattr(SdcaWatch, "SLOW", 1)
    monkeypatch.setattr(SagWatch, "SLOW", 0.5)
    problem = few_long_sequences().problem(l2=1 / 12)
    opt, told = made_by_auto(problem), []
    outcome = fit(problem, opt, tol=1e-3, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=1000)])
    assert outcome.reason == "converged"
    assert [text.split()[1].rstrip(",") for text in told] == ["sdca", "sag", "newton-cg"][: len(told)] and len(told) > 1


@pytest.mark.parametrize("slow, names", [(1, ["lbfgs", "sag"]), (math.inf, ["lbfgs"])])
def test_sag_goes_on_where_lbfgs_is_slow_and_not_where_it_is_quick(monkeypatch, slow, names):
    monkeypatch.setattr(_counts, "MANY", 2)
    monkeypatch.setattr(LbfgsWatch, "SLOW", slow)
    monkeypatch.setattr(LbfgsWatch, "NOTHING", 1.0)
    problem = larger(sequences=40).problem(l2=0.05 / 40)
    opt, told = made_by_auto(problem), []
    outcome = fit(problem, opt, tol=1e-3, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=1000)])
    assert outcome.reason == "converged"
    assert [text.split()[1].rstrip(",") for text in told] == names


def test_lbfgs_is_left_where_it_has_proved_nothing_after_two_iterations():
    left = []
    for proved in (0.05, 0.3):
        watch = LbfgsWatch()
        for distance in (1.0, 1 - proved):
            watch.see(distance, 1.0)
        left.append(watch.slow() is not None)
    assert left == [True, False]


@pytest.mark.parametrize("length, patient", [(25, False), (1000, True)])
def test_sdca_is_given_more_passes_where_sequences_are_long(length, patient):
    watch = SdcaWatch(counts(n_tokens_squared=200_000 * length))
    for k in range(3):
        watch.see(0.5 * 0.8**k, 1.0)  # 26 to come
    assert (watch.slow() is None) == patient


@pytest.mark.parametrize("length, patient", [(25, False), (1000, True)])
def test_on_long_sequences_sdcas_rate_is_that_of_the_gap(length, patient):
    """Relative to a value that falls as fast it hardly changes while the bound is near zero."""
    watch = SdcaWatch(counts(n_tokens_squared=200_000 * length))
    for k in range(3):
        watch.see(0.99 - 0.01 * k, 1000 * 0.6**k)
    assert (watch.slow() is None) == patient


@pytest.mark.parametrize("strength", [0.05, 1.0])
def test_two_runs_are_alike_to_the_bit(monkeypatch, strength):
    monkeypatch.setattr(SagWatch, "SLOW", 0.5)
    monkeypatch.setattr(SdcaWatch, "SLOW", 1)
    made, found = few_long_sequences(), []
    for _ in range(2):
        problem = made.problem(l2=strength / 12)
        opt = made_by_auto(problem)
        fit(problem, opt, tol=1e-3, monitors=[Limits(steps=40)])
        found.append(opt.w.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("strength, many", [(0.05, 100), (1.0, 100), (1.0, 2), (20.0, 3)])
@pytest.mark.parametrize("steps", [1, 3, 4, 17, 30])
def test_a_checkpoint_carries_the_choice(steps, strength, many, monkeypatch):
    monkeypatch.setattr(_counts, "MANY", 100 if many == 3 else many)
    monkeypatch.setattr(_counts, "FEW", 16 if many == 100 else 0)
    monkeypatch.setattr(LbfgsWatch, "SLOW", 1)
    monkeypatch.setattr(SagWatch, "SLOW", 0.5)
    monkeypatch.setattr(SdcaWatch, "SLOW", 1)
    made, w = few_long_sequences(), []
    problem = made.problem(l2=strength / 12)
    opt = made_by_auto(problem)
    for _ in range(steps):
        opt.step()
    other = made_by_auto(problem, seed=5)
    other.restore({name: np.array(array) for name, array in opt.state().items()})
    other.rng.bit_generator.state = opt.rng.bit_generator.state
    assert other.name == opt.name
    for one in (opt, other):
        for _ in range(18):
            one.step()
        w.append(one.w.tobytes())
    assert w[0] == w[1]


def test_sag_goes_on_where_sdcas_rounded_numbers_tell_no_more():
    problem, told = larger(sequences=40).problem(l2=1 / 40), []
    opt = made_by_auto(problem)
    outcome = fit(problem, opt, tol=1e-8, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=300)])
    assert outcome.reason == "converged"
    assert [text.split()[1].rstrip(",") for text in told] == ["sdca", "sag"]


def test_on_a_path_sag_goes_on_from_sdcas_weights():
    made = larger(sequences=40)
    opt = made_by_auto(made.problem(l2=1 / 40))
    fit(opt.objective, opt, tol=1e-3, monitors=[Limits(steps=100)])
    weaker = made.problem(l2=0.5 / 40)
    assert opt.name == "sdca" and opt.can_move_to(weaker)
    opt.move_to(weaker)
    assert not opt.can_move_to(made.problem())  # without a penalty another one is chosen
    assert opt.name == "sag" and fit(weaker, opt, tol=1e-3).reason == "converged"


# ---- under l1


def under_l1(l1=0.5, l2=0.05, **more):
    return larger(3, sequences=120, **more).problem(l1=l1 / 120, l2=l2 / 120)


def test_under_l1_owlqn_is_between_sgd_and_sag_and_each_turn_is_told_once(monkeypatch):
    monkeypatch.setattr(_way, "STEEP", 0.0)
    problem, told = under_l1(), []
    opt = made_by_auto(problem)
    outcome = fit(problem, opt, tol=1e-4, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=2000)])
    assert outcome.reason == "converged"
    assert [text.split()[1].rstrip(",") for text in told] == ["sgd-l1", "owlqn", "sag"]


def test_under_l1_sag_follows_at_once_where_the_beginning_has_come_far():
    problem = under_l1(l1=5.0)
    opt = made_by_auto(problem)
    assert fit(problem, opt, tol=1e-4, monitors=[Limits(steps=2000)]).reason == "converged"
    assert opt.way.part == ALONE and [text.split()[1].rstrip(",") for text in opt.news()] == ["sgd-l1", "sag"]


def test_under_l1_owlqn_is_not_left_out_where_labels_are_many(monkeypatch):
    monkeypatch.setattr(_way, "MANY", 4)
    opt = made_by_auto(under_l1(l1=5.0))
    for _ in range(BEGINNING + 1):
        opt.step()
    assert opt.name == "owlqn" and opt.way.part == MIDDLE


@pytest.mark.parametrize("breaks", [False, True])
def test_under_l1_sag_begins_at_zero_where_sgd_has_come_to_nothing_better(breaks):
    """Steps that are far too long, and a pass that leaves the range of numbers."""
    problem = under_l1()
    opt = made_by_auto(problem)
    opt.inner.eta = 30.0
    opt.step()
    if breaks:
        opt.inner._descend = lambda *order: raising(TrainingError("step 3 of the pass", "the loss is not finite"))
    assert fit(problem, opt, tol=1e-4, monitors=[Limits(steps=2000)]).reason == "converged"
    told = opt.news()
    assert [text.split()[1].rstrip(",") for text in told] == ["sgd-l1", "sag"] and "from zero weights" in told[1] and opt.way.part == ALONE


def raising(error):
    raise error


@pytest.mark.parametrize("made", [larger(3, sequences=120), larger(4, sequences=200, noise=0.5), larger(5, sequences=400, values=True)])
@pytest.mark.parametrize("l1, l2", [(0.5, 0.05), (5.0, 0.1)])
def test_under_l1_sag_loses_little_of_what_sgd_has_come_to(made, l1, l2):
    n = made.corpus.n_sequences
    problem = made.problem(l1=l1 / n, l2=l2 / n)
    opt = made_by_auto(problem)
    opt.way.between, values = False, []
    for _ in range(BEGINNING + 4):
        opt.step()
        values.append(problem.objective(opt.w))
    assert opt.name == "sag" and max(values[BEGINNING:]) < 1.2 * values[BEGINNING - 1]


def test_under_l1_weights_to_start_from_take_the_place_of_the_beginning():
    problem = under_l1()
    opt = made_by_auto(problem)
    opt.w[:] = 0.1
    opt.step()
    assert opt.name == "owlqn" and "owlqn" in opt.news()[-1]


def test_under_l1_owlqn_is_left_out_where_it_does_not_fit_or_weights_are_more_than_occurrences():
    assert owlqn_between(counts(), 1e9) and not owlqn_between(counts(), 1e6)
    assert not owlqn_between(counts(n_features=4_000_001), 1e12)


@pytest.mark.parametrize("steps", [3, BEGINNING, BEGINNING + 4, 60])
@pytest.mark.parametrize("steep", [0.0, 9.0])
def test_under_l1_a_checkpoint_carries_every_part_of_the_way(steps, steep, monkeypatch):
    monkeypatch.setattr(_way, "STEEP", steep)
    problem, w = under_l1(), []
    opt = made_by_auto(problem)
    for _ in range(steps):
        opt.step()
    assert opt.way.part == (BEGIN if steps <= BEGINNING else ALONE if steep else MIDDLE if steps < 20 else END)
    state = {name: np.array(array) for name, array in opt.state().items()}
    other = made_by_auto(problem, seed=5)
    other.become(state)
    _check_state(state, other)
    other.restore(state)
    other.rng.bit_generator.state = opt.rng.bit_generator.state
    for one in (opt, other):
        for _ in range(30):
            one.step()
        w.append(one.w.tobytes())
    assert w[0] == w[1]


@pytest.mark.parametrize("l1, l2", [(0.5, 0.05), (2.0, 0.5), (0.1, 1.0)])
def test_under_l1_the_end_satisfies_the_conditions_of_karush_kuhn_and_tucker_for_all_weights(l1, l2):
    """g = -l1 sign(w) where w is not zero, |g| <= l1 where it is, and exact zeros where |g| is below it; owlqn's optimum."""
    problem, ends = under_l1(l1, l2), []
    for name in ("auto", "owlqn"):
        algorithm, w = optimizers.get(name), np.zeros(problem.n_features)
        opt = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
        assert fit(problem, opt, tol=Goal(slope=1e-6), monitors=[Limits(steps=5000)]).reason == "converged"
        ends.append(w)
    w, g = ends[0], np.empty(problem.n_features)
    problem.value_and_gradient(w, g)
    on = w != 0
    near = 1e-6 * problem.gap_at_zero()
    np.testing.assert_allclose(g[on], -problem.l1 * np.sign(w[on]), atol=near)
    assert (np.abs(g[~on]) <= problem.l1 + near).all() and not w[np.abs(g) < problem.l1 - 2 * near].any()
    assert problem.objective(w) == pytest.approx(problem.objective(ends[1]), rel=1e-7)


# ----


def test_sizes_are_counts_of_the_corpus():
    made = larger(sequences=30)
    found = sizes(made.corpus, made.layout)
    assert (found.n_sequences, found.n_tokens, found.n_labels) == (30, made.corpus.n_tokens, 4)
    assert found.n_tokens_squared == (np.diff(made.corpus.seq) ** 2).sum()
    assert (found.n_features, found.n_occurrences) == (made.layout.n_features, len(made.corpus.nodes.attr))


def test_newton_cg_begins_at_zero_where_sag_has_come_to_something_worse(monkeypatch):
    made = few_long_sequences()
    problem = made.problem(l2=0.05 / 12)
    opt = made_by_auto(problem)
    at_zero = problem.objective(np.zeros(problem.n_features))
    opt.w[:] = 100.0
    opt._leave("would take long")
    assert "no better than zero weights" in opt.news()[-1] and not opt.w.any()
    opt.step()
    assert problem.objective(opt.w) < at_zero


def test_who_asked_for_threads_is_told_where_one_is_used():
    """sag and sdca visit one sequence after the other."""
    for threads, said in ((1, "sdca, for "), (2, "sdca on one thread, for "), (5, "newton-cg, for 5 threads")):
        problem = larger(labels=5).problem(l2=0.01, threads=threads)
        assert made_by_auto(problem).news()[0].startswith(f"algorithm: {said}")
