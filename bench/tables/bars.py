"""The path from text to tags against the yardstick and CRFsuite: a row for each bar.

The bars are stated for CoNLL-2000 with CRF++'s chunking template, on one thread of an idle machine; on other data the same rows are
measured without them. Every time is the best of several.
"""

import tempfile
from dataclasses import replace
from functools import cached_property

from crftrain import optimizers

from .. import peers
from ..process import Failed, best, learn, tag_and_score, work
from ..report import Row, at_least, at_most, bars_table, digits, exactly, near
from ..tasks import Setting

TITLE = "From text to tags: bars"
STATED_FOR = "conll2000"
COPIES = 11  # of the test file, for the steady state of tag
TIMES = 3


class Measured:
    """What several rows need, measured when first asked for."""

    def __init__(self, bench, task, folder):
        self.bench, self.task, self.folder = bench, task, folder
        self.repeats, self.times, self.iterations = (3, 1, 12) if bench.quick else (60, TIMES, 30)

    def setting(self, features="observed", transitions="full"):
        return Setting(self.task, features, transitions)

    @cached_property
    def passes(self):
        threads = [1, 2] if self.bench.cores > 1 else [1]
        return {features: self.encoded(self.setting(features), threads, self.repeats) for features in ("full", "observed")}

    def encoded(self, setting, threads=(), repeats=0):
        """The facts of a setting, encoded afresh, and the seconds of a gradient pass for these numbers of threads."""
        task, weights = setting.task, {"features": setting.features, "transitions": setting.transitions}
        return work("gradient", self.folder, train=task.train, **task.how, **weights, threads=threads, repeats=repeats)[1]

    @cached_property
    def limits(self):
        """{"full": seconds of a pass, "obs": the same, "read": seconds}"""
        out = {"read": float("inf")}
        for which in ("full", "obs"):
            read, measured, *_ = peers.limit(self.task, which)
            out[which] = measured["gradient_pass_s"]
            out["read"] = min(out["read"], read["read_s"])
        return out

    @cached_property
    def crfsuite(self):
        """(finished, model bytes) of CRFsuite's L-BFGS on the observed features."""
        if not peers.PEERS[0].is_installed:
            raise Failed("python-crfsuite is not installed")
        model = self.folder + "/crfsuite.model"
        n = self.passes["observed"]["n_sequences"]
        finished, _ = work(
            "train_crfsuite",
            self.folder,
            algorithm="lbfgs",
            params={"c2": 0.5 * self.setting().times_n("l2", n), "feature.possible_transitions": 1},
            train=self.task.items("train"),
            test=self.task.items("test"),
            model=model,
            predictions=self.folder + "/predictions",
            seconds=None,
            iterations=self.iterations,
        )
        with open(model, "rb") as file:
            return finished, file.seek(0, 2)

    def optimum(self, setting):
        return self.bench.optimum(setting)


def gradient_passes(m):
    """One pass for value and gradient, against the yardstick's and against an iteration of CRFsuite."""
    yardstick = {"full": ("full", at_most(1.5)), "observed": ("obs", at_most(1))}
    for features, (which, bar) in yardstick.items():
        ours = m.passes[features]["seconds"]["1"]
        yield against("gradient pass, s, against the yardstick", ours, lambda which=which: m.limits[which], bar, features)
    ours = m.passes["observed"]["seconds"]["1"]
    iteration = lambda: peers.crfsuite_iteration(m.crfsuite[0].stdout)  # noqa: E731
    yield against("gradient pass, s, against an iteration of CRFsuite's L-BFGS", ours, iteration, at_most(0.4), "observed")


def threads(m):
    for features, bar in (("observed", at_least(1.8)), ("full", at_least(1.6))):
        seconds = m.passes[features]["seconds"]
        if "2" not in seconds:
            yield Row("gradient pass, s, two threads against one", seconds["1"], features=features, note="one core")
            continue
        ratio, note = seconds["1"] / seconds["2"], "ratio: how many times faster"
        yield Row("gradient pass, s, two threads against one", seconds["2"], seconds["1"], ratio, bar, features=features, note=note)


def reading(m):
    """encode_seconds of the log: opening the file until the Problem is ready, template expansion included."""

    def once():
        return learn(m.setting(), m.folder, "-a", "lbfgs", "--passes", 1, "--tol", 0)[0].start["encode_seconds"]

    ours, note = best(m.times, once), "the yardstick reads a file already expanded"
    yield against("read + expand + encode, s", ours, lambda: m.limits["read"], at_most(2.5), "observed", note)


