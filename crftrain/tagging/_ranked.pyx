"""The n best labellings of a sequence, exact: each node (t, j) of the lattice keeps its best ways in, as far as anybody asked.

A way into (t, j) is a way into some (t - 1, i), and one more edge. So

    the r-th best way into (t, j)  =  the best of  { the next way into (t - 1, i) that is not used yet, then i -> j }  over i

and after a way through i was taken, only that one candidate changes: it becomes the next way into (t - 1, i), asked for only
now (Jimenez and Marzal 1999). The first ways are those that Viterbi left; a node is opened when its second one is wanted, so that the n-th
labelling costs the length of its detour, and L for each node that it opens.

The node T, behind the end, gathers the ways out of all labels at T - 1; its ways are the labellings.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from .._kernels cimport Lattice
from ..text._strings cimport Growing


cdef class Ranking:
    """For one sequence after another, up to n labellings each; the arrays grow as nodes are opened."""

    def __init__(self, int L, int LP, int n):
        self.L, self.LP, self.n, self.room = L, LP, n, 0
        self.node_of, self.stack = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self.time, self.label = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self.found, self.ended = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.pred, self.rank, self.score = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)
        self.candidate, self.next_rank = np.zeros(0), np.zeros(0, np.int32)

    cdef int grow(self) except -1:
        """Room for twice as many nodes."""
        cdef int64_t more = max(64, self.room)
        self.time, self.label = longer(self.time, more), longer(self.label, more)
        self.found, self.ended = longer(self.found, more), longer(self.ended, more)
        self.pred, self.rank = longer(self.pred, more * self.n), longer(self.rank, more * self.n)
        self.score, self.candidate = longer(self.score, more * self.n), longer(self.candidate, more * self.L)
        self.next_rank = longer(self.next_rank, more * self.L)
        self.room += more
        return 0

    cdef int begin(self, const Lattice* X, const double* e, int64_t step, int64_t T) except -1:
        """The sequence whose best ways (a, come_from) Viterbi has left in X; label pairs at t score e[t * step + i * LP + j]."""
        if self.node_of.shape[0] < T * self.L:
            self.node_of = np.empty(T * self.L, np.int32)
        if self.stack.shape[0] < T:
            self.stack = np.empty(T, np.int64)
        self.X, self.e, self.step, self.T, self.opened = X, e, step, T, 0
        self.node_of[: T * self.L] = -1
        self.closing = self.open(T, 0)
        return 0

    cdef double edge(self, int64_t t, int64_t i, int64_t j) noexcept:
        """What going from i to (t, j) adds."""
        return 0.0 if t == self.T else self.e[t * self.step + i * self.LP + j] + self.X.psi[t * self.LP + j]

    cdef int64_t open(self, int64_t t, int64_t j) except -1:
        """A node with its first way, and the candidates for more; its number."""
        cdef int64_t k = self.opened, i, best = 0
        if k == self.room:
            self.grow()
        self.opened += 1
        for i in range(self.L):
            self.candidate[k * self.L + i] = self.X.a[(t - 1) * self.LP + i] + self.edge(t, i, j)
            self.next_rank[k * self.L + i] = 0
            if self.candidate[k * self.L + i] > self.candidate[k * self.L + best]:
                best = i
        if t < self.T:
            best = self.X.come_from[t * self.LP + j]
            self.node_of[t * self.L + j] = <int32_t> k
        self.time[k], self.label[k], self.found[k], self.ended[k] = t, <int32_t> j, 1, False
        self.pred[k * self.n], self.rank[k * self.n] = <int32_t> best, 0
        self.score[k * self.n] = self.candidate[k * self.L + best]
        return k

    cdef bint extend(self) except -1:
        """One more labelling; False if there is none."""
        cdef int64_t k = self.closing, depth = 0, i, below
        cdef int32_t last
        self.stack[0] = k
        while self.time[k] > 1:     # down to where the next way is known, or there is none
            last = self.found[k] - 1
            i = self.pred[k * self.n + last]
            below = self.node_of[(self.time[k] - 1) * self.L + i]
            if below < 0:
                below = self.open(self.time[k] - 1, i)
            if self.ended[below] or self.found[below] > self.rank[k * self.n + last] + 1:
                break
            depth += 1
            self.stack[depth] = k = below
        for depth in range(depth, -1, -1):      # and up again, one more way for each
            self.take_next(self.stack[depth])
        return not self.ended[self.closing]

    cdef int take_next(self, int64_t k) noexcept:
        """The candidate that was taken last gives place to the next way through its label; the best candidate is taken."""
        cdef int64_t r = self.found[k], i = self.pred[k * self.n + r - 1], t = self.time[k], below = -1, best = 0, c
        cdef int32_t after = self.rank[k * self.n + r - 1] + 1
        if t > 1:
            below = self.node_of[(t - 1) * self.L + i]
        if below >= 0 and self.found[below] > after:
            self.candidate[k * self.L + i] = self.score[below * self.n + after] + self.edge(t, i, self.label[k])
            self.next_rank[k * self.L + i] = after
        else:
            self.candidate[k * self.L + i] = -INFINITY
        for c in range(1, self.L):
            if self.candidate[k * self.L + c] > self.candidate[k * self.L + best]:
                best = c
        if r == self.n or self.candidate[k * self.L + best] == -INFINITY:
            self.ended[k] = True
            return 0
        self.pred[k * self.n + r], self.rank[k * self.n + r] = <int32_t> best, self.next_rank[k * self.L + best]
        self.score[k * self.n + r] = self.candidate[k * self.L + best]
        self.found[k] += 1
        return 0

    cdef int trace(self, int32_t r, int32_t* y) noexcept:
        """The labels of the r-th best labelling."""
        cdef int64_t t, k = self.closing
        for t in range(self.T - 1, -1, -1):
            if k < 0:
                y[t] = self.X.come_from[(t + 1) * self.LP + y[t + 1]]       # never opened: only its first way is used
            else:
                y[t], r = self.pred[k * self.n + r], self.rank[k * self.n + r]
            k = self.node_of[t * self.L + y[t]] if t else -1
        return 0

    cdef tuple best(self):
        """(scores, labels) of the n best, or of as many as there are."""
        cdef int32_t r
        cdef int32_t[:, ::1] y
        while self.found[self.closing] < self.n and self.extend():
            pass
        n = self.found[self.closing]
        labels = np.empty((n, self.T), np.int32)
        y = labels
        for r in range(n):
            self.trace(r, &y[r, 0])
        return np.array(self.score[self.closing * self.n : self.closing * self.n + n]), labels


def longer(old, int64_t more):
    return np.concatenate([old, np.empty(more, np.asarray(old).dtype)])


def written(list before, const int32_t[:, ::1] paths, list p, list names):
    """The labellings as bytes: what stands before each label, and the label; each after a line with its probability and its place."""
    cdef Growing out = Growing()
    cdef int64_t k, t
    for k in range(paths.shape[0]):
        push(out, b"@probability\t%.6g\t%d\n" % (p[k], k + 1))
        for t in range(paths.shape[1]):
            push(out, before[t])
            push(out, names[paths[k, t]])
            out.push(b"\n", 1)
        out.push(b"\n", 1)
    return PyBytes_FromStringAndSize(out.data, out.used)


cdef int push(Growing out, bytes text) except -1:
    out.push(PyBytes_AsString(text), PyBytes_Size(text))
    return 0
