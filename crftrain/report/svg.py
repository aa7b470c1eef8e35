"""Pictures as SVG that we draw: they take the page's colours, print well, and each mark says in words what it stands for."""

import math

from .html import join, tag

FONT = 11  # size of text in all pictures
LETTER = 6.2  # width of a letter, about


def svg(width, height, title, *children, class_=None):
    """A picture with a title that screen readers tell."""
    return tag(
        "svg",
        tag("title", title),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        class_=class_,
    )


def words(x, y, content, *, anchor="start", class_=None, turn=None):
    transform = f"rotate({turn} {x:g} {y:g})" if turn else None
    return tag("text", content, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=class_, transform=transform)


def rectangle(x, y, width, height, told=None, **how):
    return tag(
        "rect", *([tag("title", told)] if told else []), x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", **how
    )


def line(x1, y1, x2, y2, **how):
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", **how)


def path(points, **how):
    return tag("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), **how)


# ---- confusion


def confusion(names, counts, totals):
    """A matrix, gold labels as rows: darker is a greater share of the row; what is on the diagonal is right."""
    cell, left = 30, 14 + LETTER * max(map(len, names))
    top, n, parts = left, len(names), []
    for i, gold in enumerate(names):
        parts.append(words(left - 6, top + i * cell + cell / 2 + 4, gold, anchor="end"))
        parts.append(words(left + i * cell + cell / 2 + 4, top - 6, gold, turn=-90))
        for j, found in enumerate(names):
            count = counts.get((gold, found), 0)
            share = count / totals[gold] if totals.get(gold) else 0.0
            told = f"gold {gold}, predicted {found}: {count:,} ({share:.1%} of gold {gold})"
            shade = 0 if not count else 0.08 + 0.92 * (share if i == j else min(1.0, math.sqrt(share)))
            kind = "right" if i == j else "wrong"
            x, y = left + j * cell, top + i * cell
            parts.append(rectangle(x + 0.5, y + 0.5, cell - 1, cell - 1, told, class_="empty"))
            if count:
                parts.append(rectangle(x + 0.5, y + 0.5, cell - 1, cell - 1, told, class_=kind, fill_opacity=f"{shade:.2f}"))
                parts.append(words(x + cell / 2, y + cell / 2 + 4, _short(count), anchor="middle", class_="on" if shade > 0.5 else "off"))
    side = left + n * cell + 8
    return svg(side, side, "Confusion of labels: gold labels are rows, predicted ones columns", *parts, class_="confusion")


def _short(count):
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 10_000 else f"{count / 1000:.0f}k"


# ---- charts


def _frame(x0, y0, x1, y1, x_ticks, y_ticks, x_label, y_label):
    """Axes: ticks are (place, text)."""
    parts = [line(x0, y, x1, y, class_="grid") for y, _ in y_ticks]
    parts += [words(x0 - 6, y + 4, told, anchor="end") for y, told in y_ticks]
    parts += [words(x, y1 + 16, told, anchor="middle") for x, told in x_ticks]
    parts += [line(x0, y1, x1, y1, class_="axis"), line(x0, y0, x0, y1, class_="axis")]
    parts += [words((x0 + x1) / 2, y1 + 34, x_label, anchor="middle"), words(14, (y0 + y1) / 2, y_label, anchor="middle", turn=-90)]
    return parts


def calibration(bins):
    """bins: (mean probability, share right, tokens) of ten ranges; on the diagonal a probability is what it says."""
    x0, y0, size = 56, 12, 260
    at = lambda p, q: (x0 + p * size, y0 + (1 - q) * size)  # noqa: E731
    ticks = [k / 5 for k in range(6)]
    parts = _frame(
        x0, y0, x0 + size, y0 + size, [(at(p, 0)[0], f"{p:.0%}") for p in ticks], [(at(0, p)[1], f"{p:.0%}") for p in ticks],
        "probability of the predicted label", "share that is right",
    )  # fmt: skip
    parts.append(line(*at(0, 0), *at(1, 1), class_="ideal"))
    most = max((tokens for _, _, tokens in bins), default=1)
    known = [(p, share, tokens) for p, share, tokens in bins if tokens]
    parts.append(path([at(p, share) for p, share, _ in known], class_="curve c0"))
    for p, share, tokens in known:
        x, y = at(p, share)
        told = f"{tokens:,} tokens with {p:.1%} on average: {share:.1%} are right"
        parts.append(
            tag("circle", tag("title", told), cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{4 + 6 * math.sqrt(tokens / most):.1f}", class_="c0")
        )
    return svg(x0 + size + 16, y0 + size + 44, "Calibration: the share of right labels against their probability", *parts, class_="chart")


def ticks(low, high, n=5):
    """About n round numbers from low to high."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / n))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= n)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


POINTS = 300  # of a curve that say what they are


def thinned(points, most=POINTS):
    """Evenly chosen points, the first and the last among them."""
    return points if len(points) <= most else [points[round(k * (len(points) - 1) / (most - 1))] for k in range(most)]


def curves(series, x_label, y_label, *, title, log=False, width=620, height=300):
    """series: [(name, [(x, y, told)])]; each point says what it is, each curve has a dash of its own, and its name at its end.

    Curves of one name have one look.
    """
    drawn = [(name, thinned([p for p in points if math.isfinite(p[1]) and (not log or p[1] > 0)])) for name, points in series]
    drawn = [(name, points) for name, points in drawn if points]
    if not drawn:
        return tag("p", "Nothing to draw.")
    looks = {name: f"c{k % 8} d{k // 8 % 4}" for k, name in enumerate(dict.fromkeys(name for name, _ in drawn))}
    right = 20 + LETTER * max(len(name) for name, _ in drawn)
    x0, y0, x1, y1 = 66, 12, width - right, height - 44
    xs, ys = ([p[k] for _, points in drawn for p in points] for k in (0, 1))
    scale = math.log10 if log else float
    low, high = scale(min(ys)), scale(max(ys))
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    least, most = min(0.0, *xs), max(max(xs), 1e-9)
    at = lambda x, y: (x0 + (x - least) / (most - least) * (x1 - x0), y1 - (scale(y) - low) / (high - low) * (y1 - y0))  # noqa: E731
    marks = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)] if log else ticks(low, high)
    marks = marks[:: max(1, len(marks) // 6)] or [10**low]
    parts = _frame(
        x0, y0, x1, y1, [(at(x, max(ys))[0], f"{x:g}") for x in ticks(least, most)], [(at(least, y)[1], _number(y)) for y in marks],
        x_label, y_label,
    )  # fmt: skip
    ends = {}
    for name, points in drawn:
        colour = looks[name]
        parts.append(path([at(x, y) for x, y, _ in points], class_=f"curve {colour}"))
        parts += [
            tag("circle", tag("title", told), cx=f"{at(x, y)[0]:.1f}", cy=f"{at(x, y)[1]:.1f}", r="3.5", class_=f"point {colour}")
            for x, y, told in points
        ]
        ends[name] = (at(*points[-1][:2])[1], name, colour)
    parts += _names(ends.values(), x1 + 8, y0, y1)
    return svg(width, height, title, *parts, class_="chart")


def _names(ends, x, y0, y1):
    """Names at the heights where curves end, moved apart."""
    placed = y0 - 14
    for height, name, colour in sorted(ends):
        placed = min(max(height + 4, placed + 14), y1 + 30)
        yield words(x, placed, name, class_=colour)


def _number(y):
    return f"{y:.0e}".replace("e-0", "e-").replace("e+0", "e") if y and (abs(y) < 1e-3 or abs(y) >= 1e5) else f"{y:g}"


# ---- small marks within tables


def whisker(found, low, high, *, width=120):
    """An interval as a line with a dot, between two scores that all rows share."""
    scale = lambda score: 4 + (min(max(score, low), high) - low) / max(high - low, 1e-9) * (width - 8)  # noqa: E731
    return tag(
        "svg",
        tag("title", f"{found.value:.2f}, from {found.low:.2f} to {found.high:.2f}"),
        line(scale(found.low), 8, scale(found.high), 8, class_="whisker"),
        tag("circle", cx=f"{scale(found.value):.1f}", cy="8", r="3.5", class_="dot"),
        viewBox=f"0 0 {width} 16", width=f"{width}", height="16", role="img", class_="inline",
    )  # fmt: skip


def bar(share, told, *, class_="c0", width=160):
    """A share of something as a bar."""
    return tag(
        "svg", tag("title", told), join([rectangle(0, 3, max(1.0, share * width), 10, class_=class_)]),
        viewBox=f"0 0 {width} 16", width=f"{width}", height="16", role="img", class_="inline",
    )  # fmt: skip
