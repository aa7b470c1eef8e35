"""f*, the least value of the objective, by which every run is measured; found once and kept.

L-BFGS (OWL-QN where l1 > 0) to a gap of TOL times the gap at zero weights. The log's end event has the certificate `bound` >= f - f*.
What does not get there in LONGEST seconds is used, but not kept.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from crftrain import optimizers

from .process import learn, read_log

TOL = 1e-7
LONGEST = 300
L1_SOLVERS = ("owl-qn", "owlqn")


@dataclass(frozen=True)
class Optimum:
    f: float
    n: int  # sequences
    n_features: int
    bound: float | None
    model: Path
    reason: str  # why training stopped


def solver(setting):
    """The algorithm that finds f*, or None."""
    if setting.l1 == "0":
        return "lbfgs"
    return next((name for name in L1_SOLVERS if name in optimizers.names()), None)


def optimum(setting, *, say, tol=TOL, longest=LONGEST):
    """The Optimum of a setting, from the cache if it is there; None if no algorithm can solve it."""
    if (name := solver(setting)) is None:
        return None
    task = setting.task
    key = "-".join((task.hash, setting.features, setting.transitions, setting.l2, setting.l1, f"{tol:g}")).replace("/", ":")
    folder = task.cache / "optima" / key
    if not (folder / "model.bin").exists():
        say(f"{task.name}, {setting.shown}: looking for the optimum")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            limits = ("--tol", tol, "--passes", 10_000, "--max-seconds", longest, "-j", os.cpu_count() or 1)
            log, _ = learn(setting, part, "-a", name, *limits, timeout=3 * longest)
            if log.end["reason"].startswith("limit"):
                folder = folder.with_name("unfinished")
            shutil.copytree(part, folder, dirs_exist_ok=True)
    log = read_log(folder / "log.jsonl")
    start, end = log.start, log.end
    return Optimum(end["objective"], start["n_sequences"], start["n_features"], end["bound"], folder / "model.bin", end["reason"])
