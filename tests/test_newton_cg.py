"""Newton's method: exact on quadratics, the optimum of L-BFGS on the rest, and superlinear near it."""

import math

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain import memory
from crftrain.chain._tangent import kept_bytes
from crftrain.optimizers.batch import newton_cg
from crftrain.optimizers.batch._pieces import COLUMNS
from crftrain.optimizers.batch._preconditioner import FEW, Preconditioned
from crftrain.optimizers.batch._subsample import draw
from crftrain.optimizers.batch._trust import TRIALS, Steihaug, TrustRegion
from crftrain.training.loop import Limits, fit
from crftrain.training.train import Training

NEWTON, LBFGS = optimizers.get("newton-cg"), optimizers.get("lbfgs")


def start(problem, w, algorithm=NEWTON, **options):
    return algorithm.make(problem, w, np.random.default_rng(0), **{**algorithm.defaults(), **options})


def solve(made, l2=1.0, *, gap=1e-10, algorithm=NEWTON, threads=1, w=None, **options):
    """(problem, w, steps) at a gap; l2 is a multiple of 1/n."""
    problem = made.problem(l2=l2 / made.corpus.n_sequences, threads=threads)
    w = np.zeros(problem.n_features) if w is None else w
    opt, steps = start(problem, w, algorithm, **options), []
    while not steps or (steps[-1].gap > gap and not steps[-1].done and len(steps) < 2000):
        steps.append(opt.step())
    return problem, w, steps


# ---- the subproblem


