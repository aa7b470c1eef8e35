"""Warm starts: weights land by name, an optimum is recognised, and a path of strengths keeps what is known of the sequences."""

import numpy as np
import problems
import pytest
from problems import larger
from sag_twin import optimum, start

from crftrain.chain.layout import arrange
from crftrain.errors import ModelError
from crftrain.model import model
from crftrain.model.warmstart import initial_weights, moved
from crftrain.training.learn import learn, prepare
from crftrain.training.loop import Limits, fit
from crftrain.training.proof import Goal
from crftrain.training.strength import Strength

NAMES = ["sag", "saga", "svrg"]
MACROS = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[0,1]\nB00:%x[0,1]\nB01:%x[-1,1]/%x[0,1]\nB\n"


def by_name(vocabulary, layout, w):
    """{(attribute, label): weight}, {(label, label): weight}, {(pair attribute, label, label): weight} in one dictionary."""
    labels, n = vocabulary.labels, layout.n_labels
    out = {}
    for names, ptr, kind in (
        (vocabulary.attributes.names(), layout.ptr, layout.node_labels()),
        (vocabulary.pair_attributes.names(), layout.pair_ptr, layout.pair),
    ):
        for a, name in enumerate(names):
            for p in range(ptr[a], ptr[a + 1]):
                member = int(kind[p - ptr[0]])
                who = (labels[member],) if kind is not layout.pair else (labels[member // n], labels[member % n])
                out[(name, *who)] = w[p]
    for value, pair in zip(w[layout.transitions], layout.transition.tolist(), strict=True):
        out[(labels[pair // n], labels[pair % n])] = value
    return out


@pytest.fixture
def saved(settings, tmp_path):
    """saved(text, **changes) -> (path of a model with a random weight for every feature, its Training)."""

    def make(text, seed=1, **changes):
        (tmp_path / "old.txt").write_text(text)
        training = prepare(settings(paths=(str(tmp_path / "old.txt"),), **changes))
        w = np.random.default_rng(seed).normal(0, 1, training.layout.n_features).astype(np.float32).astype(float)
        path = str(tmp_path / "old.bin")
        model.save(path, training.vocabulary, training.layout, w, {})
        return path, training, w

    return make


@pytest.mark.parametrize("features", ["observed", "full"])
def test_weights_move_to_another_layout_of_the_same_names(settings, saved, template, features):
    """As they land by name."""
    _, training, w = saved(OLD, template=template, features=features)
    rest = training.corpus.take(np.arange(0, training.corpus.n_sequences, 2))
    fewer = arrange(rest, training.vocabulary, features="observed", transitions="observed", dense=training.dense)
    found = by_name(training.vocabulary, fewer, moved(w, training.layout, fewer))
    whole = by_name(training.vocabulary, training.layout, w)
    assert found == {name: whole[name] for name in found} and len(found) < len(whole)
    back = by_name(training.vocabulary, training.layout, moved(moved(w, training.layout, fewer), fewer, training.layout))
    assert back == {name: found.get(name, 0.0) for name in whole}


@pytest.fixture
def template(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text(MACROS)
    return str(path)


OLD = problems.text(1, words=40, labels=("B-X", "I-X", "O"))
NEW = problems.text(2, words=60, labels=("O", "B-Y", "I-X", "B-X"), sentences=60)


@pytest.mark.parametrize("features", [("observed", "observed"), ("full", "full"), ("observed", "full"), ("full", "observed")])
@pytest.mark.parametrize("transitions", [("full", "full"), ("observed", "full"), ("full", "observed")])
@pytest.mark.parametrize("old, new", [(OLD, NEW), (NEW, OLD), (OLD, OLD)], ids=["more labels", "fewer labels", "the same data"])
def test_weights_land_by_name(settings, saved, template, tmp_path, old, new, features, transitions):
    """Each weight of the new layout has the old model's for the same attribute and labels, or zero."""
    path, training, w_old = saved(old, template=template, features=features[0], transitions=transitions[0])
    (tmp_path / "new.txt").write_text(new)
    made = prepare(settings(paths=(str(tmp_path / "new.txt"),), template=template, features=features[1], transitions=transitions[1]))
    w, placed = initial_weights(model.load(path), made.vocabulary, made.layout)
    before, after = by_name(training.vocabulary, training.layout, w_old), by_name(made.vocabulary, made.layout, w)
    assert len(after) == made.layout.n_features
    assert after == {name: before.get(name, 0.0) for name in after}
    assert placed == len(before.keys() & after.keys()) == np.count_nonzero(w)
    if old == new and features[0] == features[1] and transitions[0] == transitions[1]:
        assert placed == made.layout.n_features
        assert (w == w_old).all()


def test_nothing_in_common_is_zero(settings, saved, tmp_path):
    path, *_ = saved("a b X\nc d Y\n\n")
    (tmp_path / "new.txt").write_text("e f Z\ng h W\n\n")
    made = prepare(settings(paths=(str(tmp_path / "new.txt"),)))
    w, placed = initial_weights(model.load(path), made.vocabulary, made.layout)
    assert placed == 0
    assert not w.any()


def test_a_label_of_the_same_name_elsewhere_keeps_its_weights(settings, saved, tmp_path):
    """Labels are numbered as they appear."""
    path, training, w_old = saved("a a X\nb b Y\nc c Z\n\n", transitions="observed")
    (tmp_path / "new.txt").write_text("c c Z\nb b Y\na a X\n\n")
    made = prepare(settings(paths=(str(tmp_path / "new.txt"),)))
    w, placed = initial_weights(model.load(path), made.vocabulary, made.layout)
    before, after = by_name(training.vocabulary, training.layout, w_old), by_name(made.vocabulary, made.layout, w)
    assert made.vocabulary.labels != training.vocabulary.labels
    assert after["X", "Y"] == before["X", "Y"]
    assert after["Y", "X"] == 0
    assert placed == sum(name in before for name in after)


def test_what_is_no_model_is_refused(settings, train_file):
    with pytest.raises(ModelError):
        learn(settings("sag", init=str(train_file)))
    with pytest.raises(ModelError):
        learn(settings("sag", init="absent.bin"))


# ---- an old model as the start of `learn`


@pytest.mark.parametrize("name", NAMES)
def test_an_optimum_is_recognised_by_one_exact_pass(settings, tmp_path, name):
    """float32 weights of a file are off by 1e-8, which 1e-5 allows for."""
    optimal = learn(settings(name, tol=1e-9 if name == "svrg" else 1e-7, passes=1000, model=str(tmp_path / "optimal")))
    assert optimal.reason == "converged"
    again = learn(settings(name, tol=1e-5, init=str(tmp_path / "optimal")))
    assert (again.reason, again.iteration) == ("converged", 1)
    np.testing.assert_allclose(again.w, optimal.w, atol=1e-5)
    if name != "svrg":
        assert again.passes < 3  # the pass and the first line searches


@pytest.mark.parametrize("name", ["sag", "saga"])
def test_the_first_step_of_a_warm_start_leaves_w_and_fills_the_table(name):
    made = larger()
    w = optimum(made, 1 / 80)[0] + 0.1
    problem, v, opt = start(name, made, w=w.copy(), table_precision="double")
    step = opt.step()
    assert (v == w).all()
    assert step.exact
    assert (step.objective, step.gap) == tuple(pytest.approx(x, rel=1e-9) for x in problem.exact(w)[:2])
    assert opt.steps.sampler.seen == 80
    g = np.empty_like(w)
    problem.value_and_gradient(w, g)
    np.testing.assert_allclose(opt.steps.lazy.d_in_vector() / 80 + w / 80, g, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_a_good_start_is_not_lost(name):
    """From near the optimum no step leads far above it, as a table of zeros would."""
    made = larger(sequences=200)
    best, f = optimum(made, 1 / 200)
    problem, w, opt = start(name, made, w=best + np.random.default_rng(0).normal(0, 0.01, len(best)))
    begun, cold = problem.exact_objective(w) - f, problem.exact_objective(np.zeros_like(w)) - f
    for _ in range(12):
        opt.step()
        assert problem.exact_objective(w) - f <= 0.02 * cold
    assert problem.exact_objective(w) - f <= begun


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_other_data_is_a_start_for_new_data(settings, train_file, tmp_path, name):
    """Labels and attributes differ: the first passes get further than from zero, and to the new data's optimum in the end."""
    (tmp_path / "other.txt").write_text("new new B-Z\nw1 c1 I-X\n\n" + train_file.read_text() + "w5 new O\n\n")
    learn(settings(name, tol=1e-6, passes=1000, model=str(tmp_path / "before")))
    other, init = {"paths": (str(tmp_path / "other.txt"),)}, {"init": str(tmp_path / "before")}
    cold, warm = (learn(settings(name, passes=4, tol=0.0, **other, **old)) for old in ({}, init))
    cold_end, warm_end = (learn(settings(name, passes=1000, tol=1e-6, **other, **old)) for old in ({}, init))
    assert (cold_end.reason, warm_end.reason) == ("converged", "converged")
    assert warm_end.objective == pytest.approx(cold_end.objective, rel=1e-6)
    assert warm.objective - warm_end.objective < 0.2 * (cold.objective - cold_end.objective)


def bad_starts(best):
    rng = np.random.default_rng(3)
    yield from (3 * best, 10 * best, -best, best * (rng.random(len(best)) < 0.5))
    yield from (rng.normal(0, scale, len(best)) for scale in (0.3, 3.0, 30.0, 1e4))


@pytest.mark.parametrize("name", ["sag", "saga", "auto"])
@pytest.mark.parametrize("c", [1.0, 0.1])
def test_a_start_at_weights_however_bad_ends_within_twice_the_passes_of_sag_from_zero(name, c):
    made = larger(sequences=200)
    l2 = c / 200
    best = optimum(made, l2)[0]

    def passes(name, w=None):
        problem, w, opt = start(name, made, l2=l2, w=w)
        outcome = fit(problem, opt, tol=1e-3, monitors=[Limits(steps=1000)])
        assert outcome.reason == "converged"
        return problem.passes

    assert max(passes(name, w) for w in bad_starts(best)) <= 2 * max(passes("sag"), passes(name))


# ---- paths


@pytest.mark.parametrize("name", ["sdca", "oeg"])
def test_the_first_pass_under_another_strength_tells_the_gap_of_these_weights(name):
    """What every sequence lacks has changed with the strength, that of those not drawn yet too."""
    made = larger(sequences=200)
    problem, w, opt = start(name, made)
    fit(problem, opt, tol=1e-6, monitors=[Limits(steps=300)])
    problem = problem.at(l2=0.1 / 200, l1=0.0)
    opt.move_to(problem)
    assert opt.steps.gap() == pytest.approx(problem.objective(w) - opt.lower_bound(), rel=1e-6)
    step = opt.step()
    assert step.gap > 0.5 * (problem.objective(w) - opt.lower_bound())


@pytest.mark.parametrize("name, l1", [("sag", 0.0), ("saga", 0.0), ("saga", 0.004), ("svrg", 0.0)])
@pytest.mark.parametrize("path", [(10, 3, 1), (1, 10), (1, 1)])
def test_a_path_reaches_every_optimum_with_fewer_passes_than_cold_starts(name, l1, path):
    made, cold, warm = larger(), 0, 0
    problem, w, opt = start(name, made, l2=path[0] / 80, l1=l1)
    for k, c in enumerate(path):
        if k:
            problem = problem.at(l2=c / 80, l1=l1)
            opt.move_to(problem)
        assert fit(problem, opt, tol=Goal(slope=1e-5), monitors=[Limits(steps=300)]).reason == "converged"
        warm += problem.passes
        alone, v, other = start(name, made, l2=c / 80, l1=l1)
        assert fit(alone, other, tol=Goal(slope=1e-5), monitors=[Limits(steps=300)]).reason == "converged"
        cold += alone.passes
        assert problem.exact(w)[0] == pytest.approx(alone.exact(v)[0], rel=1e-8)
    assert warm < cold


@pytest.mark.parametrize("name", NAMES)
def test_the_table_outlives_a_change_of_lambda(name):
    """d, L_i and the sequences seen stay; only lambda is another."""
    _, _, opt = start(name, larger())
    for _ in range(3):
        opt.step()
    before = {key: array.copy() for key, array in opt.state().items()}
    opt.move_to(opt.objective.at(l2=0.5 / 80, l1=0.0))
    after = opt.state()
    assert {key: array.tobytes() for key, array in after.items() if key != "pace_seen"} == {
        key: array.tobytes() for key, array in before.items() if key != "pace_seen"
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_larger_lambda_on_a_path_keeps_its_steps_stable(name):
    """L_i that were learnt under a small lambda may lie below the new one."""
    made = larger()
    problem, w, opt = start(name, made, l2=1e-4)
    for _ in range(30):
        opt.step()
    problem = problem.at(l2=100.0, l1=0.0)
    opt.move_to(problem)
    best = optimum(made, 100.0)[1]
    for _ in range(30):
        opt.step()
        assert np.isfinite(w).all()
    assert problem.exact_objective(w) - best <= 1e-9 * best


def test_held_out_data_choose_the_strength(settings, tmp_path):
    (tmp_path / "dev.txt").write_text(problems.text(1, noise=0.3))
    scores = {}
    dev = {"dev": str(tmp_path / "dev.txt"), "passes": 8}
    for text in ("300/n", "3/n"):
        scores[text] = learn(settings("sag", lambdas=Strength.parse_list(text), **dev)).dev_score
    chosen = learn(settings("sag", lambdas=Strength.parse_list("300/n,3/n"), **dev))
    assert chosen.dev_score >= max(scores.values()) - 5
    assert chosen.dev_score >= scores["300/n"]


def test_the_algorithms_of_the_family_agree():
    made, ends = larger(), {}
    for name in NAMES:
        problem, w, opt = start(name, made)
        fit(problem, opt, tol=Goal(slope=1e-7), monitors=[Limits(steps=500)])
        ends[name] = w
    for w in ends.values():
        np.testing.assert_allclose(w, optimum(made, 1 / 80)[0], atol=1e-5)
