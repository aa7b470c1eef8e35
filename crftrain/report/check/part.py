"""Files as numbers: every distinct line is cut once, every distinct cell has a number, and a token is the number of its line.

    Table     the distinct lines of all files, and for each column the distinct cells and which of them a line has
    Part      one file or more: line[t] of each token, seq[i] where sentences begin, at[t] the line of the file on which a token stands

So whatever asks about lines or cells looks at distinct ones, and finds the tokens by indexing whole arrays.
"""

from array import array
from functools import cached_property

import numpy as np

from ...errors import DataError
from ...text.encode import CorpusBuilder, StringTable, Vocabulary
from ...text.read import Sentence, columns, sentences, source_name
from .findings import Example, shown

MISSING = 0  # the number of the cell that a line has not


class _Numbers(dict):
    """Key -> number, given at the first look."""

    def __missing__(self, key):
        self[key] = number = len(self)
        return number


class Table:
    """The distinct lines and cells of some files; cells of items are the label and all the rest."""

    def __init__(self, format="conll"):
        self.cut = columns if format == "conll" else _item
        self.numbers = _Numbers()  # line: its number

    @cached_property
    def lines(self):
        return list(self.numbers)

    @cached_property
    def rows(self):
        return [self.cut(line) for line in self.lines]

    @cached_property
    def widths(self):
        """int32[distinct lines]: the columns of each, 0 of an item that means nothing."""
        widths = np.fromiter(map(len, self.rows), np.int32, len(self.rows))
        widths[list(self.faults)] = 0
        return widths

    @cached_property
    def faults(self):
        """{number of a line: what is wrong with it} for items."""
        found = {}
        if self.cut is _item:
            builder = CorpusBuilder(Vocabulary([], StringTable(), StringTable(), None, "items", 0, 0))
            for k, line in enumerate(self.lines):
                try:
                    builder.add(Sentence([line], "", 1))
                except DataError as error:
                    found[k] = error.finding
                if k in found or k % 1000 == 0:
                    builder.take()
        return found

    def settle(self, part, label_column):
        """How many columns there are, by the commonest number in the part; where the label is."""
        lines = np.bincount(part.line, minlength=len(self.lines))
        widths = np.bincount(self.widths, weights=lines)
        self.n_columns = int(np.argmax(widths)) if len(widths) else 0
        self.label = label_column + self.n_columns if label_column < 0 else label_column
        if self.n_columns < 2 or not 0 <= self.label < self.n_columns:
            return False
        self.columns = [self._column(c) for c in range(self.n_columns)]
        return True

    def _column(self, c):
        """(number of each line's cell, the cells); lines that have another number of columns have the missing cell."""
        numbers = _Numbers({None: MISSING})
        cells = [numbers[row[c]] if len(row) == self.n_columns else MISSING for row in self.rows]
        return np.array(cells, np.int32), list(numbers)

    def names(self, c):
        """The distinct cells of a column as text; the first is the missing one."""
        return ["" if cell is None else cell.decode(errors="backslashreplace") for cell in self.columns[c][1]]

    @cached_property
    def labels(self):
        return self.names(self.label)

    @property
    def others(self):
        """The columns beside the label."""
        return [c for c in range(self.n_columns) if c != self.label]


def _item(line):
    label, _, rest = line.partition(b"\t")
    return [label, rest or b"(no attributes)"]


class Part:
    """Files that go together; one may have broken off at something that is no text: `faults` says what."""

    def __init__(self, paths, table, *, encoding="utf-8", form=None):
        self.paths, self.table, self.faults = paths, table, []
        self.sources = [source_name(path) for path in paths]
        self.name = ", ".join(self.sources)
        line, seq, at, source, gaps = array("i"), array("q", [0]), array("q"), array("i"), []
        take = table.numbers.__getitem__
        for k, path in enumerate(paths):
            after = 0  # the last line of the sentence before
            try:
                for sentence in sentences(path, encoding=encoding, form=form):
                    if form is None and after and sentence.number > after + 2:
                        gaps.append(f"{self.sources[k]}:{after + 2}")
                    line.extend(map(take, sentence.lines))
                    seq.append(len(line))
                    after = sentence.number + len(sentence.lines) - 1
                    at.extend(range(sentence.number, after + 1) if form is None else sentence.numbers)
                    source.append(k)
            except DataError as error:
                if not after and str(error.place) in ("", self.sources[k]):  # there is nothing to look at
                    raise
                self.faults.append(error)
        self.gaps = gaps  # where more than one empty line stands between sentences: the first that is too many
        self.line, self.seq = np.array(line, np.int32), np.array(seq, np.int64)
        self.at, self.source = np.array(at, np.int64), np.array(source, np.int32)

    @property
    def n_tokens(self):
        return len(self.line)

    @property
    def n_sequences(self):
        return len(self.source)

    @cached_property
    def lengths(self):
        return np.diff(self.seq)

    def column(self, c):
        """int32[T]: the number of each token's cell."""
        return self.table.columns[c][0][self.line]

    @cached_property
    def label(self):
        return self.column(self.table.label)

    def counts(self, c):
        """How often each distinct cell occurs here."""
        return np.bincount(self.column(c), minlength=len(self.table.columns[c][1]))

    def sequence_of(self, t):
        return int(np.searchsorted(self.seq, t, "right")) - 1

    def place(self, t):
        """FILE:LINE of a token."""
        return f"{self.sources[self.source[self.sequence_of(t)]]}:{self.at[t]}"

    def sentence(self, i):
        """The Sentence as it was read."""
        lines = [self.table.lines[k] for k in self.line[self.seq[i] : self.seq[i + 1]].tolist()]
        return Sentence(lines, self.sources[self.source[i]], int(self.at[self.seq[i]]))

    def text(self, i, most=12):
        """The first words of a sentence."""
        first, end = int(self.seq[i]), int(self.seq[i + 1])
        words = [self.word(t) for t in range(first, min(end, first + most))]
        return " ".join(words) + (" …" if end - first > most else "")

    def word(self, t):
        row = self.table.rows[self.line[t]]
        return shown(row[self.table.word]) if len(row) == self.table.n_columns else shown(self.table.lines[self.line[t]])

    def around(self, t, reach=2):
        """The words about a token, which stands in brackets."""
        i = self.sequence_of(t)
        near = range(max(int(self.seq[i]), t - reach), min(int(self.seq[i + 1]), t + reach + 1))
        return " ".join(f"[{self.word(s)}]" if s == t else self.word(s) for s in near)

    def examples(self, tokens, text, most):
        """For the first tokens, with text(t)."""
        return [Example(self.place(t), text(t)) for t in np.asarray(tokens)[:most].tolist()]
