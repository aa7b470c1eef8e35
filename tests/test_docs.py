"""What the documents say holds: every command parses, every option named exists, generated pages are up to date."""

import re
import shlex
from pathlib import Path

import click
import pytest

from bench.bench import wishes_of
from crftrain import optimizers
from crftrain.cli.main import CONTEXT, commands

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


COMMAND = rf"crftrain ({'|'.join(commands.commands)})\b"


def examples():
    """(page, arguments) of every `crftrain ...` command in an indented or fenced block, or in a cell of a table."""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            if line.startswith("|"):
                spans = [span for span in re.findall(r"`([^`]+)`", line) if re.match(COMMAND + r" .*\w", span) and "NAME" not in span]
                yield from ((page.name, shlex.split(span)[1:]) for span in spans)
            for part in re.split(r"\s[|<>]\s|&&|;", line.strip().removeprefix("$ ")):
                part = part.split("  #")[0].strip()
                if re.match(COMMAND, part) and "`" not in part and "NAME" not in part:
                    yield page.name, shlex.split(part)[1:]


@pytest.mark.parametrize(("page", "arguments"), list(examples()))
def test_every_command_in_the_documents_parses(page, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text("", encoding="utf-8")
    command = commands.commands[arguments[0]]
    with click.Context(command, info_name=arguments[0], **CONTEXT) as context:  # its help option is kept for all later ones
        command.parse_args(context, [argument for argument in arguments[1:] if argument != "..."])


def test_every_command_of_the_benchmark_in_the_documents_parses():
    text = "".join(page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "bench" / "README.md"])
    commands_ = re.findall(r"python bench/bench.py ((?:--[\w-]+ ?[\w.-]*)(?: --[\w-]+ [\w.-]+)*)", text)
    assert commands_
    for command in commands_:
        if command != "--help":
            wishes_of(shlex.split(command))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_long_flag_in_the_documents_exists(page):
    known = {"--version", "--help", "--quick", "--only", "--task", "--no-skip"}
    for name in optimizers.names():
        for option in optimizers.get(name).options:
            known |= {option.flag, "--no-" + option.flag[2:]}
    for command in commands.commands.values():
        for param in command.params:
            known |= {*param.opts, *param.secondary_opts}
    text = page.read_text(encoding="utf-8")
    if page.name.startswith("coming-from-"):  # whose first column is others'
        text = re.sub(r"^\| [^|]*\|", "", text, flags=re.MULTILINE)
    text = re.sub(r"^    (dask|srun) .*", "", text, flags=re.MULTILINE)  # commands of others
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text))
    assert named <= known


def test_the_page_of_algorithms_is_what_their_declarations_say():
    namespace = {"__name__": "generate"}
    exec((ROOT / "docs" / "generate.py").read_text(encoding="utf-8"), namespace)
    assert (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8") == namespace["text"]()


def test_every_link_in_the_documents_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
