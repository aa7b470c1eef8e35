"""Weights with a rate for each of them, adapted period by period, of which only the blocks at hand are touched.

An update with a batch of B sequences, whose losses have the gradients g_i, is

    w_p <- (w_p - eta_p sum_i g_ip) exp(-eta_p l2 B)

and the last factor, the l2 term's, is paid when a block is next looked at: with N the sequences that came since,
w_p <- w_p exp(-eta_p l2 N), whatever N is.

A period has two halves of b updates. What w was when a block was first looked at in either half, and what it is at the end,
tell how fast it still moves:

    gamma_p = (w_end - w_middle) / (w_middle - w_start)                                                        0/0 = 0
    u_p = max(-kappa, min(kappa, gamma_p)),   eta_p <- eta_p (m + u_p) / (m + kappa + n)

so that a rate falls by a factor between BETA (the weight goes to and fro) and ALPHA (it keeps its way). A block that was not
looked at in both halves tells nothing: it is not visited, and keeps its rates. One gamma for all weights, from inner
products, makes one factor of all rates: `scale`, which is counted into N.

A place in a row without a weight has the rate 0, and so stays 0.

Reference: Hsu, Huang, Chang, Lee 2009; Yang, Suk, Lee 2012, equations 4.8 to 4.10 and 4.17 to 4.19.
"""

from libc.math cimport NAN, exp, fabs, isnan, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from ._kernels cimport aligned, simd

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

KAPPA, ALPHA, BETA = 0.9, 0.9999, 0.99
cdef double kappa = KAPPA, m = (ALPHA + BETA) / (ALPHA - BETA) * KAPPA, n = 2 * (1 - ALPHA) / (ALPHA - BETA) * KAPPA
cdef double SHORT = 0.02    # up to here seven terms of the exponential series are exact


cdef inline double discount(double gamma) noexcept nogil:
    """v = (m + u) / (m + kappa + n); a gamma that is no number counts as 0."""
    return (m + (0.0 if isnan(gamma) else -kappa if gamma < -kappa else kappa if gamma > kappa else gamma)) / (m + kappa + n)


cdef inline double power(double x, bint short) noexcept nogil:
    """exp(-x), x >= 0."""
    return 1 - x * (1 - x * (0.5 - x * (1.0 / 6 - x * (1.0 / 24 - x * (1.0 / 120 - x * (1.0 / 720)))))) if short else exp(-x)


