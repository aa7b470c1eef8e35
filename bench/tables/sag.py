"""The stochastic average gradient: passes and seconds to 1e-3 of the optimum, the order of its samplings, its memory.

Distances are (f - f*) / f*, f* by L-BFGS. Seconds are those of optimisation alone; runs that are compared follow each other.
"""

import math
import statistics
import tempfile

import numpy as np

from .. import peers
from ..optimum import optimum
from ..process import Failed, best, learn, work
from ..report import Row, at_least, at_most, bars_table, number, table
from ..tasks import Setting

TITLE = "Stochastic average gradient"
SEEDS = (1, 2, 3)
FULL = {"conll2000", "ocr", "data"}  # raced with all features; the others with those observed
# as in the paper: skipping belongs to nus
CURVES = {
    "nus": ("sag",),
    "nus2013": ("sag", "--sampling", "nus2013", "--no-skip"),
    "uniform": ("sag", "--sampling", "uniform", "--no-skip"),
    "lbfgs": ("lbfgs",),
    "uniform, skipping": ("sag", "--sampling", "uniform"),
}
MARKS = (10, 20, 30, 40, 50)  # effective passes
BESIDE_CRFSUITE = {("conll2000", "observed"): at_least(6), ("ocr", "full"): at_least(9)}  # on EWT it takes many minutes


class Runs:
    """Trainings of one setting and how far from its optimum they came."""

    def __init__(self, bench, setting, folder):
        self.bench, self.setting, self.folder = bench, setting, folder
        self.found = optimum(setting, say=bench.say)

    def ours(self, *flags, mark=1e-3, passes=80, seed=1):
        """(effective passes, seconds) until the distance is at most `mark`, nan if it never was, and the whole log."""
        self.bench.say(f"{self.setting.task.name}, {self.setting.features}: {' '.join(map(str, flags))}, seed {seed}")
        log, _ = learn(self.setting, self.folder, *flags, "--trace", "--tol", 0, "--max-passes", passes, "--seed", seed, timeout=900)
        target = self.found.f * (1 + mark)
        hit = next((step for step in log.steps if step["objective"] <= target), None)
        return (hit["passes"], hit["seconds"], log) if hit else (math.nan, math.nan, log)

    def distance_at(self, log, passes):
        """After so many effective passes, the curve being log-linear between its points."""
        x = [step["passes"] for step in log.steps]
        y = [math.log(max(step["objective"] / self.found.f - 1, 1e-16)) for step in log.steps]
        return math.exp(np.interp(passes, x, y))

    def crfsuite(self, mark=1e-3):
        """Seconds of its L-BFGS until the distance is at most `mark`."""
        peer = next(peer for peer in peers.PEERS if peer.name == "python-crfsuite lbfgs")
        run = peers.train(peer, self.setting, self.found.n, self.folder, seconds=None, timeout=900)
        return run.seconds_to(self.found.f * (1 + mark))


def to_a_thousandth(runs):
    """Three seeds: the median of the passes, and of the seconds the best."""
    measured = [runs.ours("-a", "sag", seed=seed)[:2] for seed in SEEDS]
    return statistics.median(passes for passes, _ in measured), min(seconds for _, seconds in measured)


def yardstick_seconds(runs):
    """The faster of limit's two first passes to the same distance."""
    times = []
    for first in ((), ("perm",)):
        lines = peers.limit(runs.setting.task, "full", "sag", 45, *first)
        target = runs.found.f * (1 + 1e-3)
        times.append(next((line["seconds"] for line in lines if line.get("objective", math.inf) <= target), math.inf))
    return min(times)


def speed(runs, stated):
    """Passes and seconds to 1e-3, beside L-BFGS, the yardstick and the peers."""
    task, features = runs.setting.task, runs.setting.features
    passes, seconds = to_a_thousandth(runs)
    bar = at_most(40) if stated and features == "full" else None
    yield Row("sag: effective passes to 1e-3, median of 3 seeds", passes, bar=bar, features=features)
    lbfgs = runs.ours("-a", "lbfgs", passes=400)[1]
    bar = at_least(2.5) if stated else None
    yield Row("sag: seconds to 1e-3, lbfgs / sag", seconds, lbfgs, lbfgs / seconds, bar, features=features)
    if stated and features == "full":
        other = yardstick_seconds(runs)
        yield Row("sag: seconds to 1e-3, against the yardstick", seconds, other, seconds / other, at_most(1.3), features=features)
        yield from against_wapiti(runs)
    bar = BESIDE_CRFSUITE.get((task.name, features))
    if peers.PEERS[0].is_installed and (bar or task.name == "data"):
        other = runs.crfsuite()
        yield Row("sag: seconds to 1e-3, CRFsuite lbfgs / sag", seconds, other, other / seconds, bar, features=features)


