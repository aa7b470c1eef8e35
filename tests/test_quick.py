"""`crftrain tag [-j N] [rules] MODEL FILE..` with nothing else: it loads little, and nobody can tell it from the way of all commands."""

import gc
import gzip
import subprocess
import sys

import pytest

from crftrain.cli import quick
from crftrain.model.model import load, load_bare

PLAIN = b"w1 c1\nw2 c2\n\nw3 c3\n"
FILES = {
    "plain": PLAIN,
    "gold": b"w1 c1 A\nw2 c2 B\n",
    "empty": b"",
    "blank": b"\n\n \n",
    "mark": b"\xef\xbb\xbf" + PLAIN,
    "returns": PLAIN.replace(b"\n", b"\r\n"),
    "packed": gzip.compress(PLAIN),
    "json": b'{"tokens": ["w1", "w2"], "tags": ["A", "B"]}\n',
    "few columns": PLAIN + b"\nw1\n",
    "not text": PLAIN + b"\n\xff\xfe c1\n",
    "zero": PLAIN + b"\nw\0 c1\n",
}


@pytest.fixture
def model(crftrain, train_file):
    assert crftrain("learn", "-q", "-a", "lbfgs", "--passes", 3, "-m", "model.bin", train_file).status == 0
    return "model.bin"


def both(crftrain, monkeypatch, *args):
    """How a command ends by itself, and how it ends where an option in the environment makes it read the whole command line."""
    alone = crftrain(*args)
    with monkeypatch.context() as patch:
        patch.setenv("CRFTRAIN_NOTHING", "1")
        assert not quick.ran([str(arg) for arg in args])
        return alone, crftrain(*args)


@pytest.mark.parametrize("name", sorted(FILES))
def test_output_messages_and_status_are_those_of_the_long_way(crftrain, monkeypatch, tmp_path, model, name):
    (tmp_path / "test").write_bytes(FILES[name])
    alone, other = both(crftrain, monkeypatch, "tag", model, "test")
    assert alone == other
    assert bool(alone.out) == (name not in ("empty", "blank"))


def test_threads_are_no_exception(crftrain, monkeypatch, tmp_path, model):
    (tmp_path / "test").write_bytes(PLAIN)
    for words in (
        ["-j", 2, model, "test"],
        [model, "-j", 3, "test"],
        [model, "test", "-j", 0],
        [model, "test", "-j"],
        ["-j", "x", model, "test"],
    ):
        alone, other = both(crftrain, monkeypatch, "tag", *words)
        assert alone == other
        assert alone.status == 2 * (words[-1] in (0, "-j") or words[1] == "x")


@pytest.mark.parametrize(
    "rules", [["--forbid", "O I-X"], ["--constrain", "auto", "--forbid", "O O", "--allow", "^ I-*"], ["--constrain", "bioes", "-j", 2]]
)
def test_rules_are_no_exception(crftrain, monkeypatch, tmp_path, model, rules):
    (tmp_path / "test").write_bytes(PLAIN)
    alone, other = both(crftrain, monkeypatch, "tag", *rules, model, "test")
    assert alone == other and alone.status == 0
    assert quick.parted([str(word) for word in [*rules, model, "test"]]).names == [model, "test"]


@pytest.mark.parametrize(
    "rules",
    [
        ["--constrain", "iob3"],
        ["--forbid", "O"],
        ["--forbid", "O O", "--allow", "O O"],
        ["--forbid", "^ *"],
        ["--allow", "Z O"],
        ["--once", "all"],
        ["-n", "0"],
        ["-n", "10001"],
    ],
)
def test_rules_that_are_wrong_and_others_go_the_long_way(crftrain, monkeypatch, tmp_path, model, rules):
    (tmp_path / "test").write_bytes(PLAIN)
    alone, other = both(crftrain, monkeypatch, "tag", *rules, model, "test")
    assert alone == other and alone.status == 2 * (rules[0] != "--once")


