"""The drop-ins where the peers' own tests do not look; those are in test_peers.py."""

import warnings

import numpy as np
import pytest

from crftrain.compat import pycrfsuite, sklearn_crfsuite
from crftrain.model.model import load

X = [[{"word": f"w{k % 4}", "odd": bool(k % 2)} for k in range(i, i + 4)] for i in range(12)]
Y = [[("A", "B", "A", "C")[k % 4] for k in range(i, i + 4)] for i in range(12)]


def trained(algorithm="lbfgs", **params):
    trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
    for xseq, yseq in zip(X, Y, strict=True):
        trainer.append(xseq, yseq)
    return trainer


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_one_label_alone_is_learnt(algorithm, tmp_path):
    trainer = pycrfsuite.Trainer(algorithm, {"max_iterations": 30}, verbose=False)
    trainer.append([{"a": 1}], ["X"])
    trainer.train(str(tmp_path / "m"))
    with pycrfsuite.Tagger().open(str(tmp_path / "m")) as tagger:
        assert tagger.tag([{"a": 1}, {"b": 1}]) == ["X", "X"]


def test_what_is_written_is_read_by_crftrain_and_holds_the_optimum(tmp_path):
    trainer = trained(c2=0.1, c1=0.05, epsilon=1e-7, delta=1e-9)
    trainer.train(str(tmp_path / "m"))
    model = load(tmp_path / "m")
    assert model.vocabulary.labels == ["A", "B", "C"] and model.active
    assert trainer.logparser.last_iteration["loss"] < trainer.logparser.iterations[0]["loss"]
    assert trainer.logparser.iterations[0]["num"] == 1


def test_a_held_out_group_is_scored_and_not_learnt_from(tmp_path):
    trainer = trained()
    trainer.append([{"word": "secret"}], ["Z"], 1)
    trainer.train(str(tmp_path / "m"), holdout=1)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    assert "word:secret" not in tagger.info().attributes
    trainer.train(str(tmp_path / "all"))  # the data are still there
    tagger.open(str(tmp_path / "all"))
    assert "word:secret" in tagger.info().attributes


def test_a_parameter_without_meaning_is_told_once_and_only_when_set(tmp_path):
    for params, told in (({}, 0), ({"max_linesearch": 5, "linesearch": "Backtracking"}, 1), ({"max_linesearch": 20}, 0)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            trained(**params).train(str(tmp_path / "m"))
        assert len(found) == told
        assert all("crftrain has no linesearch, max_linesearch" in str(warning.message) for warning in found)


def test_marginals_and_probabilities_agree(tmp_path):
    trained().train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    tagger.set(X[0])
    for t in range(4):
        assert sum(tagger.marginal(label, t) for label in tagger.labels()) == pytest.approx(1)
    with pytest.raises(RuntimeError):
        tagger.marginal("nosuch", 0)
    with pytest.raises(RuntimeError):
        tagger.probability(["nosuch"] * 4)
    with pytest.raises(ValueError):
        tagger.probability(["A"])
    assert tagger.tag([]) == [] and tagger.probability([]) == 0.0


def test_the_estimator_keeps_its_promises_and_mends_its_faults():
    crf = sklearn_crfsuite.CRF(c1=0.05, c2=0.05)
    assert not crf.__sklearn_is_fitted__()
    with pytest.raises((ValueError, AttributeError)):
        crf.predict(X)
    crf.fit((x for x in X), (y for y in Y), X_dev=X[:2], y_dev=Y[:2])
    assert crf.__sklearn_is_fitted__() and crf.score(X, Y) > 0.9
    assert crf.predict(X).shape == (12, 4) and crf.predict1d(X).shape == (12,)
    assert set(crf.classes_) == {"A", "B", "C"} and crf.num_attributes_ == len(crf.attributes_)
    with pytest.raises(ValueError):
        crf.fit(X, Y[:3])


def test_sequence_accuracy_of_sequences_of_one_length():
    pytest.importorskip("sklearn")
    from crftrain.compat.sklearn_crfsuite import metrics

    same = np.array([["a", "b"], ["a", "c"]], object)
    assert metrics.sequence_accuracy_score(same, [["a", "b"], ["x", "c"]]) == 0.5
