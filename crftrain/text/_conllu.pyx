"""CoNLL-U at C speed: the lines of a sentence -> lines with the cells that are asked for, tabs between; and back with new labels."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy

from ._cells cimport put_cell
from ._strings cimport SLACK, Growing, put

cdef enum:
    COLUMNS = 10
    WORD = 8
    TOKEN, OTHER, ODD

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define crf_little(x) __builtin_bswap64(x)
    #else
    #define crf_little(x) (x)
    #endif
    """
    uint64_t crf_little(uint64_t) noexcept nogil
    int __builtin_ctzll(uint64_t) noexcept nogil

cdef struct Line:
    const char* start[COLUMNS + 1]  # where the cells of a token begin, and a place behind the last one's end
    bint plain                      # nothing in it is blank but the tabs


cdef class Fields:
    """Which cells of a line are wanted: columns, or of FEATS and MISC the value of a key."""

    cdef Growing column             # int
    cdef list keys                  # bytes, None for the whole column
    cdef bint keyed                 # whether there is a key

    def __init__(self, fields):
        cdef int column
        self.column, self.keys = Growing(), [key for _, key in fields]
        self.keyed = any(self.keys)
        for column, _ in fields:
            self.column.push(&column, sizeof(column))

    def rows(self, bytes lines):
        """(rows of the tokens among the lines, places of the first one and of the first line that is nothing known); -1: none."""
        cdef list rows = []
        cdef Growing out = Growing()
        cdef Py_ssize_t i = 0, first = -1
        cdef Line line
        cdef const char* p = PyBytes_AsString(lines)
        cdef const char* end = p + PyBytes_Size(lines)
        cdef const char* stop
        cdef int kind
        while p <= end:
            stop = end_of_line(p, end)
            kind = cut(p, stop, end, &line)
            if kind == TOKEN:
                if first < 0:
                    first = i
                rows.append(self.row(&line, end, out))
            elif kind != OTHER:
                return rows, first, i
            p = stop + 1
            i += 1
        return rows, first, -1

    cdef bytes row(self, const Line* line, const char* limit, Growing out):
        """The wanted cells of a line that is cut."""
        cdef const int* column = <const int*> self.column.data
        cdef Py_ssize_t k, n = self.column.used // sizeof(int)
        cdef const char* p
        cdef const char* end
        cdef char* to
        cdef bint plain
        out.used = 0
        for k in range(n):
            p, end = line.start[column[k]], line.start[column[k] + 1] - 1
            plain = line.plain and limit - p >= SLACK and end > p
            if self.keyed and self.keys[k] is not None:
                find(self.keys[k], &p, &end)
                plain = False
            if out.used + 2 * (end - p) + 2 + SLACK > out.room:
                out.reserve(2 * (end - p) + 2)
            to = out.data + out.used
            if k:
                to[0] = b"\t"
                to += 1
            if plain:
                put(to, p, end - p)
                to += end - p
            else:
                to = put_cell(to, p, end)
            out.used = to - out.data
        return PyBytes_FromStringAndSize(out.data, out.used)

    def written(self, bytes lines, labels):
        """The lines with the tokens' labels in the last field, and an empty one; a value that is _ is taken away."""
        cdef Py_ssize_t k = len(self.keys) - 1
        cdef int column = (<int*> self.column.data)[k]
        cdef Line line
        cdef const char* p = PyBytes_AsString(lines)
        cdef const char* end = p + PyBytes_Size(lines)
        cdef const char* stop
        cdef const char* of_label
        cdef bytes label
        cdef Growing out = Growing()
        key, rest = self.keys[k], iter(labels)
        while p <= end:
            stop = end_of_line(p, end)
            if cut(p, stop, end, &line) == TOKEN:
                label = next(rest).replace(b"\xc2\xa0", b" ")
                of_label, p = line.start[column], line.start[column + 1] - 1
                if key is not None:
                    label = changed(PyBytes_FromStringAndSize(of_label, p - of_label), key, label)
                out.push(line.start[0], of_label - line.start[0])
                out.push(PyBytes_AsString(label), PyBytes_Size(label))
            out.push(p, stop - p)
            out.push(b"\n", 1)
            p = stop + 1
        out.push(b"\n", 1)
        return PyBytes_FromStringAndSize(out.data, out.used)


def run(bytes text, Py_ssize_t at):
    """(where the lines from `at` on end that are not blank, how many they are, where the line after the blank one begins, or -1)."""
    cdef const char* begin = PyBytes_AsString(text)
    cdef const char* end = begin + PyBytes_Size(text)
    cdef const char* p = begin + at
    cdef const char* stop
    cdef Py_ssize_t n = 0
    while p <= end:
        stop = end_of_line(p, end)
        if is_blank(p, stop):
            return max(at, p - begin - 1), n, stop + 1 - begin
        p = stop + 1
        n += 1
    return end - begin, n, -1


