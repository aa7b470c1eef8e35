"""How far the weights move after a wrong path, rule by rule: ap.py, pa.py, arow.py and mira.py."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ..base import within

from ..loop._compiled cimport Piece


cdef class PerceptronSteps(MarginSteps):
    """tau = 1; the loss is the share of wrong labels."""

    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil:
        self.move(1.0)
        return <double> errors / self.length(u)


cdef class PassiveAggressiveSteps(MarginSteps):
    """loss = margin + sqrt(errors) (or + 1); tau = loss/|g|^2 (0), at most c (1), or loss/(|g|^2 + 1/2c) (2)."""
    cdef int type
    cdef double c
    cdef bint error_sensitive

    def __init__(self, problem, w, *, type, c, error_sensitive, **options):
        MarginSteps.__init__(self, problem, w, **options)
        self.type, self.c, self.error_sensitive = int(type), c, error_sensitive

    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil:
        cdef double loss = margin + (sqrt(<double> errors) if self.error_sensitive else 1.0)
        if loss <= 0:
            return 0
        self.move(loss / (square + 0.5 / self.c) if self.type == 2 else min(loss / square, self.c if self.type == 1 else loss / square))
        return loss


cdef class ArowSteps(MarginSteps):
    """d holds a variance s for each weight: alpha = loss / (gamma + sum s g^2); v <- v - alpha s g; 1/s <- 1/s + g^2/gamma."""
    cdef double gamma

    def __init__(self, problem, w, *, variance, gamma, **options):
        MarginSteps.__init__(self, problem, w, **options)
        self.gamma = gamma
        self.lazy.set_d(np.full(problem.n_features, variance))

    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil:
        cdef const Piece* end = self.change.piece + self.change.n_pieces
        cdef const Piece* piece = self.change.piece
        cdef double loss = margin + errors, spread = self.gamma, alpha, g
        cdef int64_t k
        if loss <= 0:
            return 0
        while piece < end:
            for k in range(piece.n):
                spread += piece.d[k] * piece.g[k] * piece.g[k]
            piece += 1
        alpha, piece = loss / spread, self.change.piece
        self.updates += 1
        while piece < end:
            for k in range(piece.n):
                g = piece.g[k]
                if g != 0:
                    piece.v[k] -= alpha * piece.d[k] * g
                    piece.d[k] /= 1 + piece.d[k] * g * g / self.gamma
            piece += 1
        return loss


cdef class MiraSteps(MarginSteps):
    """tau = loss/|g|^2, but no more in all than c for a sequence; one that was right often enough in a row is left out."""
    cdef double c
    cdef double[::1] given              # [n] sum of the sequence's tau
    cdef int32_t[::1] right             # [n] passes in a row in which it was right
    cdef readonly int64_t skipped       # left out in this pass
    cdef int32_t patience

    def __init__(self, problem, w, *, c, shrinking_size, **options):
        MarginSteps.__init__(self, problem, w, **options)
        self.c, self.patience = c, shrinking_size
        self.given, self.right = np.zeros(problem.n_sequences), np.zeros(problem.n_sequences, np.int32)

    cdef bint left_out(self, int64_t u) noexcept nogil:
        if self.right[u] < self.patience:
            return False
        self.runs -= 1
        self.skipped += 1
        self.done += 1
        return True

    cdef void was_right(self, int64_t u) noexcept nogil:
        self.right[u] += 1

    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil:
        cdef double loss = margin + errors, tau = min(loss / square, self.c - self.given[u])
        self.right[u] = 0
        if tau > 1e-10:
            self.given[u] += tau
            self.move(tau)
        return max(loss, 0.0)

    def look_at_all(self):
        some, self.skipped = self.skipped > 0, 0
        if some:
            self.right[:] = 0
        return some

    def state(self):
        return {**MarginSteps.state(self), "given": np.array(self.given), "right": np.array(self.right)}

    def restore(self, w, state):
        MarginSteps.restore(self, w, state)
        np.asarray(self.given)[:], np.asarray(self.right)[:] = state["given"], within(state, "right", 0, 2**31 - 2)
