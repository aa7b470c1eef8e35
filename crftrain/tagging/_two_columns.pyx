# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Two columns of labels out of the bytes of whole sentences, as numbers."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcmp

from ..text._texts cimport Text
from ..text._lines cimport Rest, next_line
from ..text._strings cimport Growing, StringTable, hash_of, zeros


cdef class TwoColumns:
    """Numbers labels in the order in which it meets them."""

    cdef readonly StringTable names
    cdef Growing text, numbers

    def __init__(self):
        self.names, self.text = StringTable(), Growing()

    def take(self, bytes text, int width, int first, int second):
        """int32[2 n], the numbers in the two columns of each line, -1 after each sentence; None where a line is not of that many columns,
        or has probabilities."""
        cdef bint plain
        self.numbers = Growing()
        self.text.used = 0
        self.text.push(PyBytes_AsString(text), PyBytes_Size(text))
        with nogil:
            plain = self.read(width, first, second)
        return None if not plain else memoryview(self.numbers).cast("i") if self.numbers.used else zeros(0, "i")

    cdef int read(self, int width, int first, int second) except -1 nogil:
        """Whether all lines are plain."""
        cdef Rest rest = Rest(self.text.data, self.text.data + self.text.used)
        cdef Text line
        cdef Text[2] labels
        cdef int32_t[2] pair
        cdef bint within = False
        while next_line(&rest, &line):
            if line.length:
                if line.length > 12 and memcmp(line.at, b"@probability", 12) == 0:
                    return False
                if cells(line.at, line.at + line.length, first, second, labels) != width or not plain_end(line.at, line.at + line.length):
                    return False
                pair[0], pair[1] = self.number(labels[0]), self.number(labels[1])
                self.numbers.push(pair, sizeof(pair))
            elif within:
                self.end_sentence()
            within = line.length > 0
        if within:
            self.end_sentence()
        return True

    cdef int end_sentence(self) except -1 nogil:
        cdef int32_t[2] none
        none[0] = none[1] = -1
        return self.numbers.push(none, sizeof(none))

    cdef int32_t number(self, Text label) except -1 nogil:
        cdef uint32_t h = hash_of(label.at, label.length, self.names.seed)
        cdef int32_t id = self.names.find(label.at, label.length, h)
        return id if id >= 0 else self.names.append(label.at, label.length, h)


cdef int cells(const char* p, const char* end, int first, int second, Text* labels) noexcept nogil:
    """How many columns a line has; two of them."""
    cdef const char* begin
    cdef int column = 0
    while True:
        while p < end and (p[0] == b" " or p[0] == b"\t"):
            p += 1
        if p == end:
            return column
        begin = p
        while p < end and p[0] != b" " and p[0] != b"\t":
            p += 1
        if column == first:
            labels[0] = Text(begin, p - begin)
        if column == second:
            labels[1] = Text(begin, p - begin)
        column += 1


cdef bint plain_end(const char* p, const char* end) noexcept nogil:
    """Whether a line ends otherwise than with LABEL:PROBABILITY."""
    cdef int k
    while end > p and ((end - 1)[0] == b" " or (end - 1)[0] == b"\t"):
        end -= 1
    if end - p < 9:
        return True
    p = end - 9
    if p[0] != b":" or p[2] != b".":
        return True
    for k in range(3, 9):
        if not b"0" <= p[k] <= b"9":
            return True
    return False
