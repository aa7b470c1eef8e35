"""The pages for users of other programs: each of their options is there, each of ours that is named exists, their commands run."""

import re
import shlex
from pathlib import Path

import click
import pytest
from test_foreign_wapiti import text

from crftrain.cli.main import CONTEXT, commands

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("coming-from-*.md"))}
PAGE = "\n".join(PAGES.values())
THEIRS = {
    "CRFsuite": """learn -t learn -a learn -p learn -m learn -g learn -e learn -x learn -l learn -L learn -h learn -H
        feature.minfreq feature.possible_states feature.possible_transitions c1 c2 max_iterations num_memories epsilon period delta
        linesearch max_linesearch calibration.eta calibration.rate calibration.samples calibration.candidates calibration.max_trials
        type c error_sensitive averaging variance gamma lbfgs l2sgd ap pa arow
        tag -m tag -t tag -r tag -p tag -i tag -l tag -q tag -h dump""",
    "CRF++": """--freq --maxiter --cost --eta --convert --textmodel CRF-L2 CRF-L1 MIRA --thread --shrinking-size --version --help
        --model --nbest --verbose --cost-factor --output""",
    "Wapiti": """--type --me l-bfgs sgd-l1 bcd rprop --pattern --model --devel --rstate --sstate --compact --nthread --jobsize --sparse
        --maxiter --rho1 --rho2 --objwin --stopwin --stopeps --clip --histsz --maxls --eta0 --alpha --kappa --stpmin --stpmax --stpinc
        --stpdec --cutoff --label --check --score --post --nbest --force --prec --all""",
}


def rows(section):
    """The cells of each row of a section's table."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("program", THEIRS)
def test_every_option_of_theirs_has_its_row(program):
    named = " ".join(row[0] for row in rows(program))
    words = set(re.split(r"[`,\s]+", named))
    for option in re.findall(r"(?:learn|tag) -\w|\S+", THEIRS[program]):
        assert option in words or option in named, option
    assert all(len(row) == 3 for row in rows(program))


def ours():
    """Each command of ours in the second and third column, and above the tables, as it would be typed."""
    text = [" ".join(row[1:]) for program in THEIRS for row in rows(program)]
    text += [line for line in PAGE.splitlines() if not line.startswith(("|", "    "))]
    known = "|".join(commands.commands)
    return sorted({span for line in text for span in re.findall(rf"`((?:{known})\b[^`]*)`", line)})


@pytest.mark.parametrize("command", [command for command in ours() if " " in command and "--help" not in command])
def test_every_command_of_ours_parses(command):
    name, *arguments = shlex.split(command)
    if name == "learn":
        arguments.append("train.txt")
    with click.Context(commands.commands[name], info_name=name, **CONTEXT) as context:  # its help option is kept for all later ones
        commands.commands[name].parse_args(context, arguments)


def test_there_are_commands_to_parse():
    assert len(ours()) > 40


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(crftrain, tmp_path, page):
    (tmp_path / "train.txt").write_text(text(20), encoding="utf-8")
    (tmp_path / "test.txt").write_text(text(5, 2), encoding="utf-8")
    for name in ("template", "patterns"):
        (tmp_path / f"{name}.txt").write_text("U1:%x[0,0]\nU2:%x[-1,0]\nB\n")
    for name in ("train", "test"):
        (tmp_path / f"{name}.items").write_bytes(crftrain("features", "-t", "template.txt", f"{name}.txt").out)
    commands_ = [line.strip() for line in PAGES[page].splitlines() if line.startswith("    crftrain ")]
    assert len(commands_) > 4
    for command in commands_:
        ended = crftrain(*shlex.split(command)[1:])
        assert ended.status == 0, (command, ended.err)
