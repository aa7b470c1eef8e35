"""The memory of the stochastic average gradient: for each unit (a sequence, or a few), what its last gradient was made of.

The gradient of a sequence is F' (q, edge), linear in marginals, so its change is F' of their change and the blocks of the
attributes need not be stored:

    mixed       node marginals T x L, and the sum of the edge marginals L x L       for the plain B line alone
    marginals   node marginals T x L, and all edge marginals (T-1) x L x L          for any B lines
    sparse      the gradient itself where it can be other than zero

exchange() stores what the lattice holds and adds the change to d. In single precision it is the rounded number whose
change is added, so that d stays the sum of the table.
"""

from libc.string cimport memset

import numpy as np

from .._kernels cimport padded_labels, scatter_pairs, simd


cdef class Store:
    """An array of numbers, in double or single precision."""

    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        """Store x; x becomes the change."""


cdef class Doubles(Store):
    cdef double[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        cdef int64_t k
        cdef double new
        for k in range(n):
            new = x[k]
            x[k] = new - self.numbers[at + k]
            self.numbers[at + k] = new


cdef class Singles(Store):
    cdef float[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n, np.float32)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        cdef int64_t k
        cdef float new
        for k in range(n):
            new = <float> x[k]
            x[k] = <double> new - <double> self.numbers[at + k]
            self.numbers[at + k] = new


PRECISIONS = {"single": (Singles, 4), "double": (Doubles, 8)}


cdef class Table:
    def state(self):
        return {f"table_{name}": store_memory(store) for name, store in self.stores.items()}

    def restore(self, state):
        for name, store in self.stores.items():
            store_memory(store)[:] = state[f"table_{name}"]

    cdef int exchange(self, LazyWeights lazy, const Tokens* s, int64_t unit, int64_t first, int64_t T, Lattice* X) noexcept nogil:
        return 0


def store_memory(Store store):
    return store.memory


cdef class Mixed(Table):
    cdef Store nodes, edges

    @staticmethod
    def numbers(facts, units, layout):
        """How many numbers it keeps."""
        return facts.n_tokens * facts.n_labels + units * facts.n_labels ** 2

    def __init__(self, precision, problem, units):
        make = PRECISIONS[precision][0]
        self.L, self.LP = problem.n_labels, padded_labels(problem.n_labels)
        self.nodes, self.edges = make(problem.n_tokens * self.L), make(units * self.L ** 2)
        self.stores = {"nodes": self.nodes, "edges": self.edges}

    cdef int exchange(self, LazyWeights lazy, const Tokens* s, int64_t unit, int64_t first, int64_t T, Lattice* X) noexcept nogil:
        cdef int64_t t, i
        for t in range(T):
            self.nodes.swap((first + t) * self.L, X.q + t * self.LP, self.L)
        for i in range(self.L):
            self.edges.swap((unit * self.L + i) * self.L, X.edge + i * self.LP, self.L)
        lazy.add_to_d(s, first, T, X)
        return 0
