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

from libc.math cimport NAN, isnan, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from ..base import counted, within

from ..._kernels cimport simd
from ...chain._blocks cimport aligned

cdef extern from "_simd.h":
    void crf_prefetch(const void*) noexcept nogil

KAPPA, ALPHA, BETA = 0.9, 0.9999, 0.99
cdef double kappa = KAPPA, m = (ALPHA + BETA) / (ALPHA - BETA) * KAPPA, n = 2 * (1 - ALPHA) / (ALPHA - BETA) * KAPPA


cdef inline double discount(double gamma) noexcept nogil:
    """v = (m + u) / (m + kappa + n); a gamma that is no number counts as 0."""
    return (m + (0.0 if isnan(gamma) else -kappa if gamma < -kappa else kappa if gamma > kappa else gamma)) / (m + kappa + n)


cdef class RatedWeights(LazyWeights):
    """w (in the place of LazyWeights' v), rates (of d), snapshots; subclasses say what the rates make of them."""

    def __init__(self, layout, w, *, eta, l2, period):
        LazyWeights.__init__(self, layout, np.array(w))
        size = layout.n_features + self.v.rows.shape[0] + self.v_edge.shape[0]
        self.snapshots = np.empty(2 * size)     # memory is only taken as it is filled
        self.visits_memory = np.zeros((self.n_blocks(), 2))
        self.visits = <Visit*> &self.visits_memory[0, 0]
        self.seen = np.zeros(self.n_blocks(), np.int64)
        self.eta, self.scale, self.l2, self.period = eta, 1.0, l2, period
        self.begun, self.row = 1, aligned(max(self.W.LP, self.W.places))
        self.want()
        self.set_d(np.full(layout.n_features, self.eta))

    cdef inline int64_t n_blocks(self) noexcept nogil:
        return self.last.shape[0]

    cdef inline int64_t length(self, int64_t a) noexcept nogil:
        """How many numbers a block is."""
        if a < self.v.n_rows:
            return self.W.LP
        if a < self.pair_base:
            return self.v.nodes.ptr[a + 1] - self.v.nodes.ptr[a]
        if a < self.n_blocks() - 1:
            return self.v.pairs.ptr[a - self.pair_base + 1] - self.v.pairs.ptr[a - self.pair_base]
        return self.W.places

    cdef inline double* block(self, BlockView view, double* edge, int64_t a) noexcept nogil:
        if a < self.v.n_rows:
            return view.nodes.rows + a * self.W.LP
        if a < self.pair_base:
            return view.nodes.w + view.nodes.ptr[a]
        return edge if a == self.n_blocks() - 1 else view.nodes.w + view.pairs.ptr[a - self.pair_base]

    cdef inline Run run_of(self, int64_t a) noexcept nogil:
        cdef Run run
        run.n, run.w, run.rate = self.length(a), self.block(self.v, &self.v_edge[0], a), self.block(self.d, &self.d_edge[0], a)
        return run

    cdef void settle(self, const Tokens* s, int64_t first, int64_t T) noexcept nogil:
        """The blocks of the T tokens of a sequence, and the transitions if it has a label pair, pay and are remembered."""
        cdef int64_t k, a, j, end = s.nodes.ptr[first + T], LP = self.W.LP
        cdef const int32_t* attr = s.nodes.attr
        for k in range(s.nodes.ptr[first], end):
            if k + 36 < end:
                crf_prefetch(&self.visits[attr[k + 36]])
            if k + 20 < end:    # taken for a whole row; if it is not, what is fetched does no harm
                a = attr[k + 20]
                for j in range(a * LP, a * LP + LP, 8):
                    crf_prefetch(self.v.nodes.rows + j)
                    crf_prefetch(self.d.nodes.rows + j)
            self.look_at(attr[k])
        if T > 1:
            self.look_at(self.n_blocks() - 1)
        if s.pairs.ptr != NULL:
            for k in range(s.pairs.ptr[first], s.pairs.ptr[first + T]):
                self.look_at(self.pair_base + s.pairs.attr[k])

    cdef inline void look_at(self, int64_t a) noexcept nogil:
        """Pay what the block owes; a snapshot, if it is the first look in this half of the period and wanted."""
        cdef Visit* visit = self.visits + a
        cdef Run run
        if visit.paid != self.S:
            run = self.run_of(a)
            self.pay(visit, &run)
        if self.wanted <= visit.place < self.wanted_end:
            self.remember(a)

    cdef void pay(self, Visit* visit, const Run* run) noexcept nogil:
        """The l2 term of the sequences that came since the block was last looked at."""
        simd.fade(run.n, self.l2 * (self.S - visit.paid), self.eta, run.rate, run.w, run.w)
        visit.paid = self.S

    cdef void remember(self, int64_t a) noexcept nogil:
        cdef Visit* visit = self.visits + a
        cdef Run run = self.run_of(a)
        cdef int64_t place = visit.place - self.begun
        if self.wanted == 0:
            visit.place = self.begun + self.taken
            memcpy(&self.snapshots[self.taken], run.w, run.n * sizeof(double))
            self.taken += 2 * run.n
        else:
            visit.place += self.taken
            memcpy(&self.snapshots[place + run.n], run.w, run.n * sizeof(double))
            self.seen[self.n_seen] = a
            self.n_seen += 1

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
        if self.updates % (2 * self.period) == 0:
            self.adapt()
            self.begun += 2 * self.taken
            self.taken = self.n_seen = 0
        if self.updates % self.period == 0:
            self.want()

    cdef void want(self) noexcept nogil:
        """In the first half of a period snapshots are wanted of blocks that have none; in the second half of those that have."""
        if self.updates // self.period % 2 == 0:
            self.wanted, self.wanted_end = 0, self.begun
        else:
            self.wanted, self.wanted_end = self.begun, self.begun + self.taken

    cdef Run close(self, int64_t a, double** start) noexcept nogil:
        """A block at the end of the period, and its snapshots, n numbers each."""
        cdef Run run = self.run_of(a)
        self.pay(self.visits + a, &run)
        start[0] = &self.snapshots[self.visits[a].place - self.begun - self.taken]
        return run

    cdef void adapt(self) noexcept nogil:
        """New rates from the blocks seen in both halves."""

    def write(self, double[::1] out):
        """out = w with all debts paid, while the weights stay as they are; returns |out|^2, not finite if a number of them is not."""
        cdef const int64_t* ptr = self.v.nodes.ptr
        cdef int64_t a, p, k, edges = self.n_blocks() - 1, L = self.W.L
        cdef double* row = &self.row[0]
        with nogil:
            for a in range(edges + 1):
                if a < self.v.n_rows:
                    if self.v.nodes.whole:      # what a row is longer than a block, the next one overwrites
                        self.faded(a, &out[a * L])
                        continue
                    self.faded(a, row)
                    for p in range(ptr[a], ptr[a + 1]):
                        out[p] = row[self.v.nodes.label[p]]
                elif a < edges:
                    self.faded(a, &out[0] + (ptr[a] if a < self.pair_base else self.v.pairs.ptr[a - self.pair_base]))
            self.faded(edges, row)
            for k in range(self.transitions.n):
                out[self.transitions.first + k] = row[self.transitions.place[k]]
        return float(np.dot(out, out))

    cdef void faded(self, int64_t a, double* out) noexcept nogil:
        """What a block is when it has paid."""
        cdef Run run = self.run_of(a)
        simd.fade(run.n, self.l2 * (self.S - self.visits[a].paid), self.eta, run.rate, run.w, out)

    def rates(self):
        """The rate of each weight, as a vector of F."""
        return self.scale * self.d_in_vector()

    def state(self):
        """All that the next update depends on: numbers of weights as vectors of F, then those of blocks, then counters."""
        places = np.asarray(self.visits_memory)[:, 1].view(np.int64) - self.begun
        return {
            "v": self.in_vector(self.v, self.v_edge),
            "rate": self.d_in_vector(),
            "start": self.snapshot(0),
            "middle": self.snapshot(1),
            "paid": np.array(self.visits_memory[:, 0]),
            "looks": (places >= 0).astype(np.int64) + (places >= self.taken),
            "seen": np.array(self.seen[:self.n_seen]),
            "scale": np.array([self.scale, self.S]),
            "updates": np.array([self.updates]),
        }

    cdef object snapshot(self, int64_t half):
        """What is remembered from the first half of the period (0) or from the second (1), as a vector of F."""
        view, edge = BlockView(self.layout, padded=True), aligned(self.v_edge.shape[0])
        view.point_to(np.zeros(self.layout.n_features))
        self.move_snapshots(view, edge, half, False)
        return self.in_vector(view, edge)

    cdef void move_snapshots(self, BlockView view, double[::1] edge, int64_t half, bint back):
        cdef int64_t a, n, place
        cdef double* x
        cdef double* y
        for a in range(self.n_blocks()):
            place = self.visits[a].place - self.begun
            if place >= half * self.taken and place >= 0:
                n, x = self.length(a), self.block(view, &edge[0], a)
                y = &self.snapshots[place - (self.taken if place >= self.taken else 0) + half * n]
                memcpy(y if back else x, x if back else y, n * sizeof(double))

    def restore(self, state):
        cdef int64_t a
        cdef const int64_t[::1] looks = within(state, "looks", 0, 2)
        if not np.array_equal(np.sort(state["seen"]), np.flatnonzero(state["looks"] == 2)):
            raise ValueError("the blocks seen in both halves of a period")
        self.from_vector(state["v"], self.v, self.v_edge)
        self.set_d(state["rate"])
        np.asarray(self.visits_memory)[:, 0] = state["paid"]
        self.scale, self.S = state["scale"]
        self.updates = counted(state, "updates")
        self.n_seen = len(state["seen"])
        np.asarray(self.seen)[:self.n_seen] = state["seen"]
        self.begun, self.taken = 1, 0
        for a in range(self.n_blocks()):
            self.visits[a].place = self.begun + self.taken if looks[a] else 0
            self.taken += 2 * self.length(a) if looks[a] else 0
        for a in range(self.n_blocks()):
            self.visits[a].place += self.taken if looks[a] == 2 else 0
        for half, name in enumerate(("start", "middle")):
            view, edge = BlockView(self.layout, padded=True), aligned(self.v_edge.shape[0])
            view.point_to(np.zeros(self.layout.n_features))
            self.from_vector(state[name], view, edge)
            self.move_snapshots(view, edge, half, True)
        self.want()


cdef class ComponentRates(RatedWeights):
    """A gamma for each weight."""

    cdef void adapt(self) noexcept nogil:
        cdef int64_t i
        cdef Run run
        cdef double* start
        for i in range(self.n_seen):
            run = self.close(self.seen[i], &start)
            simd.adapt(run.n, kappa, m, n, start, start + run.n, run.w, run.rate)


cdef class CommonRate(RatedWeights):
    """One gamma for all weights, from the inner products of the two changes."""

    cdef void adapt(self) noexcept nogil:
        cdef int64_t i, k
        cdef Run run
        cdef double before, after, old = 0, both = 0, new = 0
        cdef double* start
        cdef double* middle
        for i in range(self.n_seen):
            run = self.close(self.seen[i], &start)
            middle = start + run.n
            for k in range(run.n):
                before, after = middle[k] - start[k], run.w[k] - middle[k]
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
