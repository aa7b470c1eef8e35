"""Templates on sentences whose cells are numbers: what _expander.pyx has for those who expand."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ._strings cimport Growing
from ._texts cimport Text, Texts


cdef struct Piece:                  # of a template line, or of a key
    Text text                       # a literal, if column is -1
    int64_t row
    int32_t column                  # among those that the template names
    int32_t function                # -1: the cell itself
    bint absolute


cdef struct Line:
    int64_t first, end              # its pieces
    int64_t offset                  # token t finds what it needs in the record of place t + offset
    int32_t group
    int32_t slot                    # which line of the group it is


cdef struct KeySlot:
    uint32_t hash
    int32_t record                  # -1: empty


cdef struct Group:                  # lines that see the same cells, from one place or another
    int64_t first, end              # its key: parts
    int64_t nearest, furthest       # offsets of its lines, the least and the largest
    int32_t n_lines
    bint plain                      # the key is a cell
    uint64_t mask
    KeySlot* slots                  # [mask + 1]
    int32_t* keys                   # [mask + 1][end - first]
    int64_t n_keys
    int32_t* direct                 # [n_direct] plain: the record of a cell, -1: not known yet
    int64_t n_direct
    char* payload                   # [n_records][stride]
    int64_t stride, room
    int32_t n_records
    int32_t* record                 # [T + furthest - nearest] of the sentence: record of place nearest + i
    int64_t record_room


cdef class Expander(Texts):
    cdef list literals
    cdef Growing pieces, parts      # Piece
    cdef Growing lines              # Line; first the U lines, then the B lines
    cdef Group* groups
    cdef int64_t most_keys          # of a group; beyond these the tables start anew
    cdef readonly Py_ssize_t n_groups, n_node_lines, n_pair_lines
    cdef Growing key, key_hash      # of the places of a group

    cdef int add_lines(self, lines) except -1
    cdef int add_piece(self, Growing to, bytes literal, int64_t row, int32_t column, int32_t function, bint absolute) except -1
    cdef int begin(self) except -1 nogil
    cdef int find(self) except -1 nogil
    cdef int find_group(self, Group* G) except -1 nogil
    cdef int room_for(self, Group* G, int64_t n) except -1 nogil
    cdef int make_keys(self, Group* G, int64_t n) except -1 nogil
    cdef int32_t find_key(self, Group* G, const int32_t* key, uint32_t h, int64_t place) except -1 nogil
    cdef bint find_known(self, Group* G, int64_t n) noexcept nogil
    cdef int look_ahead(self, const Group* G, int64_t n) except -1 nogil
    cdef int grow(self, Group* G) except -1 nogil
    cdef char* new_record(self, Group* G) except NULL nogil
    cdef int32_t make(self, Group* G, int64_t place) except -1 nogil
    cdef int64_t write(self, const Line* line, int64_t t, Growing out, int64_t at) except -1 nogil
