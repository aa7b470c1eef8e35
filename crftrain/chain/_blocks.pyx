"""The layout's blocks as the kernels see them: over a vector of weights, and over a sum of gradients."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memset

from array import array

import numpy as np

from .._kernels cimport n_places, padded_labels, scatter_nodes, scatter_pairs, set_transitions, simd
from ..text._strings cimport zeros

cdef enum:
    MUCH = 1 << 16


cdef int64_t whole_rows(layout) except -1:
    """How many attributes the kernels may take as rows of LP.

    Where every block has all L labels, rows are read in place, a few numbers beyond their end; the last attributes
    are left to the sparse way so that no row reaches past the vector.
    """
    cdef int64_t L = layout.n_labels
    if layout.label is not None or L == 0:
        return layout.dense
    return max(0, layout.n_attributes - (padded_labels(L) - L + L - 1) // L)


def row_attributes(layout):
    """How many attributes that is, for Python."""
    return whole_rows(layout)


cdef extern from *:
    """
    #if defined(__GLIBC__)
    #include <malloc.h>
    #define crf_give_back() ((void)malloc_trim(0))
    #else
    #define crf_give_back() ((void)0)
    #endif
    """
    void crf_give_back()


def give_back():
    """Memory that was freed goes back to the system, where the C library keeps it for later and can be told."""
    crf_give_back()


cdef double[::1] aligned(int64_t n):
    """n zeros that begin at a cache line."""
    cdef double[::1] memory = np.zeros(n + 8) if n > MUCH else zeros(n + 8, "d")    # numpy's is in large pages
    cdef int64_t start = -(<int64_t> <uintptr_t> &memory[0] // 8) & 7
    return memory[start:start + n]


cdef class BlockView:
    """The layout's blocks as the kernels see them, over a vector of weights or a gradient.

    Padded: dense blocks are kept in rows of LP, apart from the vector. Else they are read in place, which takes
    blocks that have all L labels.
    """

    def __init__(self, layout, *, padded=None):
        cdef int L = layout.n_labels, LP = padded_labels(L)
        cdef int64_t dense = whole_rows(layout)
        cdef const int64_t[::1] ptr = layout.ptr, pair_ptr = layout.pair_ptr
        cdef const int32_t[::1] label, pair = layout.pair
        cdef int64_t a, p
        self.layout, self.L, self.LP = layout, L, LP
        self.nodes.whole = layout.label is None
        self.padded = not self.nodes.whole if padded is None else padded
        if self.nodes.whole:    # only the labels of the last few attributes are looked at
            self.label = np.tile(np.arange(L, dtype=np.int32), layout.n_attributes - dense)
        else:
            self.label = np.ascontiguousarray(layout.label, dtype=np.int32)
        label = self.label
        self.n_rows = dense if self.padded else 0
        self.rows = aligned(self.n_rows * LP)
        self.nodes.stride = LP if self.padded else L
        self.nodes.ptr, self.pairs.ptr = &ptr[0], &pair_ptr[0]
        self.present = np.zeros(max(1, dense), np.uint64)
        if self.padded and not self.nodes.whole and L <= 64:
            for a in range(dense):
                for p in range(ptr[a], ptr[a + 1]):
                    self.present[a] |= (<uint64_t> 1) << label[p]
            self.nodes.present = &self.present[0]
        # labels are looked up by the position in the vector
        self.nodes.label = labels_from(&label[0] if label.shape[0] else NULL, ptr[dense] if self.nodes.whole else 0)
        self.pairs.label = labels_from(&pair[0] if pair.shape[0] else NULL, pair_ptr[0])

    cdef int point_to(self, double[::1] vector) except -1:
        if vector.shape[0] != self.layout.n_features:
            raise ValueError(f"{vector.shape[0]} numbers, expected {self.layout.n_features}")
        self.vector = vector
        self.nodes.w = self.pairs.w = &vector[0] if vector.shape[0] else NULL
        self.nodes.rows = self.nodes.w if not self.padded else &self.rows[0] if self.rows.shape[0] else NULL
        return 0

    cdef void let_go(self) noexcept:
        """Of the vector: whose it is may be done with it."""
        self.vector = None
        self.nodes.w = self.pairs.w = self.nodes.rows = NULL

    cdef void spread_rows(self) noexcept nogil:
        """Whole rows from the vector; what has no weight stays zero."""
        cdef int64_t a, p, j
        for a in range(self.n_rows):
            if self.nodes.whole:
                for j in range(self.L):
                    self.rows[a * self.LP + j] = self.vector[a * self.L + j]
            else:
                for p in range(self.nodes.ptr[a], self.nodes.ptr[a + 1]):
                    self.rows[a * self.LP + self.nodes.label[p]] = self.vector[p]

    cdef void clear_rows(self, int64_t first, int64_t last) noexcept nogil:
        """Whole rows among attributes first .. last - 1 are zero."""
        last = min(last, self.n_rows)
        if first < last:
            memset(&self.rows[first * self.LP], 0, (last - first) * self.LP * sizeof(double))

    cdef void add_rows(self, int64_t first, int64_t last) noexcept nogil:
        """The vector += whole rows, those among attributes first .. last - 1; what has no weight is dropped."""
        self.add_rows_to(self.vector, first, last)

    cdef void add_rows_to(self, double[::1] vector, int64_t first, int64_t last) noexcept nogil:
        """The same for another vector."""
        cdef int64_t a, p, j
        for a in range(first, min(last, self.n_rows)):
            if self.nodes.whole:
                for j in range(self.L):
                    vector[a * self.L + j] += self.rows[a * self.LP + j]
            else:
                for p in range(self.nodes.ptr[a], self.nodes.ptr[a + 1]):
                    vector[p] += self.rows[a * self.LP + self.nodes.label[p]]


cdef class ArcList:
    """pair: the label pairs i * L + j that there are, in increasing order; others as leaves and enters say."""

    def __init__(self, pair, n_labels, const double[::1] leaves, const double[::1] enters):
        previous, following = (part.astype(np.int32) for part in np.divmod(pair, n_labels))
        order = np.argsort(following, kind="stable").astype(np.int32)
        cdef const int64_t[::1] ptr = starts(previous, n_labels), into = starts(following, n_labels)
        cdef const int32_t[::1] to = np.append(following, np.int32(0)), number = np.append(order, np.int32(0))
        cdef const int32_t[::1] source = np.append(previous[order], np.int32(0))
        self.arcs.n = len(pair)
        self.arcs.ptr, self.arcs.to = &ptr[0], &to[0]
        self.arcs.into, self.arcs.source, self.arcs.number = &into[0], &source[0], &number[0]
        self.arcs.leaves, self.arcs.enters = &leaves[0], &enters[0]
        self.arcs.closed = not (np.all(leaves) and np.all(enters))
        self.keep = [ptr, to, into, source, number, leaves, enters]


def starts(labels, n_labels):
    """int64[L+1]: where each label's begin, were they in order."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_labels))]).astype(np.int64)


