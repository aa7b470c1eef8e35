# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The cells of a sentence as numbers, each text once.

Functions of cells are worked out once for each distinct cell, and their results are numbered like cells. Nothing here needs Python,
but functions that compiled code does not know.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from ._ascii cimport Compiled, of_ascii
from ._strings cimport SLACK, Growing, StringTable, crf_prefetch, hash_of

cdef enum:
    MOST_TEXTS = 1 << 17            # names, and their bytes: beyond these the table starts anew
    MOST_BYTES = 1 << 23


cdef class Texts:
    def __init__(self, template):
        macros = [macro for _, macro in template.macros]
        self.columns = sorted({macro.column for macro in macros})
        self.functions = list(dict.fromkeys(macro.function for macro in macros if macro.function is not None))
        self.n_used, self.n_functions, self.used = len(self.columns), len(self.functions), Growing()
        self.cells, self.texts, self.hashes, self.labels = Growing(), Growing(), Growing(), Growing()
        self.borders = [cell.encode() for cells in template.dialect.borders or () for cell in cells]
        self.n_distances = len(self.borders) // 2
        self.compiled, self.result = Growing(), Growing()
        self.add_functions()

    cdef int add_functions(self) except -1:
        """What compiled code can do for cells of ASCII."""
        cdef Compiled new
        for function in self.functions:
            letter = function.letter.lower()
            new.letter, new.lower = ord(letter) if letter in "ldpswx" else 0, function.letter.isupper()
            new.n = function.argument if new.letter and function.argument else 0
            self.compiled.push(&new, sizeof(new))
        return 0

    cdef int set_columns(self, n_columns, label_column, missing) except -1:
        """How many columns lines have, which is the label's (-1: none), and which column of the file they lack (None)."""
        cdef int32_t column
        self.used.used = 0
        for column in self.columns:
            column -= missing is not None and column > missing
            if column >= n_columns:
                raise ValueError(f"column {column} of {n_columns}")
            self.used.push(&column, sizeof(column))
        if not -1 <= label_column < n_columns:
            raise ValueError(f"label column {label_column} of {n_columns}")
        self.n_columns, self.label_column = n_columns, label_column
        return 0

    cdef int forget(self) except -1:
        """Start the table anew."""
        cdef int32_t border
        self.names, self.values, self.border_ids = StringTable(), Growing(), Growing()
        for cell in self.borders:
            border = self.number(cell, len(cell))
            self.border_ids.push(&border, sizeof(border))
        return 0

    cdef bint many_texts(self) noexcept nogil:
        """Whether it is time for that."""
        return self.names.n > MOST_TEXTS or self.names.start[self.names.n] > MOST_BYTES

    cdef void no_lines(self) noexcept nogil:
        self.T = self.texts.used = self.hashes.used = self.labels.used = 0

    cdef int32_t cut_line(self, const char* p, const char* end) except -1 nogil:
        """Take the next token's cells, which must stay where they are, SLACK bytes behind them; the number of columns."""
        cdef int32_t column = 0, i = 0
        cdef const int32_t* used = <int32_t*> self.used.data
        cdef Text* texts
        cdef Text name
        cdef uint32_t* hashes
        cdef const char* begin
        self.texts.reserve(self.n_used * sizeof(Text))
        self.hashes.reserve(self.n_used * sizeof(uint32_t))
        texts, hashes = <Text*> (self.texts.data + self.texts.used), <uint32_t*> (self.hashes.data + self.hashes.used)
        while True:
            while p < end and (p[0] == b" " or p[0] == b"\t"):
                p += 1
            if p == end:
                break
            begin = p
            while p < end and p[0] != b" " and p[0] != b"\t":
                p += 1
            if i < self.n_used and column == used[i]:
                texts[i] = Text(begin, p - begin)
                hashes[i] = hash_of(begin, p - begin, self.names.seed)
                crf_prefetch(&self.names.slots[hashes[i] & self.names.mask])
                i += 1
            if column == self.label_column:
                name = Text(begin, p - begin)
                self.labels.push(&name, sizeof(name))
            column += 1
        self.texts.used += self.n_used * sizeof(Text)
        self.hashes.used += self.n_used * sizeof(uint32_t)
        self.T += 1
        return column

    cdef int intern(self) except -1 nogil:
        """The numbers of the cells."""
        cdef int64_t i, n = self.T * self.n_used
        cdef const Text* texts = <Text*> self.texts.data
        cdef const uint32_t* hashes = <uint32_t*> self.hashes.data
        cdef int32_t* cells
        cdef int32_t id
        self.cells.used = 0
        self.cells.reserve(n * sizeof(int32_t))
        cells = <int32_t*> self.cells.data
        for i in range(n):
            id = self.names.find(texts[i].at, texts[i].length, hashes[i])
            cells[i] = id if id >= 0 else self.names.append(texts[i].at, texts[i].length, hashes[i])
        return 0

    cdef int32_t number(self, const char* text, int64_t length) except -1:
        """The number of a text that lies anywhere."""
        cdef bytes padded
        cdef int32_t id = self.names.lookup(text, length)
        if id < 0:
            padded = text[:length] + bytes(SLACK)
            id = self.names.append(PyBytes_AsString(padded), length, hash_of(PyBytes_AsString(padded), length, self.names.seed))
        return id

    cdef int32_t apply(self, int32_t cell, int32_t function) except -1 nogil:
        """The number of a function's text."""
        cdef int64_t at = <int64_t> cell * self.n_functions + function, more = self.names.n * self.n_functions * sizeof(int32_t)
        cdef int32_t value
        if more > self.values.used:
            self.values.reserve(more - self.values.used)
            memset(self.values.data + self.values.used, 255, more - self.values.used)
            self.values.used = more
        value = (<int32_t*> self.values.data)[at]
        if value >= 0:
            return value
        value = self.apply_compiled((<const Compiled*> self.compiled.data) + function, cell)
        if value >= 0:
            (<int32_t*> self.values.data)[at] = value
            return value
        with gil:
            text = PyBytes_FromStringAndSize(self.names.text + self.names.start[cell], self.names.start[cell + 1] - self.names.start[cell])
            text = self.functions[function](text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            value = self.number(text, len(text))
        (<int32_t*> self.values.data)[at] = value
        return value

    cdef int32_t apply_compiled(self, const Compiled* function, int32_t cell) except -2 nogil:
        """The same for those that compiled code knows, and cells of ASCII; else -1."""
        cdef int64_t length = self.names.start[cell + 1] - self.names.start[cell]
        cdef uint32_t h
        cdef int32_t id
        if not function.letter:
            return -1
        self.result.used = 0
        self.result.reserve(length)
        length = of_ascii(function, self.names.text + self.names.start[cell], length, self.result.data)
        if length < 0:
            return -1
        h = hash_of(self.result.data, length, self.names.seed)
        id = self.names.find(self.result.data, length, h)
        return id if id >= 0 else self.names.append(self.result.data, length, h)
