"""The gradient of one sequence (or a few) as it stands in the attributes' blocks, gathered in one small place.

The line search asks for |g|^2 and for the scores of g: with psi(w - g/L) = psi(w) - psi(g)/L a trial needs no second gather.
Attributes get numbers of their own here, dense ones name rows and sparse ones short runs, and the kernels' gather and
scatter work on them as on the whole vector.
"""

from libc.math cimport NAN
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from ..._kernels cimport Weights, gather_pairs, scatter_pairs, simd
from ...chain._blocks cimport labels_from, numbers_from

cdef class LocalGradient:
    def __init__(self, LazyWeights lazy):
        self.lazy, self.L, self.LP = lazy, lazy.W.L, lazy.W.LP
        self.mark = np.zeros(max(1, lazy.pair_base), np.int32)
        self.pair_vector = np.zeros(max(1, lazy.layout.n_features - lazy.layout.pair_ptr[0]))
        self.blocks.stride = self.LP

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept nogil:
        free(self.attr)
        free(self.dense)
        free(self.sparse)
        free(self.ptr)
        free(self.rows)
        free(self.w)
        free(self.label)
        self.attr = self.dense = self.sparse = self.label = NULL
        self.ptr = NULL
        self.rows = self.w = NULL
        self.room_occurrences = self.room_rows = self.room_weights = 0

    cdef bint number(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """Give the attributes of T tokens numbers here; False: no memory."""
        cdef int64_t begin = s.nodes.ptr[first], n = s.nodes.ptr[first + T] - begin, k, p, at
        cdef int32_t a
        cdef const int64_t* ptr = self.lazy.v.nodes.ptr
        if not self.room_to_number(n):
            return False
        self.mark_attributes(s, first, T)
        for k in range(n):
            self.attr[k] = self.mark[s.nodes.attr[begin + k]] - 1
        for k in range(self.n_dense):
            self.mark[self.dense[k]] = 0
        if not self.room():
            return False
        for k in range(self.n_sparse):
            a, at = self.sparse[k], self.ptr[k]
            self.mark[a] = 0
            for p in range(ptr[a], ptr[a + 1]):
                self.label[at + p - ptr[a]] = self.lazy.v.nodes.label[p]
        self.occurrences.ptr, self.occurrences.split, self.occurrences.value = s.nodes.ptr, s.nodes.split, s.nodes.value
        self.occurrences.attr = labels_from(self.attr, begin)
        self.blocks.rows, self.blocks.w, self.blocks.ptr, self.blocks.label = self.rows, self.w, self.ptr, self.label
        return True

    cdef bint room_to_number(self, int64_t n) noexcept nogil:
        """For so many occurrences; False: no memory."""
        if n <= self.room_occurrences and self.ptr != NULL:     # there may be no occurrence at all
            return True
        free(self.attr)
        free(self.dense)
        free(self.sparse)
        free(self.ptr)
        self.room_occurrences = n + n // 2 + 64
        self.attr = <int32_t*> malloc(self.room_occurrences * sizeof(int32_t))
        self.dense = <int32_t*> malloc(self.room_occurrences * sizeof(int32_t))
        self.sparse = <int32_t*> malloc(self.room_occurrences * sizeof(int32_t))
        self.ptr = <int64_t*> malloc((self.room_occurrences + 1) * sizeof(int64_t))
        if self.attr == NULL or self.dense == NULL or self.sparse == NULL or self.ptr == NULL:
            self.release()
            return False
        return True

    cdef void mark_attributes(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """List the dense and the sparse ones; mark[a] is an attribute's number in its list, plus 1."""
        cdef const int64_t* ptr = self.lazy.v.nodes.ptr
        cdef int64_t t, k
        cdef int32_t a
        self.n_dense = self.n_sparse = 0
        self.ptr[0] = 0
        for t in range(first, first + T):
            for k in range(s.distinct.ptr[t], s.distinct.ptr[t + 1]):
                a = s.distinct.attr[k]
                if self.mark[a] == 0:
                    if k < s.distinct.split[t]:
                        self.dense[self.n_dense] = a
                        self.n_dense += 1
                        self.mark[a] = self.n_dense
                    else:
                        self.sparse[self.n_sparse] = a
                        self.n_sparse += 1
                        self.ptr[self.n_sparse] = self.ptr[self.n_sparse - 1] + ptr[a + 1] - ptr[a]
                        self.mark[a] = self.n_sparse

    cdef bint room(self) noexcept nogil:
        """Rows and weights for the numbers given, all zero; False: no memory."""
        cdef int64_t weights = self.ptr[self.n_sparse]
        if self.n_dense > self.room_rows:
            free(self.rows)
            self.room_rows = self.n_dense + self.n_dense // 2
            self.rows = <double*> malloc(self.room_rows * self.LP * sizeof(double))
        if weights > self.room_weights:
            free(self.w)
            free(self.label)
            self.room_weights = weights + weights // 2
            self.w = <double*> malloc((self.room_weights + 8) * sizeof(double))
            self.label = <int32_t*> malloc(self.room_weights * sizeof(int32_t))
        if (self.n_dense and self.rows == NULL) or (weights and (self.w == NULL or self.label == NULL)):
            self.release()
            return False
        if self.n_dense:
            memset(self.rows, 0, self.n_dense * self.LP * sizeof(double))
        if weights:
            memset(self.w, 0, weights * sizeof(double))
        return True

    cdef double build(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """g = F' (q, edge) of T tokens; returns the square of its norm, without pair attributes. NaN: no memory."""
        cdef int64_t k
        cdef double square = 0, x
        cdef bint whole = self.lazy.v.nodes.whole
        cdef const uint64_t* present = self.lazy.v.nodes.present
        if not self.number(s, first, T):
            return NAN
        for k in range(T):      # one by one: all is near, nothing need be fetched ahead
            simd.scatter(&self.occurrences, &self.blocks, first + k, 1, self.L, self.LP, X.q + k * self.LP)
        if self.n_dense and not whole and present != NULL:
            square = simd.keep_present(self.n_dense, self.LP, self.dense, present, self.rows)
        elif self.n_dense:
            if not whole:
                self.keep_present_labels()
            square = simd.dot(self.n_dense * self.LP, self.rows, self.rows)
        for k in range(self.ptr[self.n_sparse]):
            x = self.w[k]
            square += x * x
        return square + simd.dot(X.places, X.edge, X.edge)

    cdef double rate(self, const Owing* owing) noexcept nogil:
        """g becomes r g, block by block; returns g.(r g) - g.g."""
        cdef int64_t k, p
        cdef double more = 0, r
        cdef double* row
        for k in range(self.n_dense):
            r, row = owing[self.dense[k]].rate, self.rows + k * self.LP
            for p in range(self.LP):
                more += (r - 1) * row[p] * row[p]
                row[p] *= r
        for k in range(self.n_sparse):
            r = owing[self.sparse[k]].rate
            for p in range(self.ptr[k], self.ptr[k + 1]):
                more += (r - 1) * self.w[p] * self.w[p]
                self.w[p] *= r
        return more

    cdef void keep_present_labels(self) noexcept nogil:
        """A row may hold numbers for weights that do not exist; here is the way for more labels than bits."""
        cdef const int64_t* ptr = self.lazy.v.nodes.ptr
        cdef const int32_t* label = self.lazy.v.nodes.label
        cdef int64_t k, p, j
        cdef int32_t a
        for k in range(self.n_dense):
            a = self.dense[k]
            p = ptr[a]
            for j in range(self.L):
                if p < ptr[a + 1] and label[p] == j:
                    p += 1
                else:
                    self.rows[k * self.LP + j] = 0

    cdef void scores(self, int64_t first, int64_t T, double* psi) noexcept nogil:
        """psi(g) of the same tokens."""
        cdef int64_t t
        for t in range(T):
            simd.gather(&self.occurrences, &self.blocks, first + t, 1, self.L, self.LP, psi + t * self.LP)

    cdef double pairs(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X, double* e) noexcept nogil:
        """For pair attributes: e(g), transitions included, and the square of their own part's norm.

        They are summed in a vector as long as all pair weights, of which only the blocks at hand are touched.
        """
        cdef Blocks blocks = self.lazy.v.pairs
        cdef Weights W
        cdef int64_t k, p
        cdef int32_t b
        cdef double square = 0
        blocks.w = numbers_from(&self.pair_vector[0], blocks.ptr[0])
        scatter_pairs(s, &blocks, first, T, X)
        W.L, W.LP, W.arcs, W.pairs, W.trans = self.L, self.LP, NULL, blocks, X.edge
        gather_pairs(&W, s, first, T, e)
        for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
            b = s.pairs.attr[k]
            for p in range(blocks.ptr[b], blocks.ptr[b + 1]):
                square += blocks.w[p] * blocks.w[p]
                blocks.w[p] = 0
        return square
