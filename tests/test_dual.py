"""Dual methods equal their slow twins on the same draws, and what is reported of the dual is true of it."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reference
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain._problem import Problem
from crftrain.chain.sizes import sizes
from crftrain.errors import TrainingError
from crftrain.optimizers.base import Step
from crftrain.optimizers.dual._compiled import SdcaSteps
from crftrain.training.learn import prepare
from crftrain.training.loop import Limits, fit
from crftrain.training.proof import ROUNDING, Goal
from crftrain.training.settings import Settings

DUAL = [name for name in optimizers.names() if optimizers.get(name).gap == "duality"]
WAYS = {"oeg": ("oeg", {}), "oeg in batch mode": ("oeg", {"batch_mode": True}), "sdca": ("sdca", {})}
DATA = Path(__file__).parent.parent / "data" / "train.txt"


def start(way, made, *, strength=1.0, w=None, seed=1, **options):
    """(problem, w, optimiser); lambda = strength / n."""
    name, own = WAYS.get(way, (way, {}))
    algorithm = optimizers.get(name)
    problem = made.problem(l2=strength / made.corpus.n_sequences)
    w = np.zeros(problem.n_features) if w is None else w
    return problem, w, algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), **own, **options})


# ---- the dual by its definition


class Dual:
    """Marginals node[i][T, L] and pair[i][T, L, L] (0 at t = 0) of all alpha_i, and everything from scratch."""

    def __init__(self, made, strength, initial):
        self.made, self.corpus, self.layout, self.C = made, made.corpus, made.layout, strength
        self.n = made.corpus.n_sequences
        self.theta = [self.gold_parts(i, initial) for i in range(self.n)]
        self.mu = [reference.chain(psi, e)[1:] for psi, e in self.theta]

    def gold_parts(self, i, value):
        y, n_labels = reference.gold(self.corpus, i), self.layout.n_labels
        psi, e = np.zeros((len(y), n_labels)), np.zeros((len(y), n_labels, n_labels))
        for t, label in enumerate(y):
            psi[t, label] = value
            if t:
                e[t, y[t - 1], label] = value
        return psi, e

    def features(self, i, node, pair):
        """F_i' (node, pair): adjoint to reference.scores."""
        out, labels, layout = np.zeros(self.layout.n_features), self.layout.node_labels(), self.layout
        out[layout.transitions] = pair.sum(axis=0).ravel()[layout.transition]
        for t in range(len(node)):
            token = self.corpus.seq[i] + t
            for a, value in reference._occurrences(self.corpus.nodes, token):
                block = slice(layout.ptr[a], layout.ptr[a + 1])
                out[block] += value * node[t, labels[block]]
            for b, value in reference._occurrences(self.corpus.pairs, token) if t and self.corpus.pairs is not None else ():
                block = slice(layout.pair_ptr[b], layout.pair_ptr[b + 1])
                out[block] += value * pair[t].ravel()[layout.pair[block.start - layout.pair_ptr[0] : block.stop - layout.pair_ptr[0]]]
        return out

    def w(self):
        total = np.zeros(self.layout.n_features)
        for i, (node, pair) in enumerate(self.mu):
            gold_node, gold_pair = self.gold_parts(i, 1.0)
            total += self.features(i, gold_node - node, gold_pair - pair)
        return total / self.C

    def value(self, i, mu):
        """n D with mu_i in the place of what is there."""
        before, self.mu[i] = self.mu[i], mu
        w = self.w()
        total = sum(entropy(*one) for one in self.mu) - self.C / 2 * w @ w
        self.mu[i] = before
        return total


def inner(values):
    """Over positions that are in two label pairs; a sequence of one position counts -1 times."""
    return values[1:-1].sum() if len(values) > 1 else -values.sum()


def entropy(node, pair):
    with np.errstate(divide="ignore", invalid="ignore"):
        node_terms, pair_terms = (np.where(x > 0, x * np.log(x), 0.0) for x in (node, pair))
    return inner(node_terms) - pair_terms.sum()


class OegTwin(Dual):
    def __init__(self, made, strength, initial, seed):
        super().__init__(made, strength, initial)
        self.draws, self.eta, self.first = np.random.default_rng(seed), np.full(self.n, 0.5), True
        self.order = self.draws.permutation(self.n)

    def step(self):
        for k in range(self.n):
            i = self.order[k] if self.first else int(self.draws.random() * self.n)
            psi = reference.scores(self.corpus, self.layout, self.w(), i)
            before = self.value(i, self.mu[i])
            for _ in range(3 if self.first else 6):
                theta = [(1 - self.eta[i]) * old + self.eta[i] * new for old, new in zip(self.theta[i], psi, strict=True)]
                mu = reference.chain(*theta)[1:]
                if self.value(i, mu) - before > -1e-14:
                    self.theta[i], self.mu[i] = theta, mu
                    break
                self.eta[i] /= 2
            self.eta[i] *= 1.05
        self.first = False


