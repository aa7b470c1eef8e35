"""The plainest JSON lines at C speed: an object of lists of texts -> lines of columns.

What is understood here is a part of JSON: texts without backslashes, whole numbers, true, false, null, and lists of these. A line with
anything else, or with anything wrong, gives None: then jsonlines.py reads the whole language, and names what is wrong.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.string cimport memcmp, strncmp

from ._cells cimport put_cell
from ._strings cimport SLACK, Growing, put

cdef enum:
    ENTRIES = 32                    # of an object
    DIGITS = 18                     # of a whole number
    SCALAR = -1                     # in the place of a number of texts
    OTHER_LIST = -2

cdef struct Text:
    const char* at
    Py_ssize_t length
    bint spaced                     # there is a space in it

cdef struct Entry:
    Text key
    Py_ssize_t first, n             # of a list of texts


cdef class Lists:
    """Rows of the lists of an object: of each group of names the first that is there is a column, of the last one perhaps none."""

    cdef list groups, last
    cdef bint only_lists            # a value of that name that is no list counts for nothing; else it is a fault
    cdef Growing texts, firsts, out  # of one line

    def __init__(self, groups, *, only_lists):
        self.groups, self.only_lists = [[name.encode() for name in group] for group in groups], only_lists
        *_, self.last = self.groups
        self.texts, self.firsts, self.out = Growing(), Growing(), Growing()

    def rows(self, bytes line):
        """The rows, or None where something is not plain."""
        cdef Entry entries[ENTRIES]
        cdef Py_ssize_t n, k, t, length = -1
        cdef Py_ssize_t* firsts
        cdef list group, rows = []
        cdef const char* end = PyBytes_AsString(line) + PyBytes_Size(line)
        self.texts.used = self.firsts.used = 0
        n = read_object(PyBytes_AsString(line), end, entries, self.texts)
        if n < 0 or any_of(entries, n, b"answer", 6):   # what was rejected is somebody else's to find out
            return None
        for group in self.groups:
            k = self.chosen(group, entries, n)
            if k == -1 and group is self.last and length >= 0:
                continue
            if k < 0 or (length >= 0 and entries[k].n != length):
                return None
            length = entries[k].n
            self.firsts.push(&entries[k].first, sizeof(Py_ssize_t))
        k, firsts = self.firsts.used // sizeof(Py_ssize_t), <Py_ssize_t*> self.firsts.data
        for t in range(length):
            rows.append(row(<Text*> self.texts.data, firsts, k, t, end, self.out))
        return rows

    cdef Py_ssize_t chosen(self, list group, Entry* entries, Py_ssize_t n) except -3:
        """The entry that is the column of a group; -1: there is none, -2: something is not plain."""
        cdef Py_ssize_t k, found, length
        cdef bytes name
        for name in group:
            found, length = -1, PyBytes_Size(name)
            for k in range(n):
                if is_called(&entries[k], PyBytes_AsString(name), length):
                    if found >= 0:
                        return -2
                    found = k
            if found >= 0 and entries[found].n != SCALAR:
                return found if entries[found].n > 0 else -2
            if found >= 0 and not self.only_lists:
                return -2
        return -1


cdef inline bint is_called(const Entry* entry, const char* name, Py_ssize_t length) noexcept nogil:
    return entry.key.length == length and memcmp(entry.key.at, name, length) == 0


cdef bint any_of(const Entry* entries, Py_ssize_t n, const char* name, Py_ssize_t length) noexcept nogil:
    """Whether an entry has that name."""
    cdef Py_ssize_t k
    for k in range(n):
        if is_called(entries + k, name, length):
            return True
    return False


cdef bytes row(Text* texts, Py_ssize_t* firsts, Py_ssize_t n, Py_ssize_t t, const char* end, Growing out):
    """The t-th text of each list, with tabs between; a space becomes a no-break space, nothing becomes _."""
    cdef Py_ssize_t k
    cdef Text* text
    cdef char* to
    out.used = 0
    for k in range(n):
        text = texts + firsts[k] + t
        if out.used + 2 * text.length + 2 + SLACK > out.room:
            out.reserve(2 * text.length + 2)
        to = out.data + out.used
        if k:
            to[0] = b"\t"
            to += 1
        if text.spaced or text.length == 0 or end - text.at < SLACK:
            to = put_cell(to, text.at, text.at + text.length)
        else:
            put(to, text.at, text.length)
            to += text.length
        out.used = to - out.data
    return PyBytes_FromStringAndSize(out.data, out.used)


cdef Py_ssize_t read_object(const char* p, const char* end, Entry* entries, Growing texts) except -2:
    """How many entries there are, -1 if the line is not plain. A line ends with a NUL, which nothing here takes."""
    cdef Py_ssize_t n = 0
    p = blank(p)
    if p[0] != b"{":
        return -1
    p = blank(p + 1)
    while True:
        if n == ENTRIES or (p := read_text(p, &entries[n].key)) == NULL:
            return -1
        p = blank(p)
        if p[0] != b":":
            return -1
        p = blank(p + 1)
        p = read_list(p + 1, entries + n, texts) if p[0] == b"[" else read_scalar(p, entries + n)
        if p == NULL:
            return -1
        n += 1
        p = blank(p)
        if p[0] == b"}":
            break
        if p[0] != b",":
            return -1
        p = blank(p + 1)
    return n if blank(p + 1) == end else -1


cdef const char* read_list(const char* p, Entry* entry, Growing texts) except? NULL:
    """Behind the list whose items begin at p."""
    cdef Text text
    entry.first, entry.n = texts.used // sizeof(Text), 0
    p = blank(p)
    if p[0] == b"]":
        return p + 1
    while True:
        if p[0] == b'"':
            p = read_text(p, &text)
            if entry.n >= 0:
                texts.push(&text, sizeof(text))
                entry.n += 1
        else:
            p = read_scalar(p, entry)
            entry.n = OTHER_LIST
        if p == NULL:
            return NULL
        p = blank(p)
        if p[0] == b"]":
            return p + 1
        if p[0] != b",":
            return NULL
        p = blank(p + 1)


cdef const char* read_text(const char* p, Text* text) noexcept nogil:
    """Behind a text without backslashes, or NULL."""
    if p[0] != b'"':
        return NULL
    p += 1
    text.at, text.spaced = p, False
    while p[0] != b'"':
        if p[0] == b"\\" or <unsigned char> p[0] <= 32:
            if p[0] != b" ":
                return NULL
            text.spaced = True
        p += 1
    text.length = p - text.at
    return p + 1


cdef const char* read_scalar(const char* p, Entry* entry) noexcept nogil:
    """Behind a plain text, a whole number, true, false or null; or NULL."""
    cdef Text text
    cdef const char* start
    entry.n = SCALAR
    if p[0] == b'"':
        return read_text(p, &text)
    if strncmp(p, b"true", 4) == 0 or strncmp(p, b"null", 4) == 0:
        return p + 4
    if strncmp(p, b"false", 5) == 0:
        return p + 5
    start = p + (p[0] == b"-")
    p = start
    while b"0" <= p[0] <= b"9":
        p += 1
    if p > start and p - start <= DIGITS and (start[0] != b"0" or p == start + 1) and p[0] != b"." and p[0] != b"e" and p[0] != b"E":
        return p
    return NULL


cdef inline const char* blank(const char* p) noexcept nogil:
    """Behind white space."""
    while p[0] == b" " or p[0] == b"\t" or p[0] == b"\n" or p[0] == b"\r":
        p += 1
    return p
