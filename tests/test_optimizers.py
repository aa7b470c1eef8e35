"""One contract for every algorithm, whatever its family; then what each promises beyond it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.errors import TrainingError
from crftrain.optimizers.base import Algorithm, Option, Step
from crftrain.optimizers.batch import _compiled as vectors
from crftrain.optimizers.batch._history import History
from crftrain.optimizers.batch._linesearch import strong_wolfe
from crftrain.training.loop import Limits, fit

NAMES = optimizers.names()


def cases():
    """(name, {l2, l1} as multiples of 1/n): every combination of penalties that an algorithm says it solves."""
    for name in NAMES:
        solves = optimizers.get(name).solves
        if "l2" in solves:
            yield name, (1.0, 0.0)
        if "no-l2" in solves and solves & {"l1", "l2"}:
            yield name, (0.0, 0.0)
        if "l1" in solves:
            yield name, (1.0 if "l2" in solves else 0.0, 0.2)
        if not solves & {"l1", "l2"}:
            yield name, (0.0, 0.0)


CASES = list(cases())


def start(name, made, penalties=(1.0, 0.0), *, w=None, seed=1, rng=None, threads=1, **options):
    """(problem, w, optimiser) of an algorithm on an instance."""
    algorithm, n = optimizers.get(name), made.corpus.n_sequences
    problem = made.problem(l2=penalties[0] / n, l1=penalties[1] / n, threads=threads)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, algorithm.make(problem, w, rng or np.random.default_rng(seed), **{**algorithm.defaults(), **options})


def assert_gap(problem, opt, step):
    """An exact gap is what the algorithm says that it is: the gradient's, or the distance from the dual (tests/test_dual.py)."""
    if opt.gap == "duality":
        assert step.gap == pytest.approx(problem.exact(opt.solution())[0] - opt.steps.dual(), abs=1e-10)
    else:
        assert step.gap == pytest.approx(problem.exact(opt.solution())[1], rel=1e-6, abs=1e-12)


def taken(kinds, penalty=None):
    """(name, kind): every algorithm that solves the penalty, with the kinds of problems that it takes. Scaling takes no values < 0."""
    names = [name for name in NAMES if penalty is None or minimises(name) and penalty in optimizers.get(name).solves]
    return [(name, kind_name) for name in names for kind_name in kinds if not (name == "gis" and KINDS[kind_name].get("values"))]


def minimises(name):
    """Whether it goes for the optimum of f."""
    algorithm = optimizers.get(name)
    return algorithm.minimises and bool(algorithm.solves & {"l1", "l2"})


def default_penalties(name):
    return next(penalties for known, penalties in CASES if known == name)


# ---- the registry


def test_every_file_is_an_algorithm_and_every_algorithm_has_its_file():
    assert "lbfgs" in NAMES
    assert sorted(NAMES) == NAMES
    for name in NAMES:
        assert optimizers.get(name).name == name
        assert name == name.lower()
        assert "_" not in name


@pytest.mark.parametrize("name", ["", "no-such", "base", "_history", "LBFGS", "lbfgs.py", "../cli"])
def test_other_names_are_unknown(name):
    with pytest.raises(KeyError):
        optimizers.get(name)


# ---- the declaration


@pytest.mark.parametrize("name", NAMES)
def test_the_declaration_is_complete(name):
    algorithm = optimizers.get(name)
    assert isinstance(algorithm, Algorithm)
    assert algorithm.summary
    assert "\n" not in algorithm.summary
    assert len(algorithm.summary) <= 100
    assert name == "auto" or any(year in algorithm.reference for year in map(str, range(1950, 2030)))  # others' papers are its own
    assert algorithm.solves <= {"l1", "l2", "no-l2"}
    assert algorithm.step_name in ("pass", "iteration") or name == "auto"  # whose steps are those of whom it chooses
    assert algorithm.gap in ("gradient", "duality")
    assert algorithm.tol is None or algorithm.tol > 0
    assert algorithm.passes >= 1
    assert len({option.name for option in algorithm.options}) == len(algorithm.options)


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_told_before_it_is_taken(name):
    """w at the least, and more for more features."""
    algorithm = optimizers.get(name)

    def memory(n_features):
        facts = {"n_sequences": 10, "n_tokens": 100, "n_labels": 5, "n_attributes": 50, "n_pair_features": 0}
        facts |= {
            "n_occurrences": 150,
            "n_tokens_squared": 1100,
            "n_touched": 300,
            "n_pairs": 9,
            "listed_bytes": 40,
            "n_features": n_features,
        }
        return sum(algorithm.memory(SimpleNamespace(**facts), algorithm.defaults()).values())

    assert memory(1000) >= 8 * 1000
    assert memory(100_000) - memory(1000) >= 8 * 99_000


