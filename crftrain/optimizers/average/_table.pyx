"""The memory of the stochastic average gradient: for each unit (a sequence, or a few), what its last gradient was made of.

The gradient of a sequence is F' (q, edge), linear in marginals, so its change is F' of their change and the blocks of the
attributes need not be stored:

    mixed       node marginals T x L, and the sum of the edge marginals L x L       for the plain B line alone
    marginals   node marginals T x L, and all edge marginals (T-1) x L x L          for any B lines
    sparse      the gradient itself where it can be other than zero

exchange() stores what the lattice holds and adds the change to d. In single precision it is the rounded number whose
change is added, so that d stays the sum of the table.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from ..._kernels cimport Blocks, Lattice, Tokens, scatter_pairs, simd
from ...chain._blocks cimport BlockView, numbers_from
from ...chain._problem cimport Problem
from ..loop._compiled cimport Sequential


cdef class Table:
    """What the kinds share; `pairs` says that exchange() needs the edge marginals of each position."""

    def state(self):
        return {f"table_{name}": (<Store> store).memory for name, store in self.stores.items()}

    def restore(self, state):
        for name, store in self.stores.items():
            (<Store> store).memory[:] = state[f"table_{name}"]

    def clear(self):
        for store in self.stores.values():
            (<Store> store).memory[:] = 0

    cdef int exchange(self, Sequential at, int64_t u) noexcept nogil:
        """Store what the lattice holds, and add the change to d."""
        self.change(at, u, swap)
        self.changed(at, u)
        at.lazy.add_to_d(at.s, at.units[u], at.units[u + 1], at.X)
        return 0

    cdef void fetch(self, Sequential at, int64_t u) noexcept nogil:
        """What is remembered of u will be wanted soon: memory can answer while u is evaluated."""
        self.change(at, u, bring)

    cdef void difference(self, Sequential at, int64_t u) noexcept nogil:
        """The lattice's marginals become their change since the last exchange of u; nothing is stored."""
        self.change(at, u, minus)
        self.changed(at, u)

    cdef void change(self, Sequential at, int64_t u, Change how) noexcept nogil:
        """Treat so what the lattice holds of u."""

    cdef void changed(self, Sequential at, int64_t u) noexcept nogil:
        """What else in the lattice follows from it."""


cdef class Mixed(Table):
    cdef Store nodes, edges
    cdef int64_t size                       # label pairs of a unit

    @staticmethod
    def numbers(facts, units):
        return facts.n_tokens * facts.n_labels + units * facts.n_pairs

    def __init__(self, make, Problem problem, units):
        cdef int L = problem.n_labels
        self.pairs, self.size = False, problem.layout.n_pairs
        self.nodes, self.edges = make(problem.n_tokens * L), make((len(units) - 1) * self.size)
        self.stores = {"nodes": self.nodes, "edges": self.edges}

    cdef void change(self, Sequential at, int64_t u, Change how) noexcept nogil:
        cdef Lattice* X = at.X
        how(self.nodes, at.first(u) * X.L, X.q, at.length(u), X.L, X.LP)
        if X.arcs == NULL:
            how(self.edges, u * self.size, X.edge, X.L, X.L, X.LP)
        else:
            how(self.edges, u * self.size, X.edge, 1, self.size, self.size)


cdef class Marginals(Table):
    cdef Store nodes, pairs_store

    @staticmethod
    def numbers(facts, units):
        return facts.n_tokens * (facts.n_labels + facts.n_labels ** 2)

    def __init__(self, make, Problem problem, units):
        cdef int L = problem.n_labels
        self.pairs = True
        self.nodes, self.pairs_store = make(problem.n_tokens * L), make(problem.n_tokens * L * L)
        self.stores = {"nodes": self.nodes, "pairs": self.pairs_store}

    cdef void change(self, Sequential at, int64_t u, Change how) noexcept nogil:
        cdef Lattice* X = at.X
        cdef int64_t first = at.first(u), T = at.length(u)
        how(self.nodes, first * X.L, X.q, T, X.L, X.LP)
        how(self.pairs_store, first * X.L * X.L, X.P, T * X.L, X.L, X.LP)

    cdef void changed(self, Sequential at, int64_t u) noexcept nogil:
        sum_edges(at, at.X.P, at.length(u))


cdef void sum_edges(Sequential at, const double* P, int64_t T) noexcept nogil:
    """edge = the sum of P, where transitions have weights."""
    cdef double* edge = at.X.edge
    cdef int64_t t, k, size = at.X.places
    memset(edge, 0, size * sizeof(double))
    for t in range(T):
        simd.axpy(size, 1.0, P + t * size, edge)
    for k in range(size):
        edge[k] *= at.lazy.exists[k]


