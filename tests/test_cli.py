"""The command line as people use it: what it prints, what it leaves behind, and with which status it ends."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import problems
import pytest
from click.testing import CliRunner

import crftrain as package
from crftrain import optimizers
from crftrain.cli import progress
from crftrain.cli.main import DEFAULT_ALGORITHM, commands
from crftrain.model.model import load
from crftrain.optimizers.base import Step
from crftrain.text import encode
from crftrain.text.template import builtin
from crftrain.training.loop import Progress
from crftrain.training.race import read_summary
from crftrain.training.strength import Strength

NAMES = optimizers.names()
COMMANDS = ["learn", "tag", "eval", "dump", "features", "algorithms"]


def invoke(*args):
    """Within click's own runner: for usage, which needs no files."""
    return CliRunner().invoke(commands, list(args))


@pytest.fixture
def model(crftrain, train_file):
    """model.bin, learnt from train.txt"""
    assert crftrain("learn", "-q", "train.txt").status == 0
    return train_file.parent / "model.bin"


def column(lines, k):
    """Column k of the lines that have any."""
    return [line.split()[k] for line in lines if line]


# ---- usage


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    for flag in ("-h", "--help"):
        ended = invoke(command, flag)
        assert ended.exit_code == 0
        assert ended.output.startswith(f"Usage: commands {command}")
    assert command in invoke("--help").output


