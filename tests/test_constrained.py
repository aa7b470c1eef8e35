"""Learning over legal labellings alone: against all labellings written out, for every algorithm, and as a user sees it."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import problems
import pytest
import reference
from click.testing import CliRunner

from crftrain import optimizers
from crftrain.chain._problem import Problem
from crftrain.cli.main import commands
from crftrain.model.model import Model, load
from crftrain.text.legal import Legal
from crftrain.training.loop import Limits, fit

KINDS = [name for name in problems.KINDS if "many labels" not in name]


def legal_for(n, seed):
    """Random rules under which something is legal: at least the first label all along."""
    rng = np.random.default_rng(seed)
    pairs, first, last = rng.random((n, n)) < 0.6, rng.random(n) < 0.6, rng.random(n) < 0.6
    pairs[0, 0] = first[0] = last[0] = True
    return Legal.where(pairs, first, last)


def legal_instance(name, seed=1):
    """A small instance with rules, to which its gold labels keep."""
    made = problems.kind(name, seed)
    legal = legal_for(made.layout.n_labels, seed)
    for first, end in itertools.pairwise(made.corpus.seq.tolist()):
        made.corpus.label[first:end] = legal.nearest(made.corpus.label[first:end])
    transition = made.layout.transition[legal.pairs.ravel()[made.layout.transition]]  # as `arrange` has it
    pair_ptr = made.layout.pair_ptr - len(made.layout.transition) + len(transition)
    return replace(made, layout=replace(made.layout, legal=legal, transition=transition, pair_ptr=pair_ptr))


def loss_by_hand(made, w):
    """The mean of -log p(gold), p over the legal labellings written out."""
    legal, total = made.layout.legal, 0
    for i, (first, end) in enumerate(itertools.pairwise(made.corpus.seq.tolist())):
        psi, e = reference.scores(made.corpus, made.layout, w, i)
        paths = np.array(list(itertools.product(range(psi.shape[1]), repeat=len(psi))))
        keep = legal.first[paths[:, 0]] & legal.last[paths[:, -1]]
        score = psi[0, paths[:, 0]].astype(np.longdouble)
        for t in range(1, len(psi)):
            score += psi[t, paths[:, t]] + e[t, paths[:, t - 1], paths[:, t]]
            keep &= legal.pairs[paths[:, t - 1], paths[:, t]]
        gold = score[(paths == made.corpus.label[first:end]).all(axis=1)][0]
        total += reference.log_sum_exp(score[keep]) - gold
    return float(total / made.corpus.n_sequences)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("name", KINDS)
def test_the_loss_and_its_derivatives_are_those_of_the_legal_labellings(name, scale):
    made = legal_instance(name)
    problem, w = made.problem(l2=0.1), made.weights(3, scale=scale)
    assert problem.value(w) == pytest.approx(loss_by_hand(made, w) + 0.05 * w @ w, rel=1e-12)
    d, h = np.random.default_rng(0).normal(size=len(w)), 1e-6
    g, above, below, product = (np.empty(len(w)) for _ in range(4))
    problem.value_and_gradient(w, g)
    assert g @ d == pytest.approx((problem.value(w + h * d) - problem.value(w - h * d)) / (2 * h), rel=1e-4)
    problem.curvature(w).times(d, product)
    problem.value_and_gradient(w + h * d, above)
    problem.value_and_gradient(w - h * d, below)
    np.testing.assert_allclose(product, (above - below) / (2 * h), atol=1e-6 * max(1.0, scale))


def test_what_is_next_to_nothing_and_is_all_that_is_legal_in_the_end_is_not_lost():
    """Two labels that never meet; one scores 5 less at each of 400 tokens and is the only one that may end a sequence."""
    from crftrain.chain.layout import Layout
    from crftrain.text.encode import Corpus, Observations

    length = 400
    legal = Legal.where(np.eye(2, dtype=bool), np.ones(2, bool), np.array([False, True]))
    nodes = Observations(np.arange(length + 1), np.zeros(length, np.int32), None)
    corpus = Corpus(np.array([0, length]), np.ones(length, np.int32), nodes, None, 2)
    layout = Layout(2, np.array([0, 2]), None, 1, np.arange(4, dtype=np.int32), np.array([6]), np.empty(0, np.int32), legal=legal)
    w = np.array([5.0, 0, 0, 0, 0, 0])
    g = np.empty(6)
    assert Problem(corpus, layout).value_and_gradient(w, g) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(g, 0, atol=1e-9)


@pytest.mark.parametrize("kind", ["observed transitions", "arcs", "pair attributes"])
@pytest.mark.parametrize("name", [name for name in optimizers.names() if optimizers.get(name).constrained])
def test_every_algorithm_that_learns_so_gets_to_the_optimum_over_legal_labellings(name, kind):
    made, algorithm = legal_instance(kind, 2), optimizers.get(name)
    n, penalised = made.corpus.n_sequences, "l2" in algorithm.solves
    problem = made.problem(l2=1 / n if penalised else 0.0, l1=0.0 if penalised or "l1" not in algorithm.solves else 0.2 / n)
    w = np.zeros(problem.n_features)
    opt = algorithm.make(problem, w, np.random.default_rng(1), **algorithm.defaults())
    outcome = fit(problem, opt, tol=1e-6, monitors=[Limits(steps=200)])
    assert np.isfinite(outcome.w).all()
    if not algorithm.minimises or not algorithm.solves & {"l2", "l1"}:
        decoded = made.decoded(outcome.w)
        assert not made.layout.legal.broken(made.corpus.seq, decoded.labels).any()
        return
    reference_w = np.zeros(problem.n_features)
    best = optimizers.get("owlqn" if problem.l1 else "lbfgs")
    fit(problem, best.make(problem, reference_w, np.random.default_rng(1), **best.defaults()), tol=1e-9, monitors=[Limits(steps=500)])
    assert problem.objective(outcome.w) <= problem.objective(reference_w) * (1.05 if name in ("smd", "adagrad", "gis") else 1.01)


# ---- as a user sees it ------------------------------------------------------------------------------------------------

GOOD = "the DT B-X\ncat NN I-X\n\na DT O\ndog NN B-X\n\n"
BAD = "the DT O\ncat NN I-X\nsat VB O\n\n"


def run(*arguments, status=0):
    result = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    if status is None:
        return result
    assert result.exit_code == status, result.output
    return result


def learnt(folder, text, *more):
    (folder / "train.txt").write_text(text, encoding="utf-8")
    return run("learn", "-q", "-a", "lbfgs", "-t", "ner", *more, "-m", folder / "model", folder / "train.txt", status=None)


def test_gold_labels_that_are_not_legal_are_an_error_at_their_line(tmp_path):
    result = learnt(tmp_path, GOOD + BAD, "--constrain", "iob2")
    assert result.exit_code and not (tmp_path / "model").exists()
    assert str(result.exception).startswith(f"{tmp_path}/train.txt:8: the pair O I-X, which is not legal")
    result = learnt(tmp_path, GOOD + "a DT B-X\n\n", "--forbid", "B-X $")
    assert str(result.exception).startswith(f"{tmp_path}/train.txt:5: the pair B-X $")


@pytest.mark.parametrize(("what", "n"), [("fix", 3), ("drop", 2)])
def test_they_are_fixed_or_left_out_with_a_warning(tmp_path, what, n):
    with pytest.warns(UserWarning, match=r"1 of 3 sentences have labels that are not legal.*train.txt:8"):
        result = learnt(tmp_path, GOOD + BAD, "--constrain", "iob2", "--on-illegal", what)
    assert result.exit_code == 0
    model = load(tmp_path / "model")
    assert model.facts["n_sequences"] == n and model.facts["legal"] == {"scheme": "iob2"}


def test_the_rules_are_kept_in_the_model_and_hold_without_a_flag(tmp_path):
    data = Path(__file__).parent.parent / "data"
    run("learn", "-q", "-a", "lbfgs", "--passes", 3, "--constrain", "auto", "--forbid", "* I-ADVP", "--on-illegal", "drop", "-t", "chunk",
        "-m", tmp_path / "model", data / "train.txt")  # fmt: skip
    model = load(tmp_path / "model")
    labels = model.vocabulary.labels
    assert model.vocabulary.legal.said == {"scheme": "iob2", "forbid": ["* I-ADVP"]}
    assert model.layout.legal is model.vocabulary.legal
    again = Model.from_bytes(model.to_bytes())
    assert (again.layout.legal.pairs == model.layout.legal.pairs).all()
    assert not (set(model.layout.transition.tolist()) & set(np.flatnonzero(~model.layout.legal.pairs).tolist()))
    out = run("tag", "--json", "--score", tmp_path / "model", data / "test.txt").stdout
    number = {label: j for j, label in enumerate(labels)}
    for line in out.splitlines():
        assert model.layout.legal.allows([number[label] for label in json.loads(line)["labels"]])
    result = run("export", "--to", "wapiti", tmp_path / "model", tmp_path / "out", status=None)
    assert "which labels are legal" in str(result.exception)


def test_what_cannot_be_asked_is_refused_before_anything_is_read(tmp_path):
    assert "cannot learn over legal labellings" in run("learn", "-a", "sdca", "--constrain", "iob2", "no.txt", status=2).output
    assert "needs --constrain" in run("learn", "--on-illegal", "fix", "no.txt", status=2).output
    assert "not for a stream" in run("learn", "-a", "psa", "--stream", "--constrain", "iob2", "--lambda", "1", "-", status=2).output


def test_compiled_tagging_and_explanations_keep_to_the_rules(tmp_path):
    """Labels from bytes are those of the decoder, and reasons add up to margins of legal labellings."""
    from crftrain.tagging.explain import Explainer
    from crftrain.text.read import sentences

    data = Path(__file__).parent.parent / "data"
    run("learn", "-q", "-a", "lbfgs", "--passes", 3, "-t", "chunk", "-m", tmp_path / "free", data / "dev.txt")
    with pytest.warns(UserWarning, match="left out"):
        run("learn", "-q", "-a", "lbfgs", "--passes", 3, "-t", "chunk", "--constrain", "iob2", "--on-illegal", "drop", "--forbid",
            "* B-ADVP", "-m", tmp_path / "kept", data / "dev.txt")  # fmt: skip
    for flags, model in ((["--constrain", "auto"], "free"), ([], "kept")):
        quick = run("tag", *flags, tmp_path / model, data / "test.txt").stdout.splitlines()
        slow = run("tag", *flags, "--marginals", "best", tmp_path / model, data / "test.txt").stdout.splitlines()
        assert [line.rpartition(" ")[2] for line in quick] == [line.rpartition(" ")[2].rpartition(":")[0] for line in slow]
    explainer = Explainer(load(tmp_path / "kept"))
    looked = explainer.look(list(sentences(str(data / "test.txt")))[:20])
    for t in range(40):
        explanation = looked.explain(t)
        assert explanation.position == 0 or "B-ADVP" not in (explanation.label, explanation.against)
        assert sum(explanation.parts) == pytest.approx(explanation.margin, abs=1e-9) and np.isfinite(explanation.margin)


def test_a_model_learnt_so_goes_on_learning_so(tmp_path):
    """With new labels, too; a gold label that is not legal is an error, and a checkpoint of other rules is not gone on with."""
    from crftrain import CRF
    from crftrain.errors import DataError

    assert learnt(tmp_path, GOOD, "--constrain", "iob2").exit_code == 0
    (tmp_path / "more.txt").write_text("x NN B-Y\ny NN I-Y\n\n", encoding="utf-8")
    run("update", "-q", tmp_path / "model", tmp_path / "more.txt")
    model = load(tmp_path / "model")
    assert len(model.vocabulary.labels) == len(model.layout.legal.first) == 5
    (tmp_path / "odd.txt").write_text("x NN O\ny NN I-Y\n\n", encoding="utf-8")
    result = run("update", "-q", tmp_path / "model", tmp_path / "odd.txt", status=None)
    assert "the pair O I-Y" in str(result.exception)
    crf = CRF(template="ner")
    crf._take(model)
    crf.partial_fit([[("x", "NN"), ("z", "NN")]], [["B-Y", "I-Y"]])
    with pytest.raises(DataError, match=r"X\[0\]\[1\]: the pair O I-X"):
        crf.partial_fit([[("x", "NN"), ("z", "NN")]], [["O", "I-X"]])
    assert learnt(tmp_path, GOOD, "-a", "sag", "--constrain", "iob2", "--checkpoint", tmp_path / "c", "--passes", "2").exit_code == 0
    again = learnt(tmp_path, GOOD, "-a", "sag", "--constrain", "iob2", "--forbid", "B-X B-X", "--resume", tmp_path / "c")
    assert again.exit_code and "legal" in str(again.exception)