def options():
    return [pytest.param(option, id=f"{name} {option.flag}") for name in NAMES for option in optimizers.get(name).options]


@pytest.mark.parametrize("option", options())
def test_defaults_are_values_and_what_is_out_of_range_is_not(option):
    assert option.parse(option.default) == option.default
    assert option.parse({True: "yes", False: "no"}[option.default] if option.kind is bool else str(option.default)) == option.default
    assert option.help
    assert option.flag == "--" + option.name.replace("_", "-")
    for choice in (*option.choices, *option.words):
        assert option.parse(choice) == choice
    for text in out_of_range(option):
        with pytest.raises(ValueError, match=".+ is not .+"):
            option.parse(text)


def out_of_range(option):
    """Values that an option must refuse, as text."""
    yield from ("", "nan", "inf", "no such value", "1 2")
    if option.choices or option.kind is bool:
        return
    if option.minimum is not None:
        yield str(option.minimum - 1)
    if option.above is not None:
        yield from (str(option.above), str(option.above - 1))
    if option.maximum is not None:
        yield str(option.maximum + 1)
    if option.kind is int:
        yield "1.5"


def test_options_of_every_type():
    whole, number = Option("a_b", 3, "", minimum=1, maximum=9), Option("x", 0.5, "", above=0)
    assert (whole.flag, whole.kind, whole.range) == ("--a-b", int, "a whole number >= 1 and <= 9")
    assert (whole.parse(" 9 "), whole.parse(1), number.parse("1e-3"), number.range) == (9, 1, 0.001, "a number > 0")
    yes, one = Option("yes", True, ""), Option("one", "b", "", choices=("a", "b"))
    assert [yes.parse(text) for text in ("yes", "no", "true", "false", "1", "0")] == [True, False] * 3
    assert (one.parse("a"), one.range) == ("a", "one of a, b")
    auto = Option("eta", "auto", "", words=("auto",), above=0)
    assert (auto.parse("auto"), auto.parse("0.25"), auto.range) == ("auto", 0.25, "auto or a number > 0")
    for option, text in ((whole, "0"), (whole, "10"), (number, "0"), (yes, "maybe"), (one, "c"), (auto, "-1"), (auto, "manual")):
        with pytest.raises(ValueError, match="is not"):
            option.parse(text)


# ---- steps


@pytest.mark.parametrize("name, penalties", CASES)
def test_steps_keep_the_contract(name, penalties):
    """w changes in place and is finite; solution() has all weights; passes are counted; the numbers are numbers."""
    problem, w, opt = start(name, larger(), penalties)
    for k in range(1, 5):
        before = problem.passes
        step = opt.step()
        assert isinstance(step, Step)
        assert opt.w is w
        assert np.isfinite(w).all()
        assert np.isfinite(opt.solution()).all()
        assert opt.solution().shape == (problem.n_features,)
        assert opt.solution().dtype == np.float64
        assert math.isfinite(step.objective)
        assert math.isnan(step.gap) or step.gap >= 0
        assert problem.passes > before or step.done
        assert np.any(opt.solution()), f"step {k}"
        if step.exact:
            assert step.objective == pytest.approx(problem.exact(opt.solution())[0], rel=1e-10)
        if step.exact and not math.isnan(step.gap):
            assert_gap(problem, opt, step)
    assert math.isnan(step.gap) == (optimizers.get(name).tol is None)  # whether a plateau is what ends it


@pytest.mark.parametrize("name, penalties", CASES)
def test_some_steps_help(name, penalties):
    """The objective, where it is minimised, falls below that at zero; fewer labels are wrong."""
    made = larger(sequences=200, noise=0.1)
    problem, w, opt = start(name, made, penalties)
    zero = np.zeros_like(w)
    for _ in range(8):
        opt.step()
    if minimises(name):
        assert problem.exact(opt.solution())[0] < 0.9 * problem.exact(zero)[0]
    wrong, wrong_at_zero = (np.sum(made.decode(v)[0] != made.corpus.label) for v in (opt.solution(), zero))
    assert wrong < 0.8 * wrong_at_zero


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name, threads):
    runs = []
    for seed in (3, 3):
        problem, _, opt = start(name, larger(), default_penalties(name), seed=seed, threads=threads)
        steps = [opt.step() for _ in range(3)]
        runs.append((np.array(steps[-1][:2]).tobytes(), opt.solution().tobytes(), problem.passes))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", NAMES)
