"""What `crftrain compare` adds to the runs it compares, and whether their seconds are those of `crftrain learn --log`.

Reading, f*, exact objectives and the scoring of the test file are aside. The least of three repeats stands for a run.
"""

import tempfile

from ..process import Failed, learn, work
from ..report import Row, at_most, bars_table, near
from ..tasks import Setting

TITLE = "Comparing"
ENTRANTS = ("sag", "sgd", "lbfgs")
PASSES, REPEAT = 30, 3


def rows_of(bench, setting, folder):
    task, passes = setting.task, 5 if bench.quick else PASSES
    bench.say(f"{task.name}: {', '.join(ENTRANTS)}, {REPEAT} times")
    race = {"entrants": ENTRANTS, "repeat": REPEAT, "passes": passes, "features": setting.features, "out": f"{folder}/race"}
    told = work("compare", folder, train=task.train, test=task.test, **task.how, **race)[1]
    runs = sum(map(sum, told["seconds"].values()))
    added = told["whole"] - told["aside"] - runs
    yield Row("compare: seconds added to those of its runs", added, runs, added / runs, None if bench.quick else at_most(0.02))
    for name in ENTRANTS:
        ours = min(told["seconds"][name])
        learnt = min(learn(setting, folder, "-a", name, "--passes", passes, "--tol", 0)[0].end["seconds"] for _ in range(REPEAT))
        yield Row(f"{name}: seconds within compare / by learn", ours, learnt, ours / learnt, None if bench.quick else near(1, 0.1))


def run(bench):
    """Yield the rows."""
    task = next((task for task in bench.tasks if task.name in ("conll2000", "data")), None)
    if task is None:
        return
    setting = Setting(task)
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = list(rows_of(bench, setting, folder))
        except Failed as error:
            rows = [Row("compare", note=str(error), failed=True)]
    rows = [Row(**{**vars(row), "task": task.name, "features": setting.shown}) for row in rows]
    print(bars_table(rows) + "\n")
    yield from rows