def quadratic(size=40, seed=0):
    """(H, g) with eigenvalues from 0.01 to 100."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return (q * np.logspace(-2, 2, size)) @ q.T, rng.normal(size=size)


def times(hessian):
    return lambda v, out: np.matmul(hessian, v, out=out)


def subproblem(hessian):
    return Steihaug(len(hessian), times(hessian))


def with_pairs(hessian, m=8):
    return Preconditioned(len(hessian), times(hessian), m, 1)


def never(k, decrease, gain, fall):
    return k == 400


def until(tolerance):
    return lambda k, decrease, gain, fall: fall <= tolerance or k == 400


def solved(inner, g, radius, enough):
    """The promise of one run; the step is in inner.s."""
    inner.begin(g)
    return inner.run(radius, enough)


def test_without_a_radius_the_system_is_solved():
    hessian, g = quadratic()
    inner = subproblem(hessian)
    promise = solved(inner, g, math.inf, until(1e-11))
    np.testing.assert_allclose(inner.s, np.linalg.solve(hessian, -g), rtol=1e-6)
    assert promise.decrease == pytest.approx(-(g @ inner.s + inner.s @ hessian @ inner.s / 2), rel=1e-10)
    assert promise.norm == pytest.approx(np.linalg.norm(inner.s), rel=1e-6)
    assert not promise.bound


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0, 10.0, 60.0])
def test_a_radius_is_kept_and_what_is_promised_is_the_models(radius):
    hessian, g = quadratic()
    inner = subproblem(hessian)
    promise = solved(inner, g, radius, never)
    s = inner.s
    assert np.linalg.norm(s) == pytest.approx(promise.norm, rel=1e-9)
    assert promise.bound
    assert promise.norm == pytest.approx(radius, rel=1e-9)
    assert promise.decrease == pytest.approx(-(g @ s + s @ hessian @ s / 2), rel=1e-9)
    steepest = -g * radius / np.linalg.norm(g)
    cauchy = max(-(g @ (c * steepest) + c * c * steepest @ hessian @ steepest / 2) for c in np.linspace(0, 1, 101))
    assert promise.decrease >= cauchy * (1 - 1e-12)


def test_more_steps_promise_more_and_end_with_a_smaller_rest():
    hessian, g = quadratic()
    inner, promised, gains = subproblem(hessian), [], []

    def watch(k, decrease, gain, fall):
        promised.append(decrease)
        gains.append(gain)
        assert fall == pytest.approx(np.linalg.norm(g + hessian @ inner.s) / np.linalg.norm(g), rel=1e-6, abs=1e-9)
        return k == 30

    solved(inner, g, math.inf, watch)
    assert (np.diff(promised) > 0).all()
    np.testing.assert_allclose(np.cumsum(gains), promised, rtol=1e-12)


def test_a_flat_direction_ends_at_the_radius_or_nowhere():
    inner = subproblem(np.zeros((3, 3)))
    promise = solved(inner, np.array([3.0, 0.0, 4.0]), 2.0, never)
    assert promise.bound
    np.testing.assert_allclose(inner.s, [-1.2, 0, -1.6])
    assert promise.decrease == pytest.approx(10)
    promise = solved(inner, np.array([3.0, 0.0, 4.0]), math.inf, never)
    assert promise.bound
    assert promise.decrease == 0
    assert solved(inner, np.zeros(3), 1.0, never).products == 0


@pytest.mark.parametrize("radius", [1.0, math.inf])
def test_preconditioned_steps_are_those_of_the_scaled_problem(radius):
    """With x = D^(1/2) s: D^(-1/2) H D^(-1/2) and D^(-1/2) g."""
    hessian, g = quadratic()
    diagonal = np.exp(np.random.default_rng(1).normal(size=len(g)))
    root = np.sqrt(diagonal)
    inner, scaled = subproblem(hessian), subproblem(hessian / root / root[:, None])
    inner.precondition(1 / diagonal)
    for products in (1, 3, 10):
        ends = lambda k, decrease, gain, fall, products=products: k == products  # noqa: E731
        promise, right = solved(inner, g, radius, ends), solved(scaled, g / root, radius, ends)
        assert promise == pytest.approx(right, rel=1e-9)
        np.testing.assert_allclose(inner.s * root, scaled.s, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("make", [subproblem, with_pairs])
def test_a_run_goes_on_where_the_last_ended(make):
    hessian, g = quadratic()
    whole, parts = (make(hessian) for _ in range(2))
    for right in (g, g[::-1]):
        promise = solved(whole, right, math.inf, lambda k, decrease, gain, fall: k == 11)
        solved(parts, right, math.inf, lambda k, decrease, gain, fall: k == 4)
        again = parts.run(math.inf, lambda k, decrease, gain, fall: k == 7)
        assert again == promise._replace(products=7)
        assert parts.s.tobytes() == whole.s.tobytes()


def test_the_directions_of_one_run_shorten_the_next():
    hessian, g = quadratic(size=20)
    inner = with_pairs(hessian, 40)
    first = solved(inner, g, math.inf, until(1e-9))
    again = solved(inner, hessian @ (g - g[::-1]) / 2, math.inf, until(1e-9))
    assert again.products < 0.6 * first.products
    np.testing.assert_allclose(inner.s, (g[::-1] - g) / 2, rtol=1e-5, atol=1e-8)


def test_a_short_run_leaves_the_directions_before_it():
    hessian, g = quadratic(size=20)
    inner = with_pairs(hessian, 40)
    first = solved(inner, g, math.inf, until(1e-9))
    solved(inner, g, math.inf, lambda k, decrease, gain, fall: k == FEW - 1)
    assert solved(inner, g, math.inf, until(1e-9)).products < 0.6 * first.products


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("radius", [0.1, 10.0])
def test_with_pairs_the_radius_is_that_of_the_diagonal(radius, scaled):
    hessian, g = quadratic()
    diagonal = np.exp(np.random.default_rng(1).normal(size=len(g))) if scaled else np.ones(len(g))
    inner = with_pairs(hessian)
    inner.precondition(1 / diagonal)
    for right in (g, -2 * g[::-1]):
        promise = solved(inner, right, radius, never)
        s = inner.s
        assert promise.bound
        assert math.sqrt(s @ (diagonal * s)) == pytest.approx(radius, rel=1e-6)
        assert promise.decrease == pytest.approx(-(right @ s + s @ hessian @ s / 2), rel=1e-6)


def test_long_vectors_are_updated_piece_by_piece():
    size = 2 * COLUMNS + 123
    diagonal, g = np.linspace(1, 3, size), np.random.default_rng(0).normal(size=size)
    inner = Steihaug(size, lambda v, out: np.multiply(diagonal, v, out=out))
    solved(inner, g, math.inf, until(1e-9))
    np.testing.assert_allclose(inner.s, -g / diagonal, atol=1e-9)
    inner.precondition(1 / diagonal)
    assert solved(inner, g, math.inf, until(1e-9)).products == 1
    np.testing.assert_allclose(inner.s, -g / diagonal, atol=1e-9)


# ---- the outer loop


def region(f, gradient, hessian, w, radius=math.inf):
    """The outer loop for a function of w."""
    entered = []

    def evaluate(v, g):
        g[:] = gradient(v)
        return f(v)

    def enter(v, g):
        entered.append(v.copy())
        return evaluate(v, g)

    g = np.empty_like(w)
    inner = Steihaug(len(w), lambda v, out: np.matmul(hessian(entered[-1]), v, out=out))
    loop = TrustRegion(enter, evaluate, inner, w, g, enter(w, g), radius)
    loop.entered = entered
    return loop


def test_one_step_solves_a_quadratic():
    """With an infinite radius and an exact CG."""
    hessian, b = quadratic()
    w = np.ones(len(b))
    loop = region(lambda v: v @ hessian @ v / 2 - b @ v, lambda v: hessian @ v - b, lambda v: hessian, w)
    loop.step(until(1e-12))
    np.testing.assert_allclose(w, np.linalg.solve(hessian, b), rtol=1e-6)
    assert np.abs(loop.gradient).max() < 1e-9


def test_one_model_solves_a_quadratic_in_as_many_products():
    """Step by step, where a step asks for little."""
    hessian, b = quadratic()
    w = np.ones(len(b))
    whole = solved(subproblem(hessian), hessian @ w - b, math.inf, until(1e-10)).products
    loop = region(lambda v: v @ hessian @ v / 2 - b @ v, lambda v: hessian @ v - b, lambda v: hessian, w)
    target, products, values = 1e-10 * np.linalg.norm(loop.gradient), 0, [loop.f]
    while np.linalg.norm(loop.gradient) > target:
        products += loop.step(until(0.1), exact=True).products
        values.append(loop.f)
        np.testing.assert_allclose(loop.gradient, hessian @ w - b, atol=1e-12)
    assert whole <= products <= whole + 10
    assert len(loop.entered) == 1
    assert len(values) >= 5
    assert (np.diff(values) <= 1e-10).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("radius", [1e-6, 1.0, math.inf])
def test_the_loop_descends_where_the_model_is_wrong(radius, exact):
    """sum log cosh(w - 2 k): flat far away, so that Newton's step from there is far too long; any radius finds back."""
    k = 2.0 * np.arange(5)
    w = np.full(5, 12.0)
    loop = region(
        lambda v: np.logaddexp(v - k, k - v).sum(),
        lambda v: np.tanh(v - k),
        lambda v: np.diag(np.maximum(np.cosh(v - k) ** -2, 1e-12)),
        w,
        radius,
    )
    values = [loop.f]
    for _ in range(200):
        if loop.step(until(1e-12), exact) is None or np.abs(loop.gradient).max() < 1e-10:
            break
        values.append(loop.f)
        assert loop.gradient.tolist() == np.tanh(w - k).tolist()
    assert (np.diff(values) <= 1e-12).all()
    np.testing.assert_allclose(w, k, atol=1e-8)


