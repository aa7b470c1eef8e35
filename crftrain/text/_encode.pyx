# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sentences to numbers at C speed.

    lines -> cells -> the text of every attribute of a token -> hash -> number

1) A sentence's lines are copied to one buffer and cut into cells; from there on no Python object is touched.
2) Functions of cells are derived columns: a Memo works each out once for each distinct cell. So a template is only
   literal pieces and references to cells.
3) All attributes of a token are written and hashed, and the slots they may be in asked for from memory, before the first one is
   looked up: waiting for memory is what this would otherwise do most of the time.

Columns is one of the two formats, _items.pyx has the other; a Builder collects what they find in arrays that numpy takes over.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

from ._strings cimport SLACK, Growing, StringTable as Table, crf_prefetch, hash_of, put, taken

import numpy as np

from ._strings import StringTable  # no-cython-lint: it is imported from here too
from ..errors import DataError
from .forms import hinted

cdef enum:
    MOST_CELLS = 1 << 16            # a Memo starts anew when it has seen so many

cdef struct Text:
    const char* at
    int64_t length

cdef struct Piece:                  # of a template line
    Text text                       # a literal, if column is -1
    int64_t row
    int32_t column                  # of the cells
    bint absolute


cdef class Builder:
    """Collects sequences: labels, attributes and, in a corpus that has any, their values."""

    def __init__(self, Table labels, Table nodes, Table pairs, *, bint learn):
        self.labels, self.nodes, self.pairs, self.learn = labels, nodes, pairs, learn
        self.buffer, self.keys = Growing(), Growing()
        self.start()

    cdef int start(self) except -1:
        cdef int64_t zero = 0
        self.seq, self.label, self.node_ptr, self.node_attr = Growing(), Growing(), Growing(), Growing()
        self.node_value, self.pair_ptr, self.pair_attr = Growing(), Growing(), Growing()
        self.valued, self.n_tokens, self.n_nodes, self.n_pairs = False, 0, 0, 0
        self.seq.push(&zero, sizeof(zero))
        self.node_ptr.push(&zero, sizeof(zero))
        self.pair_ptr.push(&zero, sizeof(zero))
        return 0

    def take(self):
        """(seq, label, node ptr, attr, value or None, pair ptr, attr) of the sequences added since the last time, of no broken one."""
        seq, label = taken(self.seq, np.int64), taken(self.label, np.int32)
        value = taken(self.node_value, np.float64) if self.valued else None
        end = seq[-1]
        nodes, pairs = taken(self.node_ptr, np.int64)[:end + 1], taken(self.pair_ptr, np.int64)[:end + 1]
        node_attr, pair_attr = taken(self.node_attr, np.int32)[:nodes[-1]], taken(self.pair_attr, np.int32)[:pairs[-1]]
        self.start()
        return seq, label[:end], nodes, node_attr, None if value is None else value[:nodes[-1]], pairs, pair_attr

    cdef int end_token(self) except -1:
        self.n_tokens += 1
        self.node_ptr.push(&self.n_nodes, sizeof(int64_t))
        self.pair_ptr.push(&self.n_pairs, sizeof(int64_t))
        return 0

    cdef int end_sequence(self) except -1:
        self.seq.push(&self.n_tokens, sizeof(int64_t))
        return 0

    cdef int add_label(self, const char* name, int64_t length) except -1:
        """Append a label's number; -1 if it has none, or if there is no label (length -1)."""
        cdef uint32_t h
        cdef int32_t y = -1
        if length >= 0:
            h = hash_of(name, length, self.labels.seed)
            y = self.labels.find(name, length, h)
            if y < 0 and self.learn:
                y = self.labels.append(name, length, h)
        self.label.push(&y, sizeof(y))
        return 0

    cdef int add_attributes(self, Table table, const char* base, Key* keys, Py_ssize_t n, Growing out) except -1:
        """Append the numbers of the n hashed keys; the number of them that have one is returned."""
        cdef Py_ssize_t k
        cdef int32_t a
        cdef int32_t* ids
        cdef Py_ssize_t found = 0
        out.reserve(n * sizeof(int32_t))
        ids = <int32_t*> (out.data + out.used)
        for k in range(n):
            a = table.find(base + keys[k].at, keys[k].length, keys[k].hash)
            if a < 0:
                if not self.learn:
                    continue
                a = table.append(base + keys[k].at, keys[k].length, keys[k].hash)
            ids[found] = a
            found += 1
            if self.valued and out is self.node_attr:
                self.node_value.push(&keys[k].value, sizeof(double))
        out.used += found * sizeof(int32_t)
        return found

    cdef int start_values(self) except -1:
        """The first value that is not 1: all before it were."""
        cdef double one = 1
        self.valued = True
        for _ in range(self.n_nodes):
            self.node_value.push(&one, sizeof(one))
        return 0


