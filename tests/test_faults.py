"""What once crashed, lost data or told a lie: each stays mended."""

import gzip
import os
import re
import weakref

import numpy as np
import pytest
from problems import KINDS, larger
from problems import kind as problem_of

from crftrain import optimizers, whole
from crftrain.errors import CrftrainWarning, DataError, ModelError
from crftrain.model import model
from crftrain.text import read
from crftrain.text._regex import Regex
from crftrain.training.learn import learn
from crftrain.training.strength import Strength
from crftrain.whole import prefix, replace, try_replace


@pytest.mark.parametrize("name", optimizers.names())
def test_long_sentences_of_many_attributes_and_label_pairs_with_attributes(settings, tmp_path, name):
    """ngd wrote past its memory where a sentence had more than 64 different attributes and pairs had some of their own."""
    lines = [f"w{k} N {'AB'[k % 2]}" for k in range(3000)]
    (tmp_path / "long.txt").write_text("\n".join(lines) + "\n\na N A\nb N B\n", encoding="utf-8")
    (tmp_path / "pairs.tpl").write_text("U:%x[0,0]\nB:%x[0,1]\nB\n", encoding="utf-8")
    penalised = {"lambdas": Strength.parse_list("1/n" if "l2" in optimizers.get(name).solves else "0")}
    asked = settings(name, paths=(str(tmp_path / "long.txt"),), template=str(tmp_path / "pairs.tpl"), passes=2, **penalised)
    assert learn(asked).iteration <= 2
    assert model.load(asked.model).facts["n_tokens"] == 3002


# ---- files that are whole or absent


def test_what_a_killed_run_left_is_removed_by_the_next_one_to_write_there(tmp_path):
    place = tmp_path / "model.bin"
    left, other = tmp_path / f"{prefix(place)}0123.tmp", tmp_path / f"{prefix('other.bin')}0123.tmp"
    for path in (left, other, tmp_path / ".crftrain-0123.tmp"):
        path.write_bytes(b"half")
    try_replace(place)
    assert sorted(os.listdir(tmp_path)) == sorted([".crftrain-0123.tmp", other.name])