class SdcaTwin(Dual):
    """Uniform draws; the line search by bisection of the dual's slope, to the last bit."""

    def __init__(self, made, strength, initial, seed):
        super().__init__(made, strength, initial)
        self.draws, self.drawn = np.random.default_rng(seed), 0
        self.order = self.draws.permutation(self.n)

    def towards(self, i):
        psi, e = reference.scores(self.corpus, self.layout, self.w(), i)
        return [nu - mu for nu, mu in zip(reference.chain(psi, e)[1:], self.mu[i], strict=True)]

    def slope(self, i, direction, gamma, h=1e-6):
        up, down = (self.value(i, self.moved(i, direction, gamma + s * h)) for s in (1, -1))
        return (up - down) / (2 * h)

    def moved(self, i, direction, gamma):
        return tuple(mu + gamma * d for mu, d in zip(self.mu[i], direction, strict=True))


# ---- the twins


@pytest.mark.parametrize("name", KINDS)
def test_oeg_equals_its_twin(name):
    made = kind(name, seed=2)
    twin = OegTwin(made, 1.0, 3.0, seed=1)
    problem, w, opt = start("oeg", made)
    for _ in range(3):
        opt.step()
        twin.step()
        np.testing.assert_allclose(w, twin.w(), rtol=0, atol=1e-9)
    assert opt.steps.dual() == pytest.approx(twin.value(0, twin.mu[0]) / twin.n, abs=1e-10)


@pytest.mark.parametrize("name", KINDS)
def test_sdca_steps_to_where_the_dual_is_flat(name):
    """Visit by visit: towards the marginals at w, and there the slope is nearly 0, or the whole way has been gone."""
    made = kind(name, seed=2)
    twin = SdcaTwin(made, 1.0, 3.0, seed=1)
    problem, w, opt = start("sdca", made, sampling="uniform", initial_score=3.0)
    opt.steps.begin()
    np.testing.assert_allclose(w, twin.w(), atol=1e-12)
    for i in twin.order:
        direction = twin.towards(i)
        opt.steps.run(1)
        gamma, gap = opt.steps.state()["gamma"][i], opt.steps.state()["gaps"][i]
        if gap > 1e-8:
            assert 0 < gamma <= 0.999
            assert abs(twin.slope(i, direction, gamma)) <= 0.11 * gap + 1e-6 or gamma == 0.999
            twin.mu[i] = twin.moved(i, direction, gamma)
        opt.steps.lazy.settle_and_measure(0.0, 0.0)
        np.testing.assert_allclose(w, twin.w(), rtol=0, atol=1e-9)


# ---- what is said of the dual


def measured(opt):
    """The last step, its gap measured sequence by sequence."""
    gap = opt.steps.measure()
    return Step(opt.steps.dual() + gap, gap)


