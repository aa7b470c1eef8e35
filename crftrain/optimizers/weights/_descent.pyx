"""Weights that step against one gradient at a time, and the mean of all they have been, block by block.

    w = beta v;     update   v <- v + F' (q, edge, P)        only the blocks of the sequence at hand
                    shrink   beta <- factor beta             once a step, after its updates

The average (Polyak and Ruppert) costs a second scatter. Over the steps of a pass  sum_t w_t = B v + A  where B is the sum of
beta and an update at which B was B_t changed the sum by B - B_t times itself:

    begin    A = 0, B = 0, m = 0            update   A <- A - B F' (q, edge, P)          shrink   B <- B + beta,  m <- m + 1
    fold     A <- A + B v, B <- 0           mean     A / m, folded

Folding at the end of each pass, and when beta has become small, keeps B v and A from growing large against their sum.
A lives in the place of LazyWeights' d.

Reference: Xu 2010, section 4, whose recursion this is, but for A and v being kept in the scale of w.
"""

from libc.stdint cimport int64_t

import numpy as np

from ..base import counted

from ..._kernels cimport scatter_pairs, simd

cdef double TOO_SMALL = 1e-3    # the same for an average, which loses as many digits


cdef class DescentWeights(LazyWeights):
    """Nothing is owed: the last iterate alone."""

    def start(self, const double[::1] w):
        """Begin at w."""
        self.w[:] = w
        self.read_w()

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """What has to be paid before the blocks of T tokens are read: here nothing."""

    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil:
        """v <- v + F' (q, edge, P) of T tokens; c is an l1 penalty for all, if a subclass has one. X may be changed."""
        self.add_to_v(s, first, T, X)

    cdef void pay(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """pay_block for the blocks of T tokens, and for the transitions if there is a label pair."""
        cdef int64_t k, a, p
        self.pay_nodes(s, first, T)
        if T > 1:
            self.pay_block(self.last.shape[0] - 1, self.W.places, &self.v_edge[0], &self.d_edge[0])
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                a = s.pairs.attr[k]
                p = self.v.pairs.ptr[a]
                self.pay_block(self.pair_base + a, self.v.pairs.ptr[a + 1] - p, self.v.pairs.w + p, self.d.pairs.w + p)

    cdef void pay_nodes(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """Of these the blocks that are not on label pairs."""
        cdef int64_t t, k, a, p, LP = self.W.LP
        for t in range(first, first + T):
            for k in range(s.nodes.ptr[t], s.nodes.split[t]):
                a = s.nodes.attr[k]
                self.pay_block(a, LP, self.v.nodes.rows + a * LP, self.d.nodes.rows + a * LP)
            for k in range(s.nodes.split[t], s.nodes.ptr[t + 1]):
                a = s.nodes.attr[k]
                p = self.v.nodes.ptr[a]
                self.pay_block(a, self.v.nodes.ptr[a + 1] - p, self.v.nodes.w + p, self.d.nodes.w + p)

    cdef void pay_block(self, int64_t block, int64_t n, double* v, double* d) noexcept nogil:
        """Bring n weights v of a block up to date, where something is owed; here nothing. A block may come twice."""

    cdef void shrink(self, double factor) noexcept nogil:
        """w <- factor w, which ends a step."""
        self.beta *= factor
        if self.beta < SMALL:
            self.rescale()

    cdef void rescale(self) noexcept nogil:
        """beta = 1 again."""
        self.settle_all(0, 0)

    def write(self, double[::1] out):
        """out = w; returns the largest |w|, NaN if one is."""
        self.rescale()
        largest = self.settle_all(0, 1)
        out[:] = self.w
        return largest

    def state(self):
        """All that the next step depends on after write(), as arrays."""
        return {"w": np.array(self.w)}

    def restore(self, state):
        self.start(state["w"])


cdef class AveragedWeights(DescentWeights):
    def start(self, const double[::1] w):
        """Begin at w, without an average."""
        DescentWeights.start(self, w)
        self.averaging, self.betas, self.count = False, 0.0, 0

    def begin(self):
        """From the next step on, iterates are averaged."""
        self.clear_d()
        self.averaging, self.betas, self.count = True, 0.0, 0

    cdef void update(self, const Tokens* s, int64_t first, int64_t T, Lattice* X, double c) noexcept nogil:
        cdef int64_t k, size = X.L * X.LP
        self.add_to_v(s, first, T, X)
        if self.averaging:
            for k in range(T * X.LP):
                X.q[k] *= -self.betas
            simd.scatter_present(&s.nodes, &self.d.nodes, first, T, X.L, X.LP, X.q)
            simd.axpy(X.places, -self.betas, X.edge, &self.d_edge[0])
            if s.pairs.ptr != NULL:
                for k in range(size, T * size):
                    X.P[k] *= -self.betas
                scatter_pairs(s, &self.d.pairs, first, T, X)

    cdef void shrink(self, double factor) noexcept nogil:
        DescentWeights.shrink(self, factor)
        if self.averaging:
            self.betas += self.beta
            self.count += 1
            if self.beta < TOO_SMALL:
                self.rescale()

    cdef void rescale(self) noexcept nogil:
        self.fold()
        self.settle_all(0, 0)

    cdef void fold(self) noexcept nogil:
        """A <- A + B v."""
        cdef int64_t k, begin = self.v.nodes.ptr[self.v.n_rows]
        if self.betas == 0:
            return
        for k in range(self.v.rows.shape[0]):
            self.d.rows[k] += self.betas * self.v.rows[k]
        for k in range(begin, self.v.vector.shape[0]):
            self.d.vector[k] += self.betas * self.v.vector[k]
        for k in range(self.v_edge.shape[0]):
            self.d_edge[k] += self.betas * self.v_edge[k]
        self.betas = 0

    def mean(self, double[::1] out):
        """out = the mean of the iterates since begin(), after write()."""
        np.divide(self.d_in_vector(), self.count, out=np.asarray(out))

    def state(self):
        return {**DescentWeights.state(self), "sum": self.d_in_vector(), "count": np.array([self.count])}

    def restore(self, state):
        DescentWeights.restore(self, state)
        self.set_d(state["sum"])
        self.count, self.betas = counted(state, "count"), 0.0
        self.averaging = self.count > 0