cdef class Sparse(Table):
    cdef Store values
    cdef int64_t[::1] begin         # [units+1]
    cdef double[::1] block          # the largest block

    @staticmethod
    def numbers(facts, units):
        """At most: blocks that come twice in a unit are stored once, which is counted when the table is made."""
        return facts.n_touched + units * facts.n_pairs

    def __init__(self, make, Problem problem, units):
        self.pairs = False
        self.begin = gradient_entries(problem, units)
        self.values = make(self.begin[len(units) - 1])
        self.block = np.zeros(max(1, problem.n_labels))
        self.stores = {"values": self.values}

    cdef int exchange(self, Sequential at, int64_t u) noexcept nogil:
        """Block by block in the order of LocalGradient, the transitions, then the pair attributes."""
        cdef Lattice* X = at.X
        cdef int64_t first = at.first(u), T = at.length(u), k, p, at_value = self.begin[u], n
        cdef int32_t a
        cdef const int64_t* ptr = at.lazy.v.nodes.ptr
        cdef double* row
        cdef double* out
        cdef double* block = &self.block[0]
        if isnan(at.local.build(at.s, first, T, X)):
            return -1
        for k in range(at.local.n_dense):
            a, row = at.local.dense[k], at.local.rows + k * X.LP
            n, out = ptr[a + 1] - ptr[a], &at.lazy.d.rows[a * X.LP]
            for p in range(n):
                block[p] = row[label_of(at.lazy.v, ptr[a], p)]
            self.values.swap(at_value, block, 1, n, n)
            for p in range(n):
                out[label_of(at.lazy.v, ptr[a], p)] += block[p]
            at_value += n
        for k in range(at.local.n_sparse):
            a, n = at.local.sparse[k], at.local.ptr[k + 1] - at.local.ptr[k]
            self.values.swap(at_value, at.local.w + at.local.ptr[k], 1, n, n)
            for p in range(n):
                at.lazy.d.vector[ptr[a] + p] += at.local.w[at.local.ptr[k] + p]
            at_value += n
        if X.arcs == NULL:
            self.values.swap(at_value, X.edge, X.L, X.L, X.LP)
        else:
            self.values.swap(at_value, X.edge, 1, X.arcs.n, X.arcs.n)
        at_value += X.L * X.L if X.arcs == NULL else X.arcs.n
        simd.axpy(X.places, 1.0, X.edge, &at.lazy.d_edge[0])
        if at.s.pairs.ptr != NULL:
            self.exchange_pairs(at, first, T, at_value)
        return 0

    cdef void exchange_pairs(self, Sequential at, int64_t first, int64_t T, int64_t at_value) noexcept nogil:
        """Blocks of pair attributes, occurrence by occurrence; where one comes again it has nothing left."""
        cdef Blocks blocks = at.lazy.d.pairs
        cdef int64_t k, p, n
        cdef int32_t b
        cdef double* values
        cdef double* d = at.lazy.d.pairs.w
        blocks.w = numbers_from(&at.local.pair_vector[0], blocks.ptr[0])
        scatter_pairs(at.s, &blocks, first, T, at.X)
        for k in range(at.s.pairs.ptr[first], at.s.pairs.ptr[first + T]):
            b = at.s.pairs.attr[k]
            n, values = blocks.ptr[b + 1] - blocks.ptr[b], blocks.w + blocks.ptr[b]
            self.values.swap(at_value, values, 1, n, n)
            for p in range(n):
                d[blocks.ptr[b] + p] += values[p]
                values[p] = 0
            at_value += n


cdef int64_t label_of(BlockView view, int64_t first, int64_t p) noexcept nogil:
    """The label of the p-th weight of the block that begins at `first`."""
    return p if view.nodes.whole else view.nodes.label[first + p]


def gradient_entries(Problem problem, const int64_t[::1] units):
    """int64[units+1]: where the entries of each unit's gradient begin in a row of all."""
    cdef const Tokens* s = &problem.sequences.s
    cdef const int64_t[::1] ptr = problem.layout.ptr, pair_ptr = problem.layout.pair_ptr
    cdef int64_t[::1] seen = np.full(max(1, ptr.shape[0] - 1), -1, np.int64)
    cdef int64_t u, k, n, first, end
    begin_array = np.zeros(units.shape[0], np.int64)
    cdef int64_t[::1] begin = begin_array
    for u in range(units.shape[0] - 1):
        first, end, n = s.seq[units[u]], s.seq[units[u + 1]], problem.layout.n_pairs
        for k in range(s.nodes.ptr[first], s.nodes.ptr[end]):
            if seen[s.nodes.attr[k]] != u:
                seen[s.nodes.attr[k]] = u
                n += ptr[s.nodes.attr[k] + 1] - ptr[s.nodes.attr[k]]
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[end]):
                n += pair_ptr[s.pairs.attr[k] + 1] - pair_ptr[s.pairs.attr[k]]
        begin[u + 1] = begin[u] + n
    return begin_array


TABLES = {"mixed": Mixed, "marginals": Marginals, "sparse": Sparse}
PRECISIONS = {"single": (Singles, 4), "double": (Doubles, 8)}
