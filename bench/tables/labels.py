"""Seconds a token of a gradient against the number of labels: ours beside an iteration of CRFsuite's L-BFGS and of Wapiti's.

Made corpora in which SUCCESSORS labels may follow each one, weights for the pairs of labels and of attribute and label that occur.
The peers' loops go over all pairs of labels, whatever the corpus: they get its first sentences, in which every label occurs, with WORK
visits of label pairs an iteration at most. Wapiti has weights for all labels of an attribute, and l1, with which --sparse has something to
leave out. Processor seconds, one thread.

The picture, where matplotlib is: labels.svg beside the kept corpora; docs/figures has one.
"""

import tempfile
from pathlib import Path

from .. import made, peers
from ..process import Failed, work
from ..report import Row, at_least, number, table
from ..tasks import Task, replacing

TITLE = "Many labels"
LABELS = (2, 9, 22, 50, 163, 437, 1000, 2000)
WORK, TOKENS = 1e9, 8000  # of the peers, an iteration
MOST = {"python-crfsuite": 1000, "libwapiti": 437}  # labels: beyond them an iteration takes a minute, or gigabytes
BARS = {1000: 40}
ITERATIONS = 4


def beginning(task, tokens):
    """A task with the first sentences of another one."""
    path = task.cache / "made" / f"{task.name}.{tokens}.txt"
    if not path.exists():
        with open(task.train, encoding="utf-8") as lines, replacing(path, "w") as out:
            for k, line in enumerate(lines):
                if k >= tokens and line == "\n":
                    break
                out.write(line)
            out.write("\n")
    return Task(f"{task.name}.{tokens}", path, path, task.template, task.cache)


def crfsuite(task, folder):
    """Seconds of an iteration."""
    params = {"c2": 0.5, "feature.possible_states": 0, "feature.possible_transitions": 0}
    return peers.crfsuite_iteration(trained("train_crfsuite", "lbfgs", params, task, folder, iterations=ITERATIONS).stdout)


def wapiti(task, folder):
    params = {"rho1": 0.5, "rho2": 1.0, "maxiter": ITERATIONS, "stopeps": 1e-9, "histsz": 3, "sparse": True}
    finished = trained("train_wapiti", "l-bfgs", params, task, folder, seconds=300)
    curve = [seconds for seconds, _ in peers.parse_wapiti(finished.stderr + finished.stdout)]
    if len(curve) < 2:
        raise Failed("fewer than two iterations")
    return (curve[-1] - curve[0]) / (len(curve) - 1)


def trained(worker, algorithm, params, task, folder, **limits):
    items, few = task.items("train"), Path(folder) / "few.items"
    few.write_text(items.read_text(encoding="utf-8").partition("\n\n")[0] + "\n\n", encoding="utf-8")
    own = {"model": f"{folder}/model", "predictions": f"{folder}/predictions", "train": items, "test": few}
    return work(worker, folder, timeout=1200, **{"seconds": None, "algorithm": algorithm, "params": params, **own, **limits})[0]


RIVALS = {"python-crfsuite": crfsuite, "libwapiti": wapiti}


def of_labels(bench, n_labels, folder):
    """{who: seconds a token}, and the facts of the corpus."""
    path, template = made.make(f"successors-{n_labels}", bench.cache)
    task = Task(f"successors-{n_labels}", path, path, template, bench.cache)
    told = work("seconds_a_token", folder, train=path, **task.how, repeats=3)[1]
    found = {"crftrain": told["seconds"] / told["tokens"]}
    tokens = max(n_labels, min(TOKENS, int(WORK / n_labels**2)))
    for package, measure in RIVALS.items():
        if n_labels > MOST[package] or not peers.installed(peers.MODULES[package]):
            continue
        few = beginning(task, tokens)
        n = sum(line != "\n" for line in few.train.open(encoding="utf-8"))
        try:
            found[package] = measure(few, folder) / n
        except Failed as error:
            bench.say(f"{package}: {error}")
    return found, told


def run(bench):
    """Yield the rows, and draw them."""
    lines, curves = [], {}
    for n_labels in LABELS[:3] if bench.quick else LABELS:
        bench.say(f"{n_labels} labels")
        with tempfile.TemporaryDirectory() as folder:
            found, told = of_labels(bench, n_labels, folder)
        for who, seconds in found.items():
            curves.setdefault(who, []).append((n_labels, seconds))
        ours, shown = found["crftrain"], f"{n_labels} labels, {told['pairs']} pairs"
        yield Row("gradient, s a token", ours, task="made", features=shown)
        for who, seconds in found.items():
            if who != "crftrain":
                bar = at_least(BARS[n_labels]) if who == "python-crfsuite" and n_labels in BARS else None
                yield Row(f"gradient, s a token, {who} over ours", ours, seconds, seconds / ours, bar, task="made", features=shown)
        rivals = [number(found.get(who), 3) for who in RIVALS]
        lines.append((f"{n_labels}", f"{told['pairs']}", number(ours, 3), *rivals))
    print(table(("labels", "pairs", "crftrain", *RIVALS), lines) + "\n")
    if not bench.quick:
        draw(curves, bench.cache / "labels.svg", bench.say)


def draw(curves, path, say):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "crftrain"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for who, points in curves.items():
        axes.loglog(*zip(*points, strict=True), marker="o", markersize=4, label=who)
    axes.set(xlabel="labels", ylabel="seconds a token")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    say(f"picture: {path}")
