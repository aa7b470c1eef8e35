"""What `crftrain compare` takes besides the runs' own seconds: a race in this process, with a clock around what is not its overhead.

Orders: train, out, format, template, features, passes, entrants, repeat, test, report; lambda is 1/n. Aside are reading the corpus, looking
for f*, exact objectives (with the gaps at the start and the end), and scoring the test file.
"""

import time

from _shared import orders, report

from crftrain.chain._problem import Problem
from crftrain.training import race as compare
from crftrain.training import train as training
from crftrain.training.settings import Settings

aside = 0.0


def timed(function):
    """The function, its seconds added to `aside`."""

    def measured(*args, **kwargs):
        global aside
        started, before = time.perf_counter(), aside
        try:
            return function(*args, **kwargs)
        finally:
            aside = before + time.perf_counter() - started  # what is timed within it is in it already

    return measured


class TimedProblem(Problem):
    """Exact objectives and gaps are not the race's overhead."""

    exact = timed(Problem.exact)
    exact_objective = timed(Problem.exact_objective)
    gap_at_zero = timed(Problem.gap_at_zero)


class TimedTest(compare.HeldOutData):
    """Neither is the scoring of the test file."""

    read = timed(compare.HeldOutData.read)

    def scorer(self, *args, **kwargs):
        return timed(super().scorer(*args, **kwargs))


def main(train, out, entrants, repeat, test, **settings):
    compare.optimum, compare.prepare = timed(compare.optimum), timed(compare.prepare)
    training.Problem, compare.HeldOutData = TimedProblem, TimedTest
    settings = Settings(paths=(train,), algorithm="sag", tol=0.0, lambdas="1/n", l1s="0", test=test, out=out, **settings)
    started = time.perf_counter()
    runs, _ = compare.compare(settings, [compare.Entrant.parse(text) for text in entrants], repeat=repeat)
    whole = time.perf_counter() - started
    seconds = {run.name: [] for run in runs}
    for run in runs:
        seconds[run.name].append(run.end["seconds"])
    return {"whole": whole, "aside": aside, "seconds": seconds}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
