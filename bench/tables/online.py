"""On-line learning: psa in a part of a pass, in one and in many, and what accelerates iterative scaling (Yang, Suk, Lee 2012).

Parts of a pass are the first sentences of the file, taken as they come, at the strength of the whole. F1 is that of the test file.
Iterative scaling has the observed features alone: a pass over all of CoNLL-2000's would take a second.
"""

import math
import tempfile
from dataclasses import replace
from pathlib import Path

from .. import tasks
from ..process import Failed, crftrain, learn, tag_and_score
from ..report import Row, at_least, at_most, bars_table, near
from ..tasks import CORPORA, Setting
from .l1 import jnlpba

TITLE = "On line: psa, and gis"
STATED_FOR = "conll2000"
PARTS = {0.1: at_least(89.5), 0.35: None, 1: at_least(93.1)}
PASSES = (1, 4, 10, 50)
BATCHES = {1: None, 5: at_least(93.7), 10: at_least(93.7), 50: None}
GAMMAS = ("component", "1", "2", "3")
ACCELERATIONS = ("none", "triple-jump", "aitken")
SCALINGS = (1, 10, 30, 100)  # passes
REPEATS = 50  # of data/train.txt, as a stream
PAPER_JNLPBA = 64.1


class Runs:
    """Trainings on one task, lambda 1/n."""

    def __init__(self, bench, task, folder):
        self.bench, self.task, self.folder = bench, task, folder
        self.stated = task.name == STATED_FOR
        self.passes = PASSES if not bench.quick else (1, 2)

    def learn(self, *flags, task=None, features="full", l2="1/n"):
        self.bench.say(f"{self.task.name}: {' '.join(map(str, flags))}")
        return learn(Setting(task or self.task, features, l2=l2), self.folder, *flags, "--tol", 0, timeout=1800)[0]

    def scored(self, *flags, passes):
        """F1 after each pass, and the seconds of the quickest pass."""
        log = self.learn("-a", "psa", *flags, "--passes", passes, "--dev", self.task.test)
        return [step["dev"].get("f1", step["dev"]["accuracy"]) for step in log.steps], quickest(log)

    def bar(self, bar):
        return bar if self.stated else None


def quickest(log):
    """Seconds of the quickest pass."""
    times = [0.0, *(step["seconds"] for step in log.steps)]
    return min(b - a for a, b in zip(times, times[1:], strict=False))


def parts(runs):
    """The beginning of the file, in one pass."""
    sentences = runs.task.train.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    for share, bar in PARTS.items():
        path = Path(runs.folder) / "part.txt"
        path.write_text("\n\n".join(sentences[: round(share * len(sentences))]) + "\n", encoding="utf-8")
        flags = ("-a", "psa", "--no-shuffle", "--passes", 1)
        runs.learn(*flags, task=replace(runs.task, train=path), l2=str(1 / len(sentences)))
        f1 = tag_and_score(f"{runs.folder}/model.bin", runs.task, runs.folder)[1]
        yield Row(f"psa: F1 after {share:g} of a pass", f1, bar=runs.bar(bar), note="in the order of the file")


def batches(runs):
    for batch, bar in BATCHES.items():
        f1, _ = runs.scored("--batch", batch, passes=runs.passes[-1])
        yield Row(f"psa --batch {batch}: F1 after {len(f1)} passes", f1[-1], bar=runs.bar(bar), note=curve(runs, f1))


def gammas(runs):
    """The readings of gamma, and their seconds beside the first one's."""
    first = None
    for gamma in GAMMAS:
        f1, seconds = runs.scored("--gamma", gamma, passes=runs.passes[-2])
        first = first or seconds
        yield Row(f"psa --gamma {gamma}: seconds a pass", seconds, first, seconds / first, runs.bar(near(1, 0.1)), note=curve(runs, f1))


def curve(runs, f1):
    return "F1 after " + ", ".join(f"{k}: {f1[k - 1]:.2f}" for k in runs.passes if k <= len(f1))


def against_sgd(runs):
    """A pass of psa against one of sgd with the same batch."""
    for batch in (1, 5, 10):
        logs = (runs.learn("-a", *flags, "--batch", batch, "--passes", 5) for flags in (("psa",), ("sgd", "--eta", 0.1)))
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
    """A stream beside the same sentences in memory, in order and once: whole processes."""
    task, repeats = tasks.load("data", runs.bench.cache), 2 if runs.bench.quick else REPEATS
    common = ("learn", "-q", "-a", "psa", "-t", task.template, "--lambda", 0.00002, "-m", f"{runs.folder}/model.bin")
    stream, memory = (
        crftrain(*common, *flags, *[task.train] * repeats)
        for flags in (("--stream",), ("--features", "full", "--no-shuffle", "--passes", 1))
    )
    ours, other = stream.seconds, memory.seconds
    note = f"{stream.peak_mb:.0f} and {memory.peak_mb:.0f} MB"
    yield Row(f"a stream of {repeats} times data/train.txt / in memory: seconds", ours, other, ours / other, at_most(1.3), note=note)


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
            yield from ((runs, part) for part in (parts, batches, gammas, against_sgd, scaling))
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
