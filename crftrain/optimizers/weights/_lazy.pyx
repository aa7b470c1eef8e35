"""Weights for which a dense step costs nothing until someone looks.

The step of the stochastic average gradient and its kin touches every weight,

    w <- (1 - alpha l2) w - alpha/m d

but a sequence only looks at the blocks of its own attributes. So w = beta v, and v is brought up to date block by block:

    step      beta <- (1 - alpha l2) beta,   S <- S + alpha / (m beta)
    settle    v_block <- v_block - (S - last_block) d_block,   last_block <- S

d_block does not change between two visits, so a block asleep for any number of steps pays in one. Dense blocks of v and d
live in rows of LP; settle_all() pays everything, makes beta 1 again and writes the caller's w.
"""

from libc.string cimport memset

import numpy as np

from ..._kernels cimport gather_nodes, gather_pairs, scatter_nodes, scatter_pairs, set_transitions, simd
from ...chain._blocks cimport Transitions, aligned


cdef double SMALL = 1e-100      # of beta, below which v is scaled


cdef double larger(double top, double x) noexcept nogil:
    """max(top, |x|); NaN if x is."""
    if x < 0:
        x = -x
    return top if x <= top else x


cdef class LazyWeights:
    def __init__(self, layout, double[::1] w):
        cdef int64_t k
        self.layout, self.w = layout, w
        self.v, self.d = BlockView(layout, padded=True), BlockView(layout, padded=True)
        self.v.point_to(w)
        self.d.point_to(np.zeros(layout.n_features))
        self.pair_base = layout.n_attributes
        self.transitions = Transitions(layout)
        self.transitions.attach(&self.W)
        self.last = np.zeros(layout.n_attributes + len(layout.pair_ptr))
        places, self.trans = self.W.places, self.transitions.trans
        self.v_edge, self.d_edge, self.exists = aligned(places), aligned(places), aligned(places)
        for k in self.transitions.place:
            self.exists[k] = 1
        self.W.L, self.W.LP = self.v.L, self.v.LP
        self.W.nodes, self.W.pairs = self.v.nodes, self.v.pairs
        self.read_w()

    def read_w(self):
        """Start from what w holds now; d stays."""
        cdef int64_t k
        self.beta, self.S = 1.0, 0.0
        self.last[:] = 0
        self.v.spread_rows()
        for k in range(self.transitions.n):
            self.v_edge[self.transitions.place[k]] = self.w[self.transitions.first + k]

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """Bring the blocks of T tokens, and the transitions, up to date."""
        cdef int64_t k, p, b
        cdef double owed
        cdef double* v = self.v.pairs.w
        cdef const double* d = self.d.pairs.w
        simd.settle(&s.distinct, &self.v.nodes, &self.d.nodes, &self.last[0], self.S, first, T, self.W.L, self.W.LP)
        b = self.last.shape[0] - 1
        owed = self.S - self.last[b]
        if owed != 0:
            simd.axpy(self.W.places, -owed, &self.d_edge[0], &self.v_edge[0])
            self.last[b] = self.S
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                b = s.pairs.attr[k]
                owed = self.S - self.last[self.pair_base + b]
                if owed != 0:
                    self.last[self.pair_base + b] = self.S
                    for p in range(self.v.pairs.ptr[b], self.v.pairs.ptr[b + 1]):
                        v[p] -= owed * d[p]

    cdef void scores(self, const Tokens* s, int64_t i, int64_t end, double* psi, double* e) noexcept nogil:
        """psi (and e) of sequences i .. end - 1, settled, under w, and W's transitions; e is for one sequence."""
        cdef int64_t first = s.seq[i], T = s.seq[end] - first, k
        cdef int L = self.W.L, LP = self.W.LP
        cdef double beta = self.beta
        for k in range(i, end):
            gather_nodes(s, &self.v.nodes, k, L, LP, psi + (s.seq[k] - first) * LP)
        if s.pairs.ptr != NULL:
            for k in range(self.W.places):
                self.trans[k] = self.v_edge[k]
            self.transitions.forbid(&self.trans[0])
            gather_pairs(&self.W, s, first, T, e)
            for k in range(L * LP, T * L * LP):
                e[k] *= beta
        for k in range(T * LP):
            psi[k] *= beta
        for k in range(self.W.places):
            self.trans[k] = beta * self.v_edge[k]
        self.transitions.forbid(&self.trans[0])
        set_transitions(&self.W)

    cdef void step(self, double alpha, double l2, double m) noexcept nogil:
        """w <- (1 - alpha l2) w - alpha/m d, where alpha l2 < 1."""
        self.beta *= 1 - alpha * l2
        if self.beta < SMALL:
            self.settle_all(0, 0)
        self.S += alpha / (m * self.beta)

    cdef double settle_all(self, double scale, double l2) noexcept nogil:
        """Pay everything, write w; the max-norm of scale d + l2 w."""
        cdef int L = self.W.L, LP = self.W.LP
        cdef int64_t a, p, k, last_block = self.last.shape[0] - 1, rows = self.v.n_rows
        cdef double top = 0
        if self.v.nodes.whole and rows:
            top = simd.settle_rows(rows, L, LP, &self.v.rows[0], &self.d.rows[0], &self.last[0], self.S, self.beta, scale, l2, &self.w[0])
        elif rows:
            for a in range(rows):
                for p in range(self.v.nodes.ptr[a], self.v.nodes.ptr[a + 1]):
                    k = a * LP + self.v.nodes.label[p]
                    self.v.rows[k] = self.w[p] = self.paid(self.v.rows[k], self.d.rows[k], self.last[a])
                    top = larger(top, scale * self.d.rows[k] + l2 * self.w[p])
        for a in range(rows, self.pair_base):
            top = larger(top, self.settle_block(self.v.nodes.ptr[a], self.v.nodes.ptr[a + 1], self.last[a], scale, l2))
        for a in range(self.pair_base, last_block):
            p = a - self.pair_base
            top = larger(top, self.settle_block(self.v.pairs.ptr[p], self.v.pairs.ptr[p + 1], self.last[a], scale, l2))
        for k in range(self.W.places):
            self.v_edge[k] = self.paid(self.v_edge[k], self.d_edge[k], self.last[last_block])
            top = larger(top, scale * self.d_edge[k] + l2 * self.v_edge[k])
        for k in range(self.transitions.n):
            self.w[self.transitions.first + k] = self.v_edge[self.transitions.place[k]]
        self.beta, self.S = 1.0, 0.0
        memset(&self.last[0], 0, self.last.shape[0] * sizeof(double))
        return top

    def clear_d(self):
        self.d.rows[:] = 0
        self.d.vector[:] = 0
        self.d_edge[:] = 0

    def settle_and_measure(self, double scale, double l2):
        """settle_all for Python."""
        return self.settle_all(scale, l2)

    cdef double paid(self, double v, double d, double last) noexcept nogil:
        return self.beta * (v - (self.S - last) * d)

    cdef double settle_block(self, int64_t first, int64_t end, double last, double scale, double l2) noexcept nogil:
        """The same for w[first:end], which is where sparse blocks live."""
        cdef int64_t p
        cdef double top = 0, beta = self.beta, owed = self.S - last
        cdef double* w = self.v.pairs.w
        cdef const double* d = self.d.pairs.w
        for p in range(first, end):
            w[p] = beta * (w[p] - owed * d[p])
            top = larger(top, scale * d[p] + l2 * w[p])
        return top

    def d_in_vector(self):
        """d as a vector of F, for tests, checkpoints and reports."""
        return self.in_vector(self.d, self.d_edge)

    def set_d(self, d):
        """d from a vector of F."""
        self.from_vector(d, self.d, self.d_edge)

    cdef object in_vector(self, BlockView view, const double[::1] edge):
        """Numbers that live in rows, runs and label pairs, as a vector of F."""
        cdef int64_t k
        cdef double[::1] vector = np.array(view.vector)
        vector[:view.nodes.ptr[view.n_rows]] = 0        # those live in rows
        view.add_rows_to(vector, 0, view.n_rows)
        for k in range(self.transitions.n):
            vector[self.transitions.first + k] = edge[self.transitions.place[k]]
        return np.asarray(vector)

    cdef int from_vector(self, const double[::1] vector, BlockView view, double[::1] edge) except -1:
        """The way back."""
        cdef int64_t k, p
        view.vector[:] = vector
        view.spread_rows()
        for p in range(view.nodes.ptr[view.n_rows]):     # those live in rows
            view.vector[p] = 0
        for k in range(self.transitions.n):
            p = self.transitions.first + k
            edge[self.transitions.place[k]] = vector[p]
            view.vector[p] = 0
        return 0

    cdef void add_to_d(self, const Tokens* s, int64_t i, int64_t end, const Lattice* X) noexcept nogil:
        """d += F' (q, edge, P) of sequences i .. end - 1."""
        cdef int64_t first = s.seq[i], k
        for k in range(i, end):
            scatter_nodes(s, &self.d.nodes, k, X.L, X.LP, X.q + (s.seq[k] - first) * X.LP)
        simd.axpy(X.places, 1.0, X.edge, &self.d_edge[0])
        if s.pairs.ptr != NULL:
            scatter_pairs(s, &self.d.pairs, first, s.seq[end] - first, X)

    cdef void add_to_v(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """v += F' (q, edge, P) of T settled tokens, where there are weights."""
        simd.scatter_present(&s.nodes, &self.v.nodes, first, T, X.L, X.LP, X.q)
        simd.axpy(X.places, 1.0, X.edge, &self.v_edge[0])
        if s.pairs.ptr != NULL:
            scatter_pairs(s, &self.v.pairs, first, T, X)

    def write_mean(self, double[::1] w, double[::1] mean, double c):
        """w = v and mean = v - c d, where beta is 1 and nothing is owed; 0 if all are finite, else NaN. mean may be w if c is 0."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p, k, LP = self.W.LP, end = ptr[self.pair_base]
        cdef double bad = 0
        for a in range(self.v.n_rows):
            for p in range(ptr[a], ptr[a + 1]):
                k = a * LP + (p - ptr[a] if self.v.nodes.whole else self.v.nodes.label[p])
                bad += put(self.v.rows[k], &self.d.rows[k], c, &w[p], &mean[p])
        for k in range(self.transitions.n):
            p = self.transitions.place[k]
            bad += put(self.v_edge[p], &self.d_edge[p], c, &w[end + k], &mean[end + k])
        for p in range(ptr[self.v.n_rows], w.shape[0]):
            if not end <= p < end + self.transitions.n:
                bad += put(self.v.vector[p], &self.d.vector[p], c, &w[p], &mean[p])
        return bad


cdef inline double put(double v, const double* d, double c, double* w, double* mean) noexcept nogil:
    """Both numbers; 0, or NaN if one is not finite."""
    w[0] = v
    mean[0] = v if c == 0 else v - c * d[0]
    return 0.0 * mean[0]
