"""The classic stochastic and hybrid methods: what a pass costs, CRFsuite's l2sgd, and how far each comes in 50 passes.

Distances are (f - f*) / f*, f* by L-BFGS. Seconds are those of optimisation alone, without the search for a step size; the distances of
methods that have one are those of the best of several first step sizes, as in the SAG paper.
"""

import math
import statistics
import tempfile
from dataclasses import dataclass

from .. import peers
from ..optimum import optimum
from ..process import Failed, learn, tag_and_score, work
from ..report import Row, at_least, at_most, bars_table, near, number, table
from ..tasks import Setting

TITLE = "Rivals of the stochastic average gradient"
STATED_FOR = {"conll2000", "ocr", "ned", "ewt"}  # bars; that of the score for CoNLL-2000 alone
PASSES = 50
SEEDS = (1, 2, 3)
MARKS = (1e-1, 1e-2, 1e-3)
TENS = ("0.01", "0.1", "1")


@dataclass(frozen=True)
class Rival:
    """A line of the table: its flags, and the first step sizes of which the best is shown."""

    name: str
    flags: tuple
    etas: tuple = ()

    def variants(self):
        return [(*self.flags, "--eta", eta) for eta in self.etas] or [self.flags]


RIVALS = (
    Rival("SG", ("sgd", "--schedule", "constant", "--no-average"), TENS),
    Rival("ASG", ("sgd", "--schedule", "constant", "--average-from", "1"), TENS),
    Rival("Pegasos", ("sgd", "--schedule", "pegasos", "--no-average"), ("0.1", "1", "10")),
    Rival("sgd", ("sgd",)),
    Rival("sgd, last iterate", ("sgd", "--no-average")),
    Rival("sgd, all iterates from pass 26", ("sgd", "--average-from", "26")),
    Rival("sgd, exponential 0.9", ("sgd", "--schedule", "exponential", "--alpha", "0.9", "--no-average")),
    Rival("AdaGrad", ("adagrad",), TENS),
    Rival("SMD", ("smd",), TENS),
    Rival("Hybrid", ("hybrid",)),
    Rival("L-BFGS", ("lbfgs",)),
    Rival("Newton-CG", ("newton-cg",)),
    Rival("OEG", ("oeg",)),
    Rival("OEG, score 10", ("oeg", "--initial-score", "10")),
    Rival("OEG, not permuted", ("oeg", "--no-permute")),
    Rival("SDCA", ("sdca",)),
    Rival("SAG-NUS*", ("sag",)),
)


def seconds_a_step(log):
    """Without the first, which may have searched for a step size."""
    first, last = log.steps[0], log.steps[-1]
    return (last["seconds"] - first["seconds"]) / (len(log.steps) - 1)


def costs(bench, setting, folder):
    """A pass of sgd beside one of sag; both n draws, of which sag's have line searches."""
    sgd, sag = (learn(setting, folder, "-a", name, "--passes", 20, "--tol", 0)[0] for name in ("sgd", "sag"))
    ours, other = seconds_a_step(sgd), seconds_a_step(sag)
    yield Row("pass of sgd, s, against one of sag", ours, other, ours / other, at_most(0.75), note="n draws each")
    forward = (sag.steps[-1]["passes"] - sag.steps[0]["passes"]) / (len(sag.steps) - 1)
    note = "sag's seconds by the forward runs of its line searches too"
    yield Row("pass of sgd, s, against an effective pass of sag", ours, other / forward, ours / other * forward, note=note)


def l2sgd(bench, setting, folder):
    """CRFsuite's, as many epochs on the same features, in several orders of the sequences; against its best one stands our worst."""
    found = optimum(setting, say=bench.say)

    def bottou(*flags):
        """The logs of several seeds, the model of the first left in the folder."""
        flags = ("-a", "sgd", "--schedule", "bottou", "--passes", PASSES, "--tol", 0, *flags)
        return [learn(setting, folder, *flags, "--seed", seed)[0] for seed in reversed(SEEDS)]

    def distances(objectives):
        return "(f - f*)/f* = " + ", ".join(f"{objective / found.f - 1:.1e}" for objective in objectives)

    last = [log.end["objective"] for log in bottou("--no-average")]
    logs = bottou()
    means = [log.end["objective"] for log in logs]
    score = tag_and_score(f"{folder}/model.bin", setting.task, folder)[1]
    bar = near(93.7, 0.15) if setting.task.name == "conll2000" else None
    yield Row(f"score after {PASSES} passes of sgd", score, bar=bar, note=distances(means))
    if not peers.installed("pycrfsuite"):
        return
    runs = [crfsuite_epochs(bench, setting, folder, found, seed) for seed in SEEDS]
    theirs, n_features = [objective for objective, _, _ in runs], runs[0][2]
    seconds, epoch = min(map(seconds_a_step, logs)), min(epoch for _, epoch, _ in runs)
    note = f"ratio: how many times faster; the best of {len(SEEDS)} times {PASSES} epochs, of both"
    yield Row("pass of sgd, s, against an epoch of CRFsuite's l2sgd", seconds, epoch, epoch / seconds, at_least(4), note=note)
    note = f"exact; the worst of {len(SEEDS)} orders against the best; CRFsuite: {distances(theirs)}, {n_features:,} features"
    yield Row(f"objective after {PASSES} passes, against l2sgd", max(means), min(theirs), max(means) / min(theirs), at_most(1), note=note)
    ours, other = map(statistics.mean, (last, theirs))
    yield Row("objective of the last iterate, means of both", ours, other, ours / other, note=distances(last))


