"""A model at work on corpora: best and ranked labellings, marginals, probabilities, all over legal labellings alone.

What is not legal has the score -inf: label pairs in the matrix of transitions, labels at a sequence's ends and those that are known
to be others in the node scores. So one lattice serves all questions.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from .._kernels cimport Lattice, Tokens, Weights, backward, forward, gather, lattice_fit, lattice_free, lattice_new, set_transitions, viterbi
from ..chain._blocks cimport Scorer
from ..chain._sequences cimport Sequences
from ._ranked cimport Ranking
from ._spans cimport Spans

from .query import Decoded, Query


cdef class Decoder:
    cdef Scorer scorer
    cdef bint ends
    cdef const uint8_t[::1] first, last
    cdef double[::1] legal_pairs        # 0 or -inf, rows of LP: what posterior decoding goes by

    def __init__(self, layout, w, legal=None):
        """legal: a Legal, or None: everything is."""
        cdef int64_t i, j
        cdef int LP
        cdef const uint8_t[:, ::1] pairs
        self.scorer = Scorer(layout)
        self.scorer.use(w)
        LP, self.ends = self.scorer.W.LP, legal is not None
        self.legal_pairs = np.zeros(layout.n_labels * LP)
        if legal is not None:
            self.first, self.last, pairs = (np.ascontiguousarray(part).view(np.uint8) for part in (legal.first, legal.last, legal.pairs))
            for i in range(layout.n_labels):
                for j in range(layout.n_labels):
                    if not pairs[i, j]:
                        self.scorer.W.trans[i * LP + j] = self.legal_pairs[i * LP + j] = -INFINITY
            set_transitions(&self.scorer.W)

    def decode(self, Sequences sequences, query=Query()):
        """The query's answers: a Decoded."""
        cdef const Tokens* s = &sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef int64_t i, t, first, T, tokens = s.seq[sequences.n]
        cdef bint posterior = query.posterior, marginals = query.marginals or posterior, sums = query.probabilities or marginals or query.chunks is not None
        cdef bint masked = query.known is not None, ranks = query.n > 1, chunks = query.chunks is not None, room
        cdef double score
        labels, scores, log_z = np.empty(tokens, np.int32), np.empty(sequences.n), np.empty(sequences.n if sums or ranks else 0)
        p = np.empty((tokens if marginals else 0, W.L))
        cdef int32_t[::1] y = labels
        cdef double[::1] score_view = scores, log_z_view = log_z
        cdef double[:, ::1] p_view = p
        cdef const uint8_t[:, ::1] known = query.known.view(np.uint8) if masked else np.empty((0, W.L), np.uint8)
        cdef Ranking ranking = Ranking(W.L, W.LP, query.n) if ranks else None
        cdef Spans spans = Spans(query.chunks) if chunks else None
        cdef Lattice* X = lattice_new(W.L)
        ranked = [] if ranks else None
        room = X != NULL
        with nogil:
            for i in range(sequences.n):
                first, T = s.seq[i], s.seq[i + 1] - s.seq[i]
                if not room or not lattice_fit(X, T, s.pairs.ptr != NULL):
                    room = False
                    break
                gather(W, s, i, X)
                if masked:
                    mask(X, &known[first, 0], T)
                if self.ends:
                    mask(X, &self.first[0], 1)
                    mask_row(X, &self.last[0], T - 1)
                score_view[i] = viterbi(W, s, i, X, &y[first])
                if ranks:
                    with gil:
                        ranking.begin(X, W.trans if s.pairs.ptr == NULL else X.e, 0 if s.pairs.ptr == NULL else W.L * W.LP, T)
                        ranked.append(ranking.best())
                if score_view[i] == -INFINITY:      # nothing is legal
                    if sums or ranks:
                        log_z_view[i] = -INFINITY
                    if marginals:
                        memset(&p_view[first, 0], 0, T * W.L * sizeof(double))
                    continue
                if sums or ranks:
                    log_z_view[i] = forward(W, s, i, X)
                if marginals or chunks:
                    backward(W, s, i, X)
                if chunks:
                    with gil:
                        spans.take(W, s, i, X, &y[first])
                if marginals:
                    keep_marginals(X, T, &p_view[first, 0])
                if posterior:
                    score_view[i] = self.best_by_marginals(W, s, i, X, &y[first])
        lattice_free(X)
        if not room:
            raise MemoryError("the lattice of a sequence does not fit into memory")
        return Decoded(
            labels,
            log_p=differences(scores, log_z) if sums and not posterior else None,
            marginals=p if marginals else None,
            log_z=log_z if sums or ranks else None,
            ranked=ranked,
            chunks=spans.found() if chunks else None,
            impossible=~np.isfinite(scores) if masked or self.ends else None,
        )

    cdef double best_by_marginals(self, const Weights* W, const Tokens* s, int64_t i, Lattice* X, int32_t* y) noexcept nogil:
        """The legal labelling with the largest sum of marginals: Viterbi with these for node scores."""
        cdef int64_t t, j, T = s.seq[i + 1] - s.seq[i]
        cdef Weights plain = W[0]
        cdef Tokens nodes = s[0]
        for t in range(T):
            for j in range(W.L):
                X.psi[t * W.LP + j] = X.q[t * W.LP + j] if X.psi[t * W.LP + j] > -INFINITY else -INFINITY
        plain.trans, nodes.pairs.ptr = &self.legal_pairs[0], NULL
        return viterbi(&plain, &nodes, i, X, y)


cdef void mask(Lattice* X, const uint8_t* legal, int64_t T) noexcept nogil:
    """-inf for what is not legal in the first T positions."""
    cdef int64_t t
    for t in range(T):
        mask_row(X, legal + t * X.L, t)


cdef void mask_row(Lattice* X, const uint8_t* legal, int64_t t) noexcept nogil:
    cdef int64_t j
    for j in range(X.L):
        if not legal[j]:
            X.psi[t * X.LP + j] = -INFINITY


cdef void keep_marginals(const Lattice* X, int64_t T, double* p) noexcept nogil:
    cdef int64_t t, j
    for t in range(T):
        for j in range(X.L):
            p[t * X.L + j] = X.q[t * X.LP + j]


def differences(scores, log_z):
    """log p; -inf where nothing is legal."""
    return np.subtract(scores, log_z, out=np.full(len(scores), -np.inf), where=scores > -np.inf)
