"""On-line learning: psa in a part of a pass, in one and in many, and what accelerates iterative scaling (Yang, Suk, Lee 2012).

F1 is that of the test file; after a part of the first pass and after all of it, the mean over random orders. Iterative scaling has
the observed features alone: a pass over all of CoNLL-2000's would take a second. A stream is of sentences of data/'s generator.
"""

import math
import tempfile
from dataclasses import replace
from statistics import fmean, median

from .. import tasks
from ..process import Failed, crftrain, learn, tag_and_score, work
from ..report import Row, at_least, at_most, bars_table, near
from ..tasks import CORPORA, Setting
from .l1 import jnlpba

TITLE = "On line: psa, and gis"
STATED_FOR = "conll2000"
MARKS = (0.1, 0.35, 1, 4, 50)  # passes
REACHED = {0.1: at_least(89.5), 1: at_least(93.1)}  # by gamma component, the default
SEEDS = tuple(range(1, 21))  # a tenth of a pass gives 88.8 to 90.1, by the order
BATCHES = {1: None, 2: None, 5: at_least(93.7), 10: at_least(93.7), 50: None}
GAMMAS = ("component", "1", "2", "3")
TIMED = 10  # the passes whose seconds count: a gamma for all weights stops them later, and what stands still costs less
ACCELERATIONS = ("none", "triple-jump", "aitken")
SCALINGS = (1, 10, 30, 100)  # passes
DISTINCT, ROUNDS = 20_000, 50  # sentences of a stream, and how often they come
PAPER_JNLPBA = 64.1


class Runs:
    """Trainings on one task, lambda 1/n."""

    def __init__(self, bench, task, folder):
        self.bench, self.task, self.folder = bench, task, folder
        self.stated = task.name == STATED_FOR
        self.marks = MARKS if not bench.quick else (0.1, 0.35, 1, 2)
        self.seeds = SEEDS if not bench.quick else SEEDS[:2]

    def learn(self, *flags, task=None, features="full", l2="1/n"):
        self.bench.say(f"{self.task.name}: {' '.join(map(str, flags))}")
        return learn(Setting(task or self.task, features, l2=l2), self.folder, *flags, "--tol", 0, timeout=1800)[0]

    def curves(self, runs):
        """Of psa, for each (options, seed, marks): {"scores": at each mark, "seconds": of each whole pass after the first}."""
        self.bench.say(f"{self.task.name}: psa, {len(runs)} runs")
        asked = [{"options": options, "seed": seed, "marks": marks} for options, seed, marks in runs]
        files = {"train": self.task.train, "test": self.task.test, **self.task.how, "features": "full"}
        return work("psa_curves", self.folder, timeout=1800, **files, runs=asked)[1]["runs"]

    def bar(self, bar):
        return bar if self.stated else None


def quickest(log):
    """Seconds of the quickest pass."""
    times = [0.0, *(step["seconds"] for step in log.steps)]
    return min(b - a for a, b in zip(times, times[1:], strict=False))


def in_order(runs):
    """One pass over the file as it stands, from the command line."""
    runs.learn("-a", "psa", "--no-shuffle", "--passes", 1)
    f1 = tag_and_score(f"{runs.folder}/model.bin", runs.task, runs.folder)[1]
    yield Row("psa: F1 after 1 pass in the order of the file", f1, bar=runs.bar(REACHED[1]))


def curve(runs, option, marks, bars):
    """Rows of F1 at each mark, those of the first pass a mean over all seeds; and the median seconds of later passes."""
    (name, value), rows, early = option, [], [mark for mark in marks if mark <= 1]
    curves = runs.curves([({name: value}, seed, marks if seed == SEEDS[0] else early) for seed in runs.seeds])
    for k, mark in enumerate(marks):
        f1 = [found["scores"][k] for found in curves if k < len(found["scores"])]
        unit = "of a pass" if mark < 1 else "pass" if mark == 1 else "passes"
        note = f"mean of {len(f1)} orders, {min(f1):.2f} to {max(f1):.2f}" if len(f1) > 1 else ""
        rows.append(Row(f"psa --{name} {value}: F1 after {mark:g} {unit}", fmean(f1), bar=runs.bar(bars.get(mark)), note=note))
    return rows, median(curves[0]["seconds"][: TIMED - 1])


def batches(runs):
    """By the sequences of an update."""
    last = runs.marks[-1]
    for batch, bar in BATCHES.items():
        yield from curve(runs, ("batch", batch), (0.1, 1, last), {last: bar})[0]


def gammas(runs):
    """By the reading of gamma; a pass takes as long as one of the first reading."""
    first = None
    for gamma in GAMMAS:
        rows, seconds = curve(runs, ("gamma", gamma), runs.marks, REACHED if gamma == GAMMAS[0] else {})
        yield from rows
        first = first or seconds
        note = f"median of passes 2 to {TIMED}"
        yield Row(f"psa --gamma {gamma}: seconds a pass", seconds, first, seconds / first, runs.bar(near(1, 0.1)), note=note)