def marginals(opt, made):
    """(node[tokens, L], pair[..., L, L], or [..., arcs]) that the algorithm keeps, padding left out."""
    state, n_labels, n_arcs = opt.steps.state(), made.layout.n_labels, len(made.layout.arc_pairs)
    if isinstance(opt.steps, SdcaSteps):
        return with_gold(made.corpus, state["mu_nodes"].reshape(-1, n_labels), state["mu_edges"].reshape(-1, n_labels, n_labels))
    row, places = -(-n_labels // 8) * 8, (n_arcs + 8) // 8 * 8
    nodes = state["mu_nodes"].reshape(-1, row)[:, :n_labels]
    if by_arcs(opt, made):
        return nodes, state["mu_edges"].reshape(-1, places)[:, :n_arcs]
    return nodes, state["mu_edges"].reshape(-1, n_labels, row)[:, :, :n_labels]


def with_gold(corpus, nodes, pairs):
    """sdca keeps what is above gold."""
    follows = np.setdiff1d(np.arange(len(corpus.label)), corpus.seq[:-1])
    nodes, pairs, y = nodes.astype(float), pairs.astype(float), corpus.label
    nodes[np.arange(len(y)), y] += 1
    pairs[np.arange(len(follows)), y[follows - 1], y[follows]] += 1
    return nodes, pairs


def by_arcs(opt, made):
    """Whether only label pairs with weights are kept."""
    return made.layout.sparse and len(made.layout.transition) > 0


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_marginals_sum_to_one_and_the_gap_is_primal_minus_dual(way, name):
    made = kind(name, seed=3)
    problem, w, opt = start(way, made)
    for _ in range(4):
        opt.step()
        step, dual = measured(opt), opt.steps.dual()
        assert step.exact
        assert step.gap == pytest.approx(problem.exact_objective(w) - dual, abs=1e-10)
        assert step.objective == pytest.approx(problem.exact_objective(w), abs=1e-10)
    node, pair = marginals(opt, made)
    assert node.min() >= 0
    np.testing.assert_allclose(node.sum(axis=1), 1, atol=1e-12)
    every = (np.diff(made.corpus.seq) - 1).sum()
    assert pair.sum() == pytest.approx(every, abs=1e-10) or by_arcs(opt, made) and 0 < pair.sum() <= every + 1e-10


@pytest.mark.parametrize("name", KINDS)
def test_rounded_marginals_make_the_weights_and_bound_the_optimum_to_what_is_allowed_for_rounding(name):
    made = kind(name, seed=3)
    optimum = lowest(made.problem(l2=1 / made.corpus.n_sequences))
    for single, passes in ((True, 4), (True, 60), (False, 4)):
        problem, w, opt = start("sdca", made, table_precision="single" if single else "double")
        for _ in range(passes):
            opt.step()
        node, pair = marginals(opt, made)
        twin, at = Dual(made, 1.0, 0.0), np.cumsum(np.append(0, np.diff(made.corpus.seq) - 1))
        for i, (first, end) in enumerate(itertools.pairwise(made.corpus.seq)):
            twin.mu[i] = node[first:end], np.concatenate([np.zeros((1, *pair.shape[1:])), pair[at[i] : at[i + 1]]])
        np.testing.assert_allclose(w, twin.w(), rtol=0, atol=1e-12)
        assert opt.steps.dual() <= optimum * (1 + (0.5 * ROUNDING if single else 1e-12))
        assert problem.exact_objective(w) <= optimum * (1 + 1e-6) or passes == 4


def lowest(problem):
    """The optimum, by L-BFGS."""
    v, lbfgs = np.zeros(problem.n_features), optimizers.get("lbfgs")
    best = lbfgs.make(problem, v, np.random.default_rng(0), **lbfgs.defaults())
    fit(problem, best, tol=Goal(slope=1e-9), monitors=[Limits(steps=1000)])
    return problem.exact_objective(v)


@pytest.mark.parametrize(("strength", "initial"), [(1.0, 3.0), (0.01, 10.0), (1e-4, 10.0)], ids=["tame", "wild scores", "wild pairs"])
@pytest.mark.parametrize("way", ["oeg", "oeg in batch mode"])
def test_a_list_of_label_pairs_keeps_what_all_pairs_would(way, strength, initial):
    """Pairs without a weight score 0 in every chain that a step can reach."""
    few = kind("arcs", seed=5)
    whole = replace(few, layout=replace(few.layout, lattice="dense"))
    runs = [start(way, made, strength=strength, initial_score=initial) for made in (few, whole)]
    for _ in range(4):
        for _, _, opt in runs:
            opt.step()
        np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-9, atol=1e-9 * np.abs(runs[1][1]).max())
    (nodes, arcs), (all_nodes, pairs) = (marginals(opt, made) for made, (_, _, opt) in zip((few, whole), runs, strict=True))
    np.testing.assert_allclose(nodes, all_nodes, atol=1e-9)
    np.testing.assert_allclose(arcs, pairs.reshape(len(pairs), -1)[:, few.layout.arc_pairs], atol=1e-9)


def test_gold_pairs_without_a_weight_are_kept_with_all_pairs():
    made = kind("arcs", seed=5)
    first, n = made.layout.transitions.start, len(made.layout.transition) - 1
    fewer = replace(made.layout, transition=made.layout.transition[:-1], pair_ptr=np.array([first + n], np.int64))
    _, _, opt = start("oeg", replace(made, layout=fewer))
    opt.step()
    assert len(opt.steps.state()["mu_edges"]) >= made.corpus.n_sequences * made.layout.n_labels**2


@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("way", WAYS)
def test_the_dual_rises_and_bounds_the_optimum(way, strength):
    made = larger()
    problem, w, opt = start(way, made, strength=strength)
    optimum, before = lowest(problem), -np.inf
    for _ in range(12):
        opt.step()
        dual = opt.steps.dual()
        assert before - 1e-12 <= dual <= optimum + 1e-12
        before = dual
    assert measured(opt).gap >= problem.exact_objective(w) - optimum - 1e-12


