"""Rows, the tables that are printed, and the file that results are appended to."""

import math
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from .process import ROOT

COLUMNS = ("commit", "date", "machine", "task", "features", "what", "ours", "other", "ratio", "bar", "ok")
NONE = "-"


@dataclass(frozen=True)
class Bar:
    """What a figure has to reach."""

    text: str
    reached: Callable

    def __str__(self):
        return self.text


def at_most(limit):
    return Bar(f"<= {limit:g}", lambda x: x <= limit)


def at_least(limit):
    return Bar(f">= {limit:g}", lambda x: x >= limit)


def near(value, tolerance):
    return Bar(f"{value:g} +- {tolerance:g}", lambda x: abs(x - value) <= tolerance)


def exactly(value):
    return Bar(f"= {value}", lambda x: x == value)


def digits(value, count):
    """Equal when rounded to so many significant digits."""
    return Bar(f"= {value}", lambda x: abs(x - value) <= 0.5 * 10 ** (math.floor(math.log10(value)) + 1 - count))


@dataclass(frozen=True)
class Row:
    """One figure. The bar holds for the ratio, or for ours where there is none; note is printed, not stored."""

    what: str
    ours: object = None
    other: object = None
    ratio: float | None = None
    bar: Bar | None = None
    task: str = ""
    features: str = ""
    note: str = ""
    failed: bool = False

    @property
    def ok(self):
        if self.failed:
            return "failed"
        figure = self.ours if self.ratio is None else self.ratio
        if self.bar is None or figure is None:
            return NONE
        return "ok" if self.bar.reached(figure) else "missed"


def number(x, significant=4):
    """A figure as people read it."""
    if x is None or x == "":
        return NONE
    if isinstance(x, str):
        return x
    if isinstance(x, int):
        return f"{x:,}"
    if abs(x) >= 1e5:
        return f"{x:,.0f}"
    return f"{x:.8g}" if abs(x) >= 1000 else f"{x:.{significant}g}"


def table(heading, rows):
    """Aligned text; the first column and the last one to the left, figures to the right."""
    cells = [list(heading), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    last = len(widths) - 1

    def line(row):
        padded = zip(row, widths, strict=True)
        return "  ".join(cell.ljust(width) if k in (0, last) else cell.rjust(width) for k, (cell, width) in enumerate(padded)).rstrip()

    return "\n".join([line(cells[0]), "  ".join("-" * width for width in widths), *map(line, cells[1:])])


def bars_table(rows):
    """Rows with their bars."""
    figures = ([r.what, r.features, number(r.ours), number(r.other), number(r.ratio, 3), r.bar or NONE, r.ok, r.note] for r in rows)
    return table(("what", "features", "ours", "other", "ratio", "bar", "ok", "note"), figures)


def commit():
    """The commit that is measured, + if the tree has changed since."""
    try:
        head, changed = (
            subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            for command in (("rev-parse", "--short=10", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def machine():
    """CPU model and cores."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores"


class Results:
    """The TSV file; rows are appended as they come, under a heading if the file is new."""

    def __init__(self, path):
        self.path, self.common = path, (commit(), datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), machine())

    def append(self, rows):
        new = not self.path.exists() or self.path.stat().st_size == 0
        with open(self.path, "a", encoding="utf-8") as out:
            if new:
                out.write("\t".join(COLUMNS) + "\n")
            for row in rows:
                figures = [_stored(x) for x in (row.ours, row.other, row.ratio)]
                fields = (*self.common, row.task, row.features, row.what, *figures, str(row.bar or NONE), row.ok)
                out.write("\t".join(field.replace("\t", " ") for field in fields) + "\n")


def _stored(x):
    return NONE if x is None else f"{x:.10g}" if isinstance(x, float) else str(x)
