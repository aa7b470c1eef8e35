"""Writes docs/algorithms.md out of the algorithms' own declarations; tests/test_docs.py checks that it is up to date.

With the names of two folders it writes manual pages of all commands into the first, and what shells read to complete them into the
second: `make man` does, before a source distribution is made.
"""

import sys
from pathlib import Path

from crftrain import optimizers
from crftrain.cli import completion, man
from crftrain.cli.main import CONTEXT, commands
from crftrain.cli.showing import explain

HEAD = """# The algorithms

One file each under `crftrain/optimizers/`, by family; `crftrain algorithms` lists them, `crftrain algorithms NAME` prints what stands here.
This page is made from their declarations by `python docs/generate.py`.

All minimise `f(w) = 1/n sum -log p(y|x; w) + lambda/2 |w|^2 + l1 |w|_1`, n the number of sequences, where the table says that
they take that penalty; {beside} comes to rest beside the minimum. They stop where `--tol` is proved
([stopping](stopping.md)); `gap` is the largest entry of the gradient, over that at zero weights, that ends training where
nothing can be proved. Those without a gap know no bound on their way: a plateau ends them, or `--passes`, and the last line says what is
proved of their weights.

| `-a` | what it is | penalties | a step | gap |
|---|---|---|---|---|
"""


def text():
    algorithms = [optimizers.get(name) for name in optimizers.names()]
    rows = [
        f"| `{a.name}` | {a.summary} | {' '.join(p for k, p in (('l2', '`--lambda`'), ('l1', '`--l1`')) if k in a.solves)} "
        f"| {a.step_name} | {'' if a.tol is None else format(a.tol, 'g')} |"
        for a in algorithms
    ]
    parts = ["\n".join(["", f"## {a.name}", "", "```", *explain(a), "```"]) for a in algorithms]
    beside = ", ".join(f"`{a.name}`" for a in algorithms if not a.minimises)
    return HEAD.format(beside=beside) + "\n".join(rows) + "\n" + "\n".join(parts) + "\n"


def write_manual(folder):
    """The pages, and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, page in man.pages(commands, CONTEXT).items():
        (folder / name).write_text(page, encoding="utf-8")


def write_completion(folder):
    """A script for each shell."""
    folder.mkdir(parents=True, exist_ok=True)
    for shell in completion.SHELLS:
        (folder / f"crftrain.{shell}").write_text(completion.script(commands, shell) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        manual, scripts = map(Path, sys.argv[1:])
        write_manual(manual)
        write_completion(scripts)
    else:
        (Path(__file__).parent / "algorithms.md").write_text(text(), encoding="utf-8")