@pytest.mark.parametrize("name", DUAL)
def test_the_data_of_the_repository_to_1e_8(name):
    """fit stops by the duality gap, as a share of the objective, 0.91."""
    algorithm = optimizers.get(name)
    training = prepare(Settings(paths=(str(DATA),), algorithm=algorithm, options={}))
    n = training.corpus.n_sequences
    problem = Problem(training.corpus, training.layout, l2=1 / n)
    w = np.zeros(problem.n_features)
    opt = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
    outcome = fit(problem, opt, tol=1e-8 / 0.911, monitors=[Limits(steps=150)])
    assert outcome.converged
    assert problem.exact_objective(w) - opt.steps.dual() <= 1.01e-8
    assert problem.exact_objective(w) - opt.steps.dual() >= -1e-10


# ---- starts, options, strengths


@pytest.mark.parametrize("way", WAYS)
def test_large_scores_are_done_by_logarithms(way):
    """A start far out: scores that spread over thousands."""
    made = larger(sequences=20)
    problem, w, opt = start(way, made, strength=1e-3, w=made.weights(1, 300.0))
    for _ in range(3):
        opt.step()
    assert measured(opt).gap == pytest.approx(problem.exact_objective(w) - opt.steps.dual(), rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_a_start_at_the_optimum_stays_there(way):
    """alpha = p(w) gives w back."""
    made = larger()
    problem, w, opt = start("sdca", made)
    for _ in range(60):
        opt.step()
    _, v, again = start(way, made, w=w.copy())
    again.steps.begin()
    assert again.steps.measure() < 1e-10
    np.testing.assert_allclose(v, w, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_another_strength_keeps_alpha(way):
    made = larger()
    problem, w, opt = start(way, made)
    opt.step()
    before, entropy = w.copy(), opt.steps.state()["entropy"]
    opt.move_to(made.problem(l2=4 / made.corpus.n_sequences))
    np.testing.assert_allclose(w, before / 4, rtol=1e-12)
    assert (opt.steps.state()["entropy"] == entropy).all()
    for _ in range(3):
        opt.step()
    assert measured(opt).gap == pytest.approx(opt.objective.exact_objective(w) - opt.steps.dual(), abs=1e-10)


def test_the_first_pass_is_a_permutation_or_not():
    """Every sequence moves in the first pass, or some do not."""
    for permute in (True, False):
        _, _, opt = start("oeg", larger(), permute=permute)
        opt.step()
        assert (opt.steps.state()["eta"] == 0.5).any() != permute


def test_draws_by_gaps_need_fewer_passes():
    reached = {}
    for sampling in ("gap", "uniform"):
        problem, w, opt = start("sdca", larger(sequences=200, attributes=200), sampling=sampling)
        for _ in range(12):
            opt.step()
        reached[sampling] = measured(opt).gap
    assert reached["gap"] < 0.5 * reached["uniform"]


@pytest.mark.parametrize("name", DUAL)
def test_lambda_zero_is_refused(crftrain, train_file, name):
    ended = crftrain("learn", "-a", name, "--lambda", "0", "train.txt")
    assert ended.status == 2
    assert "--lambda" in ended.err


ROUNDED = {"table_precision": "single"}


@pytest.mark.parametrize(
    ("name", "lattice", "options"), [*((name, "dense", {}) for name in DUAL), ("sdca", "dense", ROUNDED), ("oeg", "arcs", {})]
)
def test_memory_is_what_the_arrays_take(name, lattice, options):
    made = larger(transitions="observed", labels=30, sequences=60)
    made = replace(made, layout=replace(made.layout, lattice=lattice))
    told = optimizers.get(name).memory(sizes(made.corpus, made.layout), {**optimizers.get(name).defaults(), **options})
    _, _, opt = start(name, made, **options)
    kept = [array.nbytes for key, array in opt.steps.state().items() if key.startswith(("mu", "theta"))]
    assert sum(kept) == pytest.approx(sum(size for what, size in told.items() if what != "weights"), rel=0.05)


@pytest.mark.parametrize("way", WAYS)
def test_weights_beyond_numbers_are_an_error(way):
    made = larger(sequences=5)
    _, _, opt = start(way, made, w=np.full(made.layout.n_features, 1e308))
    with pytest.raises(TrainingError):
        opt.step()
