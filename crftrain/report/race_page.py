"""The page of `crftrain compare`: the curves of all runs, each point with its algorithm, pass and value, and tables that sort."""

import math

from ..training.race import MARKS, SUMMARY, distance, leaders
from . import resampling, svg
from .html import details, page, section, table, tag

AXES = (("passes", 0, "effective passes over the data"), ("seconds", 1, "seconds of optimisation"))


def race_page(runs, found, title):
    """The page as text."""
    pictures = [_picture(runs, found, *axis) for axis in AXES]
    lead = f"The least objective is {found['objective']:.10g}, by {found['algorithm']}."
    sections = [
        ("runs", "Runs", _runs(runs, found)),
        ("objective", "Objective", section("objective", "Distance to the optimum", *pictures)),
    ]
    if any(point[3] for run in runs for point in run.curve):
        errors = [_errors(runs, *axis) for axis in AXES]
        sections.append(("error", "Test error", section("error", "Wrong labels on the test data", *errors)))
    return page(title, tag("p", lead, class_="note"), sections, scripts=["charts.js"])


def _chart(series, x_label, y_label, title, *, log):
    return tag("div", svg.curves(series, x_label, y_label, title=title, log=log), class_="wide")


def _told(run, point, value):
    return f"{run.name}, seed {run.seed}: {point[0]:.1f} passes, {point[1]:.2f} s, {value}"


def _picture(runs, found, name, axis, label):
    def points(run):
        for point in run.curve:
            value = max(distance(point[2], found), 1e-16)
            if not math.isnan(value):
                yield point[axis], value, _told(run, point, f"distance {value:.2e}")

    series = [(run.name, list(points(run))) for run in runs]
    return _chart(series, label, "(f - f*) / f*", f"Distance to the optimum against {name}", log=True)


def _errors(runs, name, axis, label):
    def points(run):
        for point in run.curve:
            if point[3]:
                value = 100 - point[3]["accuracy"]
                yield point[axis], value, _told(run, point, f"{value:.3f} % wrong")

    series = [(run.name, list(points(run))) for run in runs]
    return _chart(series, label, "wrong labels, %", f"Wrong labels on the test data against {name}", log=False)


def _runs(runs, found):
    rows = []
    for run in runs:
        passes, seconds, objective, scores = run.curve[-1] if run.curve else (math.nan, math.nan, None, None)
        score = scores and scores.get("f1", scores["accuracy"])
        row = [run.name, run.seed, f"{len(run.curve):,}", _number(passes, ".1f"), _number(seconds, ".3f"), _number(objective, ".8g")]
        row += [_number(distance(objective, found), ".2e"), _number(run.end and run.end.get("gap"), ".2e"), _number(score, ".2f")]
        rows.append([*row, _number(scores and 100 - scores["accuracy"], ".3f"), run.end["reason"]])
    parts = [table("The last step of each run; click a column to sort by it", SUMMARY, rows, numeric=range(1, 10), class_="sorts")]
    if any(len(own) > 1 for own in entrants(runs).values()):
        head = ["entrant", "runs", "seconds", "distance", "score"]
        rows = [
            [name, len(own), *(_repeated(own, what, found) for what in ("seconds", "distance", "score"))]
            for name, own in entrants(runs).items()
        ]
        parts.append(table("Means of the repeats, and what holds them in 95 of 100 samples of the repeats", head, rows, numeric=(1,)))
    marks = details(
        f"Who leads after {MARKS[0]} to {MARKS[-1]} passes, and after so many seconds", tag("pre", "\n".join(leaders(runs, found)))
    )
    return section("runs", "Runs", *parts, marks)


def entrants(runs):
    """{name: its runs that came to something}."""
    own = {}
    for run in runs:
        if run.curve and not run.error:
            own.setdefault(run.name, []).append(run)
    return own


def values(runs, what, found):
    """The last seconds, distance or score of some runs; nothing where it is not known."""
    last = [run.curve[-1] for run in runs]
    if what == "seconds":
        return [point[1] for point in last]
    if what == "distance":
        return [distance(point[2], found) for point in last if point[2] is not None]
    return [point[3].get("f1", point[3]["accuracy"]) for point in last if point[3]]


def _repeated(runs, what, found):
    known = values(runs, what, found)
    if not known:
        return ""
    one = resampling.mean_interval(known)
    form = ".2e" if what == "distance" else ".3f"
    return f"{one.value:{form}} [{one.low:{form}}, {one.high:{form}}]"


def repeats(runs, found):
    """Lines for the terminal: the means of repeats with their intervals."""
    for name, own in entrants(runs).items():
        if len(own) > 1:
            told = [f"{what} {shown}" for what in ("seconds", "distance", "score") if (shown := _repeated(own, what, found))]
            yield f"{name}: mean of {len(own)} runs: {', '.join(told)}"


def _number(value, form):
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else f"{value:{form}}"
