"""The gradient of one sequence by its distinct blocks, for updates that need each weight's number once and whole.

A scatter adds to a weight as often as its attribute fires. Where the change is not linear in the gradient (a length to divide by, a
variance for each weight, a transform) the sequence's blocks are gathered first, worked on, and then go to the weights:

    gather    g = F' (q, edge, P) of some tokens, in pieces: one for each distinct block; returns |g|^2
    ...       whatever the algorithm makes of g, v and d, piece by piece
    clear     when that is done
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np

from ..._kernels cimport Blocks, scatter_pairs
from ...chain._blocks cimport numbers_from


cdef class LocalUpdate(LocalGradient):
    def __init__(self, lazy):
        LocalGradient.__init__(self, lazy)
        self.pair_mark = np.zeros(len(lazy.layout.pair_ptr), np.int32)

    def __dealloc__(self):
        free(self.piece)

    cdef double gather(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """The pieces of g, edge already without label pairs that have no weight; |g|^2, NaN: no memory."""
        cdef Blocks v = self.lazy.v.nodes, d = self.lazy.d.nodes, own = self.lazy.v.pairs
        cdef double square = self.build(s, first, T, X)
        cdef int64_t k, p, most
        cdef int32_t a
        if square != square:
            return NAN
        most = self.n_dense + self.n_sparse + 1 + (s.pairs.ptr[first + T] - s.pairs.ptr[first] if s.pairs.ptr != NULL else 0)
        if most > self.room_pieces:
            free(self.piece)
            self.room_pieces = most + most // 2
            self.piece = <Piece*> malloc(self.room_pieces * sizeof(Piece))
            if self.piece == NULL:
                self.room_pieces = 0
                return NAN
        self.n_pieces = 0
        for k in range(self.n_dense):
            a = self.dense[k]
            self.put(self.rows + k * self.LP, self.LP, v.rows + a * self.LP, d.rows + a * self.LP)
        for k in range(self.n_sparse):
            p = v.ptr[self.sparse[k]]
            self.put(self.w + self.ptr[k], self.ptr[k + 1] - self.ptr[k], v.w + p, d.w + p)
        self.put(X.edge, X.places, &self.lazy.v_edge[0], &self.lazy.d_edge[0])
        if s.pairs.ptr == NULL:
            return square
        own.w = numbers_from(&self.pair_vector[0], own.ptr[0])
        scatter_pairs(s, &own, first, T, X)
        for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
            a = s.pairs.attr[k]
            if self.pair_mark[a] == 0:
                self.pair_mark[a] = 1
                p = own.ptr[a]
                self.put(own.w + p, own.ptr[a + 1] - p, self.lazy.v.pairs.w + p, self.lazy.d.pairs.w + p)
                for p in range(own.ptr[a], own.ptr[a + 1]):
                    square += own.w[p] * own.w[p]
        for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
            self.pair_mark[s.pairs.attr[k]] = 0
        return square

    cdef void put(self, double* g, int64_t n, double* v, double* d) noexcept nogil:
        cdef Piece* piece = self.piece + self.n_pieces
        piece.g, piece.n, piece.v, piece.d = g, n, v, d
        self.n_pieces += 1

    cdef void clear(self) noexcept nogil:
        """The vector of pair weights is zero again; the rest is overwritten by the next sequence."""
        cdef const Piece* piece = self.piece + self.n_dense + self.n_sparse + 1
        cdef int64_t k
        while piece < self.piece + self.n_pieces:
            for k in range(piece.n):
                piece.g[k] = 0
            piece += 1

    cdef void subtract(self, double c) noexcept nogil:
        """v <- v - c g."""
        cdef const Piece* piece = self.piece
        cdef int64_t k
        while piece < self.piece + self.n_pieces:
            for k in range(piece.n):
                piece.v[k] -= c * piece.g[k]
            piece += 1

    cdef void subtract_both(self, double c, double of_d) noexcept nogil:
        """v <- v - c g,  d <- d - of_d g."""
        cdef const Piece* piece = self.piece
        cdef int64_t k
        while piece < self.piece + self.n_pieces:
            for k in range(piece.n):
                piece.v[k] -= c * piece.g[k]
                piece.d[k] -= of_d * piece.g[k]
            piece += 1
