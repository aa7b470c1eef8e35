"""Margin methods beside CRFsuite's own, natural gradient descent beside SGD: seconds of an epoch, and labels that are right.

Seconds of an epoch are the mean of those after the first, which begins with fresh memory and, where it is asked for, with the
search for a step size. Scores are means over SEEDS; CRFsuite shuffles by rand() without a seed, so its runs are on sequences in other
orders. One run says little: of either's `pa` the F1 of ten seeds are 0.15 to 0.3 apart. The accuracies are stated for the features of
CRFsuite's example, observed and all, at convergence, without a word on lambda; here they are those after EPOCHS epochs (L-BFGS: at its
default stop) at LAMBDA, where they come nearer to what is stated than at 1/n. CRFsuite with all features takes minutes by itself and is
left to the race.
"""

import json
import tempfile
from dataclasses import replace

from .. import peers
from ..process import Failed, crftrain, learn, tag_and_score, work
from ..report import Row, at_least, at_most, bars_table, near
from ..tasks import Setting

TITLE = "Margin methods and natural gradients"
STATED_FOR = ("conll2000", "data")
THEIRS = ("ap", "pa", "arow")
LAMBDA = "2/n"
EPOCHS, TIMED = 50, {"observed": 10, "full": 5}
SEEDS = (1, 2, 3, 4, 5)
NGD = {  # as `compare` takes them
    "ngd u1": "ngd:update=u1",
    "ngd arctan 0.1": "ngd",
    "ngd arctan 0.01": "ngd:epsilon=0.01",
    "ngd erf": "ngd:transform=erf",
    "ngd gd": "ngd:transform=gd",
}
SGD = {"sgd": "sgd:average=no"}
ENTRANTS = SGD | {"pa": "pa"} | NGD
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
        seconds, scores, runs = [], [], []
        peer = next(peer for peer in peers.PEERS if peer.name == f"python-crfsuite {name}")
        for seed in seeds:
            seconds.append(epochs_of(setting, folder, name, epochs=epochs, seed=seed)[0])
            scores.append(tag_and_score(f"{folder}/model.bin", setting.task, folder)[1])
            if peer.is_installed:
                run_ = peers.train(replace(peer, iterations=epochs), setting, 1, folder, seconds=None, timeout=900, seed=seed)
                runs.append((epoch(run_.curve), run_.score))
        if not runs:
            yield Row(f"{name}: s an epoch", min(seconds), note="python-crfsuite is not installed")
            continue
        other, (ours, of_ours), (theirs, of_theirs) = min(runs)[0], mean(scores), mean([score for _, score in runs])
        yield Row(f"{name}: s an epoch, CRFsuite's / ours", min(seconds), other, other / min(seconds), at_least(3))
        note = f"{of_ours}; {of_theirs}"
        yield Row(f"{name}: score after {epochs} epochs, less CRFsuite's", ours, theirs, ours - theirs, at_least(-0.1), note=note)


def mean(values):
    """(the mean, how many there are and how far they are apart)."""
    return sum(values) / len(values), f"{len(values)} seeds, {max(values) - min(values):.2f} apart"


def beside_sgd(bench, setting, folder, epochs, times):
    """An epoch of each natural gradient method over one of sgd, the best of several, in turns."""
    bench.say(f"{setting.task.name}, {setting.features}: epochs of ngd and sgd")
    entrants = SGD | NGD
    seconds = dict.fromkeys(entrants, float("inf"))
    for _ in range(times):
        for name, entrant in entrants.items():
            algorithm, _, option = entrant.partition(":")
            flags = (algorithm, "--eta", 0.1, *(("-p", option) if option else ()))
            seconds[name] = min(seconds[name], epochs_of(setting, folder, *flags, epochs=epochs)[0])
    for name in NGD:
        yield Row(f"{name}: s an epoch / sgd's", seconds[name], seconds["sgd"], seconds[name] / seconds["sgd"], at_most(1.3))


def accuracies(bench, setting, folder, epochs, seeds, which):
    task = setting.task
    for name, entrant in ENTRANTS.items():
        bench.say(f"{task.name}, {setting.features}: accuracy of {name}")
        runs = [(entrant, seed) for seed in seeds]
        how = {**task.how, "features": setting.features, "transitions": setting.transitions, "passes": epochs, "runs": runs}
        how["strength"] = setting.times_n("l2", 1)
        percent, note = mean(work("accuracy", folder, train=task.train, test=task.test, timeout=900, **how)[1]["percent"])
        bar = near(PAPER[name][which], TOLERANCE)
        yield Row(f"{name}: token accuracy, {epochs} epochs", percent, PAPER[name][which], bar=bar, note=note)
    bench.say(f"{task.name}, {setting.features}: accuracy of lbfgs")
    learn(setting, folder, "-a", "lbfgs", timeout=900)
    with open(f"{folder}/tagged.txt", "wb") as out:
        crftrain("tag", f"{folder}/model.bin", task.test, stdout=out)
    percent = json.loads(crftrain("eval", "--json", f"{folder}/tagged.txt").stdout)["accuracy"]
    yield Row("lbfgs: token accuracy, default stop", percent, PAPER["lbfgs"][which], bar=near(PAPER["lbfgs"][which], TOLERANCE))


def run(bench):
    """Yield the rows."""
    epochs, timed, seeds = (3, {"observed": 3, "full": 3}, SEEDS[:2]) if bench.quick else (EPOCHS, TIMED, SEEDS)
    for task in bench.tasks:
        if task.name not in STATED_FOR:
            continue
        example = task.as_example_items()
        with tempfile.TemporaryDirectory() as folder:
            for which, (features, few) in enumerate(timed.items()):
                setting, exact = Setting(task, features), Setting(example, features, features, LAMBDA)
                without = replace(setting, l2="0")
                parts = [
                    (setting, beside_sgd(bench, setting, folder, few, 1 if bench.quick else 4)),
                    (exact, accuracies(bench, exact, folder, epochs, seeds, which)),
                ]
                if features == "observed":
                    parts.insert(0, (without, beside_crfsuite(bench, without, folder, few, seeds)))
                rows = []
                for shown, part in parts:
                    try:
                        new = list(part)
                    except Failed as error:
                        new = [Row("margin", note=str(error), failed=True)]
                    bars = {} if task.name != "data" else {"bar": None}
                    rows += [replace(row, task=task.name, features=shown.shown, **bars) for row in new]
                print(f"{task.name}, {features} features\n\n{bars_table(rows)}\n")
                yield from rows