def crfsuite_epochs(bench, setting, folder, found, seed):
    """(exact objective, seconds of an epoch, features) of CRFsuite's l2sgd after PASSES epochs; it has no seed, so the file's order has."""
    bench.say(f"{setting.task.name}, {setting.features}: CRFsuite l2sgd, order {seed}")
    finished, facts = work(
        "train_crfsuite",
        folder,
        algorithm="l2sgd",
        params={"c2": setting.times_n("l2", found.n) / 2, "feature.possible_transitions": 1, "delta": 0, "period": PASSES + 1},
        train=setting.task.items("train"),
        test=setting.task.items("test"),
        model=f"{folder}/crfsuite",
        predictions=f"{folder}/predictions",
        seconds=None,
        iterations=PASSES,
        seed=seed,
    )
    curve = peers.parse_crfsuite(finished.stdout)
    epoch = (curve[-1][0] - curve[0][0]) / (len(curve) - 1)
    numbers = {"l2": setting.times_n("l2", found.n) / found.n, "l1": 0.0}
    how = {**setting.task.how, "features": setting.features, "transitions": setting.transitions}
    objective = work("objective_crfsuite", folder, train=setting.task.train, model=f"{folder}/crfsuite", **how, **numbers)[1]["objective"]
    return objective, epoch, facts["n_features"]


def run_to(bench, setting, folder, found, flags):
    """(distance at the end, {mark: (passes, seconds)}, flags); infinitely far if it failed."""
    bench.say(f"{setting.task.name}, {setting.features}: {' '.join(flags)}")
    limits = ("--max-passes", PASSES, "--passes", 10_000, "--tol", 0, "--trace")
    try:
        log, _ = learn(setting, folder, "-a", *flags, *limits, timeout=900)
    except Failed as error:
        bench.say(str(error))
        return math.inf, {}, flags
    hits = {mark: next(((s["passes"], s["seconds"]) for s in log.steps if s["objective"] <= found.f * (1 + mark)), None) for mark in MARKS}
    return log.end["objective"] / found.f - 1, hits, flags


def curves(bench, setting, folder):
    """Rows, and a table for people: passes and seconds to each mark."""
    found, lines = optimum(setting, say=bench.say), []
    for rival in RIVALS:
        runs = [run_to(bench, setting, folder, found, flags) for flags in rival.variants()]
        distance, hits, flags = min(runs, key=lambda run: run[0])
        shown = [f"{hits[mark][0]:.1f} / {hits[mark][1]:.2f}" if hits.get(mark) else "-" for mark in MARKS]
        lines.append((rival.name, *shown, f"{distance:.1e}", flags[-1] if rival.etas else ""))
        failed = math.isinf(distance)
        yield Row(f"{rival.name}: distance after {PASSES} effective passes", None if failed else distance, failed=failed)
        for mark in MARKS:
            if hits.get(mark):
                yield Row(f"{rival.name}: passes to {mark:g}", *hits[mark][:1])
    print(f"{setting.task.name}, {setting.features}: passes / seconds to (f - f*)/f*, n f* = {number(found.n * found.f)}\n")
    print(table(("rival", *(f"{mark:g}" for mark in MARKS), f"after {PASSES}", "eta"), lines) + "\n")


def run(bench):
    """Yield the rows."""
    for task in bench.tasks:
        stated, setting, rows = task.name in STATED_FOR, Setting(task), []
        with tempfile.TemporaryDirectory() as folder:
            for part in (costs, l2sgd, curves):
                bench.say(f"{task.name}: {part.__name__}")
                try:
                    new = list(part(bench, setting, folder))
                except Failed as error:
                    new = [Row(part.__name__, note=str(error), failed=True)]
                bar = {row.what: row.bar if stated else None for row in new}
                rows += [Row(**{**vars(row), "task": task.name, "features": setting.shown, "bar": bar[row.what]}) for row in new]
        print(f"{task.name}, lambda 1/n, one thread\n\n{bars_table(rows)}\n")
        yield from rows
