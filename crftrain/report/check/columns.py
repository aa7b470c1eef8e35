"""Columns and lines: how many there are, what parts them, columns that say nothing, or too much."""

import numpy as np

from .findings import Example, Finding, counted, shown

SAME = 0.99  # share of tokens from which a column is the label
LIKE = 0.5  # and from which it is worth a word
SOLE = 0.999  # share of tokens whose label a column's value settles
FEW = 50  # tokens for each value of a column, on average: then values mean something


def check_columns(data):
    yield from _widths(data)
    yield from _separators(data)
    for part in data.parts:
        yield from _gaps(part, data.most)
    for c in data.table.others:
        yield from _column(data, c)


def check_lengths(data):
    """Sequences far longer than the others, markers of documents."""
    for part in data.parts:
        if not part.n_sequences:
            continue
        middle, longest = float(np.median(part.lengths)), int(part.lengths.max())
        limit = max(250, 10 * middle)
        long = np.flatnonzero(part.lengths > limit)
        if len(long):
            order = long[np.argsort(-part.lengths[long], kind="stable")][: data.most].tolist()
            longest = f"longest {longest:,}, median {middle:g}"
            yield Finding(
                "long",
                "warning",
                len(long),
                f"{counted(len(long), 'sequence')} of {part.name} with more than {limit:,.0f} tokens ({longest})",
                "is an empty line missing there?",
                [Example(part.place(int(part.seq[i])), f"{part.lengths[i]:,} tokens: {part.text(i)}") for i in order],
            )
        first = part.line[part.seq[:-1]]
        marks = np.array([line.startswith(b"-DOCSTART-") for line in data.table.lines])
        marked = np.flatnonzero(marks[first] & (part.lengths == 1))
        if len(marked):
            yield Finding(
                "docstart",
                "warning",
                len(marked),
                f"{counted(len(marked), 'sequence')} of {part.name} that are a mark of a document",
                "delete these lines: they are learnt and counted as sentences",
                [Example(part.place(int(part.seq[i])), "-DOCSTART-") for i in marked[: data.most].tolist()],
            )


def _widths(data):
    n, widths = data.table.n_columns, data.table.widths
    for part in data.parts:
        tokens = np.flatnonzero(widths[part.line] != n)

        def text(t, part=part):
            if (fault := data.table.faults.get(int(part.line[t]))) is not None:
                return f"{fault}: {shown(data.table.lines[part.line[t]])}"
            return f"{counted(widths[part.line[t]], 'column')}: {shown(data.table.lines[part.line[t]])}"

        if len(tokens):
            yield Finding(
                "columns",
                "error",
                len(tokens),
                f"{counted(len(tokens), 'line')} of {part.name} " + ("that are no items" if data.items else f"without {n} columns"),
                "correct them: nothing can be learnt from a file with such lines",
                part.examples(tokens, text, data.most),
            )


def _separators(data):
    """Tabs and spaces in one corpus: 1 tab alone, 2 space alone, 3 both."""
    if data.items or data.form:
        return
    lines = data.table.lines
    kind = np.array([(b"\t" in line.strip(b" \t")) + 2 * (b" " in line.strip(b" \t")) for line in lines], np.int8)
    total = sum(np.bincount(kind[part.line], minlength=4) for part in data.parts)
    usual, names = int(np.argmax(total)), ("", "tabs", "spaces", "tabs and spaces")
    for part in data.parts:
        tokens = np.flatnonzero((kind[part.line] != usual) & (kind[part.line] > 0))
        if len(tokens):
            yield Finding(
                "separators",
                "warning",
                len(tokens),
                f"{counted(len(tokens), 'line')} of {part.name} whose columns are not parted by {names[usual]} as in the others",
                "is a space part of a cell there? It parts columns all the same",
                part.examples(tokens, lambda t, part=part: f"{names[kind[part.line[t]]]}: {shown(lines[part.line[t]])}", data.most),
            )


def _gaps(part, most):
    if len(part.gaps):
        yield Finding(
            "empty",
            "note",
            len(part.gaps),
            f"{counted(len(part.gaps), 'place')} in {part.name} with more than one empty line: an empty sequence, if it was meant as one",
            "it is skipped",
            [Example(place, "empty line") for place in part.gaps[:most]],
        )


def _column(data, c):
    train, table = data.train, data.table
    counts = train.counts(c)[1:]
    different, tokens = int((counts > 0).sum()), int(counts.sum())
    if tokens < 2:
        return
    if different == 1:
        value = shown(table.names(c)[int(np.argmax(counts)) + 1])
        yield Finding(
            "constant",
            "warning",
            tokens,
            f"column {c} of {train.name} is {value!r} everywhere",
            "it says nothing: leave it out, or find out why",
            train.examples([0], train.around, data.most),
        )
        return
    if different == tokens and tokens >= 20:
        yield Finding(
            "unique",
            "warning",
            tokens,
            f"column {c} of {train.name} is another one on every line",
            "numbers of lines or tokens are no features: leave it out of the template",
            train.examples([0, 1], lambda t: shown(table.names(c)[train.column(c)[t]]), data.most),
        )
        return
    yield from _leak(data, c, different, tokens)
    yield from _new_values(data, c, different, tokens)


def _leak(data, c, different, tokens):
    """A column that is the label, or settles it."""
    train, table, labels = data.train, data.table, data.labels
    cells, column = table.names(c), train.column(c)
    number = {label: k for k, label in enumerate(labels)}
    as_label = np.array([number.get(cell, -1) for cell in cells])
    equal = float((as_label[column] == train.label).mean())
    if equal >= LIKE:
        yield Finding(
            "label-copied",
            "error" if equal >= SAME else "warning",
            round(equal * tokens),
            f"column {c} of {train.name} is the label on {equal:.2%} of the lines",
            "a model that sees it learns nothing else; at tagging time it will not be there. Leave it out of the template"
            if equal >= SAME
            else "is it an older annotation, or another program's? It must be there, as good, when tagging",
            train.examples(np.flatnonzero(as_label[column] == train.label), train.around, data.most),
        )
        return
    pair, times = np.unique(column.astype(np.int64) * len(labels) + train.label, return_counts=True)
    most = np.zeros(len(cells), np.int64)
    np.maximum.at(most, pair // len(labels), times)
    if different * FEW <= tokens and most.sum() >= SOLE * tokens:
        yield Finding(
            "label-told",
            "error",
            int(most.sum()),
            f"column {c} of {train.name} settles the label on {most.sum() / tokens:.2%} of the lines",
            "a renaming of the label? At tagging time it will not be there. Leave it out of the template",
            train.examples([0], lambda t: f"{shown(cells[column[t]])} -> {shown(labels[train.label[t]])}", data.most),
        )


def _new_values(data, c, different, tokens):
    """Values of a column with few of them that training has not."""
    if different * FEW > tokens:
        return
    here, names = data.train.counts(c) > 0, data.table.names(c)
    for part in data.parts[1:]:
        new = np.flatnonzero((part.counts(c) > 0) & ~here)
        new = new[new > 0]
        if len(new):
            at = np.flatnonzero(np.isin(part.column(c), new))
            yield Finding(
                "value-unseen",
                "warning",
                len(at),
                f"{counted(len(new), 'value')} of column {c} in {part.name} ({counted(len(at), 'token')}) not seen in {data.train.name}",
                "if they are typing errors, correct them",
                part.examples(at, lambda t, part=part: f"{shown(names[part.column(c)[t]])}: {part.around(t)}", data.most),
            )
