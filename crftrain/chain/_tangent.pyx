"""Hessian-vector products: how the marginals of a sequence move when the weights move along v.

With r_t the tangent of psi_t (v gathered), R that of the label pairs' scores, E that of log Z, a product is gather v,
tangents of the marginals, scatter:

    H v = 1/n sum_i F_i' (tangents of q and of the pair marginals)  +  l2 v

Tsuboi et al. 2011 get the tangents from the conditional probabilities P(y_{t-1} | y_t), P(y_{t+1} | y_t) by a dynamic
programme of their own:

    A_t(j) = r_t(j) + sum_i P(i | j) [A_{t-1}(i) + R(i,j)]          B_{t-1}(i) = sum_j P(j | i) [R(i,j) + r_t(j) + B_t(j)]
    node: P(j) [A_t(j) + B_t(j) - E]        pair: P(i,j) [A_{t-1}(i) + R(i,j) + r_t(j) + B_t(j) - E]

and keep the pair marginals, T L^2 numbers. With one matrix M for all positions it is enough to keep the vectors a, b and
y = x / z that _kernels made the marginals of (3 T L numbers), and nothing is divided; u = y o b, A now stands for a o A:

    A_t = y_t o (M'A_{t-1} + (M o R)'a_{t-1}) + a_t o r_t            E = sum_j A_{T-1}(j)
    du_t = u_t o r_t + y_t o B_t,  B_{t-1} = M du_t + (M o R) u_t    B_{T-1} = 0
    node: (A - E a) o b + a o B
    sum of pairs: M o sum_t [(A - E a)_{t-1} u_t' + a_{t-1} du_t']  +  R o (sum of the pair marginals)

What is summed over sequences is rounded before (_order_free); R comes in when all is summed.

That is the plain way. The vectors are kept in double: in single precision the difference (A - E a) b + a B of a label that
is all but certain keeps only 4 digits. Sequences with attributes on label pairs, and those of the log domain, go by the
paper's own formula; `ad` differentiates the forward and backward recursions instead and computes all anew each time, which
is what the paper compares with (_other_ways).

Reference: Tsuboi, Unno, Kashima, Okazaki, "Fast Newton-CG method for batch learning of conditional random fields", 2011.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from dataclasses import replace

import numpy as np

from .._kernels cimport (
    Arcs,
    ArcRows,
    arcs_from,
    arcs_into,
    backward,
    forward,
    gather,
    lattice_fit,
    lattice_free,
    lattice_new,
    padded_labels,
    round_residual,
    set_transitions,
    simd,
)
from ._blocks cimport BlockView, Scorer, Transitions, aligned
from ._order_free cimport magic_of
from ._other_ways cimport other_way

from ._order_free import limit

SLACK = 3       # rows that the plain way may read beyond a sequence


def kept_bytes(n_tokens, n_labels):
    """What sequences with so many tokens take to keep."""
    return 3 * 8 * n_tokens * padded_labels(n_labels)


cdef class Direction:
    def __init__(self, layout):
        self.view, self.transitions = BlockView(layout), Transitions(layout)
        self.V.L, self.V.LP = self.view.L, self.view.LP
        self.transitions.attach(&self.V)

    cdef int use(self, double[::1] v, const Weights* W) except -1:
        """Take v (kept, not copied) for products at W."""
        self.view.point_to(v)
        with nogil:
            self.view.spread_rows()
        self.V.nodes, self.V.pairs = self.view.nodes, self.view.pairs
        self.transitions.read(v)
        multiply(W, &self.V)
        return 0


cdef void multiply(const Weights* W, Weights* V) noexcept nogil:
    """V.M and V.MT, R = M o trans and its transpose."""
    cdef int64_t i, j, k, L = W.L, LP = W.LP
    if W.arcs != NULL:
        for k in range(W.arcs.n):
            V.M[k] = W.M[k] * V.trans[k]
        for k in range(W.arcs.n):
            V.MT[k] = V.M[W.arcs.number[k]]
        return
    for i in range(L):
        for j in range(L):
            V.M[i * LP + j] = V.MT[j * LP + i] = W.M[i * LP + j] * V.trans[i * LP + j]


cdef class Workspace:
    def __init__(self, layout):
        cdef int L = layout.n_labels
        self.layout, self.transitions = layout, Transitions(layout)
        self.X, self.dX = lattice_new(L, self.transitions.arcs), lattice_new(L, self.transitions.arcs)
        if self.X == NULL or self.dX == NULL:
            raise MemoryError()
        self.C = aligned(self.X.LP * self.X.LP if self.transitions.arcs == NULL else self.X.places)
        self.expected = aligned(self.X.places)

    def __dealloc__(self):
        lattice_free(self.X)
        lattice_free(self.dX)

    cdef void make_all_pairs(self):
        if self.all_pairs is None:
            self.all_pairs = AllPairs(self.layout)


cdef class AllPairs:
    """Lattices over all label pairs, for the rare sequence of an arc list that cannot go the plain way."""

    def __init__(self, layout):
        dense = replace(layout, lattice="dense")
        self.weights, self.direction, self.room = Scorer(dense), Direction(dense), Workspace(dense)

    cdef bint tangents(self, const Weights* W, const Weights* V, bint ad, const Tokens* s, int64_t i, double scale,
                       Lattice* out) noexcept nogil:
        """q and the arcs' sums of sequence i to `out`; False where there is no memory."""
        cdef int64_t T = s.seq[i + 1] - s.seq[i], j, k, at
        cdef const Arcs* arcs = W.arcs
        cdef Weights* all_W = &self.weights.W
        cdef Weights* all_V = &self.direction.V
        cdef Lattice* X = self.room.X
        cdef Lattice* dX = self.room.dX
        if not lattice_fit(X, T, False) or not lattice_fit(dX, T, False):
            return False
        all_W.nodes, all_V.nodes = W.nodes, V.nodes
        for j in range(W.L):
            for k in range(arcs.ptr[j], arcs.ptr[j + 1]):
                at = j * W.LP + arcs.to[k]
                all_W.trans[at], all_V.trans[at] = W.trans[k], V.trans[k]
        self.weights.transitions.forbid(all_W.trans)
        set_transitions(all_W)
        multiply(all_W, all_V)
        gather(all_V, s, i, dX)
        gather(all_W, s, i, X)
        forward(all_W, s, i, X)
        if not other_way(all_W, all_V, ad, s, i, scale, X, dX):
            return False
        memcpy(out.q, dX.q, T * W.LP * sizeof(double))
        memset(out.edge, 0, out.places * sizeof(double))
        for j in range(W.L):
            for k in range(arcs.ptr[j], arcs.ptr[j + 1]):
                out.edge[k] = dX.edge[j * W.LP + arcs.to[k]]
        return True


