"""Options from files and the environment, what they are called elsewhere, what a shell completes; commands that show things."""

import json
import os
import re
import shutil
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from test_coming_from import rows
from test_docs import ROOT

from crftrain import optimizers
from crftrain.cli import base, migrants
from crftrain.cli.main import CONTEXT, commands

CONFIG = 'algorithm = "lbfgs"\nlambda = "10/n"\nmemory = 3\nquiet = true\n[learn]\npasses = 4\n[tag]\nscore = true\n'


@pytest.fixture
def facts(crftrain, train_file):
    """facts("learn", ...) -> what the model says of its training."""

    def run(*args):
        ended = crftrain("learn", *args, "train.txt")
        assert ended.status == 0, ended.err
        return json.loads(crftrain("info", "--json", "model.bin").out) | {"err": ended.err}

    return run


# ---- --config and the environment


def test_a_file_s_options_are_as_typed(facts, tmp_path):
    (tmp_path / "run.toml").write_text(CONFIG, encoding="utf-8")
    said = facts("--config", "run.toml")
    typed = facts("-q", "-a", "lbfgs", "--lambda", "10/n", "--memory", "3", "--passes", "4")
    assert said == typed
    assert (said["algorithm"], said["options"]["memory"], said["iteration"], said["err"]) == ("lbfgs", 3, 4, "")


def test_flags_come_before_the_environment_that_before_the_file(facts, tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text(CONFIG, encoding="utf-8")
    assert facts("--config", "run.toml", "--passes", "2")["iteration"] == 2
    monkeypatch.setenv("CRFTRAIN_PASSES", "3")
    monkeypatch.setenv("CRFTRAIN_SIMD", "base")  # no option, and nobody's business here
    assert facts("--config=run.toml")["iteration"] == 3
    assert facts("--config=run.toml", "--passes", "2")["iteration"] == 2
    monkeypatch.setenv("CRFTRAIN_ALGORITHM", "psa")
    assert facts("--passes", "1", "-q")["algorithm"] == "psa"
    assert facts("--config=run.toml", "-a", "owlqn", "--l1", "0.1")["algorithm"] == "owlqn"


def test_a_command_takes_its_own_table(crftrain, facts, tmp_path):
    facts("-q")
    (tmp_path / "run.toml").write_text("[tag]\nscore = true\nlabels-only = true\n[learn]\npasses = 1\n", encoding="utf-8")
    assert crftrain("tag", "--config", "run.toml", "model.bin", "train.txt").out.startswith(b"@probability")


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("passes = 0", "0 is not in the range"),
        ("memory = 0", "'0' is not a whole number >= 1"),
        ("no-such = 1", "run.toml: learn has no option 'no-such'"),
        ("quiet = 3", "expected true or false"),
        ("passes = ", "--config run.toml: Invalid value"),
        (None, "--config run.toml: No such file"),
    ],
)
def test_a_wrong_file_is_wrong_usage(crftrain, tmp_path, text, finding):
    if text is not None:
        (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    ended = crftrain("learn", "-a", "lbfgs", "--config", "run.toml", "t")
    assert ended.status == 2
    assert finding in ended.err


def test_python_3_10_is_told_what_it_misses(crftrain, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tomllib", None)
    monkeypatch.setitem(sys.modules, "tomli", None)
    ended = crftrain("learn", "--config", "run.toml", "t")
    assert (ended.status, "pip install tomli" in ended.err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-a", "lbfgs", "--lambda", "2/n"],
        ["-a", "owlqn", "--l1", "0.01", "--min-freq", "2"],
        ["-a", "sgd", "--passes", "4", "--seed", "7"],
        ["--max-passes", "5.5"],
        ["-a", "lbfgs", "--tol", "0.1"],
        ["--comments", "#", "--comments", "%%"],
        ["--scheme", "bioes"],
        ["--format", "conllu", "--fields", "form,xpos,upos"],
    ],
    ids=" ".join,
)
def test_a_model_says_how_to_learn_it_again(crftrain, facts, tmp_path, arguments):
    if "conllu" in arguments:
        rows = [f"{k % 5 + 1}\tw{k % 7}\t_\t{'NV'[k % 3 % 2]}\tx{k % 4}\t_\t0\t_\t_\t_\n" + "\n" * (k % 5 == 4) for k in range(60)]
        (tmp_path / "train.txt").write_text("".join(rows), encoding="utf-8")
    facts("-q", *arguments)
    first = (tmp_path / "model.bin").read_bytes()
    (tmp_path / "run.toml").write_bytes(crftrain("info", "--options", "model.bin").out)
    facts("-q", "--config", "run.toml")
    assert (tmp_path / "model.bin").read_bytes() == first


def test_a_model_prints_its_template(crftrain, facts, tmp_path):
    (tmp_path / "t.txt").write_text("U:%x[0,0]\nB\n", encoding="utf-8")
    facts("-q", "-t", "t.txt")
    assert crftrain("info", "--template", "model.bin").lines == ["U:%x[0,0]", "B"]
    assert crftrain("info", "--template", "--json", "model.bin").status == 2
    assert "columns\t3" in crftrain("info", "model.bin").lines


# ---- what options are called elsewhere


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("learn -p max_iterations=100 t", "CRFsuite is here --passes N"),
        ("learn -p c2=1 t", "--lambda X/n, where X = 2 c2"),
        ("learn -p feature.minfreq=2 t", "--min-freq N"),
        ("learn -f 3 -c 1.5 t", "CRF++ is here --min-freq N"),
        ("learn -c 1.5 t", "where X = 1/C"),
        ("learn -a CRF-L2 t", "CRF++'s CRF-L2 is -a lbfgs"),
        ("learn -a l2sgd t", "-a sgd --no-average"),
        ("learn --rho1 0.5 t", "Wapiti is here --l1 RHO1/n"),
        ("learn -1 0.5 t", "Wapiti is here --l1 RHO1/n"),
        ("learn -p 4 t", "threads are --threads N"),
        ("learn -a sag --memory 3 t", "It is an option of -a hybrid, lbfgs, mixing, owlqn"),
        ("tag -m model.bin t", "CRFsuite and CRF++ and Wapiti is here an argument"),
        ("tag -i model.bin t", "--marginals best"),
        ("crf_learn t", "crftrain learn -t TEMPLATE -m MODEL TRAIN"),
        ("label", "crftrain tag MODEL FILE"),
    ],
)
def test_who_types_another_program_s_option_is_told_ours(crftrain, arguments, told):
    ended = crftrain(*arguments.split())
    assert (ended.status, ended.out) == (2, b"")
    assert told in ended.err


