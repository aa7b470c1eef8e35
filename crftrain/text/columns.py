"""Columns with comments, and with tabs alone between the cells."""

from .forms import Record, Runs, cell


class Reader(Runs):
    def __init__(self, form):
        super().__init__(form)
        self.comments = tuple(prefix.encode(errors="surrogateescape") for prefix in form.comments)

    def record(self, lines, numbers, source):
        is_token = [not line.startswith(self.comments) for line in lines] if self.comments else [True] * len(lines)
        kept = [line for line, token in zip(lines, is_token, strict=True) if token]
        if self.form.tabs:
            kept = [b"\t".join(map(cell, line.split(b"\t"))) for line in kept]
        where = [number for number, token in zip(numbers, is_token, strict=True) if token]
        return Record(kept, source, where, (lines, is_token))


def written(form, record, labels):
    lines, is_token = record.raw
    labels = iter(labels)
    pairs = zip(lines, is_token, strict=True)
    return b"\n".join([_with(line, next(labels), form.tabs) if token else line for line, token in pairs]) + b"\n\n"


def _with(line, label, tabs):
    if not tabs:
        line = line.rstrip(b" \t")
    return line + (b" " if not tabs and b"\t" not in line and b" " in line.lstrip() else b"\t") + label
