# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Plain tagging: bytes of whole sentences in, the same lines with labels out, and Python is not asked in between.

    bytes -> lines -> cells -> records (_weighed.pyx) -> psi -> the best labels (-> how sure they are) -> bytes

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
    viterbi,
)
from ..chain._blocks cimport Transitions
from ..text._lines cimport Rest, is_space, next_line
from ..text._strings cimport SLACK, Growing, put
from ..text._texts cimport Text
from ._digits cimport DIGITS, put_fixed, put_general
from ._marginals cimport keep_marginals

from ..errors import DataError

include "_weighed.pyx"

MOST_LABELS = 64        # rows of more would be mostly zeros

cdef enum:
    ODD = 1


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


cdef inline bint by_spaces(Text line) noexcept nogil:
    """Whether columns are parted by spaces: there is one behind the first character, and no tab at all."""
    cdef const char* p = line.at
    cdef const char* end = p + line.length
    if memchr(p, b"\t", line.length) != NULL:
        return False
    while p < end and is_space(p[0]):
        p += 1
    return memchr(p, b" ", end - p) != NULL
