"""The dual methods beside the stochastic average gradient: passes and seconds until (f - f*)/f* is 1e-1, 1e-2, 1e-3.

A pass is a forward run of every sequence, a line search's included; seconds are those of optimisation alone, one thread, one run.
"""

import tempfile

from ..process import Failed
from ..report import Row, number, table
from ..tasks import Setting
from .sag import Runs

TITLE = "sdca against sag"
BESIDE = "sag"
RUNS = {
    "sag": ("sag",),
    "sdca": ("sdca",),
    "sdca, uniform": ("sdca", "--sampling", "uniform"),
    "oeg": ("oeg",),
    "oeg, score 10": ("oeg", "--initial-score", 10),
}
MARKS = ("1e-1", "1e-2", "1e-3")
PASSES = 100


def reached(runs, flags, passes):
    """{mark: (passes, seconds)}, for the marks that were; the error's text where the run failed."""
    try:
        steps = runs.ours("-a", *flags, mark=float(MARKS[-1]), passes=passes)[2].steps
    except Failed as error:
        return str(error)
    hits = {mark: next((s for s in steps if s["objective"] <= runs.found.f * (1 + float(mark))), None) for mark in MARKS}
    return {mark: (hit["passes"], hit["seconds"]) for mark, hit in hits.items() if hit}


def rows_of(name, hits, beside, setting):
    for mark in MARKS:
        for k, what in enumerate(("passes", "seconds")):
            ours, other = (found[mark][k] if mark in found else None for found in (hits, beside))
            ratio = ours / other if ours is not None and other else None
            yield Row(f"{name}: {what} to {mark}, against {BESIDE}", ours, other, ratio, task=setting.task.name, features=setting.shown)


def run(bench):
    """Yield the rows of each task."""
    for task in bench.tasks:
        setting = Setting(task, "observed")
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(bench, setting, folder)
            found = {name: reached(runs, flags, 10 if bench.quick else PASSES) for name, flags in RUNS.items()}
        for name in [name for name, hits in found.items() if isinstance(hits, str)]:
            yield Row(f"{name}: failed", note=found.pop(name), failed=True, task=task.name, features=setting.shown)
        cells = [(name, *(number(x, 3) for mark in MARKS for x in hits.get(mark, (None, None)))) for name, hits in found.items()]
        print(f"{task.name}, {setting.shown}: passes and seconds to a distance of\n")
        print(table(("run", *(cell for mark in MARKS for cell in (mark, "s"))), cells) + "\n")
        for name, hits in found.items():
            if name != BESIDE:
                yield from rows_of(name, hits, found.get(BESIDE, {}), setting)
