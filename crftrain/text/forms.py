r"""Data of other kinds than plain columns, read as columns: whatever comes later sees lines with tabs between, the label last.

    columns   with comments, which are skipped, and cells parted by tabs alone
    conllu    conllu.py        a token a line, ten columns with tabs between
    jsonl     jsonlines.py     an object a line, with tokens and tags or with a text and spans
    pipes     pipes.py         a sentence a line, word|TAG word|TAG

A Form says what to read. A Record is a Sentence that remembers what it was read from, so that it can be written back with new labels
and all that nobody touched as it was. In a cell a space becomes a no-break space and nothing becomes _, as columns need it.
"""

import contextlib
import json
import os
from dataclasses import dataclass, field
from importlib import import_module

from ..errors import DataError
from .read import Sentence, decoded_lines, source_name

FORMATS = {"columns": "columns", "conllu": "conllu", "jsonl": "jsonlines", "pipes": "pipes"}  # format: its module


class Record(Sentence):
    """A sentence, and what it was read from."""

    __slots__ = ("raw", "numbers")

    def __init__(self, lines, source, numbers, raw):
        super().__init__(lines, source, numbers[0] if numbers else 0)
        self.raw, self.numbers = raw, numbers  # numbers: the file's lines of the tokens

    def place(self, i=0):
        return f"{self.source}:{self.numbers[min(i, len(self.numbers) - 1)] if self.numbers else 0}"


@dataclass(frozen=True)
class Form:
    """What data look like: a format, which of its fields are columns, the label last."""

    format: str = "columns"
    fields: tuple = ()
    comments: tuple = ()  # what lines begin with that are no tokens
    tabs: bool = False  # cells are parted by tabs alone
    scheme: str | None = field(default=None)  # of the tags that are made of spans

    @property
    def module(self):
        return import_module(f".{FORMATS[self.format]}", __package__)

    def as_json(self):
        return {key: value for key, value in vars(self).items() if value}

    @classmethod
    def from_json(cls, value):
        """The Form that as_json wrote; ValueError for anything else."""
        if not isinstance(value, dict) or value.get("format", "columns") not in FORMATS:
            raise ValueError("a form of data that is not known")
        lists = {key: value.get(key, ()) for key in ("fields", "comments")}
        if not all(isinstance(some, list | tuple) and all(isinstance(one, str) for one in some) for some in lists.values()):
            raise ValueError("fields and comments, expected lists of texts")
        return cls(value.get("format", "columns"), *map(tuple, lists.values()), bool(value.get("tabs")), value.get("scheme"))

    def blocks(self, path, *, encoding="utf-8"):
        """Lists of Records, each all that have arrived by then."""
        source, number, reader = source_name(path), 0, self.module.Reader(self)
        for lines in decoded_lines(path, encoding):
            found = []
            for line in lines:
                number += 1
                if (record := reader.take(line, number, source)) is not None:
                    found.append(record)
            if found:
                yield found
        if (record := reader.end(source)) is not None:
            yield [record]

    def sentences(self, path, *, encoding="utf-8"):
        """The records that have tokens."""
        for block in self.blocks(path, encoding=encoding):
            yield from (record for record in block if record.lines)

    def written(self, record, labels):
        """A record with other labels, as bytes; the rest of it as it was read."""
        return self.module.written(self, record, labels)


class Runs:
    """Collects the lines between empty ones: record(lines, numbers, source) makes a Record of them."""

    def __init__(self, form):
        self.form, self.lines, self.numbers = form, [], []

    def take(self, line, number, source):
        if line and not line.isspace():
            self.lines.append(line)
            self.numbers.append(number)
            return None
        return self.end(source)

    def end(self, source):
        if not self.lines:
            return None
        lines, numbers, self.lines, self.numbers = self.lines, self.numbers, [], []
        return self.record(lines, numbers, source)


def cell(value):
    """A value as a cell of columns."""
    text = value if isinstance(value, bytes) else value.encode()
    if not text:
        return b"_"
    if text.isalnum():
        return text
    return text.replace(b" ", b"\xc2\xa0").replace(b"\t", b"\xc2\xa0").replace(b"\n", b"\xc2\xa0").replace(b"\r", b"\xc2\xa0")


def joined(rows):
    """Rows of cells as lines of columns."""
    lines = list(map(b"\t".join, rows))
    width, text = len(rows[0]) if rows else 0, b"\n".join(lines)
    as_they_are = text.count(b"\n") == len(rows) - 1 and text.count(b"\t") == (width - 1) * len(rows)
    holes = b" " in text or b"\r" in text or b"\t\t" in text or b"\n\t" in text or b"\t\n" in text or b"\n\n" in text
    if as_they_are and not holes and text.strip(b"\t") == text and text:
        return lines
    return [b"\t".join(map(cell, row)) for row in rows]


def detected(path):
    """The format that a file seems to have, if nobody could mean columns; None for columns, and for what cannot be read twice."""
    if path == "-" or not os.path.isfile(path):
        return None
    with contextlib.suppress(DataError):
        for lines in decoded_lines(path):
            seen = looks_like(lines)
            return seen if seen == "jsonl" or (seen == "conllu" and lines[0].startswith(b"#")) else None
    return None


def looks_like(lines):
    """The format that the first lines of a file look like, other than plain columns; or None."""
    first = next((line for line in lines if line.strip()), b"")
    if first.startswith(b"{"):
        try:
            return "jsonl" if isinstance(json.loads(first), dict) else None
        except ValueError:
            return None
    token = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    if token.count(b"\t") == 9 and token.partition(b"\t")[0].partition(b"-")[0].isdigit():
        return "conllu"
    words = first.split()
    if len(words) > 1 and all(0 < word.find(b"|") < len(word) - 1 for word in words):
        return "pipes"
    return None


def hint(line):
    """What to say to whoever reads columns and finds such a line."""
    seen = looks_like([line])
    if seen:
        return f" (--format {seen} reads what looks like this)"
    if line.startswith(b"#"):
        return " (--comments '#' skips such lines; --format conllu reads CoNLL-U)"
    if line.startswith(b"-DOCSTART-"):
        return " (--comments -DOCSTART- skips such lines)"
    return ""


def hinted(expectation, line):
    """What is expected of a line, with a hint if there is none yet."""
    return expectation if "(--" in expectation else expectation + hint(line)


def wrong(source, number, finding, expectation):
    return DataError(f"{source}:{number}", finding, expectation)
