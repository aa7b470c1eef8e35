# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sentences to numbers at C speed.

    lines -> cells -> records -> the numbers of a token's attributes

_expander.pyx cuts a sentence's lines into cells and says which records they have; a record remembers the numbers of attributes, so
the text of one is written, hashed and looked up when its cells are met together for the first time, and then no more.
All texts of a token that are new are hashed, and the slots they may be in asked for from memory, before the first one is looked up.

Columns is one of the two formats, _items.pyx has the other; a Builder collects what they find in arrays that numpy takes over.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport int32_t, int64_t, uint32_t

from ._expander cimport Expander, Group, Line, Text
from ._lines cimport Rest, next_line
from ._strings cimport Growing, StringTable as Table, crf_prefetch, hash_of, taken

import numpy as np

from ._strings import StringTable  # no-cython-lint: it is imported from here too
from ..errors import DataError
from .forms import hinted

cdef enum:
    NEW = -2                        # the number of an attribute that nobody has looked up yet
    MOST_LEARNT = 1 << 20           # keys of a group


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
        end = seq[len(seq) - 1]  # [-1] is none without wraparound, from Python 3.14 on
        nodes, pairs = taken(self.node_ptr, np.int64)[:end + 1], taken(self.pair_ptr, np.int64)[:end + 1]
        node_attr, pair_attr = taken(self.node_attr, np.int32)[:nodes[end]], taken(self.pair_attr, np.int32)[:pairs[end]]
        self.start()
        return seq, label[:end], nodes, node_attr, None if value is None else value[:nodes[end]], pairs, pair_attr

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


cdef class Records(Expander):
    """Records hold the numbers of the lines' attributes: int32, NEW where nobody has looked yet."""

    def __init__(self, template):
        cdef Py_ssize_t g
        super().__init__(template)
        for g in range(self.n_groups):
            self.groups[g].stride = self.groups[g].n_lines * sizeof(int32_t)

    cdef int32_t make(self, Group* G, int64_t place) except -1 nogil:
        cdef int32_t* ids = <int32_t*> self.new_record(G)
        cdef int32_t k
        for k in range(G.n_lines):
            ids[k] = NEW
        return G.n_records - 1

    cdef inline int32_t* place_of_line(self, const Line* line, int64_t t) noexcept nogil:
        """Where the number of what a line makes of token t is kept."""
        cdef const Group* G = &self.groups[line.group]
        return <int32_t*> (G.payload + G.record[t + line.offset - G.nearest] * G.stride) + line.slot


