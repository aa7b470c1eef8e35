"""The cells of a sentence as numbers: what _texts.pyx has for templates."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from ._ascii cimport Compiled
from ._strings cimport Growing, StringTable


cdef struct Text:
    const char* at
    int64_t length


cdef class Texts:
    cdef readonly list columns      # of the file, that the template names, increasing
    cdef list functions, borders
    cdef StringTable names          # every text that is a cell or a function of one
    cdef Growing compiled           # Compiled
    cdef Growing result             # a function's text
    cdef Py_ssize_t n_used, n_functions
    cdef Growing values             # int32 [names][n_functions]: the number of a function's text, -1: not known yet
    cdef Growing border_ids         # int32 [2][n_distances]
    cdef int64_t n_distances        # 0: places outside are numbers below 0
    cdef Growing used               # int32: the file's columns
    cdef int32_t n_columns, label_column
    cdef Growing cells              # int32 [T][n_used]
    cdef Growing texts, hashes      # Text, uint32 [T][n_used]
    cdef Growing labels             # Text [T], where there are labels
    cdef int64_t T

    cdef int add_functions(self) except -1
    cdef int set_columns(self, n_columns, label_column, missing) except -1
    cdef int forget(self) except -1
    cdef bint many_texts(self) noexcept nogil
    cdef void no_lines(self) noexcept nogil
    cdef int32_t cut_line(self, const char* p, const char* end) except -1 nogil
    cdef int intern(self) except -1 nogil
    cdef int32_t number(self, const char* text, int64_t length) except -1
    cdef int32_t apply(self, int32_t cell, int32_t function) except -1 nogil
    cdef int32_t apply_compiled(self, const Compiled* function, int32_t cell) except -2 nogil

    cdef inline int32_t cell_at(self, int64_t place, int32_t column) noexcept nogil:
        """The number of a cell; of a place outside of the sentence -1, -2 .. before it, and from the least number on after it."""
        cdef int64_t far, least = -0x7FFFFFFF - 1
        if 0 <= place < self.T:
            return (<int32_t*> self.cells.data)[place * self.n_used + column]
        far = -1 - place if place < 0 else place - self.T
        if self.n_distances:
            return (<int32_t*> self.border_ids.data)[min(far, self.n_distances - 1) + self.n_distances * (place >= 0)]
        return <int32_t> (-1 - far if place < 0 else far + least)