def test_whatever_is_named_for_an_option_elsewhere_exists():
    flags = {flag for command in commands.commands.values() for param in command.params for flag in param.opts}
    flags |= {option.flag for name in optimizers.names() for option in optimizers.get(name).options} | {"--no-average", "--version", "-p"}
    here = [told for table in migrants.TABLES.values() for found in table.values() for told in found]
    here += [*migrants.ALGORITHMS.values(), *migrants.COMMANDS.values()]
    for told in here:
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", told)) <= flags, told
        assert set(re.findall(r"-a ([a-z][\w-]*)", told)) <= set(optimizers.names())


def test_every_option_of_the_page_for_migrants_that_is_none_here_is_explained():
    """What a command has itself means what it says there, or the page says so."""
    own = {command: {flag for param in commands.commands[command].params for flag in param.opts} for command in ("learn", "tag")}
    own["learn"] |= {option.flag for name in optimizers.names() for option in optimizers.get(name).options} | {"-p"}
    everywhere = {"-h", "--help", "--version"}
    for program, names in (("CRFsuite", ("learn", "tag")), ("CRF++", ("crf_learn", "crf_test")), ("Wapiti", ("train", "label"))):
        for row in rows(program):
            for command, theirs in zip(("learn", "tag"), names, strict=True):
                if row[0].startswith(f"`{theirs} -"):
                    for flag in re.findall(r"(?<![\w-])--?[\w.-]+", row[0]):
                        assert flag in own[command] | everywhere or program in str(migrants.TABLES[command].get(flag)), (program, flag)


# ---- completion


def completed(*args, incomplete=""):
    found = ShellComplete(commands, {}, "crftrain", "_X").get_completions(list(args), incomplete)
    return {item.value if item.type == "plain" else f"<{item.type}>" for item in found}


def test_files_algorithms_templates_and_options_are_completed():
    for args in (["learn"], ["learn", "--dev"], ["learn", "-m"], ["tag"], ["tag", "m"], ["eval"], ["update", "m", "--replay"], ["info"]):
        assert "<file>" in completed(*args), args
    assert completed("learn", "-a", incomplete="sa") == {"sag", "saga"}
    assert completed("compare", "-a", incomplete="sa") == {"sag", "saga"}
    assert completed("algorithms", incomplete="sa") == {"sag", "saga"}
    assert completed("learn", "-t", incomplete="ne") == {"ner", "<file>"}
    assert completed("learn", "-a", "lbfgs", "-p") == {f"{option.name}=" for option in optimizers.get("lbfgs").options}
    assert "--memory" in completed("learn", "-a", "lbfgs", incomplete="--")
    assert "--memory" not in completed("learn", incomplete="--")
    assert completed("learn", "-a", "no-such", incomplete="--dev") == {"--dev"}
    assert completed("learn", "--select") == {"score", "likelihood", "last"}
    assert completed("completion") == {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(crftrain, tmp_path, shell):
    ended = crftrain("completion", shell)
    assert (ended.status, ended.err) == (0, "")
    assert b"_CRFTRAIN_COMPLETE" in ended.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ended.out, check=True)


