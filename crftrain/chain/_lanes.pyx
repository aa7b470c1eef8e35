"""Sums over sequences by arcs, as many sequences at once as a vector has lanes.

One list of arcs serves all sequences, so eight of like length go through it together: each arc is one broadcast number times
eight that lie side by side. In single file an arc takes a look-up for each product. Every lane is computed as if it were alone
and added in the order of the sequences, so the bits do not depend on who goes beside whom.

A sequence whose scores spread too wide goes alone, by logarithms; its lane rests: x = 0 there, and so are a, v and the sums. So does
one that is found on the way to need that (`reached` in _kernels); what its lane holds is not looked at.
"""

from libc.math cimport NAN, isfinite, log
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .._kernels cimport (
    LANES,
    ArcRows,
    arcs_from,
    arcs_into,
    Lattice,
    Tokens,
    Weights,
    backward,
    forward,
    gather,
    lattice_fit,
    lattice_free,
    lattice_new,
    loss,
    minus_gold,
    path_score,
    reached,
    round_residual,
    simd,
    tame_nodes,
)
from ._blocks cimport Transitions, aligned
from ._parts cimport Part
from ._tangent cimport Curvature


cdef class Lanes:
    def __init__(self, Transitions transitions, int L):
        self.X = lattice_new(L, transitions.arcs)
        if self.X == NULL:
            raise MemoryError()
        self.edge, self.vectors = aligned(transitions.places * LANES), aligned(2 * self.X.LP * LANES)

    def __dealloc__(self):
        lattice_free(self.X)
        free(self.memory)

    cdef bint fit(self, int64_t T) noexcept nogil:
        """Room for T positions; False: no memory."""
        cdef int64_t room = T + T // 4 + 8, row = self.X.L * LANES
        if T <= self.capacity:
            return True
        free(self.memory)
        self.capacity, self.memory = 0, <double*> malloc((room * (2 * row + LANES) + 8) * sizeof(double))
        if self.memory == NULL:
            return False
        self.x = self.memory + (64 - <uintptr_t> self.memory % 64) // sizeof(double)
        self.a, self.z, self.capacity = self.x + room * row, self.x + 2 * room * row, room
        return True

    cdef int64_t sum(self, const Weights* W, const Tokens* s, const int64_t* member, int n, Part part, Curvature keep, int thread,
                     double scale, double magic, double[::1] losses) noexcept nogil:
        """The losses of n sequences, the longest first; their scaled residuals go to the part's sum. -1, or one without a loss."""
        cdef double one[LANES]
        cdef int64_t length[LANES]
        cdef int64_t T = s.seq[member[0] + 1] - s.seq[member[0]], t, i
        cdef int lane
        cdef bint some
        cdef Lattice* X = self.X
        if not lattice_fit(X, T, False) or not self.fit(T):
            losses[member[0]] = NAN
            return member[0]
        some = self.gather_all(W, s, member, n, T, length, one)
        self.go_forward(W, T, length if some else NULL)
        for lane in range(n):
            if length[lane] < 0:
                one[lane] = loss(W, s, member[lane], X)
            for t in range(length[lane]):
                one[lane] += log(self.z[t * LANES + lane]) + (W.shift if t else 0)
            losses[member[lane]] = one[lane]
            if not isfinite(one[lane]):
                return member[lane]
        if part is None:
            return -1
        self.go_back(W, length, T)
        for lane in range(n):
            i = member[lane]
            if length[lane] < 0:
                gather(W, s, i, X)
                forward(W, s, i, X)
                backward(W, s, i, X)
            else:
                self.take(W, lane, length[lane])
            if keep is not None:
                keep.take(s, i, X, thread)
            minus_gold(s, i, X)
            round_residual(X, s.seq[i + 1] - s.seq[i], False, scale, magic)
            part.add(i, X)
        return -1

    cdef bint gather_all(self, const Weights* W, const Tokens* s, const int64_t* member, int n, int64_t T, int64_t* length,
                         double* one) noexcept nogil:
        """x of n sequences in their lanes; their lengths, negative for those that go alone; the losses as far as these say. Whether
        somewhere not everything is legal."""
        cdef int64_t i
        cdef int lane
        cdef bint limited, some = False
        for lane in range(LANES):
            length[lane] = 0
            if lane < n:
                i = member[lane]
                length[lane] = s.seq[i + 1] - s.seq[i]
                gather(W, s, i, self.X)
                one[lane] = -path_score(W, s, i, self.X, s.label + s.seq[i])
                if tame_nodes(W, length[lane], self.X, &limited) and W.tame:
                    self.load(s, i, lane, length[lane], &one[lane])
                else:
                    length[lane] = -length[lane]
                some = some or limited
            self.rest(lane, max(0, length[lane]), T)
        return some

    cdef void load(self, const Tokens* s, int64_t i, int lane, int64_t T, double* log_z) noexcept nogil:
        """x of a sequence into its lane; log_z gets what was divided out."""
        cdef int64_t t, j, L = self.X.L
        cdef const double* x
        cdef double* to
        for t in range(T):
            x, to = self.X.x + t * self.X.LP, self.x + t * L * LANES + lane
            for j in range(L):
                to[j * LANES] = x[j]
            log_z[0] += self.X.top[t]

    cdef void rest(self, int lane, int64_t first, int64_t T) noexcept nogil:
        """Positions first .. T - 1 of a lane are empty."""
        cdef int64_t k
        for k in range(first * self.X.L, T * self.X.L):
            self.x[k * LANES + lane] = 0

    cdef void go_forward(self, const Weights* W, int64_t T, int64_t* length) noexcept nogil:
        """a and z. length, where not everything is legal: it becomes negative in lanes that cannot go on."""
        cdef ArcRows rows = arcs_into(W)
        cdef int64_t t, j, row = W.L * LANES
        cdef int lane
        for lane in range(LANES):
            self.z[lane] = 0
        for j in range(row):
            self.z[j % LANES] += self.x[j]
        for j in range(row):
            self.a[j] = self.x[j] / (self.z[j % LANES] if self.z[j % LANES] != 0 else 1)
        for t in range(1, T):
            simd.lanes_forward(W.L, &rows, W.base, self.a + (t - 1) * row, self.x + t * row, self.a + t * row, self.z + t * LANES)
            for lane in range(LANES if length != NULL else 0):
                if t < length[lane] and not reached(W.L, LANES, self.x + t * row + lane, self.a + t * row + lane):
                    length[lane] = -length[lane]

    cdef void go_back(self, const Weights* W, const int64_t* length, int64_t T) noexcept nogil:
        """a becomes the marginals; the sums over the arcs, without the factor M."""
        cdef ArcRows rows = arcs_from(W)
        cdef double inverse[LANES]
        cdef double resting[LANES]
        cdef int64_t t, j, row = W.L * LANES
        cdef int lane
        cdef double* v = &self.vectors[0]
        cdef double* b = v + row
        memset(&self.edge[0], 0, W.arcs.n * LANES * sizeof(double))
        for j in range(row):
            b[j] = 1
        for t in range(T - 1, 0, -1):
            for lane in range(LANES):
                resting[lane] = t >= length[lane]
                inverse[lane] = 0 if t >= length[lane] else 1 / self.z[t * LANES + lane]
            simd.lanes_backward(W.L, &rows, W.base, self.x + t * row, inverse, resting, self.a + (t - 1) * row, v, b, &self.edge[0])

    cdef void take(self, const Weights* W, int lane, int64_t T) noexcept nogil:
        """The marginals of a lane, as backward leaves them."""
        cdef int64_t t, j, k, L = self.X.L, LP = self.X.LP
        cdef const double* a
        for t in range(T):
            a = self.a + t * L * LANES + lane
            for j in range(L):
                self.X.q[t * LP + j] = a[j * LANES]
            for j in range(L, LP):
                self.X.q[t * LP + j] = 0
        for k in range(W.arcs.n):
            self.X.edge[k] = W.M[k] * self.edge[k * LANES + lane]
        self.X.scaled = True
