"""Weights under an l1 penalty of which only the blocks at hand are touched.

A step of stochastic gradient descent changes the blocks of one sequence, but its penalty pulls every weight towards 0.
With u the penalty that a weight could have received so far, the sum of eta l1 over all steps:

    cumulative    q is what a weight has received, with its sign. Only weights of the sequence at hand pay, and all they owe:
                  v > 0: v' = max(v - (u + q), 0);   v < 0: v' = min(v + (u - q), 0);   q <- q + v' - v       (|q| <= u)
    clipping      all weights are pulled at each step, none beyond 0. A block that last paid at u' owes u - u', which it
                  pays when it is next looked at: |v| <- max(|v| - (u - u'), 0). No step that matters is missed.
    naive         all weights are pulled at each step, across 0 if it comes to that; the slow one, to compare with

With what is owed, o >= |q|, and q = 0 but for the cumulative one, all of them pay  v' = max(v - (o + q), 0) + min(v + (o - q), 0).
For an l2 term w = beta v. So u and q, which are in the scale of v, fade like the weights they acted on.

Dense blocks are rows that have places for weights that do not exist. There q is NaN: every comparison with it fails, and
whatever a scatter left in v becomes 0.

Reference: Tsuruoka, Tsujii, Ananiadou 2009, sections 3.1 and 3.2; Carpenter 2008 for the lazy clipping.
"""

from libc.math cimport NAN, copysign, fabs
from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport scatter_pairs, simd


cdef inline double paid(double v, double q, double o) noexcept nogil:
    cdef double above = v - (o + q), below = v + (o - q)
    return (above if above > 0 else 0.0) + (below if below < 0 else 0.0)


cdef inline double put_paid(double* out, double w, double top) noexcept nogil:
    """out = w; max(top, |w|), NaN if one of them is."""
    out[0] = w
    return top if fabs(w) <= top else fabs(w) if top == top else top


cdef class PenalisedWeights(DescentWeights):
    """v, q (in the place of LazyWeights' d) and u; subclasses say when blocks pay."""

    def __init__(self, layout, w):
        DescentWeights.__init__(self, layout, np.array(w))
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

    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, Lattice* X) noexcept nogil:
        """v += F' (q, edge, P) of T tokens, in rows also where there are no weights."""
        simd.scatter(&s.nodes, &self.v.nodes, first, T, X.L, X.LP, X.q)
        simd.axpy(X.places, 1.0, X.edge, &self.v_edge[0])
        if s.pairs.ptr != NULL:
            scatter_pairs(s, &self.v.pairs, first, T, X)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* q) noexcept nogil:
        """For a block that pays twice in a step, the second time nothing is owed."""
        cdef double o
        cdef int64_t k
        if self.stamps == NULL:
            simd.pay_block(n, self.u, v, q)
            return
        o = self.owed(block)
        self.stamps[block] = self.u
        for k in range(n):
            v[k] = paid(v[k], q[k], o)

    cdef void pay_nodes(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        if self.stamps == NULL:
            simd.pay(&s.nodes, &self.v.nodes, &self.d.nodes, self.u, first, T, self.W.LP)
        else:
            DescentWeights.pay_nodes(self, s, first, T)

    cdef double owed(self, int64_t block) noexcept nogil:
        return self.u if self.stamps == NULL else self.u - self.stamps[block]

    cdef void rescale(self) noexcept nogil:
        """beta = 1 again, with what is owed and paid."""
        cdef int64_t k
        cdef double b = self.beta
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

    def write(self, double[::1] out):
        """out = w with all debts paid, while v, q and u stay as they are; returns the largest |w|, NaN if one is."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p, k, first, LP = self.W.LP
        cdef double o, top = 0, b = self.beta
        for a in range(self.v.n_rows):
            o = self.owed(a)
            for p in range(ptr[a], ptr[a + 1]):
                k = a * LP + (p - ptr[a] if self.v.nodes.whole else self.v.nodes.label[p])
                top = put_paid(&out[p], b * paid(self.v.rows[k], self.d.rows[k], o), top)
        for a in range(self.v.n_rows, self.pair_base):
            o = self.owed(a)
            for p in range(ptr[a], ptr[a + 1]):
                top = put_paid(&out[p], b * paid(self.v.vector[p], self.d.vector[p], o), top)
        first = ptr[self.pair_base]
        o = self.owed(self.last.shape[0] - 1)
        for p in range(self.transitions.n):
            k = self.transitions.place[p]
            top = put_paid(&out[first + p], b * paid(self.v_edge[k], self.d_edge[k], o), top)
        for a in range(self.last.shape[0] - 1 - self.pair_base):
            o = self.owed(self.pair_base + a)
            for p in range(self.v.pairs.ptr[a], self.v.pairs.ptr[a + 1]):
                top = put_paid(&out[p], b * paid(self.v.vector[p], self.d.vector[p], o), top)
        return top

    def state(self):
        """All that the next step depends on, as arrays; v and q as vectors of F."""
        vector = self.in_vector(self.v, self.v_edge)
        return {"v": vector, "q": self.d_in_vector(), "last": np.array(self.last), "scale": np.array([self.beta, self.u])}

    def restore(self, state):
        self.start(state["v"])
        self.set_d(state["q"])
        np.asarray(self.last)[:] = state["last"]
        self.beta, self.u = state["scale"]


cdef class CumulativeWeights(PenalisedWeights):
    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil:
        self.u += c
        self.descend(s, first, T, X)
        self.pay(s, first, T)


cdef class ClippedWeights(PenalisedWeights):
    def __init__(self, layout, w):
        PenalisedWeights.__init__(self, layout, w)
        self.stamps = &self.last[0]

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """The blocks of T tokens pay for the steps they slept through."""
        self.pay(s, first, T)

    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil:
        self.descend(s, first, T, X)
        self.u += c
        self.pay(s, first, T)


cdef class NaiveWeights(PenalisedWeights):
    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil:
        self.pull(c)
        self.descend(s, first, T, X)
        self.pay(s, first, T)       # u is 0: it only clears what does not exist

    cdef void pull(self, double c) noexcept nogil:
        """v <- v - c sign(v), every weight there is."""
        cdef int64_t start = self.v.nodes.ptr[self.v.n_rows]
        pull_all(self.v.rows.shape[0], c, &self.v.rows[0])
        pull_all(self.v.vector.shape[0] - start, c, &self.v.vector[0] + start)
        pull_all(self.v_edge.shape[0], c, &self.v_edge[0])


cdef void pull_all(int64_t n, double c, double* v) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        v[k] -= copysign(c, v[k]) * (v[k] != 0)