def test_where_a_model_goes_on_f_never_rises():
    """50 x^2 + y^2 / 2 + 10 max(0, 1.5 - y)^2: the first step shortens x and confirms the model, its minimum lies beyond the bend."""
    w = np.array([1.0, 3.0])

    def below(v):
        return max(0.0, 1.5 - v[1])

    loop = region(
        lambda v: 50 * v[0] ** 2 + v[1] ** 2 / 2 + 10 * below(v) ** 2,
        lambda v: np.array([100 * v[0], v[1] - 20 * below(v)]),
        lambda v: np.diag([100.0, 21.0 if below(v) else 1.0]),
        w,
    )
    loop.step(until(0.3), exact=True)
    assert loop.on
    values = [loop.f]
    for _ in range(20):
        if loop.step(until(0.3), exact=True) is None:
            break
        values.append(loop.f)
    assert (np.diff(values) <= 0).all()
    assert values[1] == values[0]
    np.testing.assert_allclose(w, [0, 30 / 21], atol=1e-6)


def test_at_the_optimum_no_step_is_taken():
    hessian, _ = quadratic()
    w = np.zeros(len(hessian))
    loop = region(lambda v: v @ hessian @ v / 2, lambda v: hessian @ v, lambda v: hessian, w)
    assert loop.step(never) is None
    assert not w.any()


