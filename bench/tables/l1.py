"""The paper of the cumulative penalty made again: tables 1 and 2 of Tsuruoka, Tsujii, Ananiadou 2009, and what an l1 model costs.

The features are the paper's as near as the columns allow: the attributes of CRFsuite's chunking example, observed states and
transitions; for JNLPBA see ner_items.py. Objectives are exact, active features are counted after all lazy penalties are paid.
The paper's OWL-QN stopped when ten iterations lowered the objective by less than 1e-4 of it each.
"""

import gzip
import lzma
import tempfile
from dataclasses import dataclass, replace

from .. import ner_items, peers
from ..process import Failed, best, learn, tag_and_score, work
from ..report import Row, at_least, at_most, bars_table, near, number, table
from ..tasks import CORPORA, Setting, Task, replacing

TITLE = "l1: compact models"
STATED_FOR = "conll2000 items"
STRENGTH = {"conll2000 items": "0.7/n", "jnlpba": "2/n"}
PASSES = 30
REACHED = 1.583  # where the paper's OWL-QN stopped
DECAY = ("--schedule", "exponential", "--alpha", 0.85)
SGD = {
    "naive": ("--penalty", "naive", "--schedule", "inverse"),
    "clipping": ("--penalty", "clipping", "--schedule", "inverse"),
    "cumulative": ("--penalty", "cumulative", "--schedule", "inverse"),
    "cumulative + decay": ("--penalty", "cumulative", *DECAY),
}
PAPER = {  # passes, objective, active features, seconds, F1
    "conll2000 items": {
        "owlqn": (160, 1.583, 18_109, 598, 93.62),
        "naive": (30, 1.671, 455_651, 1_117, 93.64),
        "clipping": (30, 1.671, 87_792, 144, 93.65),
        "cumulative": (30, 1.653, 28_189, 149, 93.68),
        "cumulative + decay": (30, 1.622, 23_584, 148, 93.66),
    },
    "jnlpba": {
        "owlqn": (161, 2.448, 30_710, 2_253, 71.76),
        "naive": (30, 2.537, 1_032_962, 4_528, 71.20),
        "clipping": (30, 2.538, 279_886, 585, 71.20),
        "cumulative": (30, 2.479, 31_986, 631, 71.40),
        "cumulative + decay": (30, 2.443, 25_965, 631, 71.63),
    },
}
ACTIVE = {
    "owlqn": near(18_109, 0.04 * 18_109),
    "naive": at_least(400_000),
    "clipping": near(88_000, 8_800),
    "cumulative": near(28_000, 2_800),
    "cumulative + decay": near(23_600, 2_360),
}
HEADING = ("", "passes", "f", "active", "s", "F1", "model kB", "paper: passes", "f", "features", "s", "F1")


@dataclass(frozen=True)
class Reached:
    """A line of a table."""

    name: str
    passes: float
    objective: float
    active: int
    seconds: float
    score: float
    model_bytes: int

    def cells(self, paper):
        ours = (number(self.passes), f"{self.objective:.4f}", number(self.active), number(self.seconds, 3), f"{self.score:.2f}")
        said = (str(paper[0]), f"{paper[1]:.3f}", number(paper[2]), number(paper[3]), f"{paper[4]:.2f}") if paper else ("-",) * 5
        return (self.name, *ours, number(self.model_bytes / 1e3), *said)


class Runs:
    """Trainings on one task."""

    def __init__(self, bench, task, folder):
        self.bench, self.task, self.folder = bench, task, folder
        self.setting = Setting(task, "observed", "observed", l2="0", l1=STRENGTH.get(task.name, "0.7/n"))
        self.paper = PAPER.get(task.name, {})
        self.passes = 3 if bench.quick else PASSES

    def learn(self, *flags):
        self.bench.say(f"{self.task.name}: {' '.join(map(str, flags))}")
        return learn(self.setting, self.folder, *flags, timeout=3600)[0]

    def reached(self, name, log):
        """The end of a training, its model scored."""
        end, f1 = log.end, tag_and_score(f"{self.folder}/model.bin", self.task, self.folder)[1]
        return Reached(name, end["passes"], end["objective"], end["active"], end["seconds"], f1, end["model_bytes"])

    def sgd(self, name, eta):
        return self.reached(name, self.learn("-a", "sgd-l1", *SGD[name], "--eta", eta, "--passes", self.passes, "--tol", 0))

    def owlqn(self, log, stop):
        """OWL-QN at the first step of a log for which stop(objectives so far) holds: the same training, broken off there."""
        objectives = [step["objective"] for step in log.steps]
        k = next((k for k in range(1, len(objectives) + 1) if stop(objectives[:k])), len(objectives))
        return self.reached("owlqn", self.learn("-a", "owlqn", "--passes", k, "--tol", 0))


def papers_stop(f):
    return len(f) > 10 and f[-11] - f[-1] < 10 * 1e-4 * f[-1]


def show(runs, lines, title):
    print(f"{title}: {runs.setting.penalty}\n")
    print(table(HEADING, [line.cells(runs.paper.get(line.name)) for line in lines]) + "\n")


def rows_of(runs, line, bars):
    """The line's figures, with the paper's beside them."""
    paper = runs.paper.get(line.name, (None,) * 5)
    yield Row(f"{line.name}: active features", line.active, paper[2], bar=ACTIVE.get(line.name) if bars else None)
    objective_bar = near(paper[1], 0.02) if bars and line.name in SGD else None
    yield Row(f"{line.name}: objective", line.objective, paper[1], bar=objective_bar)
    yield Row(f"{line.name}: F1", line.score, paper[4], bar=near(93.6, 0.15) if bars and line.name == "owlqn" else None)
    yield Row(f"{line.name}: seconds", line.seconds, paper[3])


