"""Sampling: draws follow the probabilities that are stated, sums and maxima are exact, steps are as long as they should be."""

import math

import numpy as np
import pytest
from problems import larger
from sag_twin import SAMPLERS, start

from crftrain import optimizers

CONSTANTS = np.array([3.0, 0.5, 8.0, 0.01, 1.0, 1.0, 20.0, 2.5, 0.2, 6.0, 0.7])


def with_constants(opt, constants, seen=None, *, searches=False):
    """The optimiser as if it had found these L_i for the sequences seen."""
    state = opt.state()
    state["sampler_L"] = np.array(constants, float)
    state["sampler_visited"] = np.ones(len(constants), np.uint8) if seen is None else np.asarray(seen, np.uint8)
    state["sampler_running"] = np.array([max(constants)], float)
    state["skip"][:] = 0 if searches else 1000
    opt.restore(state)
    return opt


def draw(opt):
    """The sequence of the next step."""
    losses = np.asarray(opt.steps.losses)
    losses[:] = np.nan
    opt.steps.run(1)
    (drawn,) = np.flatnonzero(~np.isnan(losses))
    return drawn


def stated(sampling, L, seen):
    """The probabilities in _sampling's docstring."""
    n, m = len(L), seen.sum()
    if sampling == "uniform":
        return np.full(n, 1 / n)
    if sampling == "nus":
        return 0.5 / n + 0.5 * np.where(seen, L, 0) / L[seen].sum()
    raised = np.where(seen, L + L[seen].mean(), 0)
    return np.where(seen, m / n * raised / raised.sum(), 1 / n)


@pytest.mark.parametrize("unseen", [(), (2, 3, 9)])
@pytest.mark.parametrize("sampling", SAMPLERS)
def test_draws_follow_the_stated_probabilities(sampling, unseen):
    """Chi-square of 3,000 draws, each from the same constants: below its mean and four standard deviations."""
    n, draws = len(CONSTANTS), 3000
    made, algorithm = larger(sequences=n, length=(1, 3), attributes=6), optimizers.get("sag")
    problem, rng, count = made.problem(l2=1e-3), np.random.default_rng(7), np.zeros(n)
    seen = ~np.isin(np.arange(n), unseen)
    constants = np.where(seen, CONSTANTS, 0)
    for _ in range(draws):
        w = np.zeros(problem.n_features)
        opt = algorithm.make(problem, w, rng, **{**algorithm.defaults(), "sampling": sampling})
        count[draw(with_constants(opt, constants, seen))] += 1
    expected = draws * stated(sampling, CONSTANTS, seen)
    assert expected.sum() == pytest.approx(draws)
    chi_square = ((count - expected) ** 2 / expected).sum()
    assert chi_square < n - 1 + 4 * math.sqrt(2 * (n - 1))


@pytest.mark.parametrize("sampling", SAMPLERS)
def test_the_twins_probabilities_are_the_stated_ones(sampling):
    """What SAGA divides by."""
    for seen in (np.ones(11, bool), np.arange(11) % 3 > 0):
        twin = SAMPLERS[sampling](11, None, l2=0, first=1.0)
        twin.L, twin.seen = np.where(seen, CONSTANTS, 0), seen
        np.testing.assert_allclose([twin.probability(u) for u in range(11)], stated(sampling, CONSTANTS, seen), rtol=1e-14)


def step_size(opt):
    """alpha of one step from w = 0 without a penalty: w = -alpha/m d."""
    opt.w[:] = 0
    opt.steps.lazy.read_w()
    opt.steps.run(1)
    opt.steps.settle()
    d = opt.steps.lazy.d_in_vector()
    p = np.abs(d).argmax()
    return -opt.w[p] * opt.steps.sampler.seen / d[p]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 33])
@pytest.mark.parametrize("sampling", ["nus", "nus2013"])
def test_sums_and_maxima_are_exact(sampling, n):
    """The step is as long as the L_i of the moment say, whatever they were before: larger ones leave no trace."""
    made = larger(sequences=n, length=(1, 3))
    rng = np.random.default_rng(n)
    _, _, opt = start("sag", made, l2=0.0, sampling=sampling)
    for size in (1.0, 1e12, 1e-12, 1.0, 1e-3, 1e9):
        L = size * 10 ** rng.uniform(-3, 3, n)
        with_constants(opt, L)
        assert step_size(opt) == pytest.approx(0.5 * (1 / L.max() + n / math.fsum(L)), rel=1e-13)


@pytest.mark.parametrize("sampling", ["nus", "nus2013"])
def test_one_heavy_sequence_among_many_is_drawn_half_of_the_time(sampling):
    """p ~ L_i alone would draw nothing else."""
    made = larger(sequences=40, length=(1, 3))
    L = np.full(40, 1e-9)
    L[17] = 1e9
    _, _, opt = start("sag", made, l2=0.0, sampling=sampling)
    drawn = [draw(with_constants(opt, L)) for _ in range(400)]
    assert 160 < drawn.count(17) < 240
    assert len(set(drawn)) > 35


@pytest.mark.parametrize("sampling", ["nus", "nus2013"])
@pytest.mark.parametrize("name", ["sag", "saga", "svrg"])
def test_constants_never_fall_below_lambda(name, sampling):
    _, _, opt = start(name, larger(sequences=20), l2=50.0, sampling=sampling, skip=False)
    for _ in range(4):
        opt.step()
        found = opt.state()["sampler_L"][opt.state()["sampler_visited"] > 0]
        assert (found >= 50.0).all()


def test_searches_that_are_left_out_come_back():
    """After k searches in a row without doubling the next 2^(k-1) visits have none; one that doubles starts over."""
    n = 12
    problem, _, opt = start("sag", larger(sequences=n))
    while opt.steps.sampler.seen < 2:  # the very first search may go down as well
        opt.steps.run(1)
    satisfied, left_out, ends = opt.state()["satisfied"], opt.state()["skip"], set()
    for _ in range(100 * n):
        before = problem.passes
        u = draw(opt)
        runs = round(n * (problem.passes - before))  # 1: the gradient alone; 2: a search that held at once; more: it doubled
        if left_out[u]:
            assert runs == 1
            left_out[u] -= 1
            continue
        ends.add(min(runs, 3))
        satisfied[u] = satisfied[u] + 1 if runs == 2 else 0
        left_out[u] = 2 ** (satisfied[u] - 1) if satisfied[u] else 0
        state = opt.state()
        assert (state["satisfied"].tolist(), state["skip"].tolist()) == (satisfied.tolist(), left_out.tolist())
    assert ends == {2, 3}
    assert satisfied.max() > 3


def test_without_skipping_every_visit_searches():
    problem, _, opt = start("sag", larger(sequences=30), skip=False)
    opt.step()
    before = problem.passes
    for _ in range(3):
        opt.step()
    assert problem.passes - before >= 3 * 2 - 1e-9
