# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""CRFsuite's item format at C speed: label TAB attribute[:value] TAB attribute ...

`\\:` and `\\\\` stand for : and \\ in labels and attributes; any other backslash stands for itself, and so does : in a label. Runs of
tabs, and tabs at the end, are one boundary. A value is a finite number, 1 if it is not given.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.math cimport isfinite
from libc.string cimport memcmp, memcpy

from ._encode cimport Builder, Key
from ._strings cimport StringTable, crf_prefetch, hash_of

from ..errors import DataError

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* s, char** end, void* overflow) except? -1.0


cdef class Items(Builder):
    """Reads sentences in CRFsuite's item format: label TAB attribute[:value] TAB ..."""

    cdef bint gold                  # lines begin with a label

    def __init__(self, StringTable labels, StringTable nodes, *, learn):
        super().__init__(labels, nodes, StringTable(), learn=learn)
        self.gold = True

    def expect(self, gold):
        """Whether lines begin with a label."""
        self.gold = gold

    def add(self, sentence):
        """Add one sequence."""
        cdef Py_ssize_t t
        cdef list lines = sentence.lines
        cdef bytes line
        for t in range(len(lines)):
            line = lines[t]
            self.buffer.used = self.keys.used = 0
            self.buffer.reserve(PyBytes_Size(line) + 2)
            memcpy(self.buffer.data, PyBytes_AsString(line), PyBytes_Size(line))
            self.add_line(sentence, t, PyBytes_Size(line))
        self.end_sequence()

    cdef int add_line(self, sentence, Py_ssize_t t, Py_ssize_t n) except -1:
        """One token, from the buffer."""
        cdef char* p = self.buffer.data
        cdef char* end = p + n
        cdef char* name_end
        cdef Key key
        end[0] = b"\t"
        end[1] = 0
        if n >= 8 and memcmp(p, b"@weight:", 8) == 0:
            raise DataError(sentence.place(t), "sequence weights (@weight) are not supported", "label TAB attribute TAB ...")
        if self.gold:
            p = unescape(p, False, &name_end)
            if name_end == self.buffer.data:
                raise DataError(sentence.place(t), "no label before the first tab", "label TAB attribute TAB ...")
            self.add_label(self.buffer.data, name_end - self.buffer.data)
        else:
            self.add_label(NULL, -1)
        while p < end:
            if p[0] == b"\t":
                p += 1
                continue
            key.at = p - self.buffer.data
            p = unescape(p, True, &name_end)
            key.length = name_end - self.buffer.data - key.at
            key.value = 1
            if p[0] == b":":
                if key.length == 0:
                    raise DataError(sentence.place(t), "a value without an attribute before it", "attribute:value, or attribute\\:")
                p = self.read_value(sentence, t, &key, p + 1)
            key.hash = hash_of(self.buffer.data + key.at, key.length, self.nodes.seed)
            crf_prefetch(&self.nodes.slots[key.hash & self.nodes.mask])
            self.keys.push(&key, sizeof(key))
        self.n_nodes += self.add_attributes(
            self.nodes, self.buffer.data, <Key*> self.keys.data, self.keys.used // sizeof(Key), self.node_attr)
        return self.end_token()

    cdef char* read_value(self, sentence, Py_ssize_t t, Key* key, char* p) except NULL:
        """Read the value that ends at the next tab; its end."""
        cdef char* stop = p
        if p[0] == b"1" and p[1] == b"\t":
            return p + 1
        try:
            key.value = PyOS_string_to_double(p, &stop, NULL)
        except ValueError:
            pass
        if stop == p or stop[0] != b"\t" or not isfinite(key.value):
            while stop[0] != b"\t":
                stop += 1
            name = self.buffer.data[key.at:key.at + min(key.length, 40)].decode("utf-8", "replace")
            value = p[:min(stop - p, 40)].decode("utf-8", "replace")
            raise DataError(sentence.place(t), f"value {value!r} of attribute {name!r}", "a finite number")
        if key.value != 1 and not self.valued:
            self.start_values()
        return stop


cdef char* unescape(char* p, bint to_colon, char** name_end) noexcept nogil:
    """Take \\: and \\\\ for : and \\ in place, up to a tab, or to a bare colon; where it was found. The name ends at name_end."""
    cdef char* out
    while p[0] != b"\t" and p[0] != b"\\" and not (to_colon and p[0] == b":"):
        p += 1
    out = p                         # from the first backslash on, what is written lags behind what is read
    while p[0] != b"\t" and not (to_colon and p[0] == b":"):
        if p[0] == b"\\" and (p[1] == b":" or p[1] == b"\\"):
            p += 1
        out[0] = p[0]
        out += 1
        p += 1
    name_end[0] = out
    return p
