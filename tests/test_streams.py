"""Results arrive whole or an error says why; whoever stops listening to messages or to a log costs nobody a model."""

import os
import signal
import subprocess
import sys
import threading

import problems
import pytest

from crftrain.chain import threads
from crftrain.model.model import load

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")


@pytest.fixture
def trained(crftrain, train_file):
    assert crftrain("learn", "-q", "--passes", 2, "-m", "m.bin", "train.txt").status == 0


def test_a_reader_of_messages_that_goes_away_costs_no_model(process, tmp_path, train_file):
    child = process("learn", "--passes", "30", "--tol", "0", "-m", "m.bin", "train.txt")
    child.stderr.readline()
    child.stderr.close()
    assert child.wait(60) == 0
    assert load(tmp_path / "m.bin").facts["iteration"] == 30


def test_nor_does_a_reader_of_the_log(process, tmp_path, train_file):
    os.mkfifo(tmp_path / "log")
    reader = threading.Thread(target=lambda: open(tmp_path / "log", "rb").close())
    reader.start()
    child = process("learn", "-q", "--log", "log", "--passes", "30", "--tol", "0", "-m", "m.bin", "train.txt")
    assert child.wait(60) == 0
    reader.join()
    assert child.stderr.read() == b"crftrain: warning: log: the log cannot be written any more: Broken pipe; training goes on without it\n"
    assert load(tmp_path / "m.bin").facts["iteration"] == 30


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "arguments", [("tag", "m.bin", "train.txt"), ("dump", "m.bin"), ("algorithms",), ("features", "-t", "pos", "train.txt")]
)
def test_a_full_disk_is_told_with_the_name_of_the_stream(process, trained, arguments):
    with open("/dev/full", "wb") as full:
        child = process(*arguments, stdout=full)
        assert child.wait(60) == 1
    assert child.stderr.read() == b"crftrain: error: <stdout>: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_must_not_be_waited_for_loses_nothing(process, tmp_path, trained, monkeypatch, unbuffered):
    (tmp_path / "much.txt").write_text(problems.text(sentences=4000), encoding="utf-8")
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    child = process("tag", "m.bin", "much.txt", stdout=writing)
    os.close(writing)
    with open(reading, "rb") as file:
        first = file.read(10)
        signal.sigtimedwait([], 0.3)  # by then the pipe is full
        text = first + file.read()
    assert child.wait(60) == 0
    assert len(text.split(b"\n")) == len((tmp_path / "much.txt").read_bytes().split(b"\n"))


@pytest.mark.parametrize("stream, status", [("stdout", 1), ("stderr", 0)])
def test_closed_streams(process, trained, stream, status):
    child = process("tag", "m.bin", "train.txt", preexec_fn=lambda: os.close(1 if stream == "stdout" else 2))
    out, err = child.communicate(timeout=60)
    assert child.returncode == status
    assert err == (b"crftrain: error: <stdout>: it is closed\n" if status else b"")
    assert bool(out) != bool(status)


def test_closed_messages_cost_no_model(process, tmp_path, train_file):
    child = process("learn", "--passes", "2", "-m", "m.bin", "train.txt", preexec_fn=lambda: os.close(2))
    assert child.wait(60) == 0
    assert load(tmp_path / "m.bin").facts["iteration"] == 2


def test_a_label_that_the_encoding_has_not_is_an_error(crftrain, tmp_path):
    (tmp_path / "t.txt").write_text("a x Ω\nb x O\n\n" * 3, encoding="utf-8")
    assert crftrain("learn", "-q", "--passes", 5, "-m", "m.bin", "t.txt").status == 0
    ended = crftrain("tag", "--encoding", "latin-1", "m.bin", "-", input=b"a x\n")
    assert ended.status == 1
    assert "'Ω', of a label, is not in latin-1" in ended.err


@pytest.mark.parametrize("command", [("eval", "g.txt"), ("dump", "m.bin"), ("info", "m.bin"), ("features", "-t", "pos", "t.txt")])
def test_results_in_a_narrow_encoding(process, crftrain, tmp_path, monkeypatch, command):
    (tmp_path / "g.txt").write_text("a Ω Ω\n", encoding="utf-8")
    (tmp_path / "t.txt").write_text("Ω x Ω\nb x O\n\n" * 3, encoding="utf-8")
    assert crftrain("learn", "-q", "--passes", 3, "-m", "m.bin", "t.txt").status == 0
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    child = process(*command)
    assert (child.wait(60), child.stderr.read()) == (0, b"")
    text = child.stdout.read()
    assert b"\\u03a9" in text or "Ω".encode() in text


def test_threads_that_cannot_start_are_an_error(crftrain, trained, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "_idle", [])  # none waits for work from earlier on
    for arguments in (("tag", "-j", 2, "m.bin", "train.txt"), ("learn", "-a", "lbfgs", "-j", 2, "-m", "n.bin", "train.txt")):
        ended = crftrain(*arguments)
        assert ended.status == 1
        assert "threads cannot be started" in ended.err


def test_ctrl_c_while_modules_load_just_ends_it(tmp_path):
    """The import of a module that sends the signal itself stands for any other."""
    (tmp_path / "tqdm.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    program = "import crftrain.__main__ as m, sys, builtins\nsys.argv = ['crftrain', '--version']\n"
    program += "import signal\nsignal.signal(signal.SIGINT, m._interrupted)\nimport tqdm\n"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONPATH": _paths(tmp_path)}
    )
    assert (ended.returncode, ended.stderr) == (130, b"")


def test_ctrl_c_before_a_command_has_begun_too(tmp_path):
    program = "import os, signal, crftrain.__main__ as m, crftrain.cli.later as l\n"
    program += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background has it ignored
    program += "l.later = lambda name: os.kill(os.getpid(), signal.SIGINT)\nm.run()\n"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, env={**os.environ, "PYTHONPATH": _paths(tmp_path)})
    assert (ended.returncode, ended.stderr) == (130, b"")


def _paths(folder):
    import crftrain

    return os.pathsep.join([str(folder), os.path.dirname(os.path.dirname(crftrain.__file__))])