def test_nothing_is_left_where_a_file_could_not_be_asked_about(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError("no answer")

    monkeypatch.setattr(whole, "_lock", refuse)
    with pytest.raises(OSError, match="no answer"):
        replace(tmp_path / "model.bin", [b"whole"])
    assert os.listdir(tmp_path) == []


def test_what_a_running_one_writes_is_left_to_it(tmp_path):
    place = tmp_path / "model.bin"

    def parts():
        yield b"one "
        try_replace(place)
        yield b"whole"

    replace(place, parts())
    assert place.read_bytes() == b"one whole"
    assert os.listdir(tmp_path) == ["model.bin"]


@pytest.fixture
def full(monkeypatch, tmp_path):
    """full(folder): from now on that folder's disk is full."""
    import errno

    from crftrain import whole

    really = os.fsync

    def make(folder):
        def fsync(number):
            if os.readlink(f"/proc/self/fd/{number}").startswith(str(folder) + os.sep):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            really(number)

        monkeypatch.setattr(whole.os, "fsync", fsync)

    return make


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_model_that_has_no_room_goes_to_a_folder_for_temporary_files(settings, tmp_path, full, monkeypatch):
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "large"))
    full(tmp_path / "small")
    asked = settings(model=str(tmp_path / "small" / "m.bin"), passes=3)
    with pytest.raises(ModelError, match="m.bin: cannot be written: No space left on device; the model is in ") as told:
        learn(asked)
    assert os.listdir(tmp_path / "small") == []
    assert model.load(str(told.value).rpartition(" ")[2]).facts["iteration"] == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_and_where_there_is_none_either_it_says_so(settings, tmp_path, full, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    full(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ModelError, match="cannot be written: No space left on device; nor could it be kept in "):
        learn(settings(passes=3))
    assert sorted(os.listdir(tmp_path)) == sorted({*before, "train.txt"})


# ---- held-out data


def test_labels_of_held_out_data_that_training_has_not_are_told(settings, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text("w1 c1 NEW\n\nw1 c1 O\n\nw2 c2 NEWER\nw1 c1 O\n", encoding="utf-8")
    with pytest.warns(CrftrainWarning, match=r"dev.txt: 2 of 3 sentences have labels that training has not \(2: NEW, NEWER\)"):
        outcome = learn(settings(dev=str(dev), passes=2, select="likelihood", patience=1))
    assert outcome.best_iteration is not None


@pytest.mark.parametrize("patience", [None, 2])
def test_a_likelihood_that_nothing_can_be_selected_by_is_an_error(settings, tmp_path, patience):
    dev = tmp_path / "dev.txt"
    dev.write_text("w1 c1 NEW\n", encoding="utf-8")
    asked = settings(dev=str(dev), passes=2, select="likelihood", patience=patience)
    with pytest.warns(CrftrainWarning), pytest.raises(DataError, match="to select by the likelihood"):
        learn(asked)
    assert learn(settings(dev=str(dev), passes=2, patience=patience)).best_iteration == 1


# ---- compare


def test_compare_with_l1_and_a_damaged_optimum(crftrain, train_file, tmp_path):
    arguments = ("compare", "--out", "race", "-a", "owlqn", "-a", "sgd-l1", "--l1", "0.01", "--max-passes", 30, "train.txt")
    first = crftrain(*arguments)
    assert first.status == 0, first.err
    (kept,) = (tmp_path / "race").glob("optimum-*.json")
    good = kept.read_bytes()
    for damaged in (
        b"",
        b"[]",
        b"{}",
        good[:-9],
        good.replace(b'"objective": ', b'"objective": -'),
        b"null",
        good.replace(b'"gap": ', b'"gap": "x", "p": '),
    ):
        kept.write_bytes(damaged)
        again = crftrain(*arguments)
        assert again.status == 0, again.err
        assert "looking for f*" in again.err
        assert kept.read_bytes() == good


# ---- numbers


@pytest.mark.parametrize(
    "arguments",
    [
        ("--min-freq", "99999999999999999999"),
        ("--passes", "9" * 400),
        ("--seed", "9" * 400),
        ("-j", "99999999"),
        ("-a", "mira", "--shrinking-size", "4294967296"),
        ("-a", "adagrad", "--batch", "9223372036854775808"),
        ("-a", "lbfgs", "--memory", "9" * 400),
        ("--max-passes", "inf"),
        ("--max-seconds", "nan"),
        ("--tol", "nan"),
    ],
)
def test_options_have_ranges_that_the_code_can_hold(crftrain, train_file, arguments):
    ended = crftrain("learn", *arguments, "train.txt")
    assert ended.status == 2
    assert len(ended.err) < 1000


@pytest.mark.parametrize("name", ["sag", "lbfgs", "sgd", "newton-cg"])
def test_no_model_without_an_objective(crftrain, train_file, tmp_path, name):
    (tmp_path / "huge.items").write_text("A\ta:1e200\nB\tb:1e200\n\nB\ta:-1e200\n", encoding="utf-8")
    items = ("--format", "items", "huge.items")
    for arguments in (items, ("--lambda", "1e308", *items), ("--lambda", "1e308", "train.txt"), ("--lambda", "1e307", "train.txt")):
        ended = crftrain("learn", "-q", "-a", name, "--passes", 3, "-m", "m.bin", "--log", "log", *arguments)
        if ended.status == 0:
            assert '"objective": null' not in (tmp_path / "log").read_text()
        else:
            assert ended.err.startswith("crftrain: error: ")


def test_probabilities_are_numbers_however_large_the_weights(settings, tmp_path, crftrain):
    learn(settings(passes=2))
    trained = model.load(tmp_path / "model.bin")
    w = np.sign(trained.w) * 3.4e38
    model.save(tmp_path / "wild.bin", trained.vocabulary, trained.layout, w, trained.facts)
    ended = crftrain("tag", "--marginals", "all", "--score", "wild.bin", "train.txt")
    assert ended.status in (0, 1)
    assert not {"nan", "inf"} & set(re.split(r"[\t:\n]", ended.out.decode()))


@pytest.mark.parametrize("scale", [1e5, 1e30, 3.4e38, 1e150])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_a_token_add_up_to_one_however_large_the_weights(kind, scale):
    made = problem_of(kind, 3)
    signs = np.random.default_rng(0).choice([-1, 0, 1], made.layout.n_features)
    decoded = made.decoded(signs * scale, marginals=True)
    np.testing.assert_allclose(decoded.marginals.sum(axis=1), 1, rtol=1e-9)


def test_a_file_takes_its_place_when_its_bytes_are_on_the_disk(settings, tmp_path, monkeypatch):
    done, synced, replaced = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("on the disk"), synced(number)))
    monkeypatch.setattr(os, "replace", lambda new, old: (done.append(os.path.basename(old)), replaced(new, old)))
    learn(settings(algorithm="sag", passes=1, checkpoint=str(tmp_path / "state"), checkpoint_every=1))
    assert done == ["on the disk", "state", "on the disk", "model.bin"]


def test_newton_cg_lets_go_of_what_it_held():
    problem = larger().problem(l2=0.1)
    optimiser = optimizers.get("newton-cg").make(
        problem, np.zeros(problem.n_features), np.random.default_rng(1), **optimizers.get("newton-cg").defaults()
    )
    optimiser.step()
    held = weakref.ref(optimiser)
    del optimiser
    assert held() is None


# ---- bounds of what is read


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "LINE", 1 << 16)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"ok O\n\n" + b"a" * (1 << 18)))
    with pytest.raises(DataError, match=r"bomb.gz:3: a line of more than 65,536 bytes"):
        list(read.sentences(str(tmp_path / "bomb.gz")))


def test_a_sentence_without_end_too(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "SEQUENCE", 1000)
    (tmp_path / "long.txt").write_bytes(b"ok O\n\n" + b"a O\n" * 100_000)
    with pytest.raises(DataError, match=r"long.txt:3: a sentence of more than 1,000 lines"):
        list(read.sentences(str(tmp_path / "long.txt")))


def test_a_pattern_and_a_cell_have_a_size_that_fits():
    with pytest.raises(DataError, match=r"a pattern of 40,000 characters on a cell of 60,000"):
        Regex("a" * 40_000).search("a" * 60_000)


def test_a_comment_sign_that_is_no_text_is_bytes_like_any_other(crftrain, train_file):
    assert crftrain("convert", "--comments", "\udc80", "train.txt").status == 0
