"""A sentence a line: word|TAG word|TAG, or word|POS|TAG; without tags words alone."""

from .cells import cell
from .forms import Each, Record, hint, looks_like, wrong


class Reader(Each):
    def record(self, line, number, source):
        if (line.startswith(b"{") or b"\t" in line) and looks_like([line]) in ("jsonl", "conllu"):
            raise wrong(source, number, "a line of another format", "word|TAG word|TAG" + hint(line))
        words = line.split()
        return Record([b"\t".join(map(cell, _parts(word))) for word in words], source, number, words)


def _parts(word):
    """The cells of a word; a bar at its beginning is a part of it."""
    head, bar, rest = word[1:].partition(b"|")
    return [word[:1] + head, *rest.split(b"|")] if bar and rest else [word]


def written(form, record, labels, sure=None):
    return b" ".join(word + b"|" + label for word, label in zip(record.raw, labels, strict=True)) + b"\n"