def test_steps_change_neither_options_nor_corpus(name):
    made, algorithm = larger(), optimizers.get(name)
    defaults, label = algorithm.defaults(), made.corpus.label.copy()
    _, _, opt = start(name, made, default_penalties(name))
    opt.step()
    assert algorithm.defaults() == optimizers.get(name).defaults() == defaults
    assert (made.corpus.label == label).all()


@pytest.mark.parametrize("name, penalties", CASES)
def test_a_warm_start_begins_where_it_is_told(name, penalties):
    """Some steps on from where others ended are no worse than that place."""
    problem, w, opt = start(name, larger(), penalties)
    for _ in range(6):
        opt.step()
    reached = problem.exact(opt.solution())[0]
    again, v, opt = start(name, larger(), penalties, w=opt.solution().copy())
    for _ in range(6):
        opt.step()
    assert np.isfinite(v).all()
    if minimises(name):
        assert again.exact(opt.solution())[0] < 1.05 * reached


@pytest.mark.parametrize("name, kind_name", taken(KINDS))
def test_every_kind_of_problem_can_be_trained(name, kind_name):
    problem, w, opt = start(name, kind(kind_name, seed=3), default_penalties(name))
    zero = problem.exact(np.zeros_like(w))[0]
    for _ in range(15):
        if opt.step().done:
            break
    assert np.isfinite(opt.solution()).all()
    if minimises(name):
        assert problem.exact(opt.solution())[0] <= zero + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_weights_that_are_no_numbers_are_an_error(name):
    """A start at NaN ends in TrainingError, not in a model."""
    made = larger(sequences=5)
    _, w, opt = start(name, made, default_penalties(name), w=np.full(made.layout.n_features, np.nan))
    with pytest.raises(TrainingError):
        for _ in range(3):
            opt.step()


@pytest.mark.parametrize("name", NAMES)
def test_another_with_its_state_goes_on_with_the_same_bits(name):
    made, penalties = larger(), default_penalties(name)
    rng, another = np.random.default_rng(1), np.random.default_rng(2)
    _, _, opt = start(name, made, penalties, rng=rng)
    opt.step()
    state = {key: np.copy(array) for key, array in opt.state().items()}
    _, _, other = start(name, made, penalties, rng=another)
    other.restore(state)
    another.bit_generator.state = rng.bit_generator.state
    for _ in range(2):
        opt.step()
        other.step()
        assert other.solution().tobytes() == opt.solution().tobytes()


# ---- optima: gap 1e-9, one optimum for all


def to_the_optimum(name, made, penalties=(1.0, 0.0), *, gap=1e-9, steps=2000, **options):
    """(w, [objective of each step], last step) when the gap is reached."""
    problem, w, opt = start(name, made, penalties, **options)
    objectives = []
    for _ in range(steps):
        step = opt.step()
        objectives.append(step.objective)
        if step.gap <= gap or step.done:
            break
    return w, objectives, step


@pytest.mark.parametrize("name", KINDS)
def test_lbfgs_reaches_the_optimum(name):
    made = kind(name, seed=5)
    w, _, step = to_the_optimum("lbfgs", made)
    assert step.gap <= 1e-9
    problem = made.problem(l2=1 / made.corpus.n_sequences)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-1, 1.0):  # no point around is better
        assert problem.value(w + rng.normal(0, scale, len(w))) > problem.value(w) - 1e-14


@pytest.mark.parametrize(
    "name, kind_name", taken(["plain", "pair attributes", "pair attributes alone", "real values", "tokens without attributes"], "l2")
)
def test_all_solvers_meet_at_one_optimum(name, kind_name):
    """Where an algorithm says that it has converged, it has; and it comes near in any case."""
    made = larger(**{**KINDS[kind_name], "attributes": 20})
    w, _, step = to_the_optimum("lbfgs", made)
    assert step.gap <= 1e-9
    problem, _, opt = start(name, made)
    best = problem.exact(w)[0]
    outcome = fit(problem, opt, tol=1e-6, monitors=[Limits(steps=300)])
    assert outcome.objective >= best - 1e-12
    assert outcome.objective <= best * (1 + (1e-6 if outcome.converged else 0.03))


def test_lbfgs_reaches_the_optimum_of_a_larger_problem():
    made = larger()
    w, objectives, step = to_the_optimum("lbfgs", made)
    assert step.gap <= 1e-9
    assert made.problem(l2=1 / 80).exact(w)[1] <= 1e-9


@pytest.mark.parametrize("name", ["plain", "real values, full", "pair attributes", "many labels"])
def test_lbfgs_never_goes_up(name):
    _, objectives, _ = to_the_optimum("lbfgs", kind(name, seed=6))
    f = np.array([kind(name, seed=6).problem().value(np.zeros(kind(name, seed=6).layout.n_features)), *objectives])
    assert (np.diff(f) <= 1e-12 * f[:-1]).all()