def against_wapiti(runs):
    peer = next(peer for peer in peers.PEERS if peer.name == "libwapiti l-bfgs")
    if not peer.is_installed:
        return
    target, budget = runs.found.f * 1.1, 200
    ours = best(len(SEEDS), lambda: runs.ours("-a", "sag", mark=0.1, passes=25)[1])
    run = peers.train(peer, runs.setting, runs.found.n, runs.folder, seconds=budget, timeout=900)
    other = run.seconds_to(target) or run.curve[-1][0]
    note = "its seconds include decoding the training data at each iteration" + ("" if run.seconds_to(target) else "; stopped before")
    yield Row("sag: seconds to 1e-1, Wapiti l-bfgs / sag", ours, other, other / ours, at_least(40), features="full", note=note)


def order(runs):
    """The samplings and L-BFGS at equal effective passes."""
    curves = {name: runs.ours("-a", *flags, passes=55)[2] for name, flags in CURVES.items()}
    rows = [(name, *(f"{runs.distance_at(log, at):.1e}" for at in MARKS)) for name, log in curves.items()]
    print(table(("distance after effective passes", *map(str, MARKS)), rows) + "\n")
    for first, second in (("nus", "nus2013"), ("nus2013", "uniform"), ("uniform", "lbfgs")):
        ratio = max(runs.distance_at(curves[first], at) / runs.distance_at(curves[second], at) for at in MARKS)
        yield Row(f"{first} ahead of {second}: largest ratio of distances", ratio, bar=at_most(1), features=runs.setting.features)


def choices(runs, stated):
    """The first pass; and, for CoNLL-2000, first constants that are far off."""
    sample, permute = (runs.ours("-a", "sag", "--first-pass", how)[0] for how in ("sample", "permute"))
    yield Row("first pass: passes to 1e-3, sampled / permuted", sample, permute, sample / permute, features=runs.setting.features)
    for sampling in ("nus", "uniform") if stated else ():
        base = runs.ours("-a", "sag", "--sampling", sampling, passes=150)[0]
        for constant in (1e-4, 1e4):
            passes = runs.ours("-a", "sag", "--sampling", sampling, "--initial-constant", constant, passes=150)[0]
            what = f"{sampling}: passes to 1e-3, first constant {constant:g} / 1"
            change = Row(what, passes, base, passes / base, at_most(1.1), features=runs.setting.features)
            yield change


def memory(bench, folder):
    """Section 6 of the paper: the table under each saving, over the naive one, n gradients of F numbers."""
    paper = {
        "ocr": (0.78, 1.1, 0.21),
        "conll2000": (4.8e-3, 7.0e-3, 6.1e-4),
        "ned": (6.4e-4, 3.8e-4, 7.0e-5),
        "ewt": (1.3e-3, 5.5e-3, 3.6e-4),
    }
    shown = []
    for task in bench.tasks:
        for least in (0, 3):
            _, sizes = work("table_sizes", folder, train=task.train, min_freq=least, **task.how)
            naive = sizes["n_sequences"] * sizes["n_features"]
            ratios = [sizes[kind] / naive for kind in ("sparse", "marginals", "mixed")]
            said = paper.get(task.name, ()) if least == 3 or task.name == "ocr" else ()
            shown.append((task.name, least, f"{sizes['n_features']:,}", *(f"{r:.1e}" for r in ratios), *(f"{r:.1e}" for r in said)))
            yield from (
                Row(f"table {kind} / naive, cutoff {least}", ratio, said[k] if said else None, features="full")
                for k, (kind, ratio) in enumerate(zip(("sparse", "marginals", "mixed"), ratios, strict=True))
            )
            if task.name == "conll2000" and not least:
                yield Row("mixed table, single precision, MB", 4 * sizes["mixed"] / 1e6, bar=at_most(40), features="full")
    shown = [(*row, *["-"] * (9 - len(row))) for row in shown]
    print(table(("task", "cutoff", "F", "sparse", "marginals", "mixed", "paper: sparse", "marginals", "mixed"), shown) + "\n")


def run(bench):
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        for row in _shown(memory(bench, folder)):
            yield row
        for task in bench.tasks:
            for features in ("full", "observed") if task.name == "conll2000" else ("full" if task.name in FULL else "observed",):
                runs = Runs(bench, Setting(task, features), folder)
                print(f"{task.name}, {runs.found.n_features:,} features ({features}): n f* = {number(runs.found.f * runs.found.n)}\n")
                stated = task.name == "conll2000"
                parts = [speed(runs, stated), order(runs)]
                if not bench.quick:
                    parts.append(choices(runs, stated))
                for row in _shown(row for part in parts for row in _caught(part)):
                    yield Row(**{**vars(row), "task": task.name})


def _caught(rows):
    try:
        yield from rows
    except Failed as error:
        yield Row("sag", note=str(error), failed=True)


def _shown(rows):
    rows = list(rows)
    print(bars_table(rows) + "\n")
    return rows
