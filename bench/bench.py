"""Measure crftrain beside its peers: `make bench`, or `python bench/bench.py --help`.

The tables are the modules of tables/; a new one needs TITLE and run(bench), a generator of report.Row. What it yields is appended to
bench/results.tsv (with --quick: to a temporary place). The race comes last; its runs share its minutes.
"""

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)  # bench is the package, not this file

from bench import optimum, peers, tasks  # noqa: E402
from bench.report import Results  # noqa: E402
from crftrain import optimizers  # noqa: E402

HERE = Path(__file__).resolve().parent
FIRST, LAST = "bars", "race"
LONGEST = 60.0  # seconds of one run


class Bench:
    """What a table gets: the tasks, the wishes of the command line, and a share of the race's time."""

    def __init__(self, wishes):
        self.quick, self.algorithms, self.cache = wishes.quick, wishes.algorithm, tasks.cache_folder()
        names = ["data"] if wishes.quick else wishes.task or tasks.available()
        self.tasks = [tasks.load(name, self.cache) for name in names]
        self.cores = os.cpu_count() or 1
        self.seconds, self.minutes = wishes.seconds, wishes.minutes or (1 if wishes.quick else 20)

    def say(self, text):
        """Progress, for whoever waits."""
        print(f"  [{text}]", file=sys.stderr, flush=True)

    def optimum(self, setting):
        """The Optimum of a setting, or None if no algorithm can find it."""
        return optimum.optimum(setting, say=self.say, longest=5 if self.quick else optimum.LONGEST)

    def expect(self, runs):
        """So many runs will ask for a share of the race's minutes, which begin now."""
        self.runs, self.deadline = runs, time.monotonic() + 60 * self.minutes

    def share(self):
        """Seconds that the next run may take."""
        left, self.runs = self.deadline - time.monotonic(), self.runs - 1
        if self.seconds is not None:
            return self.seconds
        return min(LONGEST, max(0.5 if self.quick else 3.0, left / (self.runs + 1)))


def table_names():
    """The modules of tables/, in the order in which they are run."""
    stems = [path.stem for path in (HERE / "tables").glob("*.py") if not path.stem.startswith("_")]
    return sorted(stems, key=lambda stem: (stem != FIRST, stem == LAST, stem))


def wishes_of(arguments):
    parser = argparse.ArgumentParser(prog="bench.py", description="Measure crftrain beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a few short runs on data/, to see that everything works")
    parser.add_argument("--task", action="append", choices=tasks.SOURCES, help="only this corpus (may be repeated)")
    parser.add_argument("--only", action="append", choices=table_names(), help="only this table (may be repeated)")
    parser.add_argument("--algorithm", action="append", choices=optimizers.names(), help="of ours, race only this (may be repeated)")
    parser.add_argument("--minutes", type=float, help="about how long the race may take (default: 20; quick: 1)")
    parser.add_argument("--seconds", type=float, help="how long each run of a race may take (default: its share of the time left)")
    parser.add_argument("--results", type=Path, help="where rows are appended (default: bench/results.tsv; quick: a temporary place)")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Run the tables; the status is 1 if something could not be measured, not if a bar was missed."""
    wishes = wishes_of(arguments)
    bench = Bench(wishes)
    results = Results(wishes.results or (bench.cache / "quick.tsv" if wishes.quick else HERE / "results.tsv"))
    print(f"commit {results.common[0]}, {results.common[1]}, {results.common[2]}\n")
    for package, module in peers.MODULES.items():
        if not peers.installed(module):
            print(f"{package} is not installed: its rows are left out (pip install '.[bench]')\n")
    failed = 0
    for name in wishes.only or table_names():
        table, started = import_module(f"bench.tables.{name}"), time.monotonic()
        print(f"# {table.TITLE}\n", flush=True)
        for row in table.run(bench):
            results.append([row])
            failed += row.failed
        bench.say(f"{name} took {time.monotonic() - started:.0f} s")
    print(f"results appended to {results.path}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
