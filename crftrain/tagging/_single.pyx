# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The best labels of one sequence of attributes, and nothing else: what most who hold a tagger ask of it, often and for few tokens.

What an Encoder, a Corpus, Sequences and a Decoder do one after the other is done here in the buffers of one object, without arrays.
"""

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from .._kernels cimport Lattice, Tokens, gather, lattice_fit, lattice_free, lattice_new, viterbi
from ..chain._blocks cimport Scorer, whole_rows
from ..text._objects cimport Objects
from ..text._strings cimport Growing, StringTable

from ..errors import TrainingError


cdef class Single(Objects):
    """Serves one thread; others may have the same scorer, which only those of one model share."""

    cdef readonly Scorer scorer
    cdef Lattice* X
    cdef list names
    cdef int64_t dense
    cdef Growing split              # int64 [T]: where a token's sparse attributes begin
    cdef Growing later              # what goes behind the dense ones
    cdef Growing best               # int32 [T]

    def __cinit__(self):
        self.X = NULL

    def __init__(self, StringTable attributes, names, layout, w, Scorer scorer=None):
        super().__init__(StringTable(), attributes, learn=False)
        if scorer is None:
            scorer = Scorer(layout)
            scorer.use(w)
        self.scorer, self.names, self.dense = scorer, list(names), whole_rows(layout)
        self.split, self.later, self.best = Growing(), Growing(), Growing()
        self.X = lattice_new(scorer.W.L, scorer.W.arcs)
        if self.X == NULL:
            raise MemoryError("no lattice")

    def __dealloc__(self):
        lattice_free(self.X)

    def tag(self, xseq):
        """The labels of a sequence."""
        cdef Tokens s
        cdef double score
        cdef int64_t t, T
        cdef const int32_t* best
        self.add_one(xseq, None, -1)
        T = self.n_tokens
        try:
            self.best.used = 0
            self.best.reserve(T * sizeof(int32_t))
            if T == 0:
                return []
            self.order()
            memset(&s, 0, sizeof(s))
            s.seq, s.label = <int64_t*> self.seq.data, <int32_t*> self.label.data
            s.nodes.ptr, s.nodes.split = <int64_t*> self.node_ptr.data, <int64_t*> self.split.data
            s.nodes.attr = <int32_t*> self.node_attr.data
            s.nodes.value = <double*> self.node_value.data if self.valued else NULL
            s.distinct = s.nodes
            if not lattice_fit(self.X, T, False):
                raise MemoryError("the lattice of a sequence does not fit into memory")
            with nogil:
                gather(&self.scorer.W, &s, 0, self.X)
                score = viterbi(&self.scorer.W, &s, 0, self.X, <int32_t*> self.best.data)
        finally:
            self.forget()
        if not isfinite(score):
            raise TrainingError("", "the scores of the sequence leave the range of floating point", "weights and values of moderate size")
        best = <int32_t*> self.best.data
        return [self.names[best[t]] for t in range(T)]

    cdef int forget(self) except -1:
        """As if nothing had been added."""
        self.go_back(0, 0)
        self.valued, self.node_value.used, self.seq.used = False, 0, sizeof(int64_t)
        return 0

    cdef int order(self) except -1:
        """Dense attributes first in each token; they and the others stay in their order."""
        cdef int64_t t, k, at, move
        cdef const int64_t* ptr = <int64_t*> self.node_ptr.data
        cdef int32_t* attr = <int32_t*> self.node_attr.data
        cdef double* value = <double*> self.node_value.data if self.valued else NULL
        cdef int32_t* later
        cdef double* later_value
        self.split.used = 0
        self.split.reserve(self.n_tokens * sizeof(int64_t))
        self.later.reserve(self.n_nodes * (sizeof(int32_t) + sizeof(double)))
        later_value = <double*> self.later.data
        later = <int32_t*> (later_value + self.n_nodes)
        for t in range(self.n_tokens):
            at, move = ptr[t], 0
            for k in range(ptr[t], ptr[t + 1]):
                if attr[k] < self.dense:
                    attr[at] = attr[k]
                    if value != NULL:
                        value[at] = value[k]
                    at += 1
                else:
                    later[move] = attr[k]
                    if value != NULL:
                        later_value[move] = value[k]
                    move += 1
            memcpy(attr + at, later, move * sizeof(int32_t))
            if value != NULL:
                memcpy(value + at, later_value, move * sizeof(double))
            (<int64_t*> self.split.data)[t] = at
        return 0


include "_named.pyx"