# ---- help, JSON, terminals


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_help_has_an_example(name):
    command = commands.commands[name]
    with click.Context(command, info_name=name, **CONTEXT) as context:
        if hasattr(command, "default"):
            context.meta["algorithm"] = optimizers.get("sag")
        assert re.search(rf"^ +(producer \| )?crftrain ({name}|tag .*\| crftrain {name})\b", command.get_help(context), re.M)


def test_v_is_the_version(crftrain):
    assert crftrain("-V").out == crftrain("--version").out != b""


def test_weights_as_json_are_those_of_the_text(crftrain, facts):
    facts("-q", "-a", "lbfgs", "--passes", "2")
    text = [line.split("\t") for line in crftrain("dump", "model.bin").lines if not line.startswith("#")]
    found = [json.loads(line) for line in crftrain("dump", "--json", "model.bin").lines]
    assert list(found[0]) == ["facts"]
    assert found[0]["facts"]["algorithm"] == "lbfgs"
    assert [[*map(str, list(record.values())[:-1])] for record in found[1:]] == [fields[:-1] for fields in text]
    assert [record["weight"] for record in found[1:]] == [float(fields[-1]) for fields in text]
    assert len(crftrain("dump", "--json", "--top", "3", "model.bin").lines) == 7


def test_algorithms_as_json(crftrain):
    found = [json.loads(line) for line in crftrain("algorithms", "--json").lines]
    assert [one["name"] for one in found] == optimizers.names()
    (sag,) = (json.loads(line) for line in crftrain("algorithms", "--json", "sag").lines)
    assert sag == found[optimizers.names().index("sag")]
    assert {option["flag"] for option in sag["options"]} == {option.flag for option in optimizers.get("sag").options}


def test_who_would_have_to_type_the_input_is_told(monkeypatch, capsys):
    for terminal in (True, False):
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"isatty": lambda self, terminal=terminal: terminal})())
        assert base.inputs(()) == ("-",)
        assert ("terminal" in capsys.readouterr().err) is terminal
        assert base.inputs(("a", "-")) == ("a", "-")
        assert ("terminal" in capsys.readouterr().err) is terminal
        assert base.inputs(("a",)) == ("a",)
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", ["learn -q -", "learn -q --dev - train.txt", "check -", "update -q model.bin -", "tag model.bin -"])
def test_a_command_that_waits_for_a_terminal_says_so(process, crftrain, train_file, words):
    import pty

    assert crftrain("learn", "-q", "--passes", 1, "train.txt").status == 0
    master, terminal = pty.openpty()
    child = process(*words.split(), stdin=terminal)
    os.write(master, b"w1 c1 O\n\n\x04")
    assert b"reading from the terminal" in child.communicate(timeout=60)[1]
    os.close(master)
    os.close(terminal)


def test_the_scripts_of_shells_are_what_the_command_prints(tmp_path, crftrain):
    namespace = {"__name__": "generate"}
    exec((ROOT / "docs" / "generate.py").read_text(encoding="utf-8"), namespace)
    namespace["write_completion"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"crftrain.{shell}" for shell in ("bash", "zsh", "fish")}
    for path in tmp_path.iterdir():
        assert path.read_bytes() == crftrain("completion", path.suffix[1:]).out


def test_every_command_has_a_manual_page_with_all_its_options(tmp_path):
    namespace = {"__name__": "generate"}
    exec((ROOT / "docs" / "generate.py").read_text(encoding="utf-8"), namespace)
    (tmp_path / "crftrain-gone.1").write_text("", encoding="utf-8")
    namespace["write_manual"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"crftrain.1"} | {f"crftrain-{name}.1" for name in commands.commands}
    for name, command in commands.commands.items():
        page = (tmp_path / f"crftrain-{name}.1").read_text(encoding="utf-8")
        plain = page.replace("\\-", "-")
        assert all(flag in plain for param in command.params for flag in param.opts if flag.startswith("-"))
        assert f"crftrain {name}" in plain
        requests = {line[:3] for line in page.split("\n") if line[:1] == "."}
        assert "\b" not in page and requests <= {".TH", ".SH", ".TP", ".PP", ".nf", ".fi"}
    if shutil.which("groff"):
        for path in tmp_path.iterdir():
            ended = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(path)], capture_output=True, text=True, check=True)
            assert ended.stderr == ""
