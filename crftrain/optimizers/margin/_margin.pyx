"""What the steps of the margin methods share: the perceptron, passive-aggressive updates, AROW and MIRA (_margin_rules).

For each sequence of an order:

    1. y = the best label path by psi, in whose search each wrong label may have a bonus, `augment`
    2. where labels are wrong: g = F(x, y) - F(x, gold) over the stretch from the first wrong label to the last
    3. v <- v - tau g, tau (or what takes its place) by the algorithm: learn_from()

Averages are lazy. With j steps done before a step, d <- d - tau j g; then the mean of v after each of k steps is v - d/k.
"""

from libc.math cimport NAN, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

from ..base import counted

from ..weights._compiled cimport DescentWeights
from ..._kernels cimport Lattice, gather_pairs, lattice_fit, path_score, place, simd, viterbi
from ..loop._compiled cimport LocalUpdate, Sequential, window


cdef class MarginSteps(Sequential):
    def __init__(self, problem, w, *, averaging=False, augment=0.0):
        self.weights = DescentWeights(problem.layout, w)
        Sequential.__init__(self, problem, w, lazy=self.weights)
        self.local, self.change = None, LocalUpdate(self.lazy)
        self.lazy.W.trans = &self.lazy.v_edge[0]    # nothing is exponentiated here, and beta is always 1
        self.lazy.transitions.forbid(self.lazy.W.trans)
        self.averaging, self.augment = averaging, augment
        self.path = np.zeros(max(1, np.diff(problem.sequences.corpus.seq).max(initial=0)), np.int32)

    def learn(self, order):
        """A step for each sequence of the order; the mean of the losses on the way."""
        self.order, self.at, self.total, self.wrong, self.updates = order, 0, 0.0, 0, 0
        self.run(len(order))
        return self.total / len(order)

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.order[self.at], first = self.first(u), T = self.length(u), start = T, end = 0, errors
        cdef const int32_t* gold = self.s.label + first
        cdef bint pairs = self.s.pairs.ptr != NULL
        cdef double square, margin
        cdef Lattice Z
        self.at += 1
        self.runs += 1
        if self.left_out(u):
            return u
        # 1)
        errors = self.search_path(u, &start, &end)
        if errors < 0:
            return -1
        self.wrong += errors
        self.done += 1
        if errors == 0:
            self.was_right(u)
            return u
        # 2)
        margin = path_score(&self.lazy.W, self.s, u, self.X, &self.path[0]) - path_score(&self.lazy.W, self.s, u, self.X, gold)
        margin -= self.augment * errors     # the gold labels had lost what the wrong ones should have gained
        if pairs:       # the label pairs into and out of the stretch too
            start, end = max(0, start - 1), min(T, end + 1)
        self.set_difference(gold, start, end, T, pairs)
        Z = window(self.X, start)
        square = self.change.gather(self.s, first + start, end - start, &Z)
        if not isfinite(square):
            return -1
        # 3)
        if square > 0:
            self.total += self.learn_from(u, margin, errors, square)
        self.change.clear()
        return u

    cdef int64_t search_path(self, int64_t u, int64_t* start, int64_t* end) noexcept nogil:
        """The best path, its wrong labels, and the stretch from the first to the last of them; -1: no memory, or no path."""
        cdef int64_t first = self.first(u), T = self.length(u), t, errors = 0
        cdef int LP = self.X.LP
        cdef const int32_t* gold = self.s.label + first
        cdef bint pairs = self.s.pairs.ptr != NULL
        if not lattice_fit(self.X, T, pairs):
            return -1
        simd.gather(&self.s.nodes, &self.lazy.v.nodes, first, T, self.X.L, LP, self.X.psi)
        if pairs:
            gather_pairs(&self.lazy.W, self.s, first, T, self.X.e)
        if self.augment != 0:
            for t in range(T):
                self.X.psi[t * LP + gold[t]] -= self.augment
        if not isfinite(viterbi(&self.lazy.W, self.s, u, self.X, &self.path[0])):
            return -1
        for t in range(T):
            if self.path[t] != gold[t]:
                errors += 1
                start[0], end[0] = min(start[0], t), t + 1
        return errors

    cdef void set_difference(self, const int32_t* gold, int64_t start, int64_t end, int64_t T, bint pairs) noexcept nogil:
        """q, edge and P of the path minus those of the gold labels."""
        cdef int L = self.X.L, LP = self.X.LP
        cdef int64_t t, k
        cdef const int32_t* y = &self.path[0]
        cdef double* P
        memset(self.X.q + start * LP, 0, (end - start) * LP * sizeof(double))
        memset(self.X.edge, 0, self.X.places * sizeof(double))
        for t in range(start, end):
            self.X.q[t * LP + y[t]] += 1
            self.X.q[t * LP + gold[t]] -= 1
        for t in range(max(1, start), min(T, end + 1)):
            self.X.edge[place(self.X.arcs, LP, y[t - 1], y[t])] += 1
            self.X.edge[place(self.X.arcs, LP, gold[t - 1], gold[t])] -= 1
        for k in range(self.X.places):
            self.X.edge[k] *= self.lazy.exists[k]
        if pairs:
            for t in range(max(1, start), end):
                P = self.X.P + t * L * LP
                memset(P, 0, L * LP * sizeof(double))
                P[y[t - 1] * LP + y[t]] += 1
                P[gold[t - 1] * LP + gold[t]] -= 1

    cdef bint left_out(self, int64_t u) noexcept nogil:
        return False

    cdef void was_right(self, int64_t u) noexcept nogil:
        pass

    cdef double learn_from(self, int64_t u, double margin, int64_t errors, double square) noexcept nogil:
        """Change the weights by the sequence's wrong path, which lies `margin` above the gold one; its loss."""
        return NAN

    cdef void move(self, double tau) noexcept nogil:
        """v <- v - tau g, and the sums for the average."""
        self.updates += 1
        if self.averaging:
            self.change.subtract_both(tau, tau * (self.done - 1))
        else:
            self.change.subtract(tau)

    def write(self, double[::1] w, double[::1] mean):
        """w = v, and the mean of v after each step where that is kept; False if a number is not finite."""
        return isfinite(self.lazy.write_mean(w, mean, 1.0 / self.done if self.averaging and self.done else 0.0))

    def look_at_all(self):
        """Sequences that were left out take part again; whether there were any."""
        return False

    def state(self):
        """What the next step depends on beside w, as arrays."""
        return {"d": self.lazy.d_in_vector(), "done": np.array([self.done])}

    def restore(self, w, state):
        self.weights.start(w)
        self.lazy.set_d(state["d"])
        self.done = counted(state, "done")
