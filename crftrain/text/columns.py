"""Columns with comments, and with tabs alone between the cells."""

from .cells import cell
from .forms import Record, Runs
from .sure import head, shown


class Commented(Record):
    """raw: the lines, and which of them are tokens."""

    __slots__ = ()

    @property
    def numbers(self):
        is_token = self.raw[1]
        return [self.number - is_token.index(True) + i for i, token in enumerate(is_token) if token]


class Reader(Runs):
    def __init__(self, form):
        super().__init__(form)
        self.comments = tuple(prefix.encode(errors="surrogateescape") for prefix in form.comments)

    def record(self, lines, number, source):
        lines = lines.split(b"\n")
        is_token = [not line.startswith(self.comments) for line in lines] if self.comments else [True] * len(lines)
        kept = [line for line, token in zip(lines, is_token, strict=True) if token]
        if self.form.tabs:
            kept = [b"\t".join(map(cell, line.split(b"\t"))) for line in kept]
        return Commented(kept, source, number + (is_token.index(True) if kept else 0), (lines, is_token))


def written(form, record, labels, sure=None):
    lines, is_token = record.raw
    labels = iter(shown(labels, sure))
    pairs = zip(lines, is_token, strict=True)
    return head(sure) + b"\n".join([_with(line, next(labels), form.tabs) if token else line for line, token in pairs]) + b"\n\n"


def _with(line, label, tabs):
    if not tabs:
        line = line.rstrip(b" \t")
    return line + (b" " if not tabs and b"\t" not in line and b" " in line.lstrip() else b"\t") + label
