"""A model at work on corpora: best and ranked labellings, marginals, probabilities, all over legal labellings alone.

What is not legal has the score -inf: label pairs and labels at a sequence's ends by the layout, labels that are known to be others in
the node scores. So one lattice serves all questions.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from dataclasses import replace

import numpy as np

from .._kernels cimport (
    Lattice,
    Tokens,
    Weights,
    backward,
    forward,
    gather,
    lattice_fit,
    lattice_free,
    lattice_new,
    viterbi,
)
from ..chain._blocks cimport Scorer
from ..chain._sequences cimport Sequences
from ._marginals cimport keep_marginals
from ._ranked cimport Ranking
from ._spans cimport Spans

from ..errors import TrainingError
from .query import Decoded, Query


cdef class Answers:
    """What a Query asks for, and room for it."""

    cdef bint sums, marginals, posterior, ranks, chunks, masked
    cdef int32_t[::1] labels
    cdef double[::1] scores, log_z
    cdef double[:, ::1] p
    cdef const uint8_t[:, ::1] known
    cdef Ranking ranking
    cdef Spans spans
    cdef list ranked

    def __init__(self, query, int64_t n, int64_t tokens, int L, int LP):
        self.posterior, self.ranks, self.chunks = query.posterior, query.n > 1, query.chunks is not None
        self.marginals, self.masked = query.marginals or query.posterior, query.known is not None
        self.sums = query.probabilities or self.marginals or self.ranks or self.chunks
        self.labels, self.scores = np.zeros(tokens, np.int32), np.zeros(n)
        self.log_z = np.full(n if self.sums else 0, -np.inf)
        self.p = np.zeros((tokens if self.marginals else 0, L))
        self.known = query.known.view(np.uint8) if self.masked else np.empty((0, L), np.uint8)
        self.ranking = Ranking(L, LP, query.n) if self.ranks else None
        self.spans = Spans(query.chunks) if self.chunks else None
        self.ranked = [(np.empty(0), np.empty((0, 0), np.int32))] * n if self.ranks else None

    def decoded(self, *, constrained):
        scores, log_z = np.asarray(self.scores), np.asarray(self.log_z) if self.sums else None
        impossible = scores == -np.inf
        self.refuse_wild(scores, log_z, impossible, impossible.any() and not (self.masked or constrained))
        log_p = np.full(len(scores), -np.inf) if self.sums and not self.posterior else None
        if log_p is not None:
            np.subtract(scores, log_z, out=log_p, where=~impossible)
            np.minimum(log_p, 0, out=log_p)     # rounding is not small where scores are large
        return Decoded(
            np.asarray(self.labels),
            scores=scores,
            log_p=log_p,
            marginals=np.asarray(self.p) if self.marginals else None,
            log_z=log_z,
            ranked=self.ranked,
            chunks=self.spans.found() if self.chunks else None,
            impossible=impossible if self.masked or constrained else None,
        )

    def refuse_wild(self, scores, log_z, impossible, bint lost):
        """A TrainingError where scores have left the range of floating point."""
        wild = np.isnan(scores) | (scores == np.inf) | (impossible if lost else False)
        if log_z is not None:
            wild |= ~(np.isfinite(log_z) | impossible)
        if wild.any():
            found = f"the scores of sequence {np.argmax(wild) + 1} leave the range of floating point"
            raise TrainingError("", found, "weights and values of moderate size")
        if self.marginals:
            np.minimum(self.p, 1, out=np.asarray(self.p))
            if not (np.asarray(self.p) >= 0).all():
                raise TrainingError("", "marginals leave the range of floating point", "weights and values of moderate size")


cdef class Decoder:
    cdef Scorer scorer                  # by arcs where label pairs with weights are few
    cdef Scorer dense                   # of all label pairs, for questions about each of them
    cdef object layout, w
    cdef bint limited                   # not everything is legal
    cdef double[::1] legal_pairs        # 0 or -inf, rows of LP: what posterior decoding goes by

    def __init__(self, layout, w, legal=None):
        """legal: a Legal besides the layout's own, or None."""
        if legal is not None:
            layout = replace(layout, legal=legal & layout.legal)
        layout = layout.for_paths()
        self.layout, self.w, self.dense, self.limited = layout, w, None, layout.legal is not None
        self.scorer = Scorer(layout)
        self.scorer.use(w)
        self.legal_pairs = np.zeros(layout.n_labels * self.scorer.W.LP)
        self.scorer.transitions.forbid(&self.legal_pairs[0])

    cdef Scorer over_all_pairs(self):
        if self.scorer.W.arcs == NULL:
            return self.scorer
        if self.dense is None:
            scorer = Scorer(replace(self.layout, lattice="dense"))
            (<Scorer> scorer).use(self.w)
            self.dense = scorer
        return self.dense

    def decode(self, Sequences sequences, query=Query()):
        """The query's answers: a Decoded."""
        cdef const Tokens* s = &sequences.s
        cdef Scorer scorer = self.over_all_pairs() if query.n > 1 or query.posterior or query.chunks is not None else self.scorer
        cdef const Weights* W = &scorer.W
        cdef int64_t i
        cdef bint room
        cdef Answers answers = Answers(query, sequences.n, s.seq[sequences.n], W.L, W.LP)
        cdef Lattice* X = lattice_new(W.L, W.arcs)
        room = X != NULL
        with nogil:
            for i in range(sequences.n):
                room = room and lattice_fit(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL)
                if not room:
                    break
                self.answer(W, s, i, X, answers)
        lattice_free(X)
        if not room:
            raise MemoryError("the lattice of a sequence does not fit into memory")
        return answers.decoded(constrained=self.limited)

    cdef int answer(self, const Weights* W, const Tokens* s, int64_t i, Lattice* X, Answers to) except -1 nogil:
        """All that is asked of one sequence."""
        cdef int64_t first = s.seq[i], T = s.seq[i + 1] - first
        gather(W, s, i, X)
        if to.masked:
            mask(X, &to.known[first, 0], T)
        to.scores[i] = viterbi(W, s, i, X, &to.labels[first])
        if to.scores[i] == -INFINITY:       # nothing is legal: no sums, no marginals
            return 0
        if to.ranks:
            with gil:
                to.ranking.begin(X, W.trans if s.pairs.ptr == NULL else X.e, 0 if s.pairs.ptr == NULL else W.L * W.LP, T)
                to.ranked[i] = to.ranking.best()
        if to.sums:
            to.log_z[i] = forward(W, s, i, X)
        if to.marginals or to.chunks:
            backward(W, s, i, X)
        if to.chunks:
            with gil:
                to.spans.take(W, s, i, X, &to.labels[first])
        if to.marginals:
            keep_marginals(X, T, &to.p[first, 0])
        if to.posterior:
            to.scores[i] = self.best_by_marginals(W, s, i, X, &to.labels[first])
        return 0

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