def tokens(bytes lines):
    """The places of the tokens among the lines."""
    cdef Line line
    cdef const char* p = PyBytes_AsString(lines)
    cdef const char* end = p + PyBytes_Size(lines)
    cdef const char* stop
    cdef Py_ssize_t i = 0
    cdef list found = []
    while p <= end:
        stop = end_of_line(p, end)
        if cut(p, stop, end, &line) == TOKEN:
            found.append(i)
        p = stop + 1
        i += 1
    return found


cdef inline const char* end_of_line(const char* p, const char* end) noexcept nogil:
    cdef const char* stop = <const char*> memchr(p, b"\n", end - p)
    return end if stop == NULL else stop


cdef bint is_blank(const char* p, const char* end) noexcept nogil:
    while p < end and (p[0] == b" " or 9 <= p[0] <= 13):
        p += 1
    return p == end


cdef int cut(const char* p, const char* end, const char* limit, Line* line) noexcept nogil:
    """What a line is, of a text that may be read up to the limit, and where its cells are if it is a token."""
    cdef const char* begin = p
    while p < end and b"0" <= p[0] <= b"9":
        p += 1
    if p == begin or (p < end and p[0] != b"\t"):
        return OTHER if is_other(begin, end) else ODD
    line.start[0], line.start[COLUMNS] = begin, end + 1
    return TOKEN if cells(p, end, limit, line) == COLUMNS else ODD


cdef int cells(const char* p, const char* end, const char* limit, Line* line) noexcept nogil:
    """How many cells tabs make of a line.

    Eight bytes x at a time have 0x80 in `tabs` where x is a tab and in `blanks` where it is not above a space; a product gathers
    these into a byte of `where`, which has a bit for each of 64 bytes.
    """
    cdef uint64_t low = 0x7F7F7F7F7F7F7F7FULL, x, tabs, blanks, other = 0, where
    cdef const char* q
    cdef int n = 1, k
    while p < end:
        where, q, k = 0, p, 0
        while q < end and k < 64:
            x = word(q, end, limit)
            blanks = ~(((x & low) + 0x5F5F5F5F5F5F5F5FULL) | x | low)
            x ^= 0x0909090909090909ULL
            tabs = ~(((x & low) + low) | x | low)
            other |= tabs ^ blanks
            where |= (((tabs >> 7) * 0x0102040810204080ULL) >> 56) << k
            q += WORD
            k += WORD
        while where:
            if n < COLUMNS:
                line.start[n] = p + __builtin_ctzll(where) + 1
            n += 1
            where &= where - 1
        p = q
    line.plain = other == 0
    return n


cdef inline uint64_t word(const char* p, const char* end, const char* limit) noexcept nogil:
    """Eight bytes of a line, the first lowest; behind the line's end 0xFF."""
    cdef uint64_t x = ~<uint64_t> 0
    if limit - p < WORD:
        memcpy(&x, p, end - p)
        return crf_little(x)
    memcpy(&x, p, WORD)
    return crf_little(x) if end - p >= WORD else crf_little(x) | (~<uint64_t> 0 << (8 * (end - p)))


cdef bint is_other(const char* p, const char* end) noexcept nogil:
    """Whether a line is a comment, words of several tokens (1-2) or an empty node (1.1)."""
    cdef bint digit = False
    if p < end and p[0] == b"#":
        return True
    while p < end and p[0] != b"\t":
        if b"0" <= p[0] <= b"9":
            digit = True
        elif p[0] != b"-" and p[0] != b".":
            return False
        p += 1
    return digit


cdef int find(bytes key, const char** at, const char** end) except -1:
    """Make at .. end the value of a key among KEY=VALUE with bars between, or _."""
    cdef Py_ssize_t n = PyBytes_Size(key)
    cdef const char* p = at[0]
    cdef const char* stop
    while p < end[0]:
        stop = <const char*> memchr(p, b"|", end[0] - p)
        if stop == NULL:
            stop = end[0]
        if stop - p > n and p[n] == b"=" and memcmp(p, PyBytes_AsString(key), n) == 0:
            at[0], end[0] = p + n + 1, stop
            return 0
        p = stop + 1
    at[0] = b"_"
    end[0] = at[0] + 1
    return 0


cdef bytes changed(bytes text, bytes key, bytes value):
    """FEATS or MISC with one value changed, taken away where it is _, in its place or at the end."""
    items = [] if text == b"_" else text.split(b"|")
    at = next((i for i, item in enumerate(items) if item.startswith(key + b"=")), len(items))
    items[at:at + 1] = [] if value == b"_" else [key + b"=" + value]
    return b"|".join(items) or b"_"