@pytest.mark.parametrize("penalties", [(1.0, 0.0), (100.0, 0.0), (0.01, 0.0)])
def test_lbfgs_of_any_memory_meets_at_one_optimum(penalties):
    made = larger()
    w, _, _ = to_the_optimum("lbfgs", made, penalties, memory=3)
    for memory in (1, 20, 300):
        v, _, step = to_the_optimum("lbfgs", made, penalties, memory=memory)
        assert step.gap <= 1e-9
        np.testing.assert_allclose(v, w, atol=2e-8 * 80 / penalties[0])  # |w - v| <= |gradient| / l2


def test_lbfgs_threads_meet_at_one_optimum():
    made = larger()
    w, _, _ = to_the_optimum("lbfgs", made)
    v, _, step = to_the_optimum("lbfgs", made, threads=2)
    assert step.gap <= 1e-9
    np.testing.assert_allclose(v, w, atol=1e-6)


@pytest.mark.parametrize("name", ["plain", "many labels", "sequences of length 1"])
def test_lbfgs_started_at_the_optimum_stops_at_once(name):
    """One step that asks for a few values, whatever the units of the gradient."""
    made = kind(name, seed=5)
    w, _, _ = to_the_optimum("lbfgs", made, gap=1e-11)
    problem, v, opt = start("lbfgs", made, w=w.copy())
    outcome = fit(problem, opt, tol=1e-6, monitors=[Limits(steps=50)])
    assert outcome.reason == "converged"
    assert outcome.iteration <= 1
    assert problem.passes <= 8
    np.testing.assert_allclose(v, w, atol=1e-9)


def test_lbfgs_without_penalty_where_labels_can_be_told_apart():
    """No optimum: weights grow, in bounded steps, and the objective goes to zero."""
    made = larger(noise=0.0, per_token=(1, 1), sequences=40)
    problem, w, opt = start("lbfgs", made, (0.0, 0.0))
    for _ in range(60):
        before = w.copy()
        if opt.step().done:
            break
        assert np.isfinite(w).all()
        assert np.abs(w - before).max() < 100
    assert problem.exact(w)[0] < 1e-4


def test_lbfgs_without_penalty_where_they_cannot():
    """Every attribute occurs with every label: the optimum is finite, and found."""
    made = larger(noise=0.6, attributes=4, per_token=(1, 1), sequences=200, features="full")
    w, _, step = to_the_optimum("lbfgs", made, (0.0, 0.0))
    assert step.gap <= 1e-9
    assert np.abs(w).max() < 20


def test_lbfgs_on_conll_2000(conll):
    """Observed states and transitions, lambda = 1/n: n f* = 9118.7962, where CRFsuite's own stop leaves 9118.913."""
    problem, _, opt = start("lbfgs", conll, memory=20, threads=2)
    for _ in range(400):
        n_f = opt.step().objective * problem.n_sequences
        if n_f < 9118.7966:
            break
    assert n_f == pytest.approx(9118.7962, abs=5e-4)


# ---- the curvature pairs of L-BFGS


def two_loops(pairs, g):
    """-H g as in Nocedal 1980: the textbook's two loops over the vectors themselves."""
    q, alpha = g.copy(), []
    for s, y in reversed(pairs):
        alpha.append(np.dot(s, q) / np.dot(s, y))
        q -= alpha[-1] * y
    s, y = pairs[-1]
    q *= np.dot(s, y) / np.dot(y, y)
    for (s, y), a in zip(pairs, reversed(alpha), strict=True):
        q += s * (a - np.dot(y, q) / np.dot(s, y))
    return -q


def random_pairs(rng, count, size):
    """Steps and gradient changes of a random quadratic: y = A s with A positive definite."""
    a = rng.normal(size=(size, size))
    a = a @ a.T / size + 0.1 * np.eye(size)
    return [(s, a @ s) for s in rng.normal(size=(count, size))]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("memory", [1, 2, 5, 9])
def test_the_history_is_the_two_loop_recursion(memory, threads):
    """After every pair, before and after the memory is full."""
    size, rng = 50, np.random.default_rng(memory)
    history, pairs = History(memory, size, threads), random_pairs(rng, 14, size)
    for k, (s, y) in enumerate(pairs):
        g, out = rng.normal(size=size), np.empty(size)
        history.scratch[0][:], history.scratch[1][:] = s, y
        assert history.add(g)
        slope = history.direction(g, out)
        right = two_loops(pairs[max(0, k + 1 - memory) : k + 1], g)
        np.testing.assert_allclose(out, right, rtol=1e-8, atol=1e-9 * np.abs(right).max())
        assert slope == pytest.approx(np.dot(g, out), rel=1e-10)
        assert slope < 0


