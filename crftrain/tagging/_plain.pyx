# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Plain tagging: bytes of whole sentences in, the same lines with labels out, and Python is not asked in between.

    bytes -> lines -> cells -> records -> psi -> the best labels (-> how sure they are) -> bytes

A record has the weights of a group of template lines as rows, one for each offset at which a line sees the same cells:

    psi[t] = sum of a row of each group's records near t

Rows of a single line are the model's float32; where several lines meet, their sum in double. Sums over records are in double, too.
What is odd in any way (columns that are missing, scores beyond floating point) is not handled here: the answer is None, and
whoever asked goes the slow way, which knows what to say.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.math cimport exp, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memchr, memset

from .._kernels cimport (
    Lattice,
    Tokens,
    Weights,
    backward,
    forward,
    lattice_fit,
    lattice_free,
    lattice_new,
    padded_labels,
    set_transitions,
    simd,
    viterbi,
)
from ..chain._blocks cimport Transitions
from ..text._expander cimport Expander, Group, Line, Text
from ..text._lines cimport Rest, is_space, next_line
from ..text._strings cimport SLACK, Growing, StringTable, hash_of, put, zeros
from ._digits cimport DIGITS, put_fixed, put_general
from ._marginals cimport keep_marginals

from ..errors import DataError

MOST_LABELS = 64        # rows of more would be mostly zeros

cdef enum:
    ODD = 1

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

    def __init__(self, vocabulary, layout, w):
        super().__init__(vocabulary.template)
        self.attributes, self.L, self.LP = vocabulary.attributes, layout.n_labels, padded_labels(layout.n_labels)
        self.ptr, self.w = layout.ptr, w
        self.label = zeros(0, "i") if layout.label is None else layout.label
        self.scratch, self.found = Growing(), Growing()
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