def test_schemes_are_no_exception_and_a_model_that_keeps_its_rules(crftrain, monkeypatch, tmp_path):
    lines = b"a x B-X\nb y I-X\nc z O\n\nb y B-X\nc z O\nc z O\n"
    (tmp_path / "chunks").write_bytes(lines * 3)
    for name, rules in (("free.bin", []), ("kept.bin", ["--constrain", "iob2"])):
        assert crftrain("learn", "-q", "-t", "pos", *rules, "-m", name, "chunks").status == 0
    (tmp_path / "test").write_bytes(b"b y\nb y\n\nc z\nb y\n")
    for words in (["--constrain", "auto", "free.bin"], ["--constrain", "bioes", "free.bin"], ["kept.bin"], ["--forbid", "^ O", "kept.bin"]):
        alone, other = both(crftrain, monkeypatch, "tag", *words, "test")
        assert alone == other and alone.status == 0


def test_so_they_are_of_several_files_of_missing_ones_and_of_what_is_no_model(crftrain, monkeypatch, tmp_path, model):
    (tmp_path / "test").write_bytes(PLAIN)
    here = "test"
    for words in ([model, here, here], [model, here, "none"], ["none", here], [here, here], [model, "."]):
        alone, other = both(crftrain, monkeypatch, "tag", *words)
        assert alone == other
        assert alone.status == (words != [model, here, here])


def test_a_model_of_items_is_no_exception(crftrain, monkeypatch, tmp_path):
    (tmp_path / "items").write_bytes(b"A\tx=1\ty\nB\tx=2\n\nA\tx=1\n")
    assert crftrain("learn", "-q", "--format", "items", "-m", "model.bin", "items").status == 0
    alone, other = both(crftrain, monkeypatch, "tag", "model.bin", "items")
    assert alone == other and alone.out


@pytest.mark.parametrize("rules", [[], ["--constrain", "auto", "--forbid", "O O", "--allow", "^ I-*"]])
def test_it_loads_neither_numpy_nor_click(tmp_path, model, rules):
    (tmp_path / "test").write_bytes(PLAIN)
    program = (
        "import sys\nfrom crftrain.__main__ import run\nfrom crftrain.cli import ending, quick\n"
        "ending.os._exit = lambda status: print(status, sorted({'click', 'numpy._core', 'tqdm'} & sys.modules.keys()))\n"
        f"sys.argv = ['crftrain', 'tag', *{rules}, 'model.bin', 'test']\nrun()\n"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.endswith("\n\n0 []\n") and not found.stderr


def test_garbage_is_collected_again_however_it_ends(crftrain, tmp_path, model):
    for words in (["tag", model, "none"], ["tag", "none", "none"]):
        crftrain(*words)
        assert gc.isenabled()


def test_a_bare_model_has_the_numbers_of_the_other(model):
    bare, full = load_bare(model), load(model)
    assert bare.w.tolist() == full.w.tolist()
    for name in ("ptr", "label", "transition", "pair_ptr", "pair"):
        one, other = getattr(bare.layout, name), getattr(full.layout, name)
        assert isinstance(one, memoryview) and one.tolist() == other.tolist()
    assert bare.arrays().to_bytes() == full.to_bytes() == full.arrays().to_bytes()


def test_a_later_module_is_loaded_once_however_many_threads_look_at_it(tmp_path, monkeypatch):
    (tmp_path / "seen_once.py").write_text("import time\nprint('loaded')\ntime.sleep(0.05)\nvalue = [1]\n")
    program = (
        "import threading\nfrom crftrain.cli.later import later\nlater('seen_once')\nimport seen_once\nfound = []\n"
        "threads = [threading.Thread(target=lambda: found.append(seen_once.value)) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "import seen_once as again\nassert len(found) == 8 and all(f is again.value for f in found)\n"
        "try: seen_once.nothing\nexcept AttributeError: print('none')\n"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout == "loaded\nnone\n" and not found.stderr