cdef class Columns(Builder):
    """Reads sentences in columns and expands a template over them."""

    cdef Records records
    cdef str expectation
    cdef Growing out                # the texts of a token's attributes that are new
    cdef Growing ids                # int32: of the attributes of one token
    cdef int64_t n_known            # names there were when the records were begun

    def __init__(self, template, Table labels, Table nodes, Table pairs, *, learn):
        super().__init__(labels, nodes, pairs, learn=learn)
        self.records, self.out, self.ids = Records(template), Growing(), Growing()
        if learn:       # training data end, and what they hold is met again
            self.records.most_keys = MOST_LEARNT
        cdef Py_ssize_t n = max(self.records.n_node_lines, self.records.n_pair_lines)
        self.keys.reserve(n * sizeof(Key))
        self.ids.reserve(n * sizeof(int32_t))
        self.n_known = 0

    @property
    def columns(self):
        """Those of the file that the template names."""
        return self.records.columns

    def expect(self, n_columns, label_column, expectation, *, missing=None):
        """How lines look: their columns, the label's (-1: none), what to say of other lines; a column of the file that they lack."""
        self.records.set_columns(n_columns, label_column, missing)
        self.expectation = expectation

    def add(self, sentence):
        """Add one sequence."""
        self.cut(sentence)
        self.add_cut()

    def add_run(self, bytes text):
        """Add the sequences in the bytes of whole sentences, up to one with other columns: (how many, whether that is all)."""
        cdef Records X = self.records
        cdef Rest rest
        cdef Text line
        cdef int64_t n = 0
        self.buffer.used = 0
        self.buffer.push(PyBytes_AsString(text), PyBytes_Size(text))
        rest = Rest(self.buffer.data, self.buffer.data + self.buffer.used)
        X.begin()
        while next_line(&rest, &line):
            if line.length:
                if X.cut_line(line.at, line.at + line.length) != X.n_columns:
                    return n, False
            elif X.T:
                n += self.add_cut() == 0
                X.begin()
        if X.T:
            n += self.add_cut() == 0
        return n, True

    cdef int add_cut(self) except -1:
        """Add the sequence that has been cut."""
        cdef Records X = self.records
        cdef int64_t t, T = X.T
        cdef const Text* names = <Text*> X.labels.data
        cdef const Line* lines = <Line*> X.lines.data
        if not self.learn and self.nodes.n + self.pairs.n != self.n_known:      # what was not known may be by now
            X.forget()
            self.n_known = self.nodes.n + self.pairs.n
        X.find()
        for t in range(T):
            self.add_label(names[t].at if X.label_column >= 0 else NULL, names[t].length if X.label_column >= 0 else -1)
            self.n_nodes += self.add_lines(lines, X.n_node_lines, t, self.nodes, self.node_attr)
            if t and X.n_pair_lines:
                self.n_pairs += self.add_lines(lines + X.n_node_lines, X.n_pair_lines, t, self.pairs, self.pair_attr)
            self.end_token()
        return self.end_sequence()

    cdef int64_t add_lines(self, const Line* lines, Py_ssize_t n, int64_t t, Table table, Growing to) except -1:
        """Append the numbers of token t's attributes; how many have one. All new texts are hashed before the first is looked up."""
        cdef Records X = self.records
        cdef Key* keys = <Key*> self.keys.data
        cdef int32_t* ids = <int32_t*> self.ids.data
        cdef int32_t* out
        cdef int64_t k, at = 0, n_new = 0, found = 0
        cdef Key* key
        for k in range(n):
            ids[k] = X.place_of_line(&lines[k], t)[0]
            if ids[k] == NEW:
                key = &keys[n_new]
                key.at, n_new = at, n_new + 1
                at = X.write(&lines[k], t, self.out, at)
                key.length = at - key.at
                key.hash = hash_of(self.out.data + key.at, key.length, table.seed)
                crf_prefetch(&table.slots[key.hash & table.mask])
        to.reserve(n * sizeof(int32_t))
        out, key = <int32_t*> (to.data + to.used), keys
        for k in range(n):
            if ids[k] == NEW:
                ids[k] = table.find(self.out.data + key.at, key.length, key.hash)
                if ids[k] < 0 and self.learn:
                    ids[k] = table.append(self.out.data + key.at, key.length, key.hash)
                X.place_of_line(&lines[k], t)[0] = ids[k]
                key += 1
            if ids[k] >= 0:
                out[found] = ids[k]
                found += 1
        to.used += found * sizeof(int32_t)
        return found

    def items(self, sentence):
        """The sentence's lines in item format."""
        cdef int64_t t
        cdef Growing line = Growing()
        self.cut(sentence)
        self.records.intern()
        lines = []
        for t in range(self.records.T):
            line.used = 0
            self.write_items(t, line)
            lines.append(PyBytes_FromStringAndSize(line.data, line.used))
        return lines

    def items_of_run(self, bytes text):
        """(bytes, how many sentences, whether that is all) for the bytes of whole sentences, up to one with other columns."""
        cdef Growing out = Growing()
        cdef Rest rest
        cdef Text line
        cdef int64_t n = 0
        self.buffer.used = 0
        self.buffer.push(PyBytes_AsString(text), PyBytes_Size(text))
        rest = Rest(self.buffer.data, self.buffer.data + self.buffer.used)
        self.records.begin()
        while next_line(&rest, &line):
            if line.length:
                if self.records.cut_line(line.at, line.at + line.length) != self.records.n_columns:
                    return PyBytes_FromStringAndSize(out.data, out.used), n, False
            elif self.records.T:
                n += self.write_sentence(out)
        if self.records.T:
            n += self.write_sentence(out)
        return PyBytes_FromStringAndSize(out.data, out.used), n, True

    cdef int write_sentence(self, Growing out) except -1:
        """The items of the sentence that has been cut; 1."""
        cdef int64_t t
        self.records.intern()
        for t in range(self.records.T):
            self.write_items(t, out)
            out.push(b"\n", 1)
        out.push(b"\n", 1)
        self.records.begin()
        return 1

    cdef int write_items(self, int64_t t, Growing line) except -1:
        """Token t's label and attributes."""
        cdef Py_ssize_t k, start = line.used
        cdef int64_t length
        cdef const Line* template = <const Line*> self.records.lines.data
        cdef const Text* label = <const Text*> self.records.labels.data + t
        write_escaped(line, label.at, label.length)
        for k in range(self.records.n_node_lines):
            line.push(b"\t", 1)
            length = self.records.write(&template[k], t, self.out, 0)
            write_escaped(line, self.out.data, length)
        if line.used > start and line.data[line.used - 1] == b"\r":
            line.push(b"\t", 1)     # else it would be read as part of the line end
        return 0

    cdef int cut(self, sentence) except -1:
        """Lines to cells."""
        cdef list lines = sentence.lines
        cdef bytes line
        cdef Records X = self.records
        cdef Py_ssize_t t, n, n_bytes = 0
        cdef char* p
        for line in lines:
            n_bytes += PyBytes_Size(line)
        self.buffer.used = 0
        self.buffer.reserve(n_bytes)
        X.begin()
        for t in range(len(lines)):
            line = lines[t]
            p = self.buffer.data + self.buffer.used
            self.buffer.push(PyBytes_AsString(line), PyBytes_Size(line))
            n = X.cut_line(p, p + PyBytes_Size(line))
            if n != X.n_columns:
                raise DataError(sentence.place(t), f"{n} column{'s' * (n != 1)}", hinted(self.expectation, line))
        return 0


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
