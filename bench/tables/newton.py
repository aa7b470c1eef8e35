"""Newton-CG: what a product costs, what keeping vectors saves, and seconds to the optimum beside L-BFGS.

Distances are (f - f*) / f*, f* the least value that any run has seen. Seconds are those of optimisation alone; one run each.
"""

import math
import shutil
import tempfile

from .. import peers
from ..process import Failed, learn, work
from ..report import Row, at_least, at_most, bars_table, number, table
from ..tasks import Setting

TITLE = "Newton-CG"
FULL = {"conll2000", "ocr", "data"}
OBSERVED = {"conll2000", "ned", "ewt", "data"}
LBFGS = {f"lbfgs, memory {m}": ("lbfgs", "--memory", m) for m in (5, 10, 50)}
NEWTON = {"newton-cg": ("newton-cg",)}
WAYS = {
    "--cache 0": ("newton-cg", "--cache", 0),
    "--hvp ad": ("newton-cg", "--hvp", "ad"),
    "--hessian-share 1": ("newton-cg", "--hessian-share", 1),
    "--no-precondition": ("newton-cg", "--no-precondition"),
}
WITH_PAIRS = {"--no-precondition": WAYS["--no-precondition"], "--pairs 0": ("newton-cg", "--pairs", 0)}  # where some are kept
AS_A_GRADIENT = {"conll2000", "ocr", "ned", "data"}  # a product may take no longer; with EWT's 50 labels it does
POLISHED = {"conll2000": "observed", "ocr": "full", "data": "observed"}
MARKS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
MOST = 3e9  # bytes of pairs that L-BFGS may keep


class Runs:
    """Trainings of one setting."""

    def __init__(self, bench, setting, folder):
        self.bench, self.setting, self.folder = bench, setting, folder
        self.found = bench.optimum(setting)
        self.f = self.found.f

    def learn(self, *flags, tol=5e-8, score=False):
        """The log of a training; with the score on the test file after each step in it, if asked for."""
        self.bench.say(f"{self.setting.task.name}, {self.setting.features}: {' '.join(map(str, flags))}")
        limits = ("--tol", tol, "--passes", 20 if self.bench.quick else 2000)
        dev = ("--dev", self.setting.task.test) if score else ()
        log, _ = learn(self.setting, self.folder, "-a", *flags, *limits, *dev, timeout=900)
        self.f = min([self.f, *(step["objective"] for step in log.steps)])
        return log

    def seconds(self, log, distance):
        return next((step["seconds"] for step in log.steps if step["objective"] <= self.f * (1 + distance)), math.nan)

    def row(self, what, ours, other, bar=None):
        return Row(what, ours, other, other / ours, bar, features=self.setting.features)


def products(runs):
    """A cached product over a gradient; over one computed anew; over one by differentiation."""
    task, features = runs.setting.task, runs.setting.features
    repeats, steps = (3, 3) if runs.bench.quick else (25, 60)
    _, told = work("product", runs.folder, train=task.train, **task.how, features=features, repeats=repeats, steps=steps)
    seconds, names = told["seconds"], {"anew": "computed anew", "ad": "by differentiation"}
    ratio = seconds["kept"] / seconds["gradient"]
    bar = at_most(1) if task.name in AS_A_GRADIENT else None
    yield Row("product, s, against a gradient", seconds["kept"], seconds["gradient"], ratio, bar, features=features)
    if told["listed_bytes"]:
        ratio = seconds["kept"] / seconds["by blocks"]
        yield Row("product, s, against lbfgs' gradient", seconds["kept"], seconds["by blocks"], ratio, features=features)
        yield Row("listed weights, MB", told["listed_bytes"] / 1e6, features=features)
    for name, shown in names.items():
        ratio = seconds[name] / seconds["kept"]
        yield Row(f"product, s, {shown} / kept", seconds["kept"], seconds[name], ratio, features=features)
    bar = at_most(125) if task.name == "conll2000" else None
    yield Row("kept for products, MB", told["kept_bytes"] / 1e6, bar=bar, features=features)


