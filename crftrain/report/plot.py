"""The pictures of a comparison: distance to the optimum and test error, against effective passes and against seconds.

Needs matplotlib (the `plot` extra). Curves are named at their right end, in colours that the colour-blind tell apart, with a dash
pattern each; repeats are a band around their median.
"""

import math
from pathlib import Path

import numpy as np

from ..errors import DataError

# Okabe and Ito's palette
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)))
AXES = {"passes": (0, "effective passes over the data"), "seconds": (1, "seconds of optimisation")}


def available():
    """Whether matplotlib can be had."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def reliability(parts, path):
    """Write the picture of some tagging.calibration.Reliability, by name: the share of right ones against the probability."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 5), layout="constrained")
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for (name, part), colour in zip(parts.items(), COLOURS, strict=False):
        rows = list(part.rows())
        shown = f"{name}: {part.error:.3f}"
        axes.plot([row[3] for row in rows], [row[4] for row in rows], marker="o", color=colour, label=shown)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability", ylabel="share of right ones")
    axes.legend(title="expected calibration error", loc="upper left", frameon=False)
    try:
        figure.savefig(path)
    except ValueError as error:  # a kind of file that matplotlib does not know
        raise DataError(path, str(error), "a name that ends in .png, .svg or .pdf") from None
    finally:
        pyplot.close(figure)


def draw(runs, found, out, *, title):
    """Write the pictures as SVG and PNG; returns their paths."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "crftrain"  # the same curves, the same bytes
    paths = []
    for which, (axis, label) in AXES.items():
        paths += _picture(
            runs, out, f"objective-{which}", axis, label, title, "(f - f*) / f*", lambda point: _distance(point, found), log=True
        )
        if any(point[3] for run in runs for point in run.curve):
            paths += _picture(runs, out, f"error-{which}", axis, label, title, "wrong labels on the test data, %", _error, log=False)
    return paths


def _distance(point, found):
    return max(point[2] / found["objective"] - 1, 1e-16)


def _error(point):
    return 100 - point[3]["accuracy"] if point[3] else math.nan


def _picture(runs, out, name, axis, label, title, height, value, *, log):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    names = list(dict.fromkeys(run.name for run in runs if run.curve))
    ends = []
    for k, entrant in enumerate(names):
        colour, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]
        curves = [
            ([point[axis] for point in run.curve], [value(point) for point in run.curve])
            for run in runs
            if run.name == entrant and run.curve
        ]
        x, low, middle, high = band(curves, log=log)
        axes.plot(x, middle, color=colour, linestyle=dash, linewidth=1.8)
        if len(curves) > 1:
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        ends.append((middle[-1], entrant, {"color": colour, "linestyle": dash, "linewidth": 1.8}))
    if log:
        axes.set_yscale("log")
    else:
        everything = [v for run in runs for point in run.curve if not math.isnan(v := value(point))]
        least = min(everything)
        axes.set_ylim(least * 0.97, max(least * 1.03, float(np.percentile(everything, 75)) * 1.3))
    axes.set(xlabel=label, ylabel=height, title=title)
    axes.set_xlim(left=0)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _name_curves(axes, ends, log)
    paths = [Path(out) / f"{name}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return paths


def band(curves, *, log):
    """(x, least, median, greatest) of several curves on the steps of the longest, each held at its last value."""
    x = np.array(max((curve[0] for curve in curves), key=len))
    take = np.log if log else np.asarray
    rows = np.array([np.interp(x, curve[0], take(np.array(curve[1]))) for curve in curves])
    low, middle, high = rows.min(axis=0), np.median(rows, axis=0), rows.max(axis=0)
    return (x, *(np.exp(y) if log else y for y in (low, middle, high)))


def _name_curves(axes, ends, log):
    """Names to the right of the axes, with a piece of their curves, at the height of their ends; moved apart where they would touch."""
    bottom, top = axes.get_ylim()
    scale = (lambda y: math.log(y / bottom) / math.log(top / bottom)) if log else (lambda y: (y - bottom) / (top - bottom))
    placed = -1.0
    heights = [min(max(scale(height), 0.0), 1.0) for height, _, _ in ends]
    for k in sorted(range(len(ends)), key=heights.__getitem__):
        _, name, style = ends[k]
        placed = max(heights[k], placed + 0.045)
        axes.plot([1.01, 1.05], [placed, placed], transform=axes.transAxes, clip_on=False, **style)
        axes.text(1.06, placed, name, color=style["color"], transform=axes.transAxes, va="center", fontsize=9)