def tagging(m):
    best_ = m.optimum(m.setting())
    one = best(2 + m.times, lambda: tag_and_score(best_.model, m.task, m.folder)[0])
    yield Row("tag, the test file, whole process, s", one, bar=at_most(0.7), features="observed")
    long = m.folder + "/long.txt"
    text = m.task.test.read_bytes()
    n_tokens = sum(1 for line in text.splitlines() if line.strip())
    with open(long, "wb") as out:
        out.write((text.rstrip(b"\n") + b"\n\n") * COPIES)
    many = best(2 + m.times, lambda: tag_and_score(best_.model, replace(m.task, test=long), m.folder)[0])
    if many <= one:
        raise Failed(f"tag took {one:.3f} s for one copy and {many:.3f} s for {COPIES}: too much noise")
    speed, note = (COPIES - 1) * n_tokens / (many - one), f"{COPIES} copies of the test file, less the time of one"
    yield Row("tag, steady state, tokens/s", speed, bar=at_least(400_000), features="observed", note=note)


def model_size(m):
    ours = m.optimum(m.setting()).model.stat().st_size
    yield against("model file, bytes, against CRFsuite's", ours, lambda: m.crfsuite[1], at_most(0.25), "observed")


def peak_memory(m):
    """13 iterations fill L-BFGS's memory and go round."""
    memory = optimizers.get("lbfgs").defaults()["memory"]
    _, finished = learn(m.setting("full"), m.folder, "-a", "lbfgs", "--passes", memory + 3, "--tol", 0)
    facts = m.passes["full"]
    allowed = 8 * (1.3 * (2 + 2 * memory) * facts["n_features"] + facts["occurrences"]) / 2**20
    note = f"other: 1.3 x (2 + 2 x {memory}) F doubles, and 8 bytes an occurrence"
    yield Row("peak memory of learn, MB", finished.peak_mb, allowed, finished.peak_mb / allowed, at_most(1), features="full", note=note)


def quality(m):
    found = m.optimum(m.setting())
    score, note = tag_and_score(found.model, m.task, m.folder)[1], f"n f = {found.f * found.n:.4f}"
    yield Row("score on the test file at the optimum", score, bar=near(93.7, 0.1), features="observed", note=note)


def counts(m):
    """The numbers of features that pin down the expansion, and the optima that pin down the objective."""
    yield Row("features, chunking template", m.passes["full"]["n_features"], bar=exactly(7_448_606), features="full")
    example = m.task.as_example_items()
    known = {
        ("observed", "observed"): (452_755, 9118.7962),
        ("observed", "full"): (None, 9047.566),
        ("full", "full"): (7_385_312, 7873.2634),
    }
    for (features, transitions), (count, value) in known.items():
        setting = Setting(example, features, transitions)
        if count is not None:
            found = m.encoded(setting)["n_features"]
            yield Row("features, items of CRFsuite's example", found, bar=exactly(count), features=setting.shown)
        found = m.optimum(setting)
        note = f"n (f - f*) <= {found.n * found.bound:.1g}"
        yield Row("n f*, items of CRFsuite's example", found.n * found.f, bar=digits(value, 7), features=setting.shown, note=note)


def against(what, ours, other, bar, features, note=""):
    """A row with a ratio; without one, and with the reason, where there is nothing to compare with."""
    try:
        other = other()
    except Failed as error:
        return Row(what, ours, features=features, note=str(error))
    return Row(what, ours, other, ours / other, bar, features=features, note=note)


def run(bench):
    """Yield the rows."""
    for task in bench.tasks:
        if task.name not in (STATED_FOR, "data"):
            continue
        stated = task.name == STATED_FOR
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            measured = Measured(bench, task, folder)
            for part in (gradient_passes, threads, reading, tagging, model_size, peak_memory, quality, counts):
                bench.say(f"{task.name}: {part.__name__.replace('_', ' ')}")
                try:
                    new = list(part(measured))
                except Failed as error:
                    new = [Row(part.__name__.replace("_", " "), note=str(error), failed=True)]
                rows += [replace(row, task=task.name, bar=row.bar if stated else None) for row in new]
        print(f"{task.name}, lambda 1/n, one thread; times are the best of several\n\n{bars_table(rows)}\n")
        yield from rows
