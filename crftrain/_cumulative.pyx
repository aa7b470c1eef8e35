"""Weights under an l1 penalty of which only the blocks at hand are touched.

A step of stochastic gradient descent changes the blocks of one sequence, but its penalty pulls every weight towards 0.
With u the penalty that a weight could have received so far, sum of eta l1 over all steps:

    clipping      all weights are pulled at each step, none beyond 0. A block that was last paid for at u' owes u - u',
                  which it pays when it is next looked at: |v| <- max(|v| - (u - u'), 0). No change of sign can be missed.
    cumulative    q is what a weight has received, with its sign. Only weights of the sequence at hand pay, and all they owe:
                  v > 0: v' = max(v - (u + q), 0);  v < 0: v' = min(v + (u - q), 0);  q <- q + v' - v      (|q| <= u)
    naive         all weights are pulled at each step, across 0 if it comes to that; the slow one

All three are  v' = max(v - (o + q), 0) + min(v + (o - q), 0)  with what is owed, o >= |q|, and q = 0 in two of them.
For an l2 term w = beta v, so u and q, which are in the scale of v, fade like the weights they acted on.

Dense blocks are rows with places for weights that do not exist. There q is NaN: every comparison with it fails, and
whatever the scatter left in v becomes 0.

Reference: Tsuruoka, Tsujii, Ananiadou 2009, sections 3.1 and 3.2; Carpenter 2008 for the lazy clipping.
"""

from libc.math cimport NAN, fabs
from libc.stdint cimport int32_t, int64_t

import numpy as np

from ._kernels cimport BlockView, scatter_pairs, simd

cdef double SMALL = 1e-100      # of beta, below which v is scaled


cdef inline double paid(double v, double q, double o) noexcept nogil:
    cdef double above = v - (o + q), below = v + (o - q)
    return (above if above > 0 else 0.0) + (below if below < 0 else 0.0)