cdef class Plain:
    """A model at work on bytes. It serves one thread at a time."""

    cdef Weighed expander
    cdef Transitions transitions
    cdef Weights W
    cdef Lattice* X
    cdef bytes names
    cdef Growing labels             # Text: of each label; a tab before it, a colon behind it
    cdef Growing text, out, spans, best, near
    cdef Growing p                  # double [T][L] marginals
    cdef double log_p               # of the best labels
    cdef bint labels_only, numbers_only, score, marginals, every
    cdef int64_t room               # what marginals take on a line

    def __init__(self, model, *, labels_only=False, score=False, marginals=None):
        """score, marginals: as in tag.Output."""
        cdef Text label
        vocabulary, layout = model.vocabulary, model.layout
        w = model.calibrated_w if score or marginals else model.w
        self.expander = Weighed(vocabulary, layout, w)
        self.transitions = Transitions(layout.for_paths())
        self.W.L, self.W.LP = layout.n_labels, padded_labels(layout.n_labels)
        self.transitions.attach(&self.W)
        self.transitions.read(w)
        self.transitions.forbid(self.W.trans)
        set_transitions(&self.W)
        self.X = lattice_new(self.W.L, self.W.arcs)
        if self.X == NULL:
            raise MemoryError("a lattice")
        self.labels, self.text, self.out, self.spans = Growing(), Growing(), Growing(), Growing()
        self.best, self.near, self.p, self.labels_only, self.numbers_only = Growing(), Growing(), Growing(), labels_only, False
        self.score, self.marginals, self.every = score, marginals is not None, marginals == "all"
        names = [b"\t%s:" % name.encode() for name in vocabulary.labels]
        self.names = b"".join(names) + bytes(SLACK)
        self.room = (sum(map(len, names)) + DIGITS * len(names) if self.every else 0) + DIGITS + 1
        label.at = PyBytes_AsString(self.names) + 1
        for name in names:
            label.length = len(name) - 2
            self.labels.push(&label, sizeof(label))
            label.at += len(name)

    def __dealloc__(self):
        lattice_free(self.X)

    def tag(self, bytes text, n_columns, missing):
        """The lines of whole sentences with their labels, an empty line after each sentence; None where something is odd.

        n_columns: of each line; missing: the column of the training data that is not there, or None.
        """
        return PyBytes_FromStringAndSize(self.out.data, self.out.used) if self.tagged(text, n_columns, missing) else None

    def numbers(self, bytes text, n_columns, missing):
        """The numbers of the labels alone, one sentence after the other, as bytes of int32; None where something is odd."""
        self.numbers_only = True
        try:
            known = self.tagged(text, n_columns, missing)
        finally:
            self.numbers_only = False
        return PyBytes_FromStringAndSize(self.out.data, self.out.used) if known else None

    cdef bint tagged(self, bytes text, n_columns, missing) except -1:
        """Whether the answers are in `out`."""
        cdef int status
        self.expander.set_columns(n_columns, -1, missing)
        self.text.used = self.out.used = 0
        self.text.push(PyBytes_AsString(text), PyBytes_Size(text))
        try:
            with nogil:
                status = self.tag_text()
        except DataError:
            return False
        return status != ODD

    cdef int tag_text(self) except -1 nogil:
        cdef Rest rest = Rest(self.text.data, self.text.data + self.text.used)
        cdef Text line
        self.spans.used = 0
        self.expander.begin()
        while next_line(&rest, &line):
            if line.length:
                if self.expander.cut_line(line.at, line.at + line.length) != self.expander.n_columns:
                    return ODD
                while line.at[line.length - 1] == b" " or line.at[line.length - 1] == b"\t":
                    line.length -= 1
                self.spans.push(&line, sizeof(line))
            elif self.expander.T:
                if self.tag_sentence() == ODD:
                    return ODD
        return self.tag_sentence() if self.expander.T else 0

    cdef int tag_sentence(self) except -1 nogil:
        cdef int64_t T = self.expander.T
        cdef int64_t[2] seq
        cdef Tokens tokens
        cdef double score
        self.expander.find()
        if not lattice_fit(self.X, T, False):
            with gil:
                raise MemoryError("the lattice of a sequence does not fit into memory")
        self.expander.score(self.X, self.near)
        memset(&tokens, 0, sizeof(tokens))
        seq[0], seq[1] = 0, T
        tokens.seq = seq
        self.best.used = 0
        self.best.reserve(T * sizeof(int32_t))
        score = viterbi(&self.W, &tokens, 0, self.X, <int32_t*> self.best.data)
        if not isfinite(score) or ((self.score or self.marginals) and not self.sum_up(T, &tokens, score)):
            return ODD
        if self.numbers_only:
            self.out.push(self.best.data, T * sizeof(int32_t))
        else:
            self.write(T)
        self.spans.used = 0
        self.expander.begin()
        return 0

    cdef bint sum_up(self, int64_t T, const Tokens* tokens, double score) except -1 nogil:
        """log p of the best labels, and the marginals; False where they leave the range of floating point."""
        cdef double log_z = forward(&self.W, tokens, 0, self.X)
        cdef int64_t k, n = T * self.W.L
        cdef double* p
        if not isfinite(log_z):
            return False
        self.log_p = min(score - log_z, 0)      # rounding is not small where scores are large
        if not self.marginals:
            return True
        backward(&self.W, tokens, 0, self.X)
        self.p.used = 0
        self.p.reserve(n * sizeof(double))
        p = <double*> self.p.data
        keep_marginals(self.X, T, p)
        for k in range(n):
            if not p[k] >= 0:
                return False
            p[k] = min(p[k], 1)
        return True

    cdef int write(self, int64_t T) except -1 nogil:
        """The sentence's lines, each with its label after the separator that the line has; before them how sure all are together."""
        cdef const Text* lines = <const Text*> self.spans.data
        cdef const int32_t* best = <const int32_t*> self.best.data
        cdef char* to
        cdef int64_t t, room = 64
        for t in range(T):
            room += lines[t].length + (<const Text*> self.labels.data)[best[t]].length + 2 + self.room
        self.out.reserve(room)
        to = self.out.data + self.out.used
        if self.score:
            put(to, b"@probability\t\0\0", 13)
            to = put_general(to + 13, exp(self.log_p))
            to[0] = b"\n"
            to += 1
        for t in range(T):
            if not self.labels_only:
                put(to, lines[t].at, lines[t].length)
                to += lines[t].length
                to[0] = b" " if by_spaces(lines[t]) else b"\t"
                to += 1
            to = self.put_result(to, best[t], (<const double*> self.p.data) + t * self.W.L)
            to[0] = b"\n"
            to += 1
        to[0] = b"\n"
        self.out.used = to + 1 - self.out.data
        return 0

    cdef char* put_result(self, char* to, int32_t j, const double* p) noexcept nogil:
        """A label, label:p, or that and label:p of every label."""
        cdef const Text* labels = <const Text*> self.labels.data
        put(to, labels[j].at, labels[j].length + self.marginals)
        to += labels[j].length + self.marginals
        if self.marginals:
            to = put_fixed(to, p[j])
        if self.every:
            for j in range(self.W.L):
                put(to, labels[j].at - 1, labels[j].length + 2)
                to = put_fixed(to + labels[j].length + 2, p[j])
        return to


cdef bint are_narrow(const double[::1] w) noexcept nogil:
    """Whether all of w are float32."""
    cdef Py_ssize_t k
    cdef bint narrow = True
    for k in range(w.shape[0]):
        narrow &= <double> <float> w[k] == w[k]
    return narrow


cdef inline bint by_spaces(Text line) noexcept nogil:
    """Whether columns are parted by spaces: there is one behind the first character, and no tab at all."""
    cdef const char* p = line.at
    cdef const char* end = p + line.length
    if memchr(p, b"\t", line.length) != NULL:
        return False
    while p < end and is_space(p[0]):
        p += 1
    return memchr(p, b" ", end - p) != NULL