def against_sgd(runs):
    """A pass of psa against one of sgd with the same batch."""
    for batch in (1, 5, 10):
        logs = (runs.learn("-a", *flags, "--batch", batch, "--passes", 5) for flags in (("psa",), ("sgd", "--no-average", "--eta", 0.1)))
        ours, other = map(quickest, logs)
        yield Row(f"psa / sgd, --batch {batch}: seconds a pass", ours, other, ours / other, runs.bar(at_most(1.6)))


def scaling(runs):
    """gis: passes to a tenth of what there is to gain, and the objective on the way."""
    optimum, passes = runs.bench.optimum(Setting(runs.task)), SCALINGS[:2] if runs.bench.quick else SCALINGS
    plain = passes[-1]
    for name in ACCELERATIONS:
        log = runs.learn("-a", "gis", "--acceleration", name, "--max-passes", passes[-1], features="observed")
        start = log.start["n_tokens"] / log.start["n_sequences"] * math.log(log.start["n_labels"])
        tenth = optimum.f + 0.1 * (start - optimum.f)
        at = next((step["passes"] for step in log.steps if step["objective"] <= tenth), None)
        if name == "none":
            plain = at or plain
        reached = ((p, [start, *(step["objective"] for step in log.steps if step["passes"] <= p)][-1]) for p in passes)
        short = "" if at else f"not in {passes[-1]}; "
        note = f"{short}f after {', '.join(f'{p}: {f:.4g}' for p, f in reached)}; f* {optimum.f:.4g}"
        bar = runs.bar(at_most(1)) if name != "none" else None
        yield Row(f"gis, {name}: passes to a tenth", at, plain, at and at / plain, bar, features="observed", note=note)


def streamed(runs):
    """A stream beside the same sentences in memory, in order and once: whole processes. And its memory when all names are known."""
    task, keep, quick = tasks.load("data", runs.bench.cache), f"{runs.folder}/town.txt", runs.bench.quick
    distinct, rounds = (DISTINCT // 20, 5) if quick else (DISTINCT, ROUNDS)
    runs.bench.say(f"a stream of {distinct * rounds:,} sentences")
    common = {"template": task.template, "l2": 1 / (distinct * rounds), "model": f"{runs.folder}/model.bin"}
    _, stream = work("stream", runs.folder, timeout=1800, keep=keep, distinct=distinct, rounds=rounds, **common)
    flags = ("--template", common["template"], "--lambda", common["l2"], "--model", common["model"], "--features", "full", "--no-shuffle")
    memory = crftrain("learn", "-q", "-a", "psa", *flags, "--passes", 1, keep, timeout=1800)
    ours, other, size = stream["seconds"], memory.seconds, f"a stream of {distinct * rounds:,} sentences"
    bar = at_most(1.3) if not quick else None
    yield Row(f"{size} / in memory: seconds", ours, other, ours / other, bar, note=f"{distinct * rounds / ours:,.0f} sentences a second")
    begin, end = stream["memory"][min(4, rounds - 1)], stream["memory"][-1]
    if begin and end:
        note = f"in memory {memory.peak_mb:,.0f} MB"
        bar = at_most(1.05) if not quick else None
        yield Row(f"{size}: MB at the end / when names are known", end, begin, end / begin, bar, note=note)


def papers_other(runs):
    """One pass over JNLPBA."""
    task = jnlpba(runs.bench.cache)
    runs.learn("-a", "psa", "--passes", 1, task=task, features="observed")
    f1 = tag_and_score(f"{runs.folder}/model.bin", task, runs.folder)[1]
    yield Row("psa: F1 after one pass over JNLPBA", f1, PAPER_JNLPBA, task=task.name, features="observed", note="other: the paper's")


def parts_of_the_table(bench, folder):
    """(Runs, what to do with them) of each part."""
    for task in bench.tasks:
        if task.name in (STATED_FOR, "data"):
            runs = Runs(bench, task, folder)
            yield from ((runs, part) for part in (in_order, batches, gammas, against_sgd, scaling))
    runs = Runs(bench, tasks.load("data", bench.cache), folder)
    yield runs, streamed
    if any(task.name == STATED_FOR for task in bench.tasks):
        yield runs, scaling
        if (CORPORA / "jnlpba").is_dir():
            yield runs, papers_other


def run(bench):
    """Yield the rows."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for runs, part in parts_of_the_table(bench, folder):
            try:
                new = list(part(runs))
            except Failed as error:
                new = [Row(part.__name__.replace("_", " "), note=str(error), failed=True)]
            new = [replace(row, task=row.task or runs.task.name, features=row.features or "full") for row in new]
            yield from new
            rows += [replace(row, what=f"{row.task}: {row.what}") for row in new]
    print(f"lambda 1/n, one thread\n\n{bars_table(rows)}\n")