# ---- conditional random fields


@pytest.mark.parametrize("name", KINDS)
def test_it_meets_lbfgs(name):
    made = kind(name, seed=7)
    _, w, steps = solve(made)
    _, v, _ = solve(made, algorithm=LBFGS)
    assert steps[-1].gap <= 1e-9
    np.testing.assert_allclose(w, v, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"hvp": "ad"}, {"hessian_share": 1.0}, {"hessian_share": 0.3}, {"precondition": False}, {"pairs": 5.0}, {"pairs": 0.0}]
)
@pytest.mark.parametrize("l2", [100.0, 1.0, 0.01])
def test_any_option_meets_lbfgs_on_a_larger_problem(options, l2):
    gap = 1e-9 if options.get("hessian_share", 1) == 1 else 1e-6
    problem, w, steps = solve(larger(), l2, gap=gap, **options)
    _, v, _ = solve(larger(), l2, gap=1e-9, algorithm=LBFGS)
    assert steps[-1].gap <= gap
    assert problem.objective(w) == pytest.approx(problem.objective(v), rel=1e-9)
    assert (np.diff([step.objective for step in steps]) <= 1e-12).all()


@pytest.mark.parametrize("name", [name for name in KINDS if name != "one label"])
def test_without_l2_it_descends_though_the_hessian_is_singular(name):
    problem = kind(name).problem(l2=0.0)
    opt, at_zero = start(problem, np.zeros(problem.n_features)), problem.objective(np.zeros(problem.n_features))
    steps = []
    for _ in range(30):
        before, steps = problem.passes, [*steps, opt.step()]
        assert problem.passes - before <= newton_cg.MOST + TRIALS
        if steps[-1].done:
            break
    values = [at_zero, *(step.objective for step in steps)]
    assert (np.diff(values) <= 1e-9).all()
    assert np.abs(np.diff(values)).max() > 0.1
    assert steps[-1].gap < 0.1 * problem.gap_at_zero()


def test_no_step_far_from_the_optimum_asks_for_more_than_most_products(monkeypatch):
    monkeypatch.setattr(newton_cg, "MOST", 3)
    problem = larger().problem(l2=0.0)
    opt = start(problem, np.zeros(problem.n_features), hessian_share=1.0)
    products = [int(opt.step().note.split()[0]) for _ in range(5)]
    assert max(products) == 3


def test_the_last_models_converge_superlinearly():
    """gap -> gap^1.2 or better from one model to the next, from 1e-3 of the first gap on."""
    problem = larger().problem(l2=1 / 80)
    opt, gaps = start(problem, np.zeros(problem.n_features)), []
    while (step := opt.step()).gap > 1e-11 and not step.done:
        if not opt.region.on:
            gaps.append(step.gap / problem.gap_at_zero())
    near = [math.log(after) / math.log(before) for before, after in zip(gaps, gaps[1:], strict=False) if before < 1e-3]
    assert len(near) >= 2
    assert np.exp(np.mean(np.log(near))) > 1.2


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["plain", "pair attributes", "real values, full"])
def test_what_is_kept_does_not_change_a_bit(name, threads):
    made = larger(**KINDS[name]) if name != "plain" else larger()
    _, w, steps = solve(made, threads=threads, gap=1e-6, cache="all")
    for cache in ("auto", 0.0, 17.0):
        _, v, others = solve(made, threads=threads, gap=1e-6, cache=cache)
        assert v.tobytes() == w.tobytes()
        assert [step.objective for step in steps] == [step.objective for step in others]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("options", [{}, {"pairs": 5.0}, {"cache": 17.0}, {"hvp": "ad"}, {"precondition": False}], ids=str)
def test_within_a_model_the_state_is_exact(options, threads):
    """A new one with the state of another takes the same steps, to the same bits."""
    problem = larger().problem(l2=1 / 80, threads=threads)
    opt = start(problem, np.zeros(problem.n_features), **options)
    while opt.region is None or not opt.region.on:
        opt.step()
    state = {key: array.copy() for key, array in opt.state().items()}
    other = start(larger().problem(l2=1 / 80, threads=threads), np.zeros(problem.n_features), **options)
    other.restore(state)
    assert other.solution().tobytes() == opt.solution().tobytes()
    for _ in range(4):
        assert opt.step() == other.step()
        assert other.solution().tobytes() == opt.solution().tobytes()


