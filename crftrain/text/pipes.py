"""A sentence a line: word|TAG word|TAG, or word|POS|TAG; without tags words alone."""

from .forms import Record, cell


class Reader:
    def __init__(self, form):
        self.form = form

    def take(self, line, number, source):
        if not line.strip():
            return None
        words = line.split()
        lines = [b"\t".join(map(cell, _parts(word))) for word in words]
        return Record(lines, source, [number] * len(words), words)

    def end(self, source):
        return None


def _parts(word):
    """The cells of a word; a bar at its beginning is a part of it."""
    head, bar, rest = word[1:].partition(b"|")
    return [word[:1] + head, *rest.split(b"|")] if bar and rest else [word]


def written(form, record, labels):
    return b" ".join(word + b"|" + label for word, label in zip(record.raw, labels, strict=True)) + b"\n"