cdef class Curvature:
    """The Hessian at the point to which Problem.value_and_gradient(w, out, keep=this) or Problem.curvature(w) has taken it.

    w must stay as it is as long as there are products. `keep` sequences, evenly spread, keep their rows; the others are
    computed anew for each product, and by arcs all are: rows of many labels would take more memory than they save time.
    `weight` changes what is summed from the next filling on: the Hessian of a sample.
    """

    def __init__(self, Sequences sequences, layout, multiply, *, scale, n_tokens, threads=1, keep=None, ad=False):
        """multiply(curvature, v, out) sums the products of all sequences. scale: 1/n, of the corpus with so many tokens."""
        cdef int L = layout.n_labels, LP = padded_labels(L)
        n, lengths = sequences.n, np.diff(sequences.corpus.seq)
        self.sequences, self.layout, self.multiply, self.ad, self.filled = sequences, layout, multiply, ad, False
        self.scale, self.n_tokens, self.rounding = scale, n_tokens, None
        keep = 0 if ad or layout.sparse or sequences.s.pairs.ptr != NULL else n if keep is None else min(keep, n)
        steps = np.arange(n + 1) * keep // max(n, 1)
        kept = np.diff(steps) > 0
        sizes = np.where(kept, 3 * LP * lengths, 0)
        self.start = np.where(kept, np.cumsum(sizes) - sizes, -1)
        self.rows = aligned(int(sizes.sum()) + SLACK * LP)
        self.good, self.weight, self.doubt = np.zeros(n, np.uint8), np.ones(n), lengths.astype(float)
        self.direction, self.kept = Direction(layout), Transitions(layout)
        self.expected = np.zeros((threads, self.kept.places))
        self.measure(1.0)

    @property
    def n_bytes(self):
        """What the rows take."""
        return 8 * self.rows.shape[0]

    @property
    def doubts(self):
        """float64[n]: sum over the tokens of 1 - sum_j P(y_t = j)^2, large where a sequence bends f most; at first its length."""
        return np.asarray(self.doubt)

    @property
    def sampled(self):
        """float64[n]: the weights of the sequences."""
        return np.asarray(self.weight)

    @property
    def share(self):
        """The part of the sequences that products visit."""
        return np.count_nonzero(self.weight) / max(len(self.weight), 1)

    def times(self, v, out):
        """out = H v."""
        if not self.filled:
            raise ValueError("the curvature is empty, expected one that value_and_gradient(w, g, keep=...) has filled")
        self.multiply(self, v, out)

    def sample(self, weight, most=None):
        """float64[n]: the weights of the sequences from the next filling on; `most`: the largest of a corpus of which these are a shard."""
        np.asarray(self.weight)[:] = weight
        self.measure(np.max(self.weight, initial=1.0) if most is None else most)
        self.filled = False

    cdef int begin(self) except -1:
        self.filled = False
        self.good[:] = 0
        self.expected[:] = 0
        self.summed = True
        return 0

    def measure(self, weight):
        """How marginals are rounded, by the largest weight of a sequence: as if all pairs of labels were one."""
        self.magic = magic_of(limit(self.n_tokens * weight))

    cdef void take(self, const Tokens* s, int64_t i, const Lattice* X, int thread) noexcept nogil:
        """Keep sequence i, after backward; sum the pair marginals of all that go the plain way."""
        cdef int64_t k, t, T = s.seq[i + 1] - s.seq[i], size = T * X.LP
        cdef double* rows
        cdef double inverse, certain = 0
        for t in range(T):
            certain += simd.dot(X.LP, X.q + t * X.LP, X.q + t * X.LP)
        self.doubt[i] = T - certain
        if self.ad or not X.scaled or s.pairs.ptr != NULL or self.weight[i] == 0:
            return
        simd.add_rounded(X.places, self.weight[i], self.magic, X.edge, &self.expected[thread, 0])
        if self.start[i] < 0:
            return
        rows = &self.rows[self.start[i]]
        memcpy(rows, X.a, size * sizeof(double))
        memcpy(rows + size, X.b, size * sizeof(double))
        rows += 2 * size
        for t in range(T):
            inverse = 1.0 / X.z[t]
            for k in range(t * X.LP, (t + 1) * X.LP):
                rows[k] = X.x[k] * inverse
        self.good[i] = 1

    cdef int end(self, double[::1] w, const Weights* W) except -1:
        """All sequences have been taken at w."""
        cdef int64_t k, i
        cdef bint complete = True
        for i in range(self.good.shape[0]):
            complete = complete and (self.good[i] or self.weight[i] == 0)
        self.W = W[0]
        self.kept.attach(&self.W)
        for k in range(W.places):
            self.W.trans[k], self.W.M[k], self.W.MT[k] = W.trans[k], W.M[k], W.MT[k]
        if W.arcs != NULL:
            for k in range(W.places):
                self.W.S[k], self.W.ST[k] = W.S[k], W.ST[k]
        if not complete:
            self.scorer = self.scorer or Scorer(self.layout)
            self.scorer.use(w)
            self.W = self.scorer.W
        self.filled = True
        return 0

    cdef bint add_product(self, const Tokens* s, int64_t i, double scale, double magic, Part part, Workspace room) noexcept nogil:
        """The part's sum += scale F' (tangents) of sequence i; False where there is no memory or log Z is no number."""
        cdef Lattice* X = self.tangents(s, i, scale, room)
        if X == NULL:
            return False
        room.top = max(room.top, round_residual(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL, 1.0, magic))
        part.add(i, X)
        return True

    cdef Lattice* tangents(self, const Tokens* s, int64_t i, double scale, Workspace room) noexcept nogil:
        """The lattice whose q, edge and P are the tangents of sequence i; R o (sum of the pair marginals) is left out where it has none."""
        cdef int64_t T = s.seq[i + 1] - s.seq[i], size = T * self.W.LP, n_soon = 0
        cdef const double* rows
        cdef const double* soon = NULL
        cdef Lattice* X = room.X
        cdef bint pairs = s.pairs.ptr != NULL
        if not lattice_fit(room.dX, T, pairs):
            return NULL
        gather(&self.direction.V, s, i, room.dX)
        if self.good[i]:
            rows = &self.rows[self.start[i]]
            if i + 1 < self.good.shape[0] and self.good[i + 1]:
                soon, n_soon = &self.rows[self.start[i + 1]], 3 * self.W.LP * (s.seq[i + 2] - s.seq[i + 1])
            self.plain_way(T, rows, rows + size, rows + 2 * size, scale, room, soon, n_soon)
            return room.dX
        if not lattice_fit(X, T, pairs):
            return NULL
        gather(&self.W, s, i, X)
        if not isfinite(forward(&self.W, s, i, X)):
            return NULL
        if X.scaled and not pairs and not self.ad:
            backward(&self.W, s, i, X)
            inverse_sums(T, X)
            self.plain_way(T, X.a, X.b, X.x, scale, room, NULL, 0)
            if not self.summed:
                simd.add_rounded(X.places, self.weight[i], self.magic, X.edge, &room.expected[0])
            return room.dX
        if self.W.arcs != NULL:
            with gil:
                room.make_all_pairs()
            return room.dX if room.all_pairs.tangents(&self.W, &self.direction.V, self.ad, s, i, scale, room.dX) else NULL
        return room.dX if other_way(&self.W, &self.direction.V, self.ad, s, i, scale, X, room.dX) else NULL

    cdef void plain_way(self, int64_t T, const double* a, const double* b, const double* y, double scale, Workspace room,
                        const double* soon, int64_t n_soon) noexcept nogil:
        """q and edge of dX, whose psi is r."""
        cdef Lattice* dX = room.dX
        cdef ArcRows into, rows
        cdef int64_t k
        if self.W.arcs != NULL:
            into, rows = arcs_into(&self.W), arcs_from(&self.W)
            memset(&room.C[0], 0, self.W.places * sizeof(double))
            simd.arcs_tangent(T, self.W.L, self.W.LP, &into, &rows, self.direction.V.MT, self.direction.V.M, self.W.base, a, b, y, dX.psi,
                              scale, dX.x, dX.a, dX.b, dX.v, dX.psi, &room.C[0])
        else:
            simd.tangent(T, self.W.L, self.W.LP, self.W.M, self.W.MT, self.direction.V.M, self.direction.V.MT, a, b, y, dX.psi, scale,
                         dX.x, dX.a, dX.b, dX.v, dX.psi, &room.C[0], soon, n_soon)
        dX.psi, dX.q = dX.q, dX.psi
        for k in range(self.W.places):
            dX.edge[k] = self.W.M[k] * room.C[k]

    def expect(self, rooms):
        """The sum of the pair marginals, those that products have summed included."""
        self.total = np.asarray(self.expected).sum(axis=0) + sum(np.asarray((<Workspace> room).expected) for room in rooms)

    def marginals(self):
        """float64[K]: the same for the label pairs that have weights."""
        return np.asarray(self.total)[np.asarray(self.kept.place)]

    def add_expected(self, const double[::1] v, double[::1] out):
        """out += R o (sum of the pair marginals) / n, when all is summed."""
        cdef int64_t k, p
        for k in range(self.kept.n):
            p = self.kept.first + k
            out[p] += v[p] * (self.scale * self.total[self.kept.place[k]])


cdef void inverse_sums(int64_t T, Lattice* X) noexcept nogil:
    """x becomes y = x / z, rounded as in Curvature.take."""
    cdef int64_t t, k
    cdef double inverse
    for t in range(T):
        inverse = 1.0 / X.z[t]
        for k in range(t * X.LP, (t + 1) * X.LP):
            X.x[k] *= inverse


include "_diagonal.pyx"