def test_the_history_of_a_long_vector():
    """Longer than the columns that are taken at a time, and not a multiple of them."""
    size, rng = 4096 * 2 + 123, np.random.default_rng(0)
    history, pairs = History(4, size, 2), []
    for _ in range(6):
        s = rng.normal(size=size)
        pairs.append((s, s * rng.uniform(0.5, 2, size)))
        history.scratch[0][:], history.scratch[1][:] = pairs[-1]
        g, out = rng.normal(size=size), np.empty(size)
        assert history.add(g)
    history.direction(g, out)
    np.testing.assert_allclose(out, two_loops(pairs[-4:], g), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [1, 7, 4096, 4096 * 5 + 13])
def test_any_number_of_threads_has_the_bits_of_one(size):
    def all_of(threads):
        rng = np.random.default_rng(1)
        rows, c, (g, w, d), out = rng.normal(size=(6, size)), rng.normal(size=6), rng.normal(size=(3, size)), np.empty(size)
        c[2] = 0
        found = [vectors.dot(g, w, threads), vectors.combine(c, rows, 0.3, g, out, threads), out.copy()]
        np.testing.assert_allclose(out, c @ rows + 0.3 * g, atol=1e-12)
        assert found[:2] == pytest.approx([g @ w, g @ out])
        found.append(vectors.products((g, w, d), rows, [0, 1, 3], threads))
        np.testing.assert_allclose(found[-1][:, [0, 1, 3]], np.stack([g, w, d]) @ rows[[0, 1, 3]].T, atol=1e-10)
        assert not found[-1][:, [2, 4, 5]].any()
        vectors.go(w, 0.5, d, out, threads)
        assert (out == w + 0.5 * d).all()
        old, new = w.copy(), g.copy()
        vectors.exchange(old, new, threads)
        assert (old == g).all()
        assert (new == g - w).all()
        return found

    one = all_of(1)
    for threads in (2, 3, 8):
        for mine, other in zip(one, all_of(threads), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_a_new_history_says_steepest_descent():
    history, g = History(3, 4), np.array([1.0, -2.0, 0.0, 3.0])
    out = np.empty(4)
    assert history.direction(g, out) == -14
    assert out.tolist() == [-1, 2, 0, -3]


@pytest.mark.parametrize("y", [-1.0, 0.0])
def test_a_pair_without_curvature_empties_the_history(y):
    history, g, out = History(3, 4), np.ones(4), np.empty(4)
    for s_of_pair, y_of_pair, kept in ((1.0, 2.0, True), (1.0, y, False), (2.0, 3.0, True)):
        history.scratch[0][:], history.scratch[1][:] = s_of_pair, y_of_pair
        assert history.add(g) == kept
        assert history.count == kept
    history.direction(g, out)
    np.testing.assert_allclose(out, two_loops([(np.full(4, 2.0), np.full(4, 3.0))], g))


def test_lbfgs_takes_the_steps_of_its_textbook_twin():
    """The same line search along directions from the plain recursion leads through the same points."""
    made = larger(sequences=20)
    problem, w, opt = start("lbfgs", made, memory=4)
    twin_problem = made.problem(l2=1 / 20)
    v, g, pairs = np.zeros_like(w), np.empty_like(w), []
    f = twin_problem.value_and_gradient(v, g)
    for _ in range(12):
        opt.step()
        d = two_loops(pairs[-4:], g) if pairs else -g
        h = np.empty_like(w)

        def phi(a, d=d, h=h, start=v):
            value = twin_problem.value_and_gradient(start + a * d, h)
            return value, float(h @ d)

        a = strong_wolfe(phi, f, float(g @ d), 1.0 if pairs else 1 / np.linalg.norm(g))
        pairs.append((a * d, h - g))
        v, g = v + a * d, h
        f = twin_problem.value(v)
        np.testing.assert_allclose(w, v, rtol=1e-6, atol=1e-7 * np.abs(v).max())


def test_where_no_step_is_found_along_the_pairs_the_gradient_is_tried():
    _, _, opt = start("lbfgs", larger())
    before = [opt.step() for _ in range(6)][-1]
    searches = [lambda *asked: None, opt.search]
    opt.search = lambda *asked: searches.pop(0)(*asked)
    step = opt.step()
    assert not step.done and step.objective < before.objective
    assert opt.history.count == 1
