"""What once crashed, lost data or told a lie: each stays mended."""

import os

import pytest

from crftrain import optimizers
from crftrain.errors import CrftrainWarning, DataError, ModelError
from crftrain.model import model
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