cdef class PenalisedWeights(LazyWeights):
    """v and q, and how they are read; subclasses say when a block pays and what it owes."""

    def __init__(self, layout, w):
        LazyWeights.__init__(self, layout, np.array(w))
        self.start(w)

    def start(self, double[::1] w):
        """Begin at w, with nothing paid and nothing owed."""
        cdef int64_t a, p
        self.w[:] = w
        self.read_w()
        self.u = 0.0
        self.d_edge[:] = 0
        self.d.vector[:] = 0
        self.d.rows[:] = 0 if self.v.nodes.whole else NAN
        for a in range(0 if self.v.nodes.whole else self.v.n_rows):
            for p in range(self.v.nodes.ptr[a], self.v.nodes.ptr[a + 1]):
                self.d.rows[a * self.W.LP + self.v.nodes.label[p]] = 0

    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double step, double c) noexcept nogil:
        """v <- v - step F' (q, edge, P) of T tokens, and a penalty c. X is not the same afterwards."""

    cdef double owed(self, int64_t block) noexcept nogil:
        return 0

    cdef void shrink(self, double factor) noexcept nogil:
        """w <- factor w, and u and q with it."""
        self.beta *= factor
        if self.beta < SMALL:
            self.rescale()

    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double step) noexcept nogil:
        cdef int64_t k, size = X.L * X.LP
        for k in range(T * X.LP):
            X.q[k] *= -step
        simd.scatter(&s.nodes, &self.v.nodes, first, T, X.L, X.LP, X.q)
        simd.axpy(size, -step, X.edge, &self.v_edge[0])
        if s.pairs.ptr != NULL:
            for k in range(size, T * size):
                X.P[k] *= -step
            scatter_pairs(s, &self.v.pairs, first, T, X)

    cdef void pay(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """The blocks of T tokens pay; the transitions do if there is a label pair."""
        cdef int64_t t, k, p
        cdef int LP = self.W.LP
        cdef int32_t a
        for t in range(first, first + T):
            for k in range(s.nodes.ptr[t], s.nodes.split[t]):
                a = s.nodes.attr[k]
                self.pay_block(a, LP, self.v.nodes.rows + a * LP, self.d.nodes.rows + a * LP)
            for k in range(s.nodes.split[t], s.nodes.ptr[t + 1]):
                a, p = s.nodes.attr[k], self.v.nodes.ptr[s.nodes.attr[k]]
                self.pay_block(a, self.v.nodes.ptr[a + 1] - p, self.v.nodes.w + p, self.d.nodes.w + p)
        if T > 1:
            self.pay_block(self.last.shape[0] - 1, self.W.L * LP, &self.v_edge[0], &self.d_edge[0])
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                a, p = s.pairs.attr[k], self.v.pairs.ptr[s.pairs.attr[k]]
                self.pay_block(self.pair_base + a, self.v.pairs.ptr[a + 1] - p, self.v.pairs.w + p, self.d.pairs.w + p)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* q) noexcept nogil:
        cdef double o = self.owed(block)
        cdef int64_t k
        for k in range(n):
            v[k] = paid(v[k], q[k], o)

    def write(self, double[::1] out):
        """out = w with everything paid, while v, q and u stay as they are; the largest |w|, NaN if a weight is."""
        cdef double top = 0, x
        cdef int64_t p, k
        with nogil:
            for p in range(self.last.shape[0]):
                x = self.settled_block(p, out)
                if not x <= top:
                    top = x
                    if x != x:
                        break
        return top

    cdef double settled_block(self, int64_t block, double[::1] out) noexcept nogil:
        cdef int64_t p, k, place, first, end
        cdef int L = self.W.L, LP = self.W.LP
        cdef double o = self.owed(block), x, top = 0
        cdef const double* v = self.v.nodes.w
        cdef const double* q = self.d.nodes.w
        if block < self.pair_base:
            first, end = self.v.nodes.ptr[block], self.v.nodes.ptr[block + 1]
        elif block < self.last.shape[0] - 1:
            first, end = self.v.pairs.ptr[block - self.pair_base], self.v.pairs.ptr[block - self.pair_base + 1]
        else:
            first = self.v.nodes.ptr[self.pair_base]
            end = first + self.transition.shape[0]
            v, q = &self.v_edge[0], &self.d_edge[0]
        for p in range(first, end):
            place = p
            if block < self.v.n_rows:
                v, q = self.v.nodes.rows, self.d.nodes.rows
                place = block * LP + (p - first if self.v.nodes.whole else self.v.nodes.label[p])
            elif block == self.last.shape[0] - 1:
                k = self.transition[p - first]
                place = k // L * LP + k % L
            x = self.beta * paid(v[place], q[place], o)
            out[p] = x
            if not fabs(x) <= top:
                top = fabs(x)
                if top != top:
                    return top
        return top

    def state(self):
        """All that the next step depends on, as arrays."""
        cdef BlockView out = BlockView(self.layout, padded=True)
        cdef int64_t k, p = self.layout.transitions.start
        cdef int L = self.W.L, LP = self.W.LP
        vector = np.array(self.v.vector)
        vector[:self.v.nodes.ptr[self.v.n_rows]] = 0        # those live in rows
        out.point_to(vector)
        out.rows[:] = self.v.rows
        out.add_rows()
        for k in self.layout.transition:
            out.vector[p] = self.v_edge[k // L * LP + k % L]
            p += 1
        return {"v": vector, "q": self.d_in_vector(), "last": np.array(self.last), "scale": np.array([self.beta, self.u])}

    def restore(self, state):
        self.start(state["v"])
        self.set_d(state["q"])
        np.asarray(self.last)[:] = state["last"]
        self.beta, self.u = state["scale"]

    cdef void rescale(self) noexcept nogil:
        """beta = 1 again."""
        cdef int64_t k
        cdef double b = self.beta
        if b == 1:
            return
        for k in range(self.v.rows.shape[0]):
            self.v.rows[k] *= b
            self.d.rows[k] *= b
        for k in range(self.v.vector.shape[0]):
            self.v.vector[k] *= b
            self.d.vector[k] *= b
        for k in range(self.v_edge.shape[0]):
            self.v_edge[k] *= b
            self.d_edge[k] *= b
        for k in range(self.last.shape[0]):
            self.last[k] *= b
        self.u *= b
        self.beta = 1.0


cdef class NaiveWeights(PenalisedWeights):
    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double step, double c) noexcept nogil:
        self.pull(c)
        self.descend(s, first, T, X, step)
        self.pay(s, first, T)       # nothing is owed: it clears what does not exist

    cdef void pull(self, double c) noexcept nogil:
        """v <- v - c sign(v), every weight."""
        cdef int64_t rows_end = self.v.nodes.ptr[self.v.n_rows]
        pull_all(&self.v.rows[0], self.v.rows.shape[0], c)
        pull_all(&self.v.vector[rows_end], self.v.vector.shape[0] - rows_end, c)
        pull_all(&self.v_edge[0], self.v_edge.shape[0], c)


cdef void pull_all(double* v, int64_t n, double c) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        v[k] -= (c if v[k] > 0 else 0.0) - (c if v[k] < 0 else 0.0)


cdef class ClippedWeights(PenalisedWeights):
    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """What the blocks of T tokens owe from the steps they slept through."""
        self.pay(s, first, T)

    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double step, double c) noexcept nogil:
        self.descend(s, first, T, X, step)
        self.u += c
        self.pay(s, first, T)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* q) noexcept nogil:
        PenalisedWeights.pay_block(self, block, n, v, q)
        self.last[block] = self.u

    cdef double owed(self, int64_t block) noexcept nogil:
        return self.u - self.last[block]


cdef class CumulativeWeights(PenalisedWeights):
    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double step, double c) noexcept nogil:
        self.u += c
        self.descend(s, first, T, X, step)
        self.pay(s, first, T)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* q) noexcept nogil:
        cdef double u = self.u, x
        cdef int64_t k
        for k in range(n):
            x = paid(v[k], q[k], u)
            q[k] += x - v[k]
            v[k] = x

    cdef double owed(self, int64_t block) noexcept nogil:
        return self.u
