"""Templates on weights: the records of _plain.pyx.

A record has the weights of a group of template lines as rows, one for each offset at which a line sees the same cells:

    psi[t] = sum of a row of each group's records near t

Rows of a single line are the model's float32; where several lines meet, their sum in double. Sums over records are in double, too.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from .._kernels cimport Lattice, padded_labels, simd
from ..text._expander cimport Expander, Group, Line
from ..text._strings cimport Growing, Slot, StringTable, crf_prefetch, hash_of, zeros


cdef struct Row:                    # of a record: what it says of the token it is met from
    int64_t at                      # bytes from the record's beginning
    int64_t shift                   # token t finds the record at place t + shift of the group's
    int32_t group
    bint wide                       # doubles


cdef class Weighed(Expander):
    """Records of weights. Record 0 is that of nothing known."""

    cdef StringTable attributes
    cdef const int64_t[::1] ptr
    cdef const int32_t[::1] label
    cdef const double[::1] w
    cdef int L, LP
    cdef Growing rows               # Row
    cdef Growing row_of             # int32 [lines]
    cdef Growing by_group           # int32: the lines of the groups, one group after the other
    cdef Growing first_of           # int32 [groups + 1]
    cdef Growing scratch
    cdef Growing found              # int32: the attributes of a record's lines
    cdef Growing ahead              # uint32: hashes of attributes that will be looked up

    def __init__(self, vocabulary, layout, w):
        super().__init__(vocabulary.template)
        self.attributes, self.L, self.LP = vocabulary.attributes, layout.n_labels, padded_labels(layout.n_labels)
        self.ptr, self.w = layout.ptr, w
        self.label = zeros(0, "i") if layout.label is None else layout.label
        self.scratch, self.found, self.ahead = Growing(), Growing(), Growing()
        self.arrange(are_narrow(self.w))

    cdef int arrange(self, bint narrow) except -1:
        """Which rows the records of each group have. narrow: weights are float32."""
        cdef const Line* lines = <const Line*> self.lines.data
        cdef Py_ssize_t k, g
        cdef int32_t number
        cdef Row row
        cdef Group* G
        self.rows, self.row_of, self.by_group, self.first_of = Growing(), Growing(), Growing(), Growing()
        of_group = [[k for k in range(self.n_node_lines) if lines[k].group == g] for g in range(self.n_groups)]
        row_of, number = {}, 0
        for g in range(self.n_groups):
            G = &self.groups[g]
            own = [lines[k].offset for k in of_group[g]]
            G.stride = 0
            for offset in sorted(set(own)):
                row.at, row.shift, row.group = G.stride, offset - G.nearest, <int32_t> g
                row.wide = not narrow or own.count(offset) > 1
                G.stride += self.LP * (sizeof(double) if row.wide else sizeof(float))
                self.rows.push(&row, sizeof(row))
                row_of[g, offset] = len(row_of)
        for k in range(self.n_node_lines):
            number = row_of[lines[k].group, lines[k].offset]
            self.row_of.push(&number, sizeof(number))
        number = 0
        for own in of_group:
            self.first_of.push(&number, sizeof(number))
            number += len(own)
        self.first_of.push(&number, sizeof(number))
        for own in of_group:
            for number in own:
                self.by_group.push(&number, sizeof(number))
        return 0

    cdef int look_ahead(self, const Group* G, int64_t n) except -1 nogil:
        """What a lookup waits for, asked for early and for all new keys together: slots, starts of names, names, weights."""
        cdef Py_ssize_t g = G - self.groups
        cdef int32_t first = (<int32_t*> self.first_of.data)[g], end = (<int32_t*> self.first_of.data)[g + 1]
        cdef const int32_t* own = <int32_t*> self.by_group.data
        cdef const Line* line
        cdef int64_t i, k, length
        cdef uint32_t h
        cdef const uint32_t* hashes
        cdef Slot slot
        cdef int stage
        self.ahead.used = 0
        for i in range(n):
            if G.record[i] < 0:
                for k in range(first, end):
                    line = <const Line*> self.lines.data + own[k]
                    length = self.write(line, G.nearest + i - line.offset, self.scratch, 0)
                    h = hash_of(self.scratch.data, length, self.attributes.seed)
                    crf_prefetch(&self.attributes.slots[h & self.attributes.mask])
                    self.ahead.push(&h, sizeof(h))
        hashes = <const uint32_t*> self.ahead.data
        for stage in range(3):
            for k in range(self.ahead.used // <Py_ssize_t> sizeof(h)):
                slot = self.attributes.slots[hashes[k] & self.attributes.mask]
                if slot.id < 0 or slot.hash != hashes[k]:
                    continue
                if stage == 0:
                    crf_prefetch(&self.attributes.start[slot.id])
                    crf_prefetch(&self.ptr[slot.id])
                elif stage == 1:
                    crf_prefetch(self.attributes.text + self.attributes.start[slot.id])
                    crf_prefetch(&self.w[self.ptr[slot.id]])
                elif self.label.shape[0]:
                    crf_prefetch(&self.label[self.ptr[slot.id]])
        return 0

    cdef int32_t make(self, Group* G, int64_t place) except -1 nogil:
        cdef Py_ssize_t g = G - self.groups
        cdef int32_t first = (<int32_t*> self.first_of.data)[g], end = (<int32_t*> self.first_of.data)[g + 1]
        cdef const int32_t* own = <int32_t*> self.by_group.data
        cdef const Line* line
        cdef int64_t length
        cdef int32_t i, a
        cdef int32_t* found
        cdef bint known = False
        cdef char* record
        if G.n_records == 0:
            memset(self.new_record(G), 0, G.stride)
        self.found.used = 0
        self.found.reserve((end - first) * sizeof(int32_t))
        found = <int32_t*> self.found.data
        for i in range(first, end):
            line = <const Line*> self.lines.data + own[i]
            length = self.write(line, place - line.offset, self.scratch, 0)
            a = self.attributes.find(self.scratch.data, length, hash_of(self.scratch.data, length, self.attributes.seed))
            found[i - first] = a
            known = known or a >= 0
        if not known:
            return 0
        record = self.new_record(G)
        memset(record, 0, G.stride)
        for i in range(first, end):
            if found[i - first] >= 0:
                self.add(found[i - first], record, (<const Row*> self.rows.data) + (<int32_t*> self.row_of.data)[own[i]])
        return G.n_records - 1

    cdef void add(self, int32_t a, char* record, const Row* row) noexcept nogil:
        """An attribute's weights to a row."""
        cdef int64_t p, first = self.ptr[a]
        cdef bint all_labels = self.label.shape[0] == 0
        cdef int64_t j
        for p in range(first, self.ptr[a + 1]):
            j = p - first if all_labels else self.label[p]
            if row.wide:
                (<double*> (record + row.at))[j] += self.w[p]
            else:
                (<float*> (record + row.at))[j] += <float> self.w[p]

    cdef int score(self, Lattice* X, Growing near) except -1 nogil:
        """psi of the sentence's tokens."""
        cdef int64_t t, n_rows = self.rows.used // sizeof(Row)
        cdef const Row* rows = <const Row*> self.rows.data
        cdef const Group* G
        cdef const float** narrow
        cdef const double** wide
        cdef int k, n, m
        cdef const char* place
        near.used = 0
        near.reserve(2 * n_rows * sizeof(void*))
        narrow = <const float**> near.data
        wide = <const double**> near.data + n_rows
        for t in range(self.T):
            n = m = 0
            for k in range(n_rows):
                G = &self.groups[rows[k].group]
                place = G.payload + G.record[t + rows[k].shift] * G.stride + rows[k].at
                if rows[k].wide:
                    wide[m] = <const double*> place
                    m += 1
                else:
                    narrow[n] = <const float*> place
                    n += 1
            simd.sum_records(n, narrow, m, wide, self.LP, X.psi + t * self.LP)
        return 0


cdef bint are_narrow(const double[::1] w) noexcept nogil:
    """Whether all of w are float32."""
    cdef Py_ssize_t k
    cdef bint narrow = True
    for k in range(w.shape[0]):
        narrow &= <double> <float> w[k] == w[k]
    return narrow