def test_products_are_passes():
    problem, _, steps = solve(larger(), hessian_share=1.0, gap=1e-6)
    products = sum(int(step.note.split()[0]) for step in steps)
    assert problem.passes >= len(steps) + 1 + products
    assert problem.passes <= 2 * len(steps) + 1 + products
    sampled, _, _ = solve(larger(), hessian_share=0.2, gap=1e-3)
    assert sampled.passes % 1 != 0


def test_a_start_at_the_optimum_stays_there():
    _, w, _ = solve(larger())
    v, problem = w.copy(), larger().problem(l2=1 / 80)
    outcome = fit(problem, start(problem, v), tol=1e-6, monitors=[Limits(steps=50)])
    assert (outcome.reason, outcome.iteration) == ("converged", 1)
    assert v.tobytes() == w.tobytes()


# ---- samples and memory


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 1.0])
def test_a_sample_has_its_size_and_is_without_bias(share):
    rng = np.random.default_rng(0)
    doubts = rng.exponential(size=500) ** 3
    draws = np.array([draw(doubts, share, rng) for _ in range(400)])
    assert np.count_nonzero(draws) / draws.size == pytest.approx(share, rel=0.05)
    assert draws.sum() / draws.size == pytest.approx(1, rel=0.05)
    often = np.count_nonzero(draws, axis=0)
    assert often[doubts.argmax()] >= often[doubts.argmin()]
    np.testing.assert_allclose(draw(doubts, 1.0, rng), 1)
    assert np.count_nonzero(draw(np.zeros(500), 0.5, rng)) == pytest.approx(250, abs=50)


def test_how_many_sequences_are_kept(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    assert [newton_cg.kept_sequences(cache, 10, 1000) for cache in ("auto", "all", 0.0, 3.0, 99.0)] == [5, 10, 0, 3, 10]
    assert newton_cg.kept_sequences("auto", 10, 500) == 10
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert newton_cg.kept_sequences("auto", 10, 10**18) == 10


def test_the_told_memory_is_that_of_the_cache():
    made = larger(labels=5)
    problem = made.problem()
    facts = {name: getattr(problem, name) for name in ("n_tokens", "n_labels", "n_sequences", "n_features")}
    facts |= {"listed_bytes": 7, "n_pairs": 25}
    told = {cache: NEWTON.memory(type("Facts", (), facts), {**NEWTON.defaults(), "cache": cache}) for cache in ("all", 0.0)}
    difference = sum(told["all"].values()) - sum(told[0.0].values())
    assert difference == kept_bytes(problem.n_tokens, 5)


def test_what_only_saves_time_is_left_out_where_memory_is_short(monkeypatch):
    """The list and the vectors: the steps are the same without."""
    made, reached = larger(labels=5, dense=False), []
    facts = Training(made.corpus, made.vocabulary, made.layout.dense, made.layout, 0.0).sizes
    for free in (None, 1):
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free)
        told = NEWTON.memory(facts, NEWTON.defaults())
        assert [told[what] > 0 for what in ("listed weights", "kept for products")] == [free is None] * 2
        problem = made.problem(l2=0.1)
        w = np.zeros(problem.n_features)
        NEWTON.make(problem, w, np.random.default_rng(1), **NEWTON.defaults()).step()
        reached.append(w.tobytes())
    assert reached[0] == reached[1]


# ---- large values


def test_with_large_values_the_whole_diagonal_preconditions(monkeypatch):
    """Where values are a thousand times larger the root leaves the Hessian's scale uneven: it needs twice the products."""

    def products():
        made = larger(3, values=True, sequences=150)
        made.corpus.nodes.value[:] *= 1000
        problem, _, _ = solve(made, gap=1e-4)
        return problem.passes

    whole = products()
    monkeypatch.setattr(newton_cg, "LARGE", math.inf)
    assert products() > 2 * whole


def test_a_single_long_sequence_takes_few_steps():
    """A sample of it would be empty, or five of it."""
    made = larger(3, sequences=1, length=(400, 400), labels=4, attributes=300, per_token=(2, 4), noise=0.7)
    problem, w, steps = solve(made, gap=1e-6)
    assert len(steps) < 40
