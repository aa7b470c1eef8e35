"""Python objects to numbers: sequences of dicts, lists and sets go straight into the string table, and leave no object behind.

A token is a set of attributes with values, and may be written as

    {"name": 2.5}               the attribute `name` of that value; True is 1, False is 0, and the attribute is there all the same
    {"name": "text"}            the attribute `name:text`, value 1
    {"name": {...} or [...]}    all of these, with `name:` before theirs
    ["name", "name2"]           attributes of value 1; any other iterable likewise

Text is str or bytes of UTF-8. These are the rules of python-crfsuite, but that a bare string is refused (its letters would be
the attributes), and a value that is no number is told with its place.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from collections.abc import Mapping

from ._encode cimport Builder, Key
from ._strings cimport SLACK, Growing, StringTable, crf_prefetch, hash_of

from ..errors import DataError, DataTypeError

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    DEEPEST = 50                    # dicts in dicts

EXPECTED = "a dict, a list or a set of attributes"


def paired(X, y):
    """(number, sequence, its labels or None) of each, as many of X as of y."""
    missing = object()
    labels = None if y is None else iter(y)
    i = -1
    for i, xseq in enumerate(X):
        yseq = None if labels is None else next(labels, missing)
        if yseq is missing:
            raise DataError(f"y[{i}]", "no labels", "as many sequences as X has")
        yield i, xseq, yseq
    if labels is not None and next(labels, missing) is not missing:
        raise DataError(f"X[{i + 1}]", "no tokens", "as many sequences as y has")


cdef class Objects(Builder):
    """Sequences that are Python objects."""

    def __init__(self, StringTable labels, StringTable nodes, *, learn):
        super().__init__(labels, nodes, StringTable(), learn=learn)

    def add_all(self, X, y=None):
        """Add sequences and, unless y is None, their labels; how many they were."""
        cdef Py_ssize_t i = -1
        for i, xseq, yseq in paired(X, y):
            self.add_one(xseq, yseq, i)
        return i + 1

    def add(self, xseq, yseq=None, Py_ssize_t number=-1):
        """Add one sequence; what is wrong with it leaves none of it behind."""
        self.add_one(xseq, yseq, number)

    cdef int add_one(self, xseq, yseq, Py_ssize_t number) except -1:
        cdef int64_t tokens = self.n_tokens, nodes = self.n_nodes
        self.number, self.token = number, 0
        try:
            if not isinstance(xseq, (list, tuple)) and isinstance(xseq, (str, bytes, Mapping)):
                raise DataTypeError(self.place(False), f"{shortened(xseq)} for a sequence", "a list of tokens")
            for x in xseq:
                self.add_token(x)
                self.token += 1
            if yseq is None:
                for _ in range(self.token):
                    self.add_label(NULL, -1)
            else:
                self.add_labels(yseq)
        except BaseException as error:
            self.go_back(tokens, nodes)
            if isinstance(error, TypeError) and not isinstance(error, DataError):
                raise DataTypeError(self.place(True), str(error)) from None
            raise
        return self.end_sequence()

    cdef object place(self, bint in_token):
        where = "X" if self.number < 0 else f"X[{self.number}]"
        return f"{where}[{self.token}]" if in_token else where

    cdef int go_back(self, int64_t tokens, int64_t nodes) except -1:
        """Forget all after so many tokens and so many attributes of them."""
        self.n_tokens, self.n_nodes = tokens, nodes
        self.label.used = tokens * 4
        self.node_ptr.used = self.pair_ptr.used = (tokens + 1) * 8
        self.node_attr.used = nodes * 4
        self.node_value.used = nodes * 8 if self.valued else 0
        return 0

    cdef int add_labels(self, yseq) except -1:
        """The labels of the sequence's tokens, all of them or none."""
        cdef const char* p
        cdef Py_ssize_t n
        if isinstance(yseq, (str, bytes)):
            raise DataTypeError(self.place(False).replace("X", "y"), f"{shortened(yseq)} for a sequence of labels", "a list of labels")
        labels = yseq if isinstance(yseq, (list, tuple)) else list(yseq)
        if len(labels) != self.token:
            raise DataError(self.place(False), f"{self.token} tokens and {len(labels)} labels", "one label for each token")
        for label in labels:
            if not isinstance(label, (str, bytes)):
                raise DataTypeError(self.place(False).replace("X", "y"), f"{shortened(label)} for a label", "text")
        for label in labels:
            text_of(label, &p, &n)
            self.buffer.used = 0
            self.append(p, n)
            self.add_label(self.buffer.data, n)
        return 0

    cdef int add_token(self, x) except -1:
        self.buffer.used = self.keys.used = 0
        if isinstance(x, (str, bytes)):
            raise DataTypeError(self.place(True), f"the text {shortened(x)}, whose letters would be the attributes", EXPECTED)
        self.add_item(x, 0, 0, 0)
        self.n_nodes += self.add_attributes(
            self.nodes, self.buffer.data, <Key*> self.keys.data, self.keys.used // sizeof(Key), self.node_attr)
        return self.end_token()

    cdef int add_item(self, x, Py_ssize_t prefix, Py_ssize_t length, int depth) except -1:
        """The attributes of an item to `keys`; before their names stands what is in the buffer at prefix, so long."""
        cdef PyObject* name
        cdef PyObject* value
        cdef Py_ssize_t at = 0
        if depth > DEEPEST:
            raise DataError(self.place(True), f"more than {DEEPEST} dicts in one another", EXPECTED)
        if isinstance(x, dict):
            while PyDict_Next(x, &at, &name, &value):
                self.add_named(<object> name, <object> value, prefix, length, depth)
        elif not isinstance(x, (list, tuple, set)) and isinstance(x, Mapping):
            for key in x:
                self.add_named(key, x[key], prefix, length, depth)
        elif length == 0 and isinstance(x, (list, tuple)):
            self.add_names(x)
        else:
            for key in x:
                at = self.start_name(key, prefix, length)
                self.add_key(at, 1)
        return 0

    cdef int add_names(self, names) except -1:
        """What start_name and add_key do of a list of names, in one loop: most tokens to tag are one."""
        cdef const char* p
        cdef Py_ssize_t n, at
        cdef Key* key
        cdef uint64_t seed = self.nodes.seed
        self.keys.reserve(len(names) * sizeof(Key))
        for name in names:
            if not isinstance(name, str):
                at = self.start_name(name, 0, 0)
                self.add_key(at, 1)
                continue
            p = PyUnicode_AsUTF8AndSize(name, &n)
            at = self.buffer.used
            if at + n + SLACK > self.buffer.room:
                self.buffer.reserve(n)
            memcpy(self.buffer.data + at, p, n)
            self.buffer.used += n
            key = <Key*> (self.keys.data + self.keys.used)
            key.at, key.length, key.value = at, n, 1
            key.hash = hash_of(self.buffer.data + at, n, seed)
            crf_prefetch(&self.nodes.slots[key.hash & self.nodes.mask])
            self.keys.used += sizeof(Key)
        return 0

    cdef int add_named(self, name, value, Py_ssize_t prefix, Py_ssize_t length, int depth) except -1:
        cdef Py_ssize_t at = self.start_name(name, prefix, length), n
        cdef const char* p
        if isinstance(value, float):
            return self.add_key(at, <double> value)
        if isinstance(value, (str, bytes)):
            text_of(value, &p, &n)
            self.append(b":", 1)
            self.append(p, n)
            return self.add_key(at, 1)
        if isinstance(value, (dict, list, set, tuple, frozenset)):
            self.append(b":", 1)
            return self.add_item(value, at, self.buffer.used - at, depth + 1)
        return self.add_key(at, self.number_of(name, value))

    cdef double number_of(self, name, value) except? -1:
        try:
            return float(value)
        except (TypeError, ValueError):
            wrong = f"{shortened(value)} for the value of {shortened(name)}"
            raise DataTypeError(self.place(True), wrong, "a number, text, or a dict, list or set of attributes") from None
        except OverflowError:
            raise DataError(self.place(True), f"the value of {shortened(name)}", "a number that a double holds") from None

    cdef Py_ssize_t start_name(self, name, Py_ssize_t prefix, Py_ssize_t length) except -1:
        """Write prefix and name; where they begin."""
        cdef Py_ssize_t at = self.buffer.used, n
        cdef const char* p
        if not text_of(name, &p, &n):
            raise DataTypeError(self.place(True), f"{shortened(name)} for the name of an attribute", "text")
        self.buffer.reserve(length + n)
        if length:
            memcpy(self.buffer.data + at, self.buffer.data + prefix, length)
            self.buffer.used += length
        memcpy(self.buffer.data + self.buffer.used, p, n)
        self.buffer.used += n
        return at

    cdef int append(self, const char* p, Py_ssize_t n) except -1:
        self.buffer.reserve(n)
        memcpy(self.buffer.data + self.buffer.used, p, n)
        self.buffer.used += n
        return 0

    cdef int add_key(self, Py_ssize_t at, double value) except -1:
        """What stands in the buffer from `at` on is an attribute of that value."""
        cdef Key key
        key.at, key.length, key.value = at, self.buffer.used - at, value
        if value != 1:
            if not isfinite(value):
                name = self.buffer.data[at:at + min(key.length, 40)].decode("utf-8", "replace")
                raise DataError(self.place(True), f"the value {value} of {name!r}", "a finite number")
            if not self.valued:
                self.start_values()
        key.hash = hash_of(self.buffer.data + at, key.length, self.nodes.seed)
        crf_prefetch(&self.nodes.slots[key.hash & self.nodes.mask])
        return self.keys.push(&key, sizeof(key))


cdef bint text_of(text, const char** p, Py_ssize_t* n) except -1:
    """Whether it is text, whose bytes are then p[0..n-1], as long as the object lives."""
    if isinstance(text, str):
        p[0] = PyUnicode_AsUTF8AndSize(text, n)
        return True
    if isinstance(text, bytes):
        p[0], n[0] = PyBytes_AsString(text), PyBytes_Size(text)
        return True
    return False


cdef object shortened(thing):
    text = repr(thing)
    return text if len(text) <= 60 else text[:57] + "..."


def lines_of(X):
    """(bytes, columns): rows of cells as lines with tabs between, an empty one after each sequence; None where something is odd.

    Odd are cells that are no text, empty, or with blanks in them, rows that are no lists, and rows of different lengths.
    """
    cdef Growing text = Growing()
    cdef Py_ssize_t columns = -1, n
    text.reserve(SLACK)
    for rows in X:
        if not isinstance(rows, (list, tuple)):
            return None
        for row in rows:
            n = add_line(text, row)
            if n <= 0 or (columns >= 0 and n != columns):
                return None
            columns = n
        text.push(b"\n", 1)
    return PyBytes_FromStringAndSize(text.data, text.used), columns


cdef Py_ssize_t add_line(Growing text, row) except -2:
    """How many cells it has; 0: odd."""
    cdef const char* p
    cdef Py_ssize_t n, i
    if isinstance(row, str):
        row = (row,)
    if not isinstance(row, (list, tuple)):
        return 0
    for cell in row:
        if not isinstance(cell, str):
            return 0
        p = PyUnicode_AsUTF8AndSize(cell, &n)
        if n == 0:
            return 0
        for i in range(n):
            if <unsigned char> p[i] <= 32:      # blanks and control characters
                return 0
        text.reserve(n + 1)
        memcpy(text.data + text.used, p, n)
        text.data[text.used + n] = b"\t"
        text.used += n + 1
    if text.used:
        text.data[text.used - 1] = b"\n"
    return len(row)