cdef dense_places(const int32_t[::1] pair, int L):
    """int64: where the pairs i * L + j are in rows of LP."""
    found = zeros(pair.shape[0], "q")
    cdef int64_t[::1] place = found
    cdef int64_t k
    for k in range(pair.shape[0]):
        place[k] = pair[k] // L * padded_labels(L) + pair[k] % L
    return found


cdef class Transitions:
    def __init__(self, layout):
        cdef int L = layout.n_labels
        self.arc_list = layout.arcs
        self.arcs = NULL if self.arc_list is None else &self.arc_list.arcs
        self.n, self.first, self.places = len(layout.transition), layout.transitions.start, n_places(L, self.arcs)
        self.place = self.places_of(layout.transition, layout)
        self.trans, self.M, self.MT = aligned(self.places), aligned(self.places), aligned(self.places)
        self.S, self.ST = (aligned(0), aligned(0)) if self.arcs == NULL else (aligned(self.places), aligned(self.places))
        self.forbidden, self.ends = self.not_legal(layout, layout.legal)

    def places_of(self, pair, layout):
        """int64: of label pairs i * L + j; those that are no arcs are left out."""
        if self.arcs == NULL:
            return dense_places(pair, layout.n_labels)
        pair = np.asarray(pair)
        return np.searchsorted(layout.arc_pairs, pair[np.isin(pair, layout.arc_pairs)])

    def not_legal(self, layout, legal):
        """(places of forbidden pairs, [2][LP] 0 or -inf for labels at the ends); both empty where all is legal. Without numpy."""
        if legal is None:
            return zeros(0, "q"), zeros(0, "d")
        cdef Py_ssize_t i, j, L = legal.n, LP = padded_labels(legal.n)
        cdef const uint8_t[::1] table = legal.table     # [L + 1][L + 1]
        cdef double[::1] ends = zeros(2 * LP, "d")
        for j in range(L):
            if not table[L * (L + 1) + j]:
                ends[j] = -INFINITY
            if not table[j * (L + 1) + L]:
                ends[LP + j] = -INFINITY
        pairs = array("i", [i * L + j for i in range(L) for j in range(L) if not table[i * (L + 1) + j]])
        return self.places_of(pairs, layout), ends

    cdef void attach(self, Weights* W) noexcept:
        """W's transitions are these from now on."""
        W.arcs, W.places = self.arcs, self.places
        W.trans, W.M, W.MT, W.S, W.ST = &self.trans[0], &self.M[0], &self.MT[0], NULL, NULL
        if self.arcs != NULL:
            W.S, W.ST = &self.S[0], &self.ST[0]
        W.ends = &self.ends[0] if self.ends.shape[0] else NULL

    cdef void forbid(self, double* trans) noexcept nogil:
        """-inf for what is not legal."""
        cdef int64_t k
        for k in range(self.forbidden.shape[0]):
            trans[self.forbidden[k]] = -INFINITY

    cdef void read(self, const double[::1] w) noexcept nogil:
        """trans from a vector of weights."""
        cdef int64_t k
        for k in range(self.n):
            self.trans[self.place[k]] = w[self.first + k]


