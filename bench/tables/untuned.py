"""The default on corpora that nobody tuned for: whether it converges, and its seconds over those of the best of our algorithms.

`auto` until 1e-3 is proved, over what the first of ours takes to a true 1e-3, if that is sooner. Processor seconds, of optimisation alone.
"""

import tempfile

from .. import made, tasks
from ..process import Failed, work
from ..report import Row, at_most, number, table

TITLE = "The default, untuned"
CORPORA = ("conll2000", "ned", "jnlpba", "pku", "ewt", "brown-univ", "ocr")
RIVALS = ("sag", "newton-cg", "sdca", "lbfgs", "saga", "svrg")
FEW = ("newton-cg", "lbfgs")  # beside sag, where there are many labels or tokens
STRENGTHS = (100, 10, 0.1, 0.01)  # n lambda, beside 1
SEEDS, LONGEST = (1, 2, 3, 4, 5), 150
GOAL, EACH, MEAN, MADE = 1e-3, 1.6, 1.35, 3.0


def cases(bench):
    """(name, training file, template, n lambda, seeds)"""
    if bench.quick:
        task = tasks.load("data", bench.cache)
        return [("data", task.train, task.template, 1, (1, 2))]
    found = [name for name in CORPORA if (tasks.SOURCES | tasks.MORE)[name][0].is_dir()]
    real = [tasks.load(name, bench.cache) for name in found]
    chosen = [(task.name, task.train, task.template, 1, SEEDS) for task in real]
    chosen += [(name, *made.make(name, bench.cache), 1, SEEDS[:1]) for name in made.MADE]
    weak = [(task.name, task.train, task.template) for task in real if task.name in ("conll2000", "ned", "ocr")]
    return chosen + [(*case, strength, SEEDS[:1]) for case in weak for strength in STRENGTHS]


def measure(bench, folder, name, train, template, strength, seeds, *, rivals=RIVALS, longest=LONGEST):
    """What the worker says of a case."""
    bench.say(f"{name}, lambda {strength:g}/n")
    kept = bench.cache / "least" / f"{name}-{strength:g}.json"
    how = {"format": "items" if template is None else "conll", "template": template}
    orders = {"train": train, **how, "seeds": seeds, "rivals": rivals, "strength": strength, "longest": longest, "kept": kept}
    return work("untuned", folder, timeout=40 * longest, **orders)[1]


def rows_of(name, strength, told, bar):
    """The rows of a case."""
    shown = f"lambda {strength:g}/n"
    runs, seconds = told["runs"], [run["seconds"] for run in told["runs"]]
    mean = sum(seconds) / len(seconds)
    first = min(((s, rival) for rival, s in told["rivals"].items() if s is not None), default=(mean, "auto, which none was ahead of,"))
    worst = max(run["proved"] for run in runs)
    yield Row(f"auto: proved, {len(runs)} seeds", worst, bar=at_most(GOAL), task=name, features=shown)
    yield Row(f"auto: seconds, over {first[1]} to a true 1e-3", mean, first[0], mean / first[0], bar, task=name, features=shown)


def run(bench):
    """Yield the rows; the mean over the corpora at last."""
    ratios, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, train, template, strength, seeds in cases(bench):
            real = name in CORPORA and strength == 1
            try:
                told = measure(bench, folder, name, train, template, strength, seeds)
                rows = list(rows_of(name, strength, told, at_most(EACH if real else MADE)))
            except (Failed, ValueError) as error:
                yield Row("auto", task=name, note=str(error), failed=True)
                continue
            ratios += [rows[1].ratio] * real
            lines.append(line(name, strength, told, rows))
            yield from rows
    print(table(HEADING, lines) + "\n")
    if ratios:
        mean = sum(ratios) / len(ratios)
        yield Row("auto: seconds over the best, mean of the corpora", ratio=mean, bar=at_most(MEAN))


HEADING = ("", "n lambda", "steps", "proved at most", "seconds", "best", "its seconds", "ratio", "bar")


def line(name, strength, told, rows):
    proved, ratio = rows
    steps = sorted(run["steps"] for run in told["runs"])
    best = ratio.what.split(" over ")[1].split(" to ")[0]
    span = f"{steps[0]}" if steps[0] == steps[-1] else f"{steps[0]}-{steps[-1]}"
    figures = (number(proved.ours, 2), number(ratio.ours, 3), best, number(ratio.other, 3), number(ratio.ratio, 3), ratio.ok)
    return (name, f"{strength:g}", span, *figures)
