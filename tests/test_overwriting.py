"""No command writes over what it reads, whatever the file is called there."""

import os

import pytest

WAPITI = "U:%x[0,0]\nB\n"


@pytest.fixture
def place(crftrain, train_file, tmp_path):
    """A folder with a file of each kind that commands read."""
    text = (tmp_path / "train.txt").read_text(encoding="utf-8")
    (tmp_path / "other.txt").write_text(text, encoding="utf-8")
    (tmp_path / "t.tpl").write_text(WAPITI, encoding="utf-8")
    (tmp_path / "run.toml").write_text("passes = 2\n", encoding="utf-8")
    assert crftrain("learn", "-q", "--passes", 2, "-t", "t.tpl", "-m", "model.bin", "train.txt").status == 0
    (tmp_path / "train.items").write_bytes(crftrain("features", "-t", "t.tpl", "train.txt").out)
    assert crftrain("export", "model.bin", "model.wapiti", "--to", "wapiti").status == 0
    (tmp_path / "folder").mkdir()
    os.link(tmp_path / "train.txt", tmp_path / "folder" / "train.txt")
    os.symlink("train.txt", tmp_path / "link.txt")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "learn -q --config run.toml -m run.toml train.txt",
        "learn -q --config run.toml --log run.toml train.txt",
        "report -o train.txt model.bin train.txt",
        "report -o model.bin model.bin train.txt",
        "export model.bin model.bin --to wapiti",
        "eval --calibration --picture train.txt train.txt",
        "tag --workers 1 --out folder model.bin train.txt",
        "as crfsuite learn -m train.items train.items",
        "as crfsuite learn -m train.items -e 2 other.txt train.items",
        "as crf_learn t.tpl train.txt train.txt",
        "as crf_learn t.tpl train.txt t.tpl",
        "as crf_learn -C model.wapiti model.wapiti",
        "as crf_test -m model.bin -o train.txt train.txt",
        "as crf_test -m model.bin -o model.bin train.txt",
        "as wapiti train -p t.tpl train.txt link.txt",
        "as wapiti train -p t.tpl -d other.txt train.txt other.txt",
        "as wapiti label -m model.wapiti train.txt train.txt",
        "as wapiti label -m model.wapiti train.txt model.wapiti",
        "as wapiti dump model.wapiti model.wapiti",
    ],
)
def test_a_file_that_is_read_is_not_written(crftrain, place, command):
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    ended = crftrain(*command.split())
    assert ended.status == 2 and "would overwrite" in ended.err, ended.err
    assert {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()} == before


def test_wapiti_goes_on_with_a_model_in_place(crftrain, place):
    words = ["as", "wapiti", "train", "-p", "t.tpl", "-i", "3", "-m", "model.wapiti", "train.txt", "model.wapiti"]
    before = (place / "model.wapiti").read_bytes()
    assert crftrain(*words).status == 0
    assert (place / "model.wapiti").read_bytes() != before


def test_what_another_program_s_command_writes_is_whole_or_absent(crftrain, place):
    (place / "out").write_text("kept\n", encoding="utf-8")
    (place / "odd.txt").write_text("w1 c1 O\n\nw1\n", encoding="utf-8")
    assert crftrain("as", "crf_test", "-m", "model.bin", "-o", "out", "odd.txt").status == 1
    assert crftrain("as", "wapiti", "label", "-m", "none.bin", "train.txt", "out").status == 1
    assert (place / "out").read_text(encoding="utf-8") == "kept\n"