cdef class RatedWeights(LazyWeights):
    """w (in the place of LazyWeights' v), rates (of d), snapshots; subclasses say what the rates make of them."""

    def __init__(self, layout, w, *, eta, l2, period):
        LazyWeights.__init__(self, layout, np.array(w))
        size = self.v_edge.shape[0]
        self.start, self.middle = BlockView(layout, padded=True), BlockView(layout, padded=True)
        self.start.point_to(np.zeros(layout.n_features))
        self.middle.point_to(np.zeros(layout.n_features))
        self.start_edge, self.middle_edge = aligned(size), aligned(size)
        self.half, self.seen = np.full(len(self.last), -1), np.zeros(len(self.last), np.int64)
        self.eta, self.scale, self.l2, self.period = eta, 1.0, l2, period
        self.set_d(np.full(layout.n_features, self.eta))

    cdef Run run_of(self, int64_t a) noexcept nogil:
        cdef Run run
        cdef int64_t p
        if a < self.v.n_rows:
            p, run.n = a * self.W.LP, self.W.LP
            run.w, run.rate, run.start, run.middle = self.v.nodes.rows, self.d.nodes.rows, self.start.nodes.rows, self.middle.nodes.rows
        elif a < self.last.shape[0] - 1:
            if a < self.pair_base:
                p, run.n = self.v.nodes.ptr[a], self.v.nodes.ptr[a + 1]
            else:
                p, run.n = self.v.pairs.ptr[a - self.pair_base], self.v.pairs.ptr[a - self.pair_base + 1]
            run.n -= p
            run.w, run.rate, run.start, run.middle = self.v.nodes.w, self.d.nodes.w, self.start.nodes.w, self.middle.nodes.w
        else:
            p, run.n = 0, self.W.L * self.W.LP
            run.w, run.rate, run.start, run.middle = &self.v_edge[0], &self.d_edge[0], &self.start_edge[0], &self.middle_edge[0]
        run.w += p
        run.rate += p
        run.start += p
        run.middle += p
        return run

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """The blocks of the T tokens of a sequence, and the transitions if it has a label pair, pay and are remembered."""
        cdef int64_t k, a, j, end = s.nodes.ptr[first + T], LP = self.W.LP
        cdef const double* snapshot = self.start.nodes.rows if self.now % 2 == 0 else self.middle.nodes.rows
        for k in range(s.nodes.ptr[first], end):
            if k + 24 < end:
                __builtin_prefetch(&self.half[s.nodes.attr[k + 24]])
                __builtin_prefetch(&self.last[s.nodes.attr[k + 24]])
            if k + 12 < end:    # taken for a whole row; if it is not, what is fetched does no harm
                a = s.nodes.attr[k + 12]
                for j in range(a * LP, a * LP + LP, 8):
                    __builtin_prefetch(self.v.nodes.rows + j)
                    __builtin_prefetch(self.d.nodes.rows + j)
                    __builtin_prefetch(snapshot + j)
            a = s.nodes.attr[k]
            if self.half[a] != self.now or self.last[a] != self.S:
                self.look_at(a)
        if T > 1:
            self.look_at(self.last.shape[0] - 1)
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                self.look_at(self.pair_base + s.pairs.attr[k])

    cdef void look_at(self, int64_t a) noexcept nogil:
        cdef int64_t before = self.half[a]
        cdef Run run = self.run_of(a)
        if self.last[a] != self.S:
            self.pay(a, &run)
        if before == self.now:
            return
        self.half[a] = self.now
        if self.now % 2 == 0:
            memcpy(run.start, run.w, run.n * sizeof(double))
        elif before == self.now - 1:
            memcpy(run.middle, run.w, run.n * sizeof(double))
            self.seen[self.n_seen] = a
            self.n_seen += 1

    cdef void pay(self, int64_t a, const Run* run) noexcept nogil:
        """The l2 term of the sequences that came since the block was last looked at."""
        cdef double c = self.l2 * (self.S - self.last[a])
        cdef int64_t k
        self.last[a] = self.S
        if c * self.eta <= SHORT and run.n % 8 == 0:
            simd.fade(run.n, c, run.rate, run.w)
        else:
            for k in range(run.n):
                run.w[k] *= power(c * run.rate[k], c * self.eta <= SHORT)

    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """w <- w - scale eta o F' (q, P) of the tokens of one sequence."""
        cdef int64_t t, k, p, a, j, L = self.W.L, LP = self.W.LP
        cdef const int64_t* ptr = self.v.pairs.ptr
        cdef const int32_t* label = self.v.pairs.label
        cdef double* w = self.v.pairs.w
        cdef const double* rate = self.d.pairs.w
        cdef double c
        simd.scatter_rated(&s.nodes, &self.v.nodes, &self.d.nodes, first, T, LP, -self.scale, X.q)
        if s.pairs.ptr == NULL:
            return
        for t in range(1, T):
            for k in range(s.pairs.ptr[first + t], s.pairs.ptr[first + t + 1]):
                a = s.pairs.attr[k]
                c = -self.scale * (s.pairs.value[k] if s.pairs.value != NULL else 1.0)
                for p in range(ptr[a], ptr[a + 1]):
                    j = label[p]
                    w[p] += c * rate[p] * X.P[(t * L + j // L) * LP + j % L]

    cdef void descend_edge(self, const double* edge) noexcept nogil:
        """The same for the transitions."""
        cdef int64_t k
        for k in range(self.v_edge.shape[0]):
            self.v_edge[k] -= self.scale * self.d_edge[k] * edge[k]

    cdef void end_update(self, int64_t sequences) noexcept nogil:
        """A batch has been descended; at the end of a period rates are adapted."""
        self.S += self.scale * sequences
        self.updates += 1
        self.now = self.updates // self.period
        if self.updates % (2 * self.period) == 0:
            self.adapt()
            self.n_seen = 0

    cdef Run close(self, int64_t a) noexcept nogil:
        """A block at the end of the period."""
        cdef Run run = self.run_of(a)
        self.pay(a, &run)
        return run

    cdef void adapt(self) noexcept nogil:
        """New rates from the blocks seen in both halves."""

    def write(self, double[::1] out):
        """out = w with all debts paid, while the weights stay as they are; returns the largest |w|, NaN if one is."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p, k, first, end, edges = self.last.shape[0] - 1, L = self.W.L, LP = self.W.LP
        cdef double top = 0, c
        cdef Run run
        with nogil:
            for a in range(edges + 1):
                run, c = self.run_of(a), self.l2 * (self.S - self.last[a])
                if a < self.pair_base:
                    first, end = ptr[a], ptr[a + 1]
                elif a < edges:
                    first, end = self.v.pairs.ptr[a - self.pair_base], self.v.pairs.ptr[a - self.pair_base + 1]
                else:
                    first, end = ptr[self.pair_base], self.v.pairs.ptr[0]
                for p in range(first, end):
                    k = p - first
                    if a == edges:
                        k = self.transition[k] // L * LP + self.transition[k] % L
                    elif a < self.v.n_rows and not self.v.nodes.whole:
                        k = self.v.nodes.label[p]
                    out[p] = run.w[k] * power(c * run.rate[k], c * self.eta <= SHORT)
                    if not fabs(out[p]) <= top:
                        top = fabs(out[p]) if top == top else top
        return top

    def rates(self):
        """The rate of each weight, as a vector of F."""
        return self.scale * self.d_in_vector()

    def state(self):
        """All that the next update depends on: numbers of weights as vectors of F, then those of blocks, then counters."""
        return {
            "v": self.in_vector(self.v, self.v_edge),
            "rate": self.d_in_vector(),
            "start": self.in_vector(self.start, self.start_edge),
            "middle": self.in_vector(self.middle, self.middle_edge),
            "last": np.array(self.last),
            "half": np.array(self.half),
            "seen": np.array(self.seen[:self.n_seen]),
            "scale": np.array([self.scale, self.S]),
            "updates": np.array([self.updates]),
        }

    def restore(self, state):
        self.from_vector(state["v"], self.v, self.v_edge)
        self.set_d(state["rate"])
        self.from_vector(state["start"], self.start, self.start_edge)
        self.from_vector(state["middle"], self.middle, self.middle_edge)
        self.n_seen = len(state["seen"])
        np.asarray(self.last)[:], np.asarray(self.half)[:] = state["last"], state["half"]
        np.asarray(self.seen)[:self.n_seen] = state["seen"]
        self.scale, self.S = state["scale"]
        self.updates = state["updates"][0]
        self.now = self.updates // self.period


cdef class ComponentRates(RatedWeights):
    """A gamma for each weight."""

    cdef void adapt(self) noexcept nogil:
        cdef int64_t i, k
        cdef Run run
        cdef double before
        for i in range(self.n_seen):
            run = self.close(self.seen[i])
            for k in range(run.n):
                before = run.middle[k] - run.start[k]
                run.rate[k] *= discount((run.w[k] - run.middle[k]) / before if before != 0 else 0)


cdef class CommonRate(RatedWeights):
    """One gamma for all weights, from the inner products of the two changes."""

    cdef void adapt(self) noexcept nogil:
        cdef int64_t i, k
        cdef Run run
        cdef double before, after, old = 0, both = 0, new = 0
        for i in range(self.n_seen):
            run = self.close(self.seen[i])
            for k in range(run.n):
                before, after = run.middle[k] - run.start[k], run.w[k] - run.middle[k]
                old += before * before
                both += before * after
                new += after * after
        self.scale *= discount(self.across(old, both, new))

    cdef double across(self, double old, double both, double new) noexcept nogil:
        return NAN


cdef class ProjectedRate(CommonRate):
    cdef double across(self, double old, double both, double new) noexcept nogil:
        return both / old


cdef class NormRate(CommonRate):
    cdef double across(self, double old, double both, double new) noexcept nogil:
        return sqrt(new / old)


cdef class InverseRate(CommonRate):
    cdef double across(self, double old, double both, double new) noexcept nogil:
        return new / both
