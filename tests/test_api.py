"""crftrain from Python: the estimator, data of all kinds, the tagger; with scikit-learn where it is installed."""

import doctest
import gc
import importlib
import importlib.util
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from observers import Hearing

import crftrain
from crftrain import CRF, Dataset, EarlyStopping, History, ProgressBar, Tagger
from crftrain.api.estimator import NotFittedError
from crftrain.errors import CrftrainError, DataError, SettingsError
from crftrain.tagging._single import named
from crftrain.text.read import columns, sentences
from crftrain.text.template import Template

ROOT = Path(__file__).parent.parent
TOKEN = {"word": "the", "length": 3, "title": False, "context": {"before": "in", "after": ["cat", "dog"]}, "shape": {"x"}}
NAMES = {"word:the", "length", "title", "context:before:in", "context:after:cat", "context:after:dog", "shape:x"}


def sample(seed=1, sentences_=30, noise=0.1):
    """(X, y) of dicts."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences_):
        words = rng.integers(0, 8, rng.integers(1, 7)).tolist()
        X.append([{"word": f"w{word}", "bias": 1.0, "before": f"w{before}"} for word, before in zip(words, [None, *words], strict=False)])
        y.append([("B-X", "I-X", "O")[(word + (rng.random() < noise)) % 3] for word in words])
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return CRF().fit(*sample())


@pytest.mark.parametrize("module", ["api.callbacks", "api.dataset", "api.estimator", "api.tagger", "compat.pycrfsuite._items", "metrics"])
def test_examples_in_the_documentation_hold(module):
    failed, tried = doctest.testmod(importlib.import_module(f"crftrain.{module}"))
    assert not failed and (tried or module == "api.callbacks")


# ---- data


def test_a_token_is_a_set_of_attributes_with_values():
    data = Dataset([[TOKEN]])
    assert {name.decode() for name in data.vocabulary.attributes.names()} == NAMES
    value = dict(zip(data.vocabulary.attributes.names(), data.corpus.nodes.value.tolist(), strict=True))
    assert (value[b"length"], value[b"title"], value[b"word:the"]) == (3, 0, 1)


def test_lists_sets_bytes_generators_and_mappings_are_tokens_too():
    from types import MappingProxyType

    tokens = [["a", "b"], ("a", b"b"), {"a", "b"}, {"a": True, "b": 1}, (name for name in "ab"), MappingProxyType({"a": 1, "b": 1}), []]
    data = Dataset([tokens], [["X"] * 7])
    assert sorted(data.vocabulary.attributes.names()) == [b"a", b"b"]
    assert np.diff(data.corpus.nodes.ptr).tolist() == [2] * 6 + [0]


WRONG = [
    ([["a"]], None, "X[0][0]: the text 'a', whose letters would be the attributes"),
    (["ab"], None, "X[0]: 'ab' for a sequence, expected a list of tokens"),
    ([[["a"]], [["a"], 5]], None, "X[1][1]: 'int' object is not iterable"),
    ([[{"a": None}]], None, "X[0][0]: None for the value of 'a', expected a number"),
    ([[{"a": float("nan")}]], None, "X[0][0]: the value nan of 'a', expected a finite number"),
    ([[{5: 1}]], None, "X[0][0]: 5 for the name of an attribute, expected text"),
    ([[["a"], ["b"]]], [["X"]], "X[0]: 2 tokens and 1 labels, expected one label for each token"),
    ([[["a"]]], [], "y[0]: no labels"),
    ([], [["X"]], "X[0]: no tokens"),
    ([[["a"]]], ["X"], "y[0]: 'X' for a sequence of labels"),
    ([[["a"]]], [[1]], "y[0]: 1 for a label, expected text"),
]


@pytest.mark.parametrize("X, y, why", WRONG, ids=str)
def test_what_is_no_data_is_told_with_its_place(X, y, why):
    with pytest.raises(DataError) as refused:
        Dataset(X, y)
    assert str(refused.value).startswith(why)
    assert isinstance(refused.value, ValueError)


def test_a_dict_that_holds_itself_ends():
    loop = {}
    loop["a"] = loop
    with pytest.raises(DataError, match="more than 50 dicts in one another"):
        Dataset([[loop]])


def test_a_sequence_that_is_refused_leaves_nothing_behind():
    from crftrain.text._objects import Objects
    from crftrain.text._strings import StringTable

    builder = Objects(StringTable(), StringTable(), learn=True)
    builder.add([["a"], {"b": 2}], ["X", "Y"])
    for xseq, yseq in (([["a"], 5], ["X", "Y"]), ([["a"]], ["X", "X"]), ([{"a": 1, "c": "d"}, {"b": None}], ["Q", "R"])):
        with pytest.raises(DataError):
            builder.add(xseq, yseq)
    builder.add([["a"]], ["Y"])
    seq, label, ptr, attr, value, _, _ = builder.take()
    assert (seq.tolist(), label.tolist(), ptr.tolist()) == ([0, 2, 3], [0, 1, 1], [0, 1, 2, 3])
    assert (attr.tolist(), value.tolist()) == ([0, 1, 0], [1, 2, 1])


def test_slices_of_a_dataset_are_datasets():
    X, y = sample()
    data = Dataset(X, y)
    assert len(data) == 30 and data.shape == (30,)
    assert data.labels == y
    assert data[3:7].labels == y[3:7]
    assert data[np.array([5, 2]), ...].labels == [y[5], y[2]]
    assert data[np.arange(30) < 2].labels == y[:2]
    assert [len(row) for row in data] == [len(x) for x in X]
    assert data.with_labels([["Q"] * len(x) for x in X]).vocabulary.labels == ["Q"]
    assert (pickle.loads(pickle.dumps(data))[4:6]).labels == y[4:6]
    with pytest.raises(IndexError):
        data[30]


@pytest.mark.parametrize("share", [0.1, 0.2, 1 / 3, 0.5])
def test_a_split_is_a_partition_that_keeps_groups_and_shares(share):
    data = Dataset(*sample(sentences_=60))
    rest, part = data.split(share, random_state=3)
    assert len(part) == int(60 * share + 1e-9) and len(rest) + len(part) == 60
    groups = np.arange(60) // 5
    marked = Dataset([[[f"g{g}"]] for g in groups], [["X"]] * 60)
    rest, part = marked.split(share, groups=groups, random_state=3)
    names = marked.vocabulary.attributes.names()
    inside, outside = ({names[a] for a in side.corpus.nodes.attr} for side in (part, rest))
    assert not inside & outside and len(inside) == int(12 * share + 1e-9)
    kinds = Dataset([[["a"]]] * 60, [["rare"] if i % 6 == 0 else ["X"] for i in range(60)])
    assert sum(labels == ["rare"] for labels in kinds.split(share, stratify=True)[1].labels) == pytest.approx(10 * share, abs=1)


def test_rows_of_columns_train_what_the_command_trains(train_file, tmp_path, settings):
    from crftrain.training.learn import learn

    rows = [[columns(line.decode().encode()) for line in sentence.lines] for sentence in sentences(str(train_file))]
    rows = [[[cell.decode() for cell in row] for row in sequence] for sequence in rows]
    learn(settings(passes=20))
    crf = CRF("lbfgs", max_iter=20, template="auto").fit([[row[:-1] for row in x] for x in rows], [[row[-1] for row in x] for x in rows])
    crf.save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "model.bin").read_bytes()
    for given in (str(train_file), Dataset.read(train_file), Dataset(rows, template="auto")):
        other = CRF("lbfgs", max_iter=20, template="auto").fit(given)
        assert other.model_.to_bytes() == crf.model_.to_bytes()
        assert other.score(given) == crf.score(Dataset.read(train_file))
    with pytest.raises(DataError, match=r"X\[0\]\[0\]: a cell 'a b', expected text without spaces"):
        Dataset([[["a b"]]], [["X"]], template="pos")


@pytest.mark.parametrize("template", [None, "pos"])
def test_there_are_as_many_sequences_as_labels_of_them(template):
    """Those that are left over on either side are not lost in silence."""
    X, y = [["a"], ["b"], ["c"]], [["X"], ["O"], ["X"]]
    with pytest.raises(DataError, match=re.escape("y[2]: no labels, expected as many sequences as X has")):
        Dataset(X if template else [[[word] for word in words] for words in X], iter(y[:2]), template=template)
    with pytest.raises(DataError, match=re.escape("X[2]: no tokens, expected as many sequences as y has")):
        Dataset((X if template else [[[word] for word in words] for words in X])[:2], y, template=template)


@pytest.mark.parametrize(
    ("words", "tags", "finding"),
    [([["a"], ["b", "c"]], [["D"], ["N"]], "X[1]: 2 and 1 tokens"), ([["a"], ["b"]], [["D"]], "X[1]: 1 and 0 tokens")],
)
def test_columns_of_unequal_lengths_are_told(words, tags, finding):
    with pytest.raises(DataError, match=re.escape(f"{finding}, expected as many in each column")):
        Dataset.from_columns(words, tags)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_grouped_by_a_column(library):
    frame = pytest.importorskip(library).DataFrame({"doc": [1, 1, 2], "word": ["a", "b", "a"], "size": [1.5, 2, 1], "tag": ["X", "O", "X"]})
    data = Dataset.from_frame(frame, group="doc", label="tag")
    assert data.labels == [["X", "O"], ["X"]]
    assert sorted(data.vocabulary.attributes.names()) == [b"size", b"word:a", b"word:b"]
    with pytest.raises(TypeError, match="Dataset.from_frame"):
        CRF().fit(frame)


# ---- the estimator


class Frame:
    """As much of a pandas frame as is looked at."""

    columns = ("group", "word", "tag")

    def to_dict(self):
        return {}


def test_a_frame_alone_and_columns_that_are_missing_are_told(fitted):
    for use in (fitted.predict, CRF().fit):
        with pytest.raises(TypeError, match="a frame, expected Dataset.from_frame"):
            use(Frame())
    with pytest.raises(ValueError, match="frame: no column 'document', expected one of 'group', 'word', 'tag'"):
        Dataset.from_frame(Frame(), group="document")


@pytest.mark.parametrize("tag", [2, -1, -100, "X"])
def test_a_number_without_a_name_is_told(tag):
    with pytest.raises(ValueError, match=r"tags\[1\]: .*, expected a number from 0 to 1, the place of a name"):
        Dataset.from_columns([["a"], ["b", "c"]], tags=[[0], [1, tag]], names=["O", "X"], template="pos")


def test_the_end_of_a_name_tells_the_format_of_a_model(fitted, tmp_path):
    fitted.save(tmp_path / "m.crfsuite")
    assert (tmp_path / "m.crfsuite").read_bytes()[:4] == b"lCRF"
    fitted.save(tmp_path / "ours.crfsuite", format="crftrain")
    assert CRF.load(tmp_path / "ours.crfsuite").classes_ == CRF.load(tmp_path / "m.crfsuite").classes_ == fitted.classes_


def test_a_fit_says_what_came_of_it(fitted):
    assert set(fitted.classes_) == {"O", "I-X", "B-X"}
    assert fitted.converged_ and fitted.stop_reason_ == "converged"
    assert fitted.n_iter_ == len(fitted.history_) == fitted.history_[-1]["iteration"]
    assert fitted.objective_ > 0 and fitted.best_iteration_ is None
    assert "word:w1" in fitted.attributes_
    assert all(isinstance(weight, float) for weight in (*fitted.state_features_.values(), *fitted.transition_features_.values()))
    assert set(fitted.transition_features_) == {(a, b) for a in fitted.classes_ for b in fitted.classes_}


def test_predictions_agree_with_one_another(fitted):
    X, y = sample(2)
    X.insert(1, [])
    y.insert(1, [])
    labels, tables, pairs = fitted.predict(X), fitted.predict_proba(X), fitted.decode(X)
    assert labels.shape == tables.shape == (31,) and labels.dtype == object
    assert labels[1] == [] and pairs[1] == ([], 1.0)
    for x, found, table, (best, p), dicts in zip(X, labels, tables, pairs, fitted.predict_marginals(X), strict=True):
        assert found == best == fitted.predict_single(x)
        assert table.shape == (len(x), 3) and np.allclose(table.sum(axis=1), 1)
        assert [dict(zip(fitted.classes_, row, strict=True)) for row in table.tolist()] == dicts
        assert fitted.tagger_.probability(x, best) == pytest.approx(p, rel=1e-9)
    assert fitted.score(X, y) == np.mean([a == b for g, f in zip(y, labels, strict=True) for a, b in zip(g, f, strict=True)])
    assert fitted.sequence_proba(X[:2], [pairs[0][0], []]) == pytest.approx([pairs[0][1], 1.0])


def test_the_probabilities_of_all_labellings_add_up_to_one(fitted):
    from itertools import product

    x = sample(3)[0][0][:3]
    assert sum(fitted.tagger_.probability(x, y) for y in product(fitted.classes_, repeat=len(x))) == pytest.approx(1, rel=1e-12)
    with pytest.raises(ValueError, match="the label 'Q', expected one of the model's"):
        fitted.tagger_.probability(x, ["Q"] * len(x))


def test_the_probability_of_a_span_is_the_sum_over_what_is_around_it(fitted):
    from itertools import product

    x = sample(9, noise=0)[0][1]
    x = (x * 5)[:5]
    inside = {1: "B-X", 2: "I-X"}
    ways = [y for y in product(fitted.classes_, repeat=5) if y[1:3] == ("B-X", "I-X") and y[3] != "I-X"]
    asked = [None, inside[1], inside[2], {"O", "B-X"}, None]
    assert fitted.tagger_.probability(x, asked) == pytest.approx(sum(fitted.tagger_.probability(x, y) for y in ways), rel=1e-12)
    marginals = fitted.tagger_.marginals(x)
    for j, label in enumerate(fitted.classes_):
        assert fitted.tagger_.probability(x, [None, None, label, None, None]) == pytest.approx(marginals[2, j], rel=1e-12)


def test_the_n_best_labellings_are_the_most_probable_of_all(fitted):
    from itertools import product

    x = (sample(3)[0][0] * 3)[:3]
    every = sorted(((fitted.tagger_.probability(x, y), list(y)) for y in product(fitted.classes_, repeat=3)), reverse=True)
    found = fitted.decode([x, [], x[:1]], n_best=5)
    assert [labels for labels, _ in found[0]] == [labels for _, labels in every[:5]]
    assert [p for _, p in found[0]] == pytest.approx([p for p, _ in every[:5]], rel=1e-9)
    assert found[1] == [([], 1.0)] and len(found[2]) == 3
    assert found[0][0][0] == fitted.decode([x])[0][0] == fitted.predict_single(x)


def test_constrained_predictions_are_legal():
    X, y = sample(11, noise=0.6)
    free, legal = CRF(l2="100/n").fit(X, y), CRF(l2="100/n", constraints="iob2").fit(X, y)
    assert free.model_.to_bytes() == legal.model_.to_bytes()

    def odd(labels):
        return sum(b == "I-X" and a == "O" for a, b in zip(["O", *labels], labels, strict=False))

    assert sum(map(odd, free.predict(X))) > 0 == sum(map(odd, legal.predict(X)))
    tagger = pickle.loads(pickle.dumps(Tagger(free.model_, constraints={"forbid": ["* O"]})))
    assert not any("O" in labels[1:] for labels in tagger.tag_all(X))
    assert pickle.loads(pickle.dumps(legal)).predict(X).tolist() == legal.predict(X).tolist()
    with pytest.raises(ValueError):
        CRF(constraints="nosuch").fit(X, y).predict(X)


def test_probabilities_with_attributes_on_label_pairs(train_file):
    data = Dataset.read(train_file, template="auto")
    pairs = Dataset.read(train_file, template=Template.parse("U:%x[0,0]\nB:%x[0,1]\nB\n", "t"))
    for given in (data, pairs):
        fitted = CRF("lbfgs", max_iter=10).fit(given)
        rows = [["w1", "x"], ["w2", "y"], ["w3", "x"]]
        (labels, p), *_ = fitted.decode([rows])
        assert fitted.tagger_.probability(rows, labels) == pytest.approx(p, rel=1e-9)


def test_the_order_and_the_company_of_sequences_do_not_matter(fitted):
    X, _ = sample(4)
    together = fitted.predict(X)
    assert fitted.predict(X[::-1])[::-1].tolist() == together.tolist()
    assert [fitted.predict([x])[0] for x in X] == together.tolist()
    assert fitted.predict(Dataset(X)).tolist() == fitted.predict(iter(X)).tolist() == together.tolist()


def test_a_fit_twice_is_a_fit_once_and_changes_neither_data_nor_parameters():
    X, y = sample()
    before, crf = pickle.dumps((X, y)), CRF(l2="0.5/n", options={"max_memory": 2})
    parameters = crf.get_params()
    assert crf.fit(X, y) is crf
    once = crf.model_.to_bytes()
    assert crf.fit(X, y).model_.to_bytes() == once == CRF(l2="0.5/n", options={"max_memory": 2}).fit(Dataset(X, y)).model_.to_bytes()
    assert crf.get_params() == parameters and pickle.dumps((X, y)) == before


def test_a_strength_is_found_on_request():
    X, y = sample(sentences_=60)
    crf = CRF("lbfgs", l2="auto").fit(X, y)
    assert crf.converged_ and crf.model_.facts["lambda"] > 0
    assert CRF("lbfgs", l2="auto").fit(X, y, X_val=Dataset(*sample(2))).best_score_ > 50


def test_generators_are_consumed_once():
    X, y = sample()
    assert CRF().fit((x for x in X), (labels for labels in y)).model_.to_bytes() == CRF().fit(X, y).model_.to_bytes()


def test_a_fit_of_a_slice_is_a_fit_of_its_sequences():
    X, y = sample()
    part, alone = CRF("lbfgs", tol=1e-9).fit(Dataset(X, y)[5:15]), CRF("lbfgs", tol=1e-9).fit(X[5:15], y[5:15])
    assert part.objective_ == pytest.approx(alone.objective_, rel=1e-9)
    assert set(part.classes_) == set(alone.classes_)
    assert part.predict(X).tolist() == alone.predict(X).tolist()


def test_models_go_through_files_and_pickles_to_the_same_bits(fitted, tmp_path):
    X, _ = sample(5)
    expected, tables = fitted.predict(X).tolist(), fitted.predict_proba(X)
    assert fitted.save(tmp_path / "m.bin") == (tmp_path / "m.bin").stat().st_size
    for again in (CRF.load(tmp_path / "m.bin"), pickle.loads(pickle.dumps(fitted)), pickle.loads(pickle.dumps(fitted.tagger_))):
        found = again.predict(X).tolist() if isinstance(again, CRF) else list(again.tag_all(X))
        assert found == expected
    again = pickle.loads(pickle.dumps(fitted))
    assert again.model_.to_bytes() == (tmp_path / "m.bin").read_bytes()
    assert pickle.dumps(again) == pickle.dumps(pickle.loads(pickle.dumps(again)))
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(again.predict_proba(X), tables, strict=True))
    assert again.get_params() == fitted.get_params() and again.history_ == fitted.history_


def test_the_command_tags_with_a_model_of_python(fitted, tmp_path, crftrain):
    fitted.save(tmp_path / "m.bin")
    ended = crftrain("tag", "--labels-only", "--gold", "no", tmp_path / "m.bin", input=b"word\\:w1\tbias\tbefore\\:wNone\n\n")
    assert ended.out.decode().split() == fitted.predict([[{"word": "w1", "bias": 1, "before": "wNone"}]])[0]


def test_held_out_data_choose_the_step_and_patience_ends_it():
    X_val, y_val = sample(7)
    crf = CRF("sgd", max_iter=30, patience=3, tol=0).fit(*sample(), X_val=X_val, y_val=y_val)
    scores = [step["dev"]["f1"] for step in crf.history_]
    assert crf.best_score_ == max(scores) == scores[crf.best_iteration_ - 1]
    by_data = CRF("sgd", max_iter=30, patience=3, tol=0).fit(*sample(), X_val=Dataset(X_val, y_val))
    assert by_data.model_.to_bytes() == crf.model_.to_bytes()
    with pytest.raises(SettingsError, match="patience needs X_val"):
        CRF(patience=3).fit(*sample())
    with pytest.raises(DataError, match="labels without X_val"):
        CRF().fit(*sample(), y_val=y_val)


def test_callbacks_see_each_step_and_may_end_it():
    seen, history, hearing = [], History(), Hearing()
    stop = lambda progress: "enough" if progress.iteration == 4 else None  # noqa: E731
    crf = CRF(tol=0).fit(*sample(), callbacks=[lambda progress: seen.append(progress.iteration), history, hearing, stop])
    assert (seen, crf.stop_reason_, crf.n_iter_) == ([1, 2, 3, 4], "enough", 4)
    assert history.steps == crf.history_ and hearing.said
    slow = CRF("lbfgs", tol=0).fit(*sample(), callbacks=[EarlyStopping(3, min_delta=0.01)])
    assert slow.stop_reason_ == "no better objective for 3 steps"


def test_a_progress_bar_says_what_the_command_says(capfd):
    CRF("sag").fit(*sample(), callbacks=[ProgressBar()])
    bar = capfd.readouterr().err
    assert "objective 1." in bar and "within " in bar and "inf" not in bar and "nan" not in bar


def test_warm_starts_and_first_models():
    X, y = sample()
    cold = CRF("lbfgs", tol=1e-8).fit(X, y)
    assert CRF("lbfgs", tol=1e-5).fit(X, y, init_model=cold).n_iter_ < cold.n_iter_ / 2
    crf = CRF("lbfgs", tol=1e-8, warm_start=True).fit(X, y)
    assert crf.set_params(tol=1e-5).fit(X, y).n_iter_ < cold.n_iter_ / 2


def test_learning_goes_on_with_new_labels():
    X, y = sample()
    crf = CRF().partial_fit(X[:10], y[:10])
    assert crf.model_.facts["algorithm"] == "psa" and crf.model_.facts["n_learnt"] == 10
    crf.partial_fit(Dataset(X[10:] + [[["q"]]], y[10:] + [["NEW"]]))
    assert crf.model_.facts["n_learnt"] == 31 and "NEW" in crf.classes_
    assert crf.score(X, y) > 0.6
    assert CRF().partial_fit(X, y, classes=["LATER"]).classes_[-1] == "LATER"
    with pytest.raises(ValueError, match="lbfgs forgets what is not in its data"):
        CRF("lbfgs").fit(X, y).partial_fit(X, y)


REFUSED = [
    ({"algorithm": "nosuch"}, "no algorithm is called 'nosuch'"),
    ({"l2": "many"}, "l2 'many', expected a number >= 0"),
    ({"l2": [0.1, 0.2]}, "l2 and l1 that are lists"),
    ({"max_iter": 0}, "max_iter 0, expected a whole number >= 1"),
    ({"n_jobs": 0}, "n_jobs 0, expected a whole number >= 1"),
    ({"random_state": -1}, "random_state -1"),
    ({"options": {"eta": 1}}, "auto has no option 'eta'"),
    ({"features": "some"}, "features 'some'"),
]


@pytest.mark.parametrize("parameters, why", REFUSED, ids=str)
def test_parameters_are_checked_in_fit_and_called_by_their_names(parameters, why):
    crf = CRF(**parameters)
    with pytest.raises(SettingsError) as refused:
        crf.fit(*sample())
    assert str(refused.value).startswith(why)


def test_nothing_is_predicted_before_a_fit(fitted):
    code = "from crftrain import CRF\ntry: CRF().predict([])\nexcept (ValueError, AttributeError) as error: print(type(error).__mro__[1:3])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ValueError" in done.stdout and "AttributeError" in done.stdout
    with pytest.raises((NotFittedError, ValueError)):
        CRF().classes_  # noqa: B018
    with pytest.raises(ValueError, match="no parameter 'nosuch' of CRF"):
        CRF().set_params(nosuch=1)


def test_ctrl_c_in_a_fit_leaves_the_model_so_far():
    def interrupt(progress):
        if progress.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(UserWarning, match="interrupted by SIGINT: the model is that of step 3"):
            crf = CRF(tol=0, max_iter=1000).fit(*sample(), callbacks=[interrupt])
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert crf.n_iter_ == 3 and len(crf.predict(sample()[0])) == 30


@pytest.mark.parametrize("algorithm", ["sag", "lbfgs", "psa"])
def test_other_threads_run_while_one_trains(algorithm):
    """The lock is let go: a thread that counts goes on while kernels run."""
    X, y = sample(sentences_=400)
    data, ticks, over = Dataset([x * 12 for x in X], [labels * 12 for labels in y]), [], threading.Event()

    def count():
        while not over.wait(0.001):
            ticks.append(time.perf_counter())

    counting = threading.Thread(target=count)
    counting.start()
    started = time.perf_counter()
    try:
        CRF(algorithm, max_iter=5, tol=0).fit(data)
    finally:
        seconds = time.perf_counter() - started
        over.set()
        counting.join()
    assert len(ticks) > 20 * seconds


# ---- the tagger


def test_a_tagger_serves_many_threads(fitted, tmp_path):
    X, _ = sample(8, sentences_=100)
    fitted.save(tmp_path / "m.bin")
    tagger, expected, found = Tagger(tmp_path / "m.bin"), fitted.predict(X).tolist(), {}

    def work(k):
        found[k] = [tagger.tag(x) for x in X] if k % 2 else list(tagger.tag_all(X))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(4)] == [expected] * 4
    assert tagger.labels == fitted.classes_
    assert tagger.tag([]) == [] and tagger.tag([["never seen"]])[0] in tagger.labels
    assert np.array_equal(tagger.marginals(X[0]), next(tagger.marginals_of_all([X[0]])))


def test_a_tagger_of_columns_takes_rows(train_file, tmp_path):
    crf = CRF(template="auto").fit(str(train_file))
    rows = [["x", "y"], ["z", "w"]]
    assert Tagger(crf.model_).tag(rows) == crf.predict([rows, []])[0]
    assert crf.predict([[]])[0] == []
    with pytest.raises(DataError):
        crf.predict([[["only one column"]]])


@pytest.mark.parametrize("template", ["chunk", "ner", "pos"])
def test_rows_are_tagged_in_compiled_code_as_through_the_encoder(template):
    given = [[tuple(columns(line)) for line in sentence.lines] for sentence in sentences(str(ROOT / "data" / "test.txt"))]
    rows = [[(word.decode(), tag.decode()) for word, tag, _ in sequence] for sequence in given]
    crf = CRF(template=template, max_iter=3).fit(str(ROOT / "data" / "train.txt"))
    tagger = Tagger(crf.model_)
    expected = []
    for xseq in rows:
        corpus, _ = tagger._corpus([xseq])
        expected.append([tagger.labels[j] for j in tagger._decoded(corpus).labels])
    several = [[], *rows, []]
    assert list(tagger.tag_all(several)) == [[], *expected, []]
    assert [tagger.tag(xseq) for xseq in rows[:20]] == expected[:20]
    with_gold = [[tuple(cell.decode() for cell in row) for row in sequence] for sequence in given]
    assert list(tagger.tag_all(with_gold)) == expected
    assert list(tagger.tag_all([list(map(list, xseq)) for xseq in rows])) == expected
    assert list(tagger.tag_all(rows[:3] + [[(word + "\xe9\u4e2d", tag) for word, tag in rows[3]]]))[:3] == expected[:3]
    assert list(tagger.tag_all(iter(xseq) for xseq in rows[:3])) == expected[:3] and tagger.tag(iter(rows[0])) == expected[0]
    for odd in ("text", [("a b", "DT")], [("", "DT")], [("a",)], [("a", "DT", "x", "y")], [(1, "DT")], [("a", "DT"), ("a",)]):
        with pytest.raises(DataError, match="X"):
            list(tagger.tag_all([rows[0], odd]))


def test_a_dataset_is_tagged_in_portions_as_its_sequences_are():
    X, y = sample(11, sentences_=600)
    crf = CRF().fit(X, y)
    data, expected = Dataset([*X, []], [*y, []]), [*crf.predict(X).tolist(), []]
    assert list(crf.tagger_.tag_all(data)) == expected
    assert list(crf.tagger_.tag_all(data)) == expected  # with the numbers that were found before
    assert list(crf.tagger_.tag_all(data[100:500])) == expected[100:500]
    assert list(crf.tagger_.tag_all(list(data))) == expected
    assert [len(p) for p in crf.tagger_.marginals_of_all(data)] == list(map(len, expected))


def test_runs_of_labels_have_their_names():
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 5, 40).tolist()
    labels = rng.integers(0, 3, sum(sizes)).astype(np.int32)
    found = named(["x", "y", "z"], labels, sizes)
    assert [len(run) for run in found] == sizes and sum(found, []) == np.array(["x", "y", "z"], object)[labels].tolist()
    assert named(["x"], labels[:0], []) == []
    for wrong in ([*sizes, 1], sizes[1:] + [sizes[0] - 1], [-1, len(labels) + 1]):
        with pytest.raises(ValueError, match="expected"):
            named(["x", "y", "z"], labels, wrong)


def test_files_are_tagged_by_the_template_of_the_model():
    crf = CRF(template="pos", max_iter=3).fit(str(ROOT / "data" / "train.txt"))
    test = str(ROOT / "data" / "test.txt")
    data = Dataset.read(test, template="pos")
    assert crf.predict(test).tolist() == crf.predict(data).tolist()
    assert crf.score(test) == crf.score(data) > 0.8


def test_sequences_of_a_dataset_are_sequences(fitted):
    X, y = sample(5)
    data = Dataset(X, y)
    assert fitted.predict_single(data[3]) == fitted.predict_single(X[3])
    assert fitted.sequence_proba(data).tolist() == fitted.sequence_proba(data, y).tolist() == fitted.sequence_proba(X, y).tolist()
    with pytest.raises(DataError, match="y: no labels"):
        fitted.sequence_proba(X)


def test_sequences_of_several_datasets_are_no_dataset():
    one, other = Dataset([[{"a"}]], [["X"]]), Dataset([[{"b"}]], [["X"]])
    crf = CRF().fit(one)
    for use in (crf.predict, crf.fit):
        with pytest.raises(DataError, match="several Datasets"):
            use([one[0], other[0]])


def test_a_tagger_forgets_a_dataset_that_is_gone():
    X, y = sample(2)
    tagger, data = CRF().fit(X, y).tagger_, Dataset(X, y)
    list(tagger.tag_all(data))
    kept = len(tagger._numbers)
    del data
    gc.collect()
    assert (kept, len(tagger._numbers)) == (1, 0)


# ---- scikit-learn


def test_scikit_learn_is_not_imported_by_using_it():
    code = """
