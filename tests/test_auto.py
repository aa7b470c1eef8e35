"""auto decides by counts and by how a run goes, says so, and gives the same bytes each time."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import larger

from crftrain import optimizers
from crftrain.chain.sizes import sizes
from crftrain.optimizers.choice import auto
from crftrain.optimizers.choice._counts import FEWEST, choose
from crftrain.training.loop import Asked, Limits, fit


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
    facts = {**sizes, "n_occurrences": 4_000_000, "n_touched": 9_000_000, "listed_bytes": 0, "n_tokens_squared": 8_000_000}
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
    assert choose(counts(), 4, l1=0.1)[0] == "sag"
    assert choose(counts(), 1e-9, l1=0.1)[0] == choose(counts(), 4, l1=0.1, l2=0.0)[0] == "owlqn"


def test_data_in_shards_never_get_a_method_that_visits_sequences():
    facts = SimpleNamespace(n_features=500_000, n_sequences=9, n_tokens=99, n_labels=3)  # no more is known of them
    for room in np.geomspace(1e-6, 1e4, 60):
        assert choose(facts, room, shards=True)[0] in ("newton-cg", "lbfgs")


def test_a_table_that_is_too_large_has_several_sequences_in_an_entry_and_else_there_is_another_method():
    many = counts(n_labels=437, n_sequences=45_872, n_tokens=930_641, n_features=20_000_000)
    name, options, _ = choose(many, 8)
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
    monkeypatch.setattr(auto, "SLOW", 0.5)
    made = few_long_sequences()
    problem = made.problem(l2=0.1 / 12)
    opt, told = made_by_auto(problem), []
    outcome = fit(problem, opt, tol=1e-3, monitors=[Asked(lambda progress: told.extend(opt.news())), Limits(steps=1000)])
    assert outcome.reason == "converged" and opt.name == "newton-cg"
    assert [text.split()[1].rstrip(",") for text in told] == ["sag", "newton-cg"]


def test_two_runs_are_alike_to_the_bit(monkeypatch):
    monkeypatch.setattr(auto, "SLOW", 0.5)
    made, found = few_long_sequences(), []
    for _ in range(2):
        problem = made.problem(l2=0.1 / 12)
        opt = made_by_auto(problem)
        fit(problem, opt, tol=1e-3, monitors=[Limits(steps=40)])
        found.append(opt.w.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("steps", [3, 17, 30])
def test_a_checkpoint_carries_the_choice(steps, monkeypatch):
    monkeypatch.setattr(auto, "SLOW", 0.5)
    made, w = few_long_sequences(), []
    problem = made.problem(l2=0.1 / 12)
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


def test_sizes_are_counts_of_the_corpus():
    made = larger(sequences=30)
    found = sizes(made.corpus, made.layout)
    assert (found.n_sequences, found.n_tokens, found.n_labels) == (30, made.corpus.n_tokens, 4)
    assert found.n_tokens_squared == (np.diff(made.corpus.seq) ** 2).sum()
    assert (found.n_features, found.n_occurrences) == (made.layout.n_features, len(made.corpus.nodes.attr))


def test_newton_cg_begins_at_zero_where_sag_has_come_to_something_worse(monkeypatch):
    made = few_long_sequences()
    problem = made.problem(l2=0.1 / 12)
    opt = made_by_auto(problem)
    at_zero = problem.objective(np.zeros(problem.n_features))
    opt.w[:] = 100.0
    opt._leave("would take long")
    assert "no better than zero weights" in opt.news()[-1] and not opt.w.any()
    opt.step()
    assert problem.objective(opt.w) < at_zero
