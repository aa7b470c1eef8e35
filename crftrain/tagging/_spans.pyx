"""How sure a chunk of the best labelling is: the probability that just this chunk stands there, whatever is around it.

The posterior of a linear chain is a Markov chain itself, so with the marginals of labels and of label pairs

    P(chunk s..e) = sum_{i: a chunk starts from i to y_s} P(i, y_s)
                    prod_{t=s+1..e} P(y_t | y_{t-1})
                    sum_{j: a chunk ends from y_e to j} P(j | y_e)

The first sum is P(y_s) at the start of a sequence, the last one is 1 at its end: the chunk's own borders belong to it, or I-X I-X
would be found in I-X I-X I-X too (Culotta and McCallum 2004 get the same by a forward pass that is confined to the chunk).
"""

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t

import numpy as np

from .._kernels cimport Lattice, Tokens, Weights


cdef class Spans:
    """Collects the chunks of one sequence after another: token numbers of the first and behind the last one, and P."""

    def __init__(self, rules):
        self.starts, self.ends = (np.ascontiguousarray(rule).view(np.uint8) for rule in rules)
        self.first, self.end, self.p = [], [], []

    cdef int take(self, const Weights* W, const Tokens* s, int64_t i, const Lattice* X, const int32_t* y) except -1:
        """The chunks of y, after backward."""
        cdef int64_t t, end, begin = s.seq[i], T = s.seq[i + 1] - begin
        cdef int L = X.L
        for t in range(T):
            if self.starts[y[t - 1] if t else L, y[t]]:
                end = t + 1
                while end < T and not self.ends[y[end - 1], y[end]]:
                    end += 1
                self.first.append(begin + t)
                self.end.append(begin + end)
                self.p.append(self.probability(W, s, X, y, T, t, end))
        return 0

    cdef double probability(self, const Weights* W, const Tokens* s, const Lattice* X, const int32_t* y,
                            int64_t T, int64_t first, int64_t end) noexcept:
        cdef double p = 0, part = 0
        cdef int64_t t
        cdef int j, L = X.L, LP = X.LP
        if first == 0:
            p = X.q[y[0]]
        else:
            for j in range(L):
                if self.starts[j, y[first]]:
                    p += pair(W, s, X, first, j, y[first])
        for t in range(first + 1, end):
            if X.q[(t - 1) * LP + y[t - 1]] <= 0:
                return 0
            p *= pair(W, s, X, t, y[t - 1], y[t]) / X.q[(t - 1) * LP + y[t - 1]]
        if end == T:
            return p
        for j in range(L):
            if self.ends[y[end - 1], j]:
                part += pair(W, s, X, end, y[end - 1], j)
        return p * part / X.q[(end - 1) * LP + y[end - 1]] if X.q[(end - 1) * LP + y[end - 1]] > 0 else 0

    def found(self):
        """(first, end int64[n], p float64[n])"""
        return np.array(self.first, np.int64), np.array(self.end, np.int64), np.array(self.p)


cdef double pair(const Weights* W, const Tokens* s, const Lattice* X, int64_t t, int i, int j) noexcept nogil:
    """P(y_{t-1} = i, y_t = j), after backward."""
    cdef int LP = X.LP
    if s.pairs.ptr != NULL:
        return X.P[(t * X.L + i) * LP + j]
    if X.scaled:
        return X.a[(t - 1) * LP + i] * W.M[i * LP + j] * X.v[t * LP + j]
    return exp(X.a[(t - 1) * LP + i] + W.trans[i * LP + j] + X.psi[t * LP + j] + X.b[t * LP + j] - X.log_z)