def first_table(bench, task, folder):
    """Table 1, then what the models and the seconds are worth."""
    runs, stated = Runs(bench, task, folder), task.name == STATED_FOR
    whole = runs.learn("-a", "owlqn", *(("--passes", 20) if bench.quick else ()))
    converged = runs.reached("owlqn, converged", whole)
    yield from costs(runs, converged, stated)
    lines = [runs.owlqn(whole, lambda f: f[-1] <= REACHED), converged, *(runs.sgd(name, 0.5) for name in SGD)]
    show(runs, lines, "Table 1, chunking")
    for line in lines:
        yield from rows_of(runs, line, stated)
    yield from against_crfsuite(runs, whole, stated)
    yield from against_wapiti(runs, lines[-1], stated)


def costs(runs, converged, stated):
    """The model file and the speed of tagging; folder/model.bin is still the converged model."""
    yield Row("owlqn: model file, bytes", converged.model_bytes, bar=at_most(350_000) if stated else None)
    times = 1 if runs.bench.quick else 5
    dense = runs.bench.optimum(Setting(runs.task, "observed", "observed")).model
    ours, other = (best(times, lambda m=m: tag_and_score(m, runs.task, runs.folder)[0]) for m in (f"{runs.folder}/model.bin", dense))
    note = "other: the l2 model"
    yield Row("tag, the test file, whole process, s", ours, other, ours / other, at_most(1) if stated else None, note=note)


def against_crfsuite(runs, log, stated):
    """Seconds to 1e-3 above where the converged run ended, which is within 1e-4 of the optimum."""
    peer = next(peer for peer in peers.PEERS if peer.l1 and peer.package == "python-crfsuite")
    if not peer.is_installed:
        return
    target = log.end["objective"] * (1 + 1e-3)
    ours = next((seconds for seconds, f in log.curve if f <= target), None)
    limit = 5 if runs.bench.quick else 350
    runs.bench.say(f"{runs.task.name}: {peer.name}, {limit} s")
    run = peers.train(peer, runs.setting, log.start["n_sequences"], runs.folder, seconds=limit, timeout=900)
    other = run.seconds_to(target) or run.curve[-1][0]
    note = "" if run.seconds_to(target) else "CRFsuite stopped before"
    bar = at_least(2) if stated else None
    yield Row("owlqn: seconds to 1e-3, CRFsuite c1 / owlqn", ours, other, ours and other / ours, bar, note=note)


def against_wapiti(runs, line, stated):
    """Wapiti's sgd-l1 has the cumulative penalty and the decay too. It needs a fixed number of attributes a token and has all features."""
    task = next(task for task in runs.bench.tasks if runs.task.name == f"{task.name} items")
    peer = next(peer for peer in peers.PEERS if peer.algorithm == "sgd-l1")
    if not peer.is_installed:
        return
    runs.bench.say(f"{task.name}: {peer.name}, {runs.passes} passes")
    orders = {
        "algorithm": peer.algorithm,
        "params": {"rho1": 0.7, "rho2": 0.0, "maxiter": runs.passes},
        "train": task.items("train"),
        "test": task.items("test"),
        "model": f"{runs.folder}/wapiti",
        "predictions": f"{runs.folder}/predictions",
    }
    finished, facts = work("train_wapiti", runs.folder, seconds=1800, timeout=2400, **orders)
    other = peers.parse_wapiti(finished.stderr + finished.stdout)[-1][0]
    note = f"Wapiti has all {facts['n_features']:,} features and decodes the training data after each pass"
    bar = at_least(8) if stated else None
    yield Row(
        f"{line.name}: seconds, {runs.passes} passes, Wapiti sgd-l1 / ours", line.seconds, other, other / line.seconds, bar, note=note
    )


def second_table(bench, folder):
    """Table 2, without the naive penalty, which takes minutes a pass."""
    runs = Runs(bench, jnlpba(bench.cache), folder)
    log = runs.learn("-a", "owlqn", "--passes", 300, "--tol", 0)
    lines = [runs.owlqn(log, papers_stop), *(runs.sgd(name, "auto") for name in SGD if name != "naive")]
    show(runs, lines, "Table 2, JNLPBA without chunk tags")
    for line in lines:
        yield from rows_of(runs, line, False)


def jnlpba(cache):
    """The corpus as items, packed."""
    paths = []
    for which in ("train", "test"):
        paths.append(cache / f"jnlpba.{which}.items.gz")
        if not paths[-1].exists():
            source = CORPORA / "jnlpba" / f"{which}.pos.txt.xz"
            with (
                lzma.open(source, "rt", encoding="utf-8") as lines,
                replacing(paths[-1], "wb") as packed,
                gzip.open(packed, "wt", compresslevel=1, encoding="utf-8") as out,
            ):
                ner_items.convert(lines, out)
    return Task("jnlpba", *paths, None, cache)


def run(bench):
    """Yield the rows."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = [task.as_example_items() for task in bench.tasks if task.name in ("conll2000", "data")]
        parts = [(task.name, first_table(bench, task, folder)) for task in tasks]
        if any(task.name == "conll2000" for task in bench.tasks) and (CORPORA / "jnlpba").is_dir():
            parts.append(("jnlpba", second_table(bench, folder)))
        for name, part in parts:
            rows = []
            for row in _caught(part):
                rows.append(replace(row, task=name, features="observed, l1"))
                yield rows[-1]
            print(bars_table(rows) + "\n")


def _caught(rows):
    try:
        yield from rows
    except Failed as error:
        yield Row("l1", note=str(error), failed=True)
