"""What --dev decides by, and which algorithm --l1 gets."""

import json

import numpy as np
import pytest
import reference
from observers import Hearing
from problems import larger, text

from crftrain import optimizers
from crftrain.cli.flags import AlgorithmCommand
from crftrain.errors import CrftrainWarning
from crftrain.text.encode import Corpus
from crftrain.training.heldout import HeldOutData
from crftrain.training.learn import learn
from crftrain.training.settings import DEFAULT_ALGORITHM, Settings
from crftrain.training.strength import Strength

PATH = (Strength(30, True), Strength(10, True), Strength(3, True), Strength(1, True), Strength(0.1, True))


@pytest.fixture
def files(tmp_path):
    train, dev = tmp_path / "train", tmp_path / "dev"
    train.write_text(text(1, sentences=150, words=300, noise=0.3))
    dev.write_text(text(2, sentences=60, words=300, noise=0.3))
    return train, dev


def run(files, tmp_path, **wanted):
    settings = Settings(
        paths=(str(files[0]),),
        algorithm=optimizers.get("owlqn"),
        options=optimizers.get("owlqn").defaults(),
        model=str(tmp_path / "model"),
        dev=str(files[1]),
        log=str(tmp_path / "log"),
        lambdas=(Strength(0.0),),
        l1s=PATH,
        **wanted,
    )
    said = []
    outcome = learn(settings, Hearing(said))
    return outcome, [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()], said


@pytest.mark.parametrize("select", ["score", "likelihood"])
def test_the_best_step_of_the_best_point_is_saved(files, tmp_path, select):
    outcome, events, said = run(files, tmp_path, select=select)
    key = {"score": "f1", "likelihood": "likelihood"}[select]
    best = max(event["dev"][key] for event in events if event["event"] == "step")
    assert outcome.dev[key] == best
    assert events[-1]["dev"][key] == best
    ends = [event for event in events if event["event"] == "end"]
    assert len(ends) == len(PATH) + 1
    assert sum("active features" in line and "likelihood -" in line and "f1 " in line for line in said) == len(PATH)


def test_the_two_criteria_are_different_ones(files, tmp_path):
    by_score, by_likelihood = (run(files, tmp_path, select=select)[0].dev for select in ("score", "likelihood"))
    assert by_score["f1"] >= by_likelihood["f1"]
    assert by_likelihood["likelihood"] >= by_score["likelihood"]
    assert by_score != by_likelihood


def test_the_likelihood_is_the_mean_log_probability_of_the_gold_labels():
    """Of sequences whose labels the model knows; the others count for the score alone."""
    made = larger(sequences=12, labels=3, length=(2, 4))
    w, corpus = made.weights(), made.corpus
    label = corpus.label.copy()
    label[corpus.seq[3]] = label[corpus.seq[7]] = -1
    gold = ["strange" if j < 0 else made.vocabulary.labels[j] for j in label]
    partly_known = Corpus(corpus.seq, label, corpus.nodes, corpus.pairs, corpus.n_labels)
    with pytest.warns(CrftrainWarning, match="2 of 12 sentences"):
        heldout = HeldOutData(partly_known, gold, made.vocabulary.labels, "dev.txt")
    score, numbers = heldout.scorer(made.layout, select="likelihood")(w)
    losses = [reference.enumerate_paths(corpus, made.layout, w, i).loss for i in range(12) if i not in (3, 7)]
    assert score == numbers["likelihood"] == pytest.approx(-np.mean(losses), rel=1e-12)


@pytest.mark.parametrize(
    "args, name",
    [
        (["train"], DEFAULT_ALGORITHM),
        (["--l1", "0", "train"], DEFAULT_ALGORITHM),
        (["--l1=0/n", "train"], DEFAULT_ALGORITHM),
        (["--l1", "0.7/n", "train"], DEFAULT_ALGORITHM),
        (["--l1=10/n,1/n", "train"], DEFAULT_ALGORITHM),
        (["--l1", "0,1e-3"], DEFAULT_ALGORITHM),
        (["-p", "l1=1", "train"], DEFAULT_ALGORITHM),
        (["-pl1=0", "train"], DEFAULT_ALGORITHM),
        (["-m", "l1", "train"], DEFAULT_ALGORITHM),
    ],
)
def test_l1_without_a_gets_an_algorithm_that_can(args, name):
    assert AlgorithmCommand.default(args) == name
