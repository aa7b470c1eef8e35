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
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice

from ..errors import DataError
from ._formats import run
from .pieces import first_line
from .read import SEQUENCE, Sentence, decoded_lines, decoded_text, source_name
from .rescheme import relabel
from .schemes import SCHEMES

FORMATS = {"columns": "columns", "conllu": "conllu", "jsonl": "jsonlines", "pipes": "pipes"}  # format: its module
CHOICES = ("auto", "conll", "items", *list(FORMATS)[1:])  # of --format: columns are CoNLL's unless they are CRFsuite's items


class Record(Sentence):
    """A sentence, and what it was read from."""

    __slots__ = ("raw",)
    unlabelled = False  # True: it has no labels that anybody meant, and is there to be tagged alone

    def __init__(self, lines, source, number, raw):
        self.lines, self.source, self.number, self.raw = lines, source, number, raw

    @property
    def numbers(self):
        """The file's lines of the tokens."""
        return [self.number] * len(self.lines)

    def place(self, i=0):
        numbers = self.numbers
        return f"{self.source}:{numbers[min(i, len(numbers) - 1)] if numbers else self.number}"


@dataclass(frozen=True)
class Form:
    """What data look like: a format, which of its fields are columns, the label last."""

    format: str = "columns"
    fields: tuple = ()
    comments: tuple = ()  # what lines begin with that are no tokens
    tabs: bool = False  # cells are parted by tabs alone
    scheme: str | None = None  # of the tags: those of spans, and labels are put into it
    label: int = -1  # the column of these

    @property
    def module(self):
        return import_module(f".{FORMATS[self.format]}", __package__)

    def as_json(self):
        return {key: value for key, value in vars(self).items() if value and value != getattr(Form, key)}

    @classmethod
    def from_json(cls, value):
        """The Form that as_json wrote; ValueError for anything else."""
        if not isinstance(value, dict) or value.get("format", "columns") not in FORMATS or value.get("scheme") not in (None, *SCHEMES):
            raise ValueError("a form of data that is not known")
        lists = {key: value.get(key, ()) for key in ("fields", "comments")}
        if not all(isinstance(some, list | tuple) and all(isinstance(one, str) for one in some) for some in lists.values()):
            raise ValueError("fields and comments, expected lists of texts")
        if not isinstance(label := value.get("label", -1), int):
            raise ValueError("a label's column, expected a number")
        return cls(value.get("format", "columns"), *map(tuple, lists.values()), bool(value.get("tabs")), value.get("scheme"), label)

    @property
    def unschemed(self):
        """The same with labels as they stand there; None for plain columns."""
        form = replace(self, scheme=None, label=-1)
        return None if form == Form() else form

    def blocks(self, path, *, encoding="utf-8"):
        """Lists of Records, each all that have arrived by then; those before a faulty line come before its error."""
        source, reader = source_name(path), self.module.Reader(self)
        reader.number += first_line(path) - 1
        for text in decoded_text(path, encoding):
            found = []
            try:
                reader.read(text, source, found)
            except DataError:
                if found:
                    yield self._schemed(found)
                raise
            if found:
                yield self._schemed(found)
        found = []
        reader.end(source, found)
        if found:
            yield self._schemed(found)

    def is_one(self, path):
        """Whether a file is one thing, of which no part can be read by itself."""
        return self.format == "jsonl" and self.module.is_list(path)

    def _schemed(self, records):
        if self.scheme:
            for record in records:
                relabel(record, self.scheme, self.label)
        return records

    def sentences(self, path, *, encoding="utf-8"):
        """The records that have tokens, and labels if any have."""
        for block in self.blocks(path, encoding=encoding):
            yield from (record for record in block if record.lines and not record.unlabelled)

    def written(self, record, labels, sure=None):
        """A record with other labels, as bytes, and how probable they are; the rest of it as it was read."""
        return self.module.written(self, record, labels, sure)


def in_scheme(form, scheme, label=-1):
    """The form with its labels, those of a column, in a scheme if there is one."""
    return replace(form or Form(), scheme=scheme, label=label) if scheme else form


class Runs:
    """Collects the lines between blank ones: record(lines, number of the first, source) makes a Record of their bytes."""

    def __init__(self, form):
        self.form, self.begun, self.length, self.number = form, [], 0, 1  # number: of the line that comes next

    def read(self, text, source, found):
        """Append the records that end in a text of whole lines."""
        at = 0
        while 0 <= at <= len(text):
            end, n_lines, following = run(text, at)
            if n_lines:
                self.begun.append(text[at:end])
                self.length += n_lines
                self.number += n_lines
                if self.length > SEQUENCE:
                    fault = f"a sentence of more than {SEQUENCE:,} lines"
                    raise wrong(source, self.number - self.length, fault, "blank lines between sentences")
            if following >= 0:
                self.end(source, found)
                self.number += 1
            at = following

    def end(self, source, found):
        if self.begun:
            lines, first, self.begun, self.length = b"\n".join(self.begun), self.number - self.length, [], 0
            found.append(self.record(lines, first, source))


class Each:
    """A sentence a line: record(line, number, source) makes a Record of it."""

    def __init__(self, form):
        self.form, self.number = form, 0

    def read(self, text, source, found):
        number, record = self.number, self.record
        for line in text.split(b"\n"):
            number += 1
            if line and not line.isspace():
                found.append(record(line, number, source))
        self.number = number

    def end(self, source, found):
        pass


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
    first, second = [*islice((line for line in lines if line.strip()), 2), b"", b""][:2]
    if _is_json(first, second):
        return "jsonl"
    token = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    if token.count(b"\t") == 9 and token.partition(b"\t")[0].partition(b"-")[0].isdigit():
        return "conllu"
    words = first.split()
    if len(words) > 1 and all(0 < word.find(b"|") < len(word) - 1 for word in words):
        return "pipes"
    return None


def _is_json(first, second):
    """Whether lines begin with an object, with a list of objects on one line or more, or with a pair of spaCy's."""
    if first.strip() == b"[":
        return second.lstrip().startswith(b"{")
    if first.startswith((b"{", b"[{", b'["', b"[[")) and b"{" in first:
        for text in (first, first[1:].rstrip().rstrip(b",")):
            with contextlib.suppress(ValueError, RecursionError):
                json.loads(text)
                return True
    return False


def hint(line):
    """What to say to whoever reads columns and finds such a line."""
    seen = looks_like([line])
    if seen:
        return f" (--format {seen} reads what looks like this)"
    if line.startswith(b"#"):
        return " (--comments '#' skips such lines; --format conllu reads CoNLL-U)"
    if line.startswith(b"-DOCSTART-"):
        return " (--comments -DOCSTART- skips such lines)"
    if line.startswith(b"\t") or b"\t\t" in line:
        return " (--tabs: cells may be empty)"
    return ""


def hinted(expectation, line):
    """What is expected of a line, with a hint if there is none yet."""
    return expectation if "(--" in expectation else expectation + hint(line)


def wrong(source, number, finding, expectation):
    return DataError(f"{source}:{number}", finding, expectation)