cdef class Memo:
    """The functions of one column, each cell worked out once: cell -> one text per function."""

    cdef Table cells
    cdef list functions
    cdef Growing text
    cdef Growing spans              # [cells][functions] int64 pairs: start in text, length
    cdef int32_t source, first      # the column, and the first of the derived ones

    def __init__(self, list functions, source, first):
        self.functions, self.source, self.first = functions, source, first
        self.forget()

    cdef int forget(self) except -1:
        self.cells, self.text, self.spans = Table(), Growing(), Growing()
        return 0

    cdef int32_t row(self, const char* cell, int64_t length) except -1:
        """The row of spans of a cell."""
        cdef uint32_t h = hash_of(cell, length, self.cells.seed)
        cdef int32_t i = self.cells.find(cell, length, h)
        cdef int64_t span[2]
        if i < 0:
            known = PyBytes_FromStringAndSize(cell, length).decode("utf-8", "surrogateescape")
            texts = [function(known).encode("utf-8", "surrogateescape") for function in self.functions]
            for text in texts:
                span[0], span[1] = self.text.used, len(text)
                self.text.push(PyBytes_AsString(text), span[1])
                self.spans.push(span, sizeof(span))
            i = self.cells.append(cell, length, h)
        return i


cdef class Columns(Builder):
    """Reads sentences in columns and expands a template over them."""

    cdef readonly list columns      # of the file, that the template names, increasing; these are the first cells
    cdef list literals, memos
    cdef Growing pieces             # Piece
    cdef Growing lines              # int32: where the pieces of a line begin, and the end; first the U lines, then the B lines
    cdef Py_ssize_t n_node_lines, n_pair_lines
    cdef Growing used               # int32: where those stand in a line
    cdef Py_ssize_t n_used, width   # width: cells of a token, the derived ones included
    cdef int32_t n_columns, label_column
    cdef str expectation
    cdef Growing cells              # Text [T][width]
    cdef Growing borders            # Text [2][distances][width]: what stands before and after a sentence, if cells do
    cdef Py_ssize_t n_distances
    cdef Growing names              # Text [T], the labels
    cdef Growing out                # the texts of a token's attributes
    cdef Py_ssize_t length          # T

    def __init__(self, template, Table labels, Table nodes, Table pairs, *, learn):
        super().__init__(labels, nodes, pairs, learn=learn)
        self.pieces, self.lines, self.used, self.cells = Growing(), Growing(), Growing(), Growing()
        self.names, self.out, self.literals, self.memos = Growing(), Growing(), [], []
        macros = [macro for _, macro in template.macros]
        self.columns = sorted({macro.column for macro in macros})
        derived = {}                # column: its functions
        for macro in macros:
            if macro.function is not None and macro.function not in derived.setdefault(macro.column, []):
                derived[macro.column].append(macro.function)
        self.n_used = self.width = len(self.columns)
        at = {(column, None): i for i, column in enumerate(self.columns)}
        for column, functions in derived.items():
            self.memos.append(Memo(functions, at[column, None], self.width))
            for function in functions:
                at[column, function] = self.width
                self.width += 1
        self.n_node_lines, self.n_pair_lines = len(template.unigrams), len(template.bigrams)
        cdef int32_t n = 0
        for line in (*template.unigrams, *template.bigrams):
            self.lines.push(&n, sizeof(n))
            for piece in line.pieces:
                self.add_piece(piece, at)
                n += 1
        self.lines.push(&n, sizeof(n))
        self.keys.reserve(max(self.n_node_lines, self.n_pair_lines) * sizeof(Key))
        self.borders, self.n_distances = Growing(), 0
        if template.dialect.borders:
            self.set_borders(template.dialect.borders, at)

    cdef int set_borders(self, borders, dict at) except -1:
        """The rows of cells outside of a sentence."""
        cdef Text text
        self.n_distances = len(borders[0])
        for cell in (*borders[0], *borders[1]):
            for _column, function in at:     # in the order of their numbers
                padded = (cell if function is None else function(cell)).encode("utf-8", "surrogateescape") + bytes(SLACK)
                self.literals.append(padded)
                text = Text(PyBytes_AsString(padded), len(padded) - SLACK)
                self.borders.push(&text, sizeof(text))
        return 0

    cdef int add_piece(self, piece, dict at) except -1:
        cdef Piece new
        new.text, new.column, new.row, new.absolute = Text(NULL, 0), -1, 0, False
        if isinstance(piece, bytes):
            padded = piece + bytes(SLACK)
            self.literals.append(padded)
            new.text = Text(PyBytes_AsString(padded), len(piece))
        else:
            new.column, new.row, new.absolute = at[piece.column, piece.function], piece.row, piece.absolute
        self.pieces.push(&new, sizeof(new))
        return 0

    def expect(self, n_columns, label_column, expectation, *, missing=None):
        """How lines look: their columns, the label's (-1: none), what to say of other lines; a column of the file that they lack."""
        cdef int32_t column
        self.used.used = 0
        for column in self.columns:
            column -= missing is not None and column > missing
            if column >= n_columns:
                raise ValueError(f"column {column} of {n_columns}")
            self.used.push(&column, sizeof(column))
        if not -1 <= label_column < n_columns:
            raise ValueError(f"label column {label_column} of {n_columns}")
        self.n_columns, self.label_column, self.expectation = n_columns, label_column, expectation

    def add(self, sentence):
        """Add one sequence."""
        cdef Py_ssize_t t
        self.cut(sentence)
        self.derive()
        cdef Text* names = <Text*> self.names.data
        self.node_attr.reserve(self.length * self.n_node_lines * sizeof(int32_t))
        for t in range(self.length):
            self.add_label(names[t].at, names[t].length if self.label_column >= 0 else -1)
            self.write(t, 0, self.n_node_lines, self.nodes)
            self.n_nodes += self.add_attributes(
                self.nodes, self.out.data, <Key*> self.keys.data, self.n_node_lines, self.node_attr)
            if t and self.n_pair_lines:
                self.write(t, self.n_node_lines, self.n_pair_lines, self.pairs)
                self.n_pairs += self.add_attributes(
                    self.pairs, self.out.data, <Key*> self.keys.data, self.n_pair_lines, self.pair_attr)
            self.end_token()
        self.end_sequence()

    def items(self, sentence):
        """The sentence's lines in item format."""
        cdef Py_ssize_t t, k
        cdef Key* keys
        cdef Growing line = Growing()
        self.cut(sentence)
        self.derive()
        lines = []
        for t in range(self.length):
            line.used = 0
            write_escaped(line, (<Text*> self.names.data)[t].at, (<Text*> self.names.data)[t].length)
            self.write(t, 0, self.n_node_lines, self.nodes)
            keys = <Key*> self.keys.data
            for k in range(self.n_node_lines):
                line.push(b"\t", 1)
                write_escaped(line, self.out.data + keys[k].at, keys[k].length)
            if line.used and line.data[line.used - 1] == b"\r":
                line.push(b"\t", 1)     # else it would be read as part of the line end
            lines.append(PyBytes_FromStringAndSize(line.data, line.used))
        return lines

    cdef int cut(self, sentence) except -1:
        """Lines to cells[t][column] and names[t]."""
        cdef list lines = sentence.lines
        cdef bytes line
        cdef Py_ssize_t t, n_bytes = 0
        for line in lines:
            n_bytes += PyBytes_Size(line)
        self.length = len(lines)
        self.buffer.used = self.cells.used = self.names.used = 0
        self.buffer.reserve(n_bytes + self.length * SLACK)
        self.cells.reserve(self.length * self.width * sizeof(Text))
        self.names.reserve(self.length * sizeof(Text))
        cdef int32_t n
        for t in range(self.length):
            line = lines[t]
            n = self.cut_line(t, PyBytes_AsString(line), PyBytes_Size(line))
            if n != self.n_columns:
                raise DataError(sentence.place(t), f"{n} column{'s' * (n != 1)}", hinted(self.expectation, line))
        return 0

    cdef int32_t cut_line(self, Py_ssize_t t, const char* line, Py_ssize_t n) except -1:
        """The number of columns."""
        cdef char* p = self.buffer.data + self.buffer.used
        cdef char* end = p + n
        cdef char* begin
        cdef const int32_t* used = <int32_t*> self.used.data
        cdef Text* cells = <Text*> self.cells.data + t * self.width
        cdef int32_t column = 0, i = 0
        memcpy(p, line, n)
        end[0] = b" "
        self.buffer.used += n + 1
        while True:
            while p < end and (p[0] == b" " or p[0] == b"\t"):
                p += 1
            if p == end:
                return column
            begin = p
            while p[0] != b" " and p[0] != b"\t":
                p += 1
            if i < self.n_used and column == used[i]:
                cells[i] = Text(begin, p - begin)
                i += 1
            if column == self.label_column:
                (<Text*> self.names.data)[t] = Text(begin, p - begin)
            column += 1

    cdef int derive(self) except -1:
        """Fill in the cells that are functions of others."""
        cdef Memo memo
        cdef Text* cells = <Text*> self.cells.data
        cdef Text* cell
        cdef const int64_t* span
        cdef Py_ssize_t t, f, n
        for memo in self.memos:
            n = len(memo.functions)
            if memo.cells.n > MOST_CELLS:
                memo.forget()
            for t in range(self.length):
                cell = cells + t * self.width
                cell[memo.first].length = memo.row(cell[memo.source].at, cell[memo.source].length)
            memo.text.reserve(0)
            for t in range(self.length):        # the texts have stopped moving
                cell = cells + t * self.width + memo.first
                span = <const int64_t*> memo.spans.data + 2 * n * cell.length
                for f in range(n):
                    cell[f] = Text(memo.text.data + span[2 * f], span[2 * f + 1])
        return 0

    cdef int write(self, Py_ssize_t t, Py_ssize_t first, Py_ssize_t n, Table table) except -1:
        """Write and hash what the template lines from first on make of token t: keys[0..n-1], their texts in out."""
        cdef const Piece* pieces = <Piece*> self.pieces.data
        cdef const int32_t* lines = <int32_t*> self.lines.data + first
        cdef const Text* cells = <Text*> self.cells.data
        cdef Key* keys = <Key*> self.keys.data
        cdef char* out = self.out.data
        cdef Py_ssize_t k, i, at = 0, begin
        cdef int64_t row
        cdef Text text
        cdef char boundary[32 + SLACK]
        cdef const Piece* piece
        for k in range(n):
            begin = at
            for i in range(lines[k], lines[k + 1]):
                piece = &pieces[i]
                if piece.column < 0:
                    text = piece.text
                else:
                    row = piece.row
                    if not piece.absolute:
                        row += t
                    elif row < 0:
                        row += self.length
                    if 0 <= row < self.length:
                        text = cells[row * self.width + piece.column]
                    elif self.n_distances:
                        text = self.border(-1 - row if row < 0 else row - self.length, row >= 0)[piece.column]
                    else:
                        row = row if row < 0 else row - self.length + 1
                        text.at = &boundary[0]
                        text.length = snprintf(boundary, 32, b"_B%+lld", <long long> row)
                if at + text.length + SLACK > self.out.room:
                    self.out.used = at
                    self.out.reserve(text.length)
                    out = self.out.data
                put(out + at, text.at, text.length)
                at += text.length
            keys[k].at, keys[k].length = begin, at - begin
            keys[k].hash = hash_of(out + begin, at - begin, table.seed)
            crf_prefetch(&table.slots[keys[k].hash & table.mask])
        return 0

    cdef const Text* border(self, int64_t distance, bint after) noexcept:
        """The row of cells so far outside, from 0."""
        distance = min(distance, self.n_distances - 1) + self.n_distances * after
        return <const Text*> self.borders.data + distance * self.width


cdef int write_escaped(Growing out, const char* p, int64_t n) except -1:
    """Append n bytes as a field of the item format."""
    cdef int64_t i
    cdef char* to
    out.reserve(2 * n)
    to = out.data + out.used
    for i in range(n):
        if p[i] == b":" or p[i] == b"\\":
            to[0] = b"\\"
            to += 1
        to[0] = p[i]
        to += 1
    out.used = to - out.data
    return 0