def test_version():
    ended = invoke("--version")
    assert (ended.exit_code, ended.output) == (0, f"crftrain, version {package.__version__}\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("learn", "Missing argument 'TRAIN...'"),
        ("learn -a no-such t", "no algorithm is called 'no-such', expected one of"),
        ("learn -ano-such t", "no algorithm is called 'no-such'"),
        ("learn -qa no-such t", "no algorithm is called 'no-such'"),
        ("learn --algorithm=no-such t", "no algorithm is called 'no-such'"),
        ("learn -a", "requires an argument"),
        ("learn --no-such t", "No such option"),
        ("learn -p no-such=1 t", "No such option"),
        ("learn -a lbfgs -p memory t", "expected NAME=VALUE"),
        ("learn -a lbfgs -p memory=0 t", "'0' is not a whole number >= 1"),
        ("learn -a lbfgs --memory 0 t", "'0' is not a whole number >= 1"),
        ("learn -a lbfgs --memory x t", "'x' is not a whole number"),
        ("learn --lambda 1/m t", "is not a number >= 0 or one divided by n"),
        ("learn --lambda -1 t", "is not a number"),
        ("learn --lambda 1,2 --l1 3,4 t", "cannot both be lists"),
        ("learn --patience 3 t", "--patience needs --dev"),
        ("learn --folds-out f t", "--folds-out needs --folds"),
        ("learn --group-by file t", "--group-by needs --folds"),
        ("learn --folds 2 --group-by page t", "--group-by page, expected file, document or the number of a column"),
        ("learn --folds 1 t", "--folds"),
        ("learn --format items -t chunk t", "--template does not apply"),
        ("learn --format xml t", "'xml' is not one of"),
        ("learn --features some t", "'some' is not one of"),
        ("learn -j 0 t", "0 is not in the range"),
        ("learn --passes 0 t", "0 is not in the range"),
        ("learn --max-seconds 0 t", "0 is not in the range|0.0 is not in the range"),
        ("learn --tol -1 t", "is not in the range"),
        ("learn --seed -1 t", "is not in the range"),
        ("tag", "Missing argument 'MODEL'"),
        ("tag m --marginals=some", "'some' is not one of"),
        ("tag m --gold maybe", "'maybe' is not one of"),
        ("tag -j 0 m", "0 is not in the range"),
        ("eval --gold x", "'x' is not a valid integer"),
        ("dump", "Missing argument 'MODEL'"),
        ("dump --top 0 m", "0 is not in the range"),
        ("features f", "Missing option '-t'"),
        ("algorithms no-such", "no algorithm is called 'no-such'"),
        ("no-such", "No such command"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_why(crftrain, arguments, message):
    ended = crftrain(*arguments.split())
    assert ended.status == 2
    assert any(part in ended.err for part in message.split("|"))
    assert ended.out == b""


@pytest.mark.parametrize("arguments", [["a", "--lambda"], ["-m"], ["a", "-p"]])
def test_an_option_without_its_value_is_wrong_usage(crftrain, arguments):
    assert crftrain("learn", *arguments).status == 2


def test_l1_is_refused_where_it_is_not_solved(crftrain, train_file):
    for name in NAMES:
        ended = crftrain("learn", "-q", "-a", name, "--l1", "0.1", "--passes", 1, "train.txt")
        able = "l1" in optimizers.get(name).solves
        assert ended.status == (0 if able else 2)
        assert able or f"{name} cannot solve --l1" in ended.err
        ended = crftrain("learn", "-q", "-a", name, "--lambda", "0", "--passes", 1, "train.txt")
        assert ended.status == (0 if "no-l2" in optimizers.get(name).solves else 2)


# ---- algorithms


def test_algorithms_are_listed_one_a_line(crftrain):
    assert crftrain("algorithms").lines == [f"{name}  {optimizers.get(name).summary}" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_is_explained(crftrain, name):
    text, algorithm = crftrain("algorithms", name).out.decode(), optimizers.get(name)
    assert text.startswith(f"{name}: {algorithm.summary}")
    assert algorithm.reference in text
    shown = [line.split()[0] for line in text.split("\n") if line.startswith("  --")]
    assert shown == [option.flag for option in algorithm.options]
    for option in algorithm.options:
        assert option.help in text
        assert option.range in text


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_exactly_the_algorithm_s_options(name):
    algorithm = optimizers.get(name)
    text = invoke("learn", "-a", name, "--help").output
    common, _, own = text.partition(f"Options of {name}:")
    for option in algorithm.options:
        assert f"  {option.flag}" in own
    flags = [line.split()[0].split("/")[0] for line in own.split("\n") if line.startswith("  --")]
    assert flags == [option.flag for option in algorithm.options]
    assert not any(f"  {option.flag} " in common for option in algorithm.options)


@pytest.mark.parametrize("name", NAMES)
def test_another_algorithm_s_option_is_wrong_usage(crftrain, name):
    own = {option.name for option in optimizers.get(name).options}
    others = {option.name: option for other in NAMES for option in optimizers.get(other).options if option.name not in own}
    for option in others.values():
        ended = crftrain("learn", "-a", name, "-p", f"{option.name}={option.default}", "train.txt")
        assert (ended.status, "No such option" in ended.err) == (2, True)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_reaches_the_algorithm(crftrain, train_file, name):
    """As a long flag and as -p NAME=VALUE; its value is in the log."""
    for option in optimizers.get(name).options:
        value = other_value(option)
        long = [option.flag, value] if option.kind is not bool else [option.flag if value == "yes" else f"--no-{option.flag[2:]}"]
        for way in (long, ["-p", f"{option.name}={value}"], [f"-p{option.name.replace('_', '-')}={value}"]):
            ended = crftrain("learn", "-q", "-a", name, "--passes", 1, "--log", "log", *way, "train.txt")
            assert ended.status == 0, ended.err
            logged = json.loads((train_file.parent / "log").read_text(encoding="utf-8").split("\n")[0])
            assert logged["options"] == {**optimizers.get(name).defaults(), option.name: option.parse(value)}


def other_value(option):
    """Some value in range, another one than the default where there is one at hand."""
    if option.choices:
        return next((choice for choice in option.choices if choice != option.default), option.default)
    if option.kind is bool:
        return "no" if option.default else "yes"
    if option.words:
        return option.words[0]
    for candidate in (option.default + 1, option.default * 0.5, option.default):
        try:
            option.parse(str(candidate))
        except ValueError:
            continue
        return str(candidate)
    raise AssertionError(option)


# ---- learn, tag, eval


def test_the_path_that_every_reader_tries_first(process, tmp_path, train_file):
    """learn && tag | eval, as real processes."""
    learnt = process("learn", "-a", "lbfgs", "--lambda", "1/n", "train.txt")
    out, err = learnt.communicate(timeout=60)
    assert (learnt.returncode, out) == (0, b"")
    assert b"template: chunk" in err
    assert b"converged" in err
    assert b"\r" not in err  # a plain line a step where stderr is no terminal
    tagging = process("tag", "model.bin", "train.txt")
    scoring = process("eval", stdin=tagging.stdout)
    tagging.stdout.close()
    report = scoring.communicate(timeout=60)[0].decode()
    assert report.startswith("processed ")
    assert tagging.wait(10) == scoring.returncode == 0


def test_what_is_replaced_is_told(crftrain, train_file):
    assert "replaces" not in crftrain("learn", "--passes", 1, "train.txt").err
    model = train_file.parent / "model.bin"
    size = model.stat().st_size
    assert f"replaces model.bin ({size / 1000:.3g} kB, of today " in crftrain("learn", "--passes", 1, "train.txt").err
    os.utime(model, (time.time() - 86400,) * 2)
    assert "kB, of yesterday)" in crftrain("update", "model.bin", "train.txt").err
    os.utime(model, (86400 * 400,) * 2)
    assert re.search(r"of \d February 1971\)", crftrain("learn", "--passes", 1, "train.txt").err)
    assert crftrain("learn", "-q", "--passes", 1, "train.txt").err == ""


@pytest.mark.parametrize(("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (2_930_000, "2.93 MB"), (5 * 10**10, "50 GB")])
def test_sizes_are_told_in_three_digits(size, text):
    assert progress._size(size) == text


def test_a_dry_run_reads_and_counts_and_writes_nothing(crftrain, train_file):
    ended = crftrain("learn", "--dry-run", "--dev", "train.txt", "train.txt")
    assert (ended.status, ended.out) == (0, b"")
    assert "40 sequences" in ended.err and "memory" in ended.err and "template: " in ended.err
    assert "pass 1" not in ended.err
    assert [path.name for path in train_file.parent.iterdir()] == ["train.txt"]
    assert crftrain("learn", "--dry-run", "-a", "psa", "--stream", "--lambda", "1", "train.txt").status == 2
    assert crftrain("learn", "--dry-run", "no-such").status == 1
    assert crftrain("learn", "--dry-run", "--dev", "no-such", "train.txt").status == 1


def test_the_end_and_what_is_kept_have_a_line_each(crftrain, train_file):
    """The numbers of the kept step are not told as if they were those of the last one."""
    lines = crftrain("learn", "-a", "lbfgs", "--dev", "train.txt", "--patience", 3, "train.txt").err.split("\n")
    (kept,) = (line for line in lines if line.startswith("kept iteration"))
    assert "objective" in kept and "active features" in kept
    ended = lines[lines.index(kept) - 1]
    assert "no better score on held-out data for 3 steps: iteration" in ended
    assert "objective" not in ended


def test_a_path_names_what_it_keeps(crftrain, train_file):
    """On the terminal and in the log; the model says it too."""
    told = crftrain("learn", "--lambda", "10/n,1/n,0.1/n", "--passes", 3, "--dev", "train.txt", "--log", "l", "train.txt").err
    kept = re.search(r"\nkept: lambda (\S+), l1 0: f1 ", told)[1]
    found = json.loads(crftrain("info", "--json", "model.bin").out)
    assert found["lambda"] == Strength.parse(kept).at(40)
    last = [json.loads(line) for line in (train_file.parent / "l").read_text().splitlines()][-1]
    assert (last["event"], last["lambda"], last["l1"]) == ("end", found["lambda"], 0)
    assert "kept: lambda 1/n, l1 0: the last one" in crftrain("learn", "--lambda", "10/n,1/n", "--passes", 2, "train.txt").err


def test_a_dumb_terminal_gets_plain_lines(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    console = progress.Console()
    monkeypatch.setattr(console, "_show", lambda text: pytest.fail("a changing line"))
    console.step(Progress(1, Step(1.0, 0.5), None, 1.0, 0.1))
    assert capsys.readouterr().err.startswith("pass 1 ")


def test_a_line_of_folds_goes_when_there_is_something_to_say(monkeypatch, capsys):
    console, step = progress.Console(), Progress(7, Step(1.0, 0.5), None, 1.0, 0.1)
    monkeypatch.setattr(progress, "_columns", lambda: 80)
    for moves in (False, True):
        monkeypatch.setattr(progress, "_moves", lambda moves=moves: moves)
        console.folding("fold 2 of 5, lambda 1/n, l1 0", step)
        assert ("fold 2 of 5, lambda 1/n, l1 0  step 7" in capsys.readouterr().err) == moves
    assert not console.bar.leave
    console.say("said")
    assert console.bar is None and capsys.readouterr().err.endswith("said\n")


def test_a_narrow_terminal_gets_what_matters_most(monkeypatch):
    """The distance, the bar and the time left fit into 80 columns; the rest comes as there is room."""
    monkeypatch.setattr(progress, "_moves", lambda: True)
    shown, console = [], progress.Console()
    monkeypatch.setattr(console, "_show", shown.append)
    for width in (60, 80, 200, 10):
        monkeypatch.setattr(progress, "_columns", lambda width=width: width)
        console.start({}, "pass")
        for k in range(1, 4):
            console.step(Progress(k, Step(1.0, 0.5, exact=False), None, 1.0, 100.0 * k, distance=0.5 / k, goal=1e-3))
        assert len(shown[-1]) < width
    narrowest, narrow, wide, least = shown[2::3]
    for line in (narrowest, narrow):
        assert line.startswith("pass 3  within ~17 %, to be 0.1 %  [##") and line.endswith("] ~11 min left")
    assert "] ~11 min left  300.0 s  objective ~1.000000" in wide and wide.endswith("passes")
    assert least == "pass 3"


def test_reading_is_told_now_and_then(capsys):
    """Where there is no terminal at 100,000 sentences, 200,000, 400,000: a file of any size takes few lines."""
    console = progress.Console()
    for n in range(0, 500_000, 20_000):
        console.reading("train.txt", n)
    assert capsys.readouterr().err.splitlines() == [f"reading train.txt: {n}00,000 sentences" for n in (1, 2, 4)]


def test_what_is_read_is_told_in_both_ways_of_reading(train_file, monkeypatch):
    """The last that is heard is no more than what there is, whether sentences are looked at or not."""
    monkeypatch.setattr(encode, "TOLD", 7)
    for look in (None, lambda sentence: None):
        heard = []
        encode.read_corpus(str(train_file), template=builtin("chunk"), look=look, told=lambda *told, heard=heard: heard.append(told))
        counts = [n for _, n in heard]
        assert counts == sorted(counts) and 0 < counts[-1] <= 40 and {source for source, _ in heard} == {str(train_file)}


def test_quiet_is_quiet(crftrain, train_file):
    ended = crftrain("learn", "--quiet", "train.txt")
    assert (ended.status, ended.out, ended.err) == (0, b"", "")


def test_progress_says_step_objective_distance_and_held_out_score(crftrain, train_file):
    ended = crftrain("learn", "-a", "lbfgs", "--dev", "train.txt", "--passes", 2, "train.txt")
    lines = [line for line in ended.err.split("\n") if line.startswith("iteration ")]
    assert len(lines) == 2
    assert all(word in lines[0] for word in ("iteration 1", "objective", "of the optimum", "dev f1", "passes"))
    assert "limit of 2 iterations" in ended.err
    assert "kept iteration" in ended.err
    assert ended.out == b""


def test_standard_input_is_a_dash(crftrain, train_file, tmp_path):
    """Without it, learn does not read standard input (CRFsuite takes 0 instances from it; peers, 4)."""
    text = train_file.read_bytes()
    assert crftrain("learn", "-q", input=text).status == 2
    assert not (tmp_path / "model.bin").exists()
    assert crftrain("learn", "-q", "-", input=text).status == 0
    from_stdin = (tmp_path / "model.bin").read_bytes()
    assert crftrain("learn", "-q", "-m", "other.bin", "train.txt").status == 0
    assert (tmp_path / "other.bin").read_bytes() == from_stdin


def test_the_model_has_a_place_by_default(crftrain, train_file, tmp_path):
    """CRFsuite trains and throws the model away (peers, 4)."""
    assert crftrain("learn", "-q", "--passes", 1, "train.txt").status == 0
    assert load(tmp_path / "model.bin").vocabulary.labels


@pytest.mark.parametrize("place", ["none/model.bin", "."])
def test_an_unwritable_model_is_an_error_before_training(crftrain, train_file, place):
    """CRFsuite exits 0 (peers, 4); CRF++ crashes after training (peers, 10)."""
    ended = crftrain("learn", "-m", place, "train.txt")
    assert ended.status == 1
    assert ended.err.startswith(f"crftrain: error: {place}")
    assert "iteration" not in ended.err


@pytest.mark.parametrize(
    "text, place", [("w c O\nw O\n", "bad.txt:2: "), ("", "bad.txt: "), ("w c O\n\nw \0 O\n", "bad.txt:3: "), (None, "bad.txt: ")]
)
def test_bad_data_are_an_error_in_one_line_and_no_model(crftrain, tmp_path, text, place):
    if text is not None:
        (tmp_path / "bad.txt").write_text(text, encoding="utf-8")
    ended = crftrain("learn", "bad.txt")
    assert ended.status == 1
    assert ended.err.count("\n") == 1
    assert ended.err.startswith(f"crftrain: error: {place}")
    assert not (tmp_path / "model.bin").exists()


@pytest.mark.parametrize("name", NAMES)
def test_data_without_any_attribute_left_are_learnt_from(process, train_file, tmp_path, name):
    """Only transitions remain; as a process, which a crash ends alone."""
    child = process("learn", "-q", "-a", name, "--min-freq", 10_000, "train.txt")
    _, err = child.communicate(timeout=60)
    told = b"train.txt: no token has an attribute to learn from: none occurs 10,000 times (--min-freq)"
    assert (child.returncode, err) == (0, b"crftrain: warning: " + told + b"\n")
    assert len(load(tmp_path / "model.bin").vocabulary.attributes) == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_writes_a_checkpoint(crftrain, train_file, tmp_path, name):
    ended = crftrain("learn", "-q", "-a", name, "--passes", 2, "--checkpoint", "state.npz", "--checkpoint-every", 1, "train.txt")
    assert ended.status == 0
    assert (tmp_path / "state.npz").exists()


@pytest.mark.parametrize("command", ["tag", "dump"])
def test_what_is_no_model_is_an_error(crftrain, train_file, command):
    for name in ("train.txt", "no-such.bin", "."):
        ended = crftrain(command, name)
        assert (ended.status, ended.out) == (1, b"")
        assert ended.err.startswith(f"crftrain: error: {name}: ")


def test_a_missing_file_is_an_error_in_every_command(crftrain, model):
    for arguments in (["tag", "model.bin", "no-such"], ["eval", "no-such"], ["features", "-t", "chunk", "no-such"], ["learn", "no-such"]):
        ended = crftrain(*arguments)
        assert ended.status == 1
        assert ended.err.startswith("crftrain: error: no-such: ")
    assert crftrain("features", "-t", "no-such", "train.txt").status == 1
    assert crftrain("learn", "-t", "no-such", "train.txt").status == 1
    assert crftrain("learn", "--dev", "no-such", "train.txt").status == 1


def test_an_output_that_cannot_be_written_is_an_error(process, model):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "wb") as full:
        child = process("tag", "model.bin", "train.txt", stdout=full)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 1
    assert err.startswith(b"crftrain: error: ")
    assert err.count(b"\n") == 1


# ---- tag


def test_tagged_lines_are_the_input_and_a_label(crftrain, model, train_file):
    before = train_file.read_text(encoding="utf-8").strip().split("\n")
    lines = crftrain("tag", "model.bin", "train.txt").lines
    assert [line.rsplit(" ", 1)[0] if line else "" for line in lines] == [*before, ""]
    bare = "\n".join(line.rsplit(" ", 1)[0] if line else "" for line in before)
    assert column(crftrain("tag", "model.bin", input=bare.encode()).lines, -1) == column(lines, -1)
    assert crftrain("tag", "model.bin", "-", input=bare.encode()).status == 0


def test_several_files_are_tagged_one_after_the_other(crftrain, model, tmp_path):
    (tmp_path / "a").write_text("w0 c0\n", encoding="utf-8")
    (tmp_path / "b").write_text("w1 c1 O\n", encoding="utf-8")  # with gold: each file for itself
    lines = crftrain("tag", "model.bin", "a", "b").lines
    assert [line.rsplit(" ", 1)[0] if line else "" for line in lines] == ["w0 c0", "", "w1 c1 O", ""]


def test_threads_change_no_byte(crftrain, model):
    one = crftrain("tag", "model.bin", "train.txt")
    for options in (["-j", 2], ["--threads", 4]):
        assert crftrain("tag", *options, "model.bin", "train.txt").out == one.out
    scored = [crftrain("tag", "-j", j, "--score", "--marginals", "all", "model.bin", "train.txt").out for j in (1, 2)]
    assert scored[0] == scored[1]


def test_marginals_alone_mean_those_of_the_best_label(crftrain, model):
    alone = crftrain("tag", "model.bin", "--marginals", "train.txt")
    assert alone.status == 0
    assert alone.out == crftrain("tag", "--marginals", "best", "model.bin", "train.txt").out
    assert alone.out == crftrain("tag", "--marginals=best", "model.bin", "train.txt").out
    assert crftrain("tag", "model.bin", "train.txt", "--marginals").out == alone.out
    every = crftrain("tag", "--marginals", "all", "model.bin", "train.txt")
    assert len(every.lines[0].split("\t")) == 4  # the best label's, then those of three labels
    assert every.lines[0].split("\t")[0] == alone.lines[0]


def test_score_and_labels_only(crftrain, model, train_file):
    scored = crftrain("tag", "--score", "model.bin", "train.txt").lines
    heads = [line for line in scored if line.startswith("@probability\t")]
    assert len(heads) == 40
    assert scored[0] == heads[0]
    assert all(0 < float(line.split("\t")[1]) <= 1 for line in heads)
    plain = crftrain("tag", "model.bin", "train.txt").lines
    assert [line for line in scored if line not in heads] == plain
    labels = crftrain("tag", "--labels-only", "model.bin", "train.txt").lines
    assert labels == [line.rsplit(" ", 1)[-1] for line in plain]


@pytest.mark.parametrize("text", [b"", b"\n", b"\n \n\t\n"])
def test_empty_input_gives_empty_output(crftrain, model, text):
    for threads in (1, 2):
        ended = crftrain("tag", "-j", threads, "model.bin", input=text)
        assert (ended.status, ended.out, ended.err) == (0, b"", "")


def test_a_bad_line_ends_with_1_after_what_was_good(crftrain, model):
    for threads in (1, 2):
        ended = crftrain("tag", "-j", threads, "model.bin", input=b"w0 c0\n\nw1 c1\nw2\n\nw3 c3\n")
        assert ended.status == 1
        assert column(ended.lines, 0) == ["w0"]
        assert "<stdin>:4: 1 column" in ended.err


def read_until(stream, end, seconds=10):
    """What arrives on a pipe until it ends with `end`."""
    out = b""
    while not out.endswith(end):
        ready, _, _ = select.select([stream], [], [], seconds)
        assert ready, f"nothing came after {out!r}"
        more = os.read(stream.fileno(), 65536)
        assert more, f"closed after {out!r}"
        out += more
    return out


@pytest.mark.parametrize("threads", [1, 2])
def test_tag_streams(process, model, threads):
    """A sentence's output is there before the next sentence is sent."""
    child = process("tag", "-j", threads, "model.bin", bufsize=0)
    for k in range(3):
        child.stdin.write(b"w%d c%d\nw1 c1\n\n" % (k, k))
        rows = read_until(child.stdout, b"\n\n").decode().split("\n")
        assert [row.rsplit(" ", 1)[0] for row in rows[:2]] == [f"w{k} c{k}", "w1 c1"]
    child.stdin.close()
    assert child.wait(10) == 0
    assert child.stderr.read() == b""


@pytest.mark.parametrize("arguments", [["tag", "model.bin"], ["tag", "-j", "2", "model.bin"], ["dump", "model.bin"]])
def test_a_closed_pipe_is_no_error(process, model, tmp_path, arguments):
    """As before `| head -1`."""
    (tmp_path / "long.txt").write_text("w0 c0\nw1 c1\n\n" * 20_000, encoding="utf-8")
    child = process(*arguments, *(["long.txt"] if arguments[0] == "tag" else []), bufsize=0)
    child.stdout.read(1)
    child.stdout.close()
    assert child.wait(30) == 0
    assert child.stderr.read() == b""


# ---- eval, features, dump


def test_tag_and_eval_count_gold_labels_that_training_never_saw(crftrain, tmp_path):
    """CRFsuite says 3/3, Wapiti 0.00 % error, where 3 of 4 are right (peers, 7)."""
    (tmp_path / "train.txt").write_text("a x O\nb y B-A\na x O\n\n" * 20, encoding="utf-8")
    crftrain("learn", "-q", "train.txt")
    out = crftrain("tag", "model.bin", input=b"a x O\nb y B-A\nc z B-NEW\na x O\n").out
    scores = json.loads(crftrain("eval", "--json", input=out).out)
    assert scores["accuracy"] == 75
    assert scores["sequence_accuracy"] == 0
    assert scores["labels"]["B-NEW"]["recall"] == 0
    assert "accuracy:  75.00%" in crftrain("eval", input=out).out.decode()


def test_eval_reads_what_tag_writes_in_any_form(crftrain, model):
    plain = crftrain("eval", input=crftrain("tag", "model.bin", "train.txt").out).out
    assert crftrain("eval", input=crftrain("tag", "--score", "model.bin", "train.txt").out).out == plain
    assert b"accuracy" in plain
    assert b"accuracy" not in crftrain("eval", input=b"").out
    assert crftrain("eval", input=b"").status == 1


@pytest.mark.parametrize("form", [(), ("--score",), ("--marginals", "best"), ("--marginals", "all"), ("--score", "--marginals", "all")])
def test_eval_takes_every_form_of_tag_for_the_same(crftrain, model, form):
    plain = crftrain("eval", input=crftrain("tag", "model.bin", "train.txt").out).out
    assert crftrain("eval", input=crftrain("tag", *form, "model.bin", "train.txt").out).out == plain


@pytest.mark.parametrize("form", [(), ("--marginals", "best"), ("--marginals", "all")])
def test_eval_refuses_output_without_gold_labels(crftrain, model, form):
    """Labels alone; and data that have none, where another column would be taken for them."""
    unlabelled = (model.parent / "train.txt").read_text(encoding="utf-8").split("\n")
    unlabelled = "\n".join(" ".join(line.split()[:2]) for line in unlabelled).encode()
    for out in (
        crftrain("tag", "--labels-only", *form, "model.bin", "train.txt").out,
        crftrain("tag", *form, "model.bin", input=unlabelled).out,
    ):
        ended = crftrain("eval", input=out)
        assert (ended.status, ended.out) == (1, b"")
        assert "gold" in ended.err


def test_eval_headlines_phrases_where_learn_would(crftrain):
    assert b"phrases" not in crftrain("eval", input=b"a -LRB- -LRB-\nb NN NN\n").out
    assert b"phrases" in crftrain("eval", "--chunks", "yes", input=b"a -LRB- -LRB-\nb NN NN\n").out
    assert b"phrases" in crftrain("eval", input=b"a B-X B-X\nb O O\n").out
    assert b"phrases" not in crftrain("eval", "--chunks=no", input=b"a B-X B-X\nb O O\n").out


@pytest.mark.parametrize("threads", [1, 2])
def test_a_service_outlives_a_bad_sentence(crftrain, model, threads):
    """Too few columns, bytes that are no text, a NUL byte: one by one, where all used to end."""
    good = (model.parent / "train.txt").read_bytes()
    bad = [b"a\n", b"a b\xff B-X\n", b"a \0 B-X\n"]
    text = good + b"\n" + b"\n".join([b"", *bad, b""]) + good
    tagged = crftrain("tag", "model.bin", input=good).out
    for on_error, between in (("skip", b""), ("keep", b"\n".join([*bad, b""]))):
        ended = crftrain("tag", "-j", threads, "--on-error", on_error, "model.bin", input=text)
        assert ended.out == tagged + between + tagged
        assert ended.status == 1
        assert all(part in ended.err for part in ("1 column, expected", "0xff is not utf-8", "NUL byte", "3 sentences could not be tagged"))
    ended = crftrain("tag", "-j", threads, "model.bin", input=text)
    assert (ended.out, ended.status) == (tagged, 1)
    assert crftrain("tag", "--on-error", "keep", "--labels-only", "model.bin", input=good).status == 2
    assert crftrain("tag", "--on-error", "keep", "model.bin", input=good).status == 0


def test_items_without_labels_are_tagged(crftrain, tmp_path):
    """CRFsuite takes the first attribute for the label (peers, 6)."""
    (tmp_path / "items").write_text("X\tw=1\tv:2\nY\tw=2\tv:-1\n\n" * 10, encoding="utf-8")
    assert crftrain("learn", "-q", "--format", "items", "items").status == 0
    assert crftrain("tag", "model.bin", input=b"w=1\tv:2\nw=2\n").lines == ["X", "Y", ""]
    assert crftrain("tag", "model.bin", input=b"Y\tw=1\tv:2\nY\tw=2\n").lines == ["Y\tX", "Y\tY", ""]
    assert crftrain("tag", "--gold", "no", "model.bin", input=b"Y\tw=1\n").lines == ["X", ""]
    assert crftrain("tag", "--gold", "yes", "model.bin", input=b"Z\tw=1\n").lines == ["Z\tX", ""]


@pytest.mark.parametrize("options", [[], ["--features", "full", "--transitions", "observed"], ["--min-freq", "3"]], ids=" ".join)
def test_features_are_items_that_learn_to_the_same_weights(crftrain, train_file, tmp_path, options):
    """Names with colons and backslashes included."""
    train_file.write_text(problems.text().replace("w1 ", "a:b\\c ").replace("c2 ", ": "), encoding="utf-8")
    expanded = crftrain("features", "-t", "chunk", "train.txt")
    assert expanded.status == 0
    assert crftrain("learn", "-q", "-t", "chunk", "-m", "columns.bin", *options, "train.txt").status == 0
    assert crftrain("learn", "-q", "--format", "items", "-m", "items.bin", *options, "-", input=expanded.out).status == 0
    columns, items = (load(tmp_path / name) for name in ("columns.bin", "items.bin"))
    assert columns.vocabulary.labels == items.vocabulary.labels
    assert columns.vocabulary.attributes.names() == items.vocabulary.attributes.names()
    assert (columns.w == items.w).all()
    dumped = [[line for line in crftrain("dump", name).lines if line[0] != "#"] for name in ("columns.bin", "items.bin")]
    assert dumped[0] == dumped[1]


def test_dump_says_facts_and_weights(crftrain, model):
    lines = crftrain("dump", "model.bin").lines
    assert f"# algorithm\t{DEFAULT_ALGORITHM}" in lines
    assert sum(line[0] != "#" for line in lines) == load(model).active
    assert len([line for line in crftrain("dump", "--top", 3, "model.bin").lines if line[0] != "#"]) == 6


def test_folds_are_reported_on_stderr(crftrain, train_file):
    ended = crftrain("learn", "--folds", 2, "--passes", 3, "train.txt")
    assert ended.status == 0
    assert "2 folds, each tagged by a model of the others:\nprocessed" in ended.err


# ---- signals


def wait_for(child, text, seconds=30):
    """Read a child's stderr up to some text."""
    deadline, seen = time.monotonic() + seconds, b""
    while text not in seen:
        ready, _, _ = select.select([child.stderr], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"{text!r} did not come; {seen!r}"
        more = os.read(child.stderr.fileno(), 65536)
        assert more, f"ended without {text!r}; {seen!r}"
        seen += more
    return seen


def ended(child, seconds=20):
    """(status, the rest of stderr) of a child that is to end by itself."""
    try:
        return child.wait(seconds), child.stderr.read().decode()
    except subprocess.TimeoutExpired:
        child.kill()
        pytest.fail(f"still running after {seconds} s")


ENDLESS = ["-a", "lbfgs", "--tol", "0", "--passes", "1000000"]


@pytest.fixture
def slow_file(tmp_path):
    """Many labels: a step over it takes about a second."""
    path = tmp_path / "slow.txt"
    path.write_text("".join(f"w{k % 300} x Y{k * 7 % 401}\n" + "\n" * (k % 50 == 49) for k in range(6000)), encoding="utf-8")
    return path


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_what_there_is(process, train_file, tmp_path, number, status):
    """With 130 for INT and 143 for TERM."""
    child = process("learn", *ENDLESS, "train.txt", bufsize=0)
    wait_for(child, b"iteration 3 ")
    child.send_signal(number)
    code, err = ended(child)
    assert code == status
    assert f"interrupted by {number.name}" in err
    assert load(tmp_path / "model.bin").facts["reason"] == f"interrupted by {number.name}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "train.txt"]


def test_a_second_signal_aborts_at_once_and_writes_nothing(process, slow_file, tmp_path):
    (tmp_path / "model.bin").write_bytes(b"precious")
    child = process("learn", *ENDLESS, "-t", "pos", "slow.txt", bufsize=0)
    wait_for(child, b"iteration 1 ")
    child.send_signal(signal.SIGINT)
    wait_for(child, b"SIGINT: stopping after this step and saving; again to abort")
    child.send_signal(signal.SIGINT)
    code, err = ended(child, 5)
    assert code == 130
    assert "Traceback" not in err
    assert (tmp_path / "model.bin").read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "slow.txt"]


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_first_step_writes_nothing(process, train_file, tmp_path, number, status):
    """While the data are still being read there is nothing to save: training does not begin."""
    (tmp_path / "model.bin").write_bytes(b"precious")
    child = process("learn", "--passes", "2", "-", bufsize=0)
    text = train_file.read_bytes()
    for _ in range(200):
        child.stdin.write(text)  # more than a pipe holds: it is reading
    child.send_signal(number)
    code, err = ended(child, 5)
    assert code == status
    assert "Traceback" not in err
    assert "iteration" not in err
    assert err.endswith(f"interrupted by {number.name}\n")
    assert (tmp_path / "model.bin").read_bytes() == b"precious"
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["model.bin", "train.txt"]


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_race_that_is_interrupted_keeps_what_it_has(process, train_file, tmp_path, number, status):
    """The finished run, and the one that was stopped if it had begun."""
    entrants = ["-a", "lbfgs", "-a", "sgd", "-a", "sag", "--out", "race", "--tol", "0", "--passes", "1000000"]
    child = process("compare", *entrants, "train.txt", bufsize=0)
    wait_for(child, b"lbfgs, seed 1: ")
    child.send_signal(number)
    code, err = ended(child)
    assert code == status
    assert "Traceback" not in err
    first, *others = [(row["run"], row["reason"]) for row in read_summary(tmp_path / "race" / "summary.tsv")]
    assert first == ("lbfgs", "no step lowers the objective any more: rounding")
    assert others in ([], [("sgd", f"interrupted by {number.name}")])


def test_tag_ends_quietly_on_a_signal(process, model):
    child = process("tag", "model.bin", bufsize=0)
    child.stdin.write(b"w0 c0\n\n")
    read_until(child.stdout, b"\n\n")
    child.send_signal(signal.SIGINT)
    code, err = ended(child, 5)
    assert code == 130
    assert "Traceback" not in err


def test_python_is_told_the_module():
    done = subprocess.run([sys.executable, "-m", "crftrain", "algorithms"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(tuple(NAMES))