def race(runs):
    """From zero: L-BFGS of three memories and Newton's method; then its ways apart."""
    stated, few = runs.setting.task.name == "conll2000", runs.setting.task.name == "ocr"
    size = 16 * runs.found.n_features
    entrants = {name: flags for name, flags in (NEWTON | LBFGS).items() if name in NEWTON or flags[-1] * size <= MOST}
    observed = runs.setting.features == "observed"
    logs = {name: runs.learn(*flags, score=observed and runs.setting.task.name in POLISHED) for name, flags in entrants.items()}
    ways = WAYS if stated and observed else WITH_PAIRS if few else {}
    others = {name: runs.learn(*flags) for name, flags in ways.items()}
    show(runs, logs | others)
    if observed and runs.setting.task.name in POLISHED:
        figure(runs, logs)
    ours, other = (runs.seconds(logs[name], 1e-6) for name in ("newton-cg", "lbfgs, memory 10"))
    bar = None if observed else at_most(1.3)
    yield Row("newton-cg: seconds to 1e-6, over lbfgs", ours, other, ours / other, bar, features=runs.setting.features)
    if others:
        yield from apart(runs, logs["newton-cg"], others)
    if stated and observed and peers.PEERS[0].is_installed:
        peer = next(peer for peer in peers.PEERS if peer.name == "python-crfsuite lbfgs")
        run = peers.train(peer, runs.setting, runs.found.n, runs.folder, seconds=None, timeout=900)
        ours, other = runs.seconds(logs["newton-cg"], 1e-4), run.seconds_to(runs.f * (1 + 1e-4))
        if other:
            yield runs.row("newton-cg: seconds to 1e-4, CRFsuite lbfgs / newton-cg", ours, other, at_least(1.5))


def apart(runs, log, others):
    """What each way costs."""

    def to_gap(log):
        return next((step["seconds"] for step in log.steps if step["gap"] <= 1e-6), math.nan)

    for name, other in others.items():
        if name == "--cache 0":
            yield runs.row("newton-cg: seconds to gap 1e-6, --cache 0 / all", to_gap(log), to_gap(other), at_least(1.25))
        else:
            bar = at_least(2) if name == "--hvp ad" else None
            yield runs.row(f"newton-cg: seconds to 1e-6, {name} / default", runs.seconds(log, 1e-6), runs.seconds(other, 1e-6), bar)


def show(runs, logs):
    """Seconds and passes to the marks."""

    def cells(log):
        hits = [next((step for step in log.steps if step["objective"] <= runs.f * (1 + mark)), None) for mark in MARKS]
        return [f"{hit['seconds']:.2f} ({hit['passes']:.0f})" if hit else "-" for hit in hits]

    heading = ("seconds (passes) to", *(f"{mark:.0e}" for mark in MARKS), "iterations")
    print(table(heading, [(name, *cells(log), str(len(log.steps))) for name, log in logs.items()]) + "\n")


def figure(runs, logs):
    """The paper's figure 2 in numbers: distance, and score on the test file, after so many seconds."""
    last = max(log.steps[-1]["seconds"] for log in logs.values())
    times = [last * part for part in (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)]

    def cell(log, seconds):
        step = next((step for step in reversed(log.steps) if step["seconds"] <= seconds), None)
        return f"{step['objective'] / runs.f - 1:.0e} {_score(step['dev']):.2f}" if step else "-"

    heading = ("distance and score after", *(f"{number(seconds, 2)} s" for seconds in times))
    print(table(heading, [(name, *(cell(log, seconds) for seconds in times)) for name, log in logs.items()]) + "\n")


def _score(dev):
    return dev.get("f1", dev["accuracy"])


def polish(runs):
    """From where sag is within 1e-3, or nearer, to 1e-10."""
    passes = 5 if runs.bench.quick else 40
    runs.bench.say(f"{runs.setting.task.name}, {runs.setting.features}: sag, then to the end")
    learn(runs.setting, runs.folder, "-a", "sag", "--passes", passes, "--tol", 0, timeout=900)
    start = shutil.copy(f"{runs.folder}/model.bin", f"{runs.folder}/start.bin")
    logs = {name: runs.learn(name, "--init", start, tol=1e-9) for name in ("newton-cg", "lbfgs")}
    show(runs, logs)
    ours, other = (runs.seconds(log, 1e-10) for log in logs.values())
    yield runs.row("from sag to 1e-10: seconds, lbfgs / newton-cg", ours, other, at_least(2))


def settings(bench):
    for task in bench.tasks:
        yield from (Setting(task, "observed") for _ in range(task.name in OBSERVED))
        yield from (Setting(task, "full") for _ in range(task.name in FULL))


def run(bench):
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        for setting in settings(bench):
            runs = Runs(bench, setting, folder)
            print(f"{setting.task.name}, {runs.found.n_features:,} features ({setting.features})\n")
            parts = [products(runs), race(runs)] + [polish(runs)] * (POLISHED.get(setting.task.name) == setting.features)
            rows = [row for part in parts for row in _caught(part)]
            print(bars_table(rows) + "\n")
            yield from (Row(**{**vars(row), "task": setting.task.name}) for row in rows)


def _caught(rows):
    try:
        yield from rows
    except Failed as error:
        yield Row("newton-cg", note=str(error), failed=True)