cdef class Scorer:
    def __init__(self, layout):
        self.view, self.transitions = BlockView(layout), Transitions(layout)
        self.W.L, self.W.LP = self.view.L, self.view.LP
        self.transitions.attach(&self.W)

    cdef int use(self, double[::1] w) except -1:
        """Take w (kept, not copied, until let_go(); call again when it has changed)."""
        self.view.point_to(w)
        self.view.spread_rows()
        self.W.nodes, self.W.pairs = self.view.nodes, self.view.pairs
        self.transitions.read(w)
        self.transitions.forbid(self.W.trans)
        set_transitions(&self.W)
        return 0

    cdef void let_go(self) noexcept:
        self.view.let_go()
        self.W.nodes, self.W.pairs = self.view.nodes, self.view.pairs


cdef class Gradient:
    def __init__(self, layout):
        self.view, self.transitions = BlockView(layout), Transitions(layout)
        self.edge = np.zeros(self.transitions.places + 8)

    cdef int use(self, double[::1] g) except -1:
        """Sums will be added to g, those of whole rows and transitions by collect()."""
        self.view.point_to(g)
        self.view.rows[:] = 0
        self.edge[:] = 0
        return 0

    cdef void add(self, const Tokens* s, int64_t i, const Lattice* X) noexcept nogil:
        """g += F' (q, edge, P) of sequence i."""
        scatter_nodes(s, &self.view.nodes, i, X.L, X.LP, X.q)
        self.add_rest(s, s.seq[i], s.seq[i + 1] - s.seq[i], X)

    cdef void add_tokens(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """The same for T tokens of one sequence or several."""
        simd.scatter(&s.nodes, &self.view.nodes, first, T, X.L, X.LP, X.q)
        self.add_rest(s, first, T, X)

    cdef void add_rest(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """edge and P."""
        simd.axpy(X.places, 1.0, X.edge, &self.edge[0])
        if s.pairs.ptr != NULL:
            scatter_pairs(s, &self.view.pairs, first, T, X)

    cdef int collect(self) except -1:
        cdef int64_t k
        with nogil:
            self.view.add_rows(0, self.view.n_rows)
            for k in range(self.transitions.n):
                self.view.vector[self.transitions.first + k] += self.edge[self.transitions.place[k]]
        return 0
