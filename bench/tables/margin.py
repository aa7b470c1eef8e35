"""Margin methods beside CRFsuite's own, natural gradient descent beside SGD: seconds of an epoch, and labels that are right.

Seconds of an epoch are the mean of those after the first, which begins with fresh memory and, where it is asked for, with the
search for a step size. Scores are means over SEEDS; CRFsuite shuffles by rand() without a seed, so it has one run. The accuracies are
stated for the features of CRFsuite's example, observed and all, at lambda = 1/n, at convergence; here they are those after EPOCHS
epochs (L-BFGS: at its default stop). What takes minutes by itself, CRFsuite and L-BFGS with all features, is left to the race.
"""

import json
import tempfile
from dataclasses import replace

from .. import peers
from ..process import Failed, crftrain, learn, tag_and_score
from ..report import Row, at_least, at_most, bars_table, near
from ..tasks import Setting

TITLE = "Margin methods and natural gradients"
STATED_FOR = ("conll2000", "data")
THEIRS = ("ap", "pa", "arow")
EPOCHS, TIMED = 50, {"observed": 10, "full": 5}
SEEDS = (1,)
NGD = {
    "ngd u1": ("ngd", "--update", "u1"),
    "ngd arctan 0.1": ("ngd",),
    "ngd arctan 0.01": ("ngd", "--epsilon", 0.01),
    "ngd erf": ("ngd", "--transform", "erf"),
    "ngd gd": ("ngd", "--transform", "gd"),
}
ENTRANTS = {"sgd": ("sgd",), "pa": ("pa",), "lbfgs": ("lbfgs",)} | NGD
PAPER = {  # token accuracy: observed features, all features
    "sgd": (95.98, 96.02),
    "pa": (95.82, 95.90),
    "lbfgs": (96.00, 96.01),
    "ngd u1": (95.99, 96.06),
    "ngd arctan 0.1": (96.02, 96.06),
    "ngd arctan 0.01": (96.03, 96.06),
    "ngd erf": (96.03, 96.06),
    "ngd gd": (96.02, 96.06),
}
TOLERANCE = 0.06


def epoch(curve):
    """Mean seconds of the epochs after the first, of [(seconds so far, ...), ...]."""
    if len(curve) < 2:
        raise Failed("fewer than two epochs")
    return (curve[-1][0] - curve[0][0]) / (len(curve) - 1)


def epochs_of(setting, folder, *flags, epochs, seed=1):
    """(seconds of an epoch, the log) of a training of so many epochs."""
    log, _ = learn(setting, folder, "-a", *flags, "--passes", epochs, "--tol", 0, "--seed", seed, timeout=900)
    return epoch([(step["seconds"],) for step in log.steps]), log


def beside_crfsuite(bench, setting, folder, epochs, seeds):
    """Each method of both: seconds of an epoch, and the score on the test file after as many."""
    for name in THEIRS:
        bench.say(f"{setting.task.name}, {setting.features}: {name}")
        seconds, scores = [], []
        for seed in seeds:
            seconds.append(epochs_of(setting, folder, name, epochs=epochs, seed=seed)[0])
            scores.append(tag_and_score(f"{folder}/model.bin", setting.task, folder)[1])
        score = sum(scores) / len(scores)
        peer = next(peer for peer in peers.PEERS if peer.name == f"python-crfsuite {name}")
        if not peer.is_installed:
            yield Row(f"{name}: s an epoch", min(seconds), note="python-crfsuite is not installed")
            continue
        theirs = peers.train(replace(peer, iterations=epochs), setting, 1, folder, seconds=None, timeout=900)
        other = epoch(theirs.curve)
        yield Row(f"{name}: s an epoch, CRFsuite's / ours", min(seconds), other, other / min(seconds), at_least(3))
        yield Row(f"{name}: score after {epochs} epochs, less CRFsuite's", score, theirs.score, score - theirs.score, at_least(-0.1))


def beside_sgd(bench, setting, folder, epochs, times):
    """An epoch of each natural gradient method over one of sgd, the best of several, in turns."""
    bench.say(f"{setting.task.name}, {setting.features}: epochs of ngd and sgd")
    entrants = {"sgd": ("sgd",)} | NGD
    seconds = dict.fromkeys(entrants, float("inf"))
    for _ in range(times):
        for name, flags in entrants.items():
            seconds[name] = min(seconds[name], epochs_of(setting, folder, *flags, "--eta", 0.1, epochs=epochs)[0])
    for name in NGD:
        yield Row(f"{name}: s an epoch / sgd's", seconds[name], seconds["sgd"], seconds[name] / seconds["sgd"], at_most(1.3))


def accuracy(setting, folder, *flags, epochs, seed):
    """Percent of the test file's labels that a training gets right."""
    limits = () if flags[0] == "lbfgs" else ("--passes", epochs, "--tol", 0)
    learn(setting if flags[0] != "pa" else replace(setting, l2="0"), folder, "-a", *flags, *limits, "--seed", seed, timeout=900)
    with open(f"{folder}/tagged.txt", "wb") as out:
        crftrain("tag", f"{folder}/model.bin", setting.task.test, stdout=out)
    return json.loads(crftrain("eval", "--json", f"{folder}/tagged.txt").stdout)["accuracy"]


def accuracies(bench, setting, folder, epochs, seeds, which):
    for name, flags in ENTRANTS.items():
        if name == "lbfgs" and setting.features == "full":
            continue
        bench.say(f"{setting.task.name}, {setting.features}: accuracy of {name}")
        runs = [accuracy(setting, folder, *flags, epochs=epochs, seed=seed) for seed in (seeds if flags[0] != "lbfgs" else seeds[:1])]
        mean, spread = sum(runs) / len(runs), max(runs) - min(runs)
        after = "default stop" if name == "lbfgs" else f"{epochs} epochs"
        note = f"{len(runs)} seeds, {spread:.2f} apart" if len(runs) > 1 else ""
        yield Row(f"{name}: token accuracy, {after}", mean, PAPER[name][which], bar=near(PAPER[name][which], TOLERANCE), note=note)


def run(bench):
    """Yield the rows."""
    epochs, timed = (3, {"observed": 3, "full": 3}) if bench.quick else (EPOCHS, TIMED)
    for task in bench.tasks:
        if task.name not in STATED_FOR:
            continue
        example = task.as_example_items()
        with tempfile.TemporaryDirectory() as folder:
            for which, (features, few) in enumerate(timed.items()):
                setting, exact = Setting(task, features), Setting(example, features, features)
                without = replace(setting, l2="0")
                parts = [
                    (setting, beside_sgd(bench, setting, folder, few, 1 if bench.quick else 2)),
                    (exact, accuracies(bench, exact, folder, epochs, SEEDS, which)),
                ]
                if features == "observed":
                    parts.insert(0, (without, beside_crfsuite(bench, without, folder, few, SEEDS)))
                rows = []
                for shown, part in parts:
                    try:
                        new = list(part)
                    except Failed as error:
                        new = [Row("margin", note=str(error), failed=True)]
                    bars = {} if task.name != "data" else {"bar": None}
                    rows += [replace(row, task=task.name, features=shown.shown, **bars) for row in new]
                print(f"{task.name}, {features} features, lambda 1/n for sgd, ngd and lbfgs\n\n{bars_table(rows)}\n")
                yield from rows