import sys
import textwrap
import crftrain
crf = crftrain.CRF().fit([[["a"]]] * 3, [["X"]] * 3)
crf.predict([[["a"]]]); crf.score([[["a"]]], [["X"]]); repr(crf); crf.get_params()
assert "sklearn" not in sys.modules and "click" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_metrics_are_there_as_a_module_and_an_attribute():
    assert crftrain.metrics.f1_score([["B-A"]], [["B-A"]]) == 1.0
    assert issubclass(DataError, CrftrainError)


def test_searches_folds_pipelines_and_clones():
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = sample(sentences_=24)
    assert clone(CRF(l2=0.5)).l2 == 0.5 and not is_classifier(CRF())
    found = cross_val_predict(CRF(), X, y, cv=KFold(3))
    assert [len(labels) for labels in found] == [len(x) for x in X]
    same = [[["a"], ["b"]]] * 8
    assert cross_val_predict(CRF(), same, [["X", "Y"]] * 8, cv=2).tolist() == [["X", "Y"]] * 8
    scores = cross_val_score(CRF("lbfgs"), X, y, cv=3)
    data = Dataset(X, y)
    assert cross_val_score(CRF("lbfgs"), data, cv=3) == pytest.approx(scores)
    assert cross_val_score(CRF("lbfgs"), data, y, cv=3) == pytest.approx(scores)
    search = GridSearchCV(CRF("lbfgs"), {"l2": ["10/n", "0.1/n"]}, cv=3, n_jobs=2).fit(data)
    assert search.best_params_["l2"] in ("10/n", "0.1/n") and search.best_estimator_.predict(X[:2]).shape == (2,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        halving = HalvingGridSearchCV(CRF("lbfgs"), {"l2": ["10/n", "0.1/n"]}, resource="max_iter", max_resources=20, cv=2)
        assert halving.fit(X, y).best_estimator_.score(X, y) > 0.8
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), CRF("lbfgs"))
    assert pipeline.fit(X, y).score(X, y) == CRF("lbfgs").fit(X, y).score(X, y)


CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_estimators_unfitted",
]


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("home", ["crftrain", "crftrain.sklearn"])
def test_scikit_learns_checks_that_need_no_table_of_numbers(name, home):
    """The others fit float matrices; what they ask is said again above, of sequences."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    estimator = importlib.import_module(home).CRF
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(checks, name)(estimator.__name__, estimator())


def test_the_class_with_the_real_base_routes_and_shows():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator

    from crftrain.sklearn import CRF as Real

    with sklearn.config_context(enable_metadata_routing=True):
        crf = Real(l1="0.1/n").set_fit_request(X_val=True, y_val=True)
    assert isinstance(crf, BaseEstimator) and isinstance(crf, CRF)
    crf.fit(*sample())
    assert "CRF" in crf._repr_html_()
    assert pickle.loads(pickle.dumps(crf)).predict(sample()[0]).tolist() == crf.predict(sample()[0]).tolist()


# ---- documents


def test_the_page_on_python_holds(monkeypatch, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    if importlib.util.find_spec("sklearn"):
        text = text.replace("# doctest: +SKIP", "")
    page = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", None, 0)
    failed, tried = doctest.DocTestRunner().run(page)
    assert not failed and tried > 20


def test_the_example_runs(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = [sys.executable, str(ROOT / "docs" / "examples" / "chunking.py")]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "converged" in done.stdout and "best strength" in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_six_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## From Python\n\n")[2].partition("\n\n")[0]
    exec(compile(textwrap.dedent(text), "README.md", "exec"), {})
    assert (tmp_path / "model.bin").exists()
