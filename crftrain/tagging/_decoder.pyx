"""A model at work on corpora: best paths, marginals, probabilities."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from .._kernels cimport Lattice, Tokens, Weights, backward, forward, gather, lattice_fit, lattice_free, lattice_new, viterbi
from ..chain._blocks cimport Scorer
from ..chain._sequences cimport Sequences


cdef class Decoder:
    cdef Scorer scorer

    def __init__(self, layout, w):
        self.scorer = Scorer(layout)
        self.scorer.use(w)

    def decode(self, Sequences sequences, *, probabilities=False, marginals=False):
        """(label int32[T], log p float64[n] of the best paths or None, P(y_t = j) float64[T, L] or None)."""
        cdef const Tokens* s = &sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef int64_t i, t, j, first, tokens = s.seq[sequences.n]
        cdef bint sums = probabilities or marginals, all_marginals = marginals, room
        cdef double score
        labels, log_p = np.empty(tokens, np.int32), np.empty(sequences.n if sums else 0)
        p = np.empty((tokens if marginals else 0, W.L))
        cdef int32_t[::1] y = labels
        cdef double[::1] log_p_view = log_p
        cdef double[:, ::1] p_view = p
        cdef Lattice* X = lattice_new(W.L)
        room = X != NULL
        with nogil:
            for i in range(sequences.n):
                first = s.seq[i]
                if not room or not lattice_fit(X, s.seq[i + 1] - first, s.pairs.ptr != NULL):
                    room = False
                    break
                gather(W, s, i, X)
                score = viterbi(W, s, i, X, &y[first])
                if sums:
                    log_p_view[i] = score - forward(W, s, i, X)
                if all_marginals:
                    backward(W, s, i, X)
                    for t in range(s.seq[i + 1] - first):
                        for j in range(W.L):
                            p_view[first + t, j] = X.q[t * W.LP + j]
        lattice_free(X)
        if not room:
            raise MemoryError("the lattice of a sequence does not fit into memory")
        return labels, log_p if sums else None, p if marginals else None
