"""The linear chain: T positions, L labels, node scores psi[t][j] and scores of label pairs e[i][j].

    p(y | x) = exp( sum_t psi[t][y_t] + sum_{t>0} e[y_{t-1}][y_t] ) / Z

Every method for such a model is three operations on a sequence, linear at both ends:

    gather    psi = F w           the blocks of the sequence's attributes are added up
    oracle    q                   marginals by forward and backward vectors, or the best path
    scatter   out += F' q         into the same blocks

The oracle works on probabilities. With x = exp(psi - top) and M = exp(e - shift), both at most 1:

    a_t = x_t o (M' a_{t-1}) / z_t              z_t makes a_t sum to 1;  log Z = sum log z_t + top_t + shift
    v_t = x_t o b_t / z_t,  b_{t-1} = M v_t     b_{T-1} = 1
    P(y_t = j) = a_t(j) b_t(j)                  sum_t P(y_{t-1} = i, y_t = j) = M(i,j) sum_t a_{t-1}(i) v_t(j)

so that the only exponentials are T x L for a sequence and L x L for a weight vector. While the scores of a position
span at most TAME, and the label pairs too, no product of three such numbers leaves the range of double. Else the
sequence is done in the log domain, slowly and safely: never a NaN where there is an answer, never a path lost.

With attributes on label pairs, M is another one at each position (P below keeps them).
"""

from libc.math cimport INFINITY, NAN, exp, isfinite, log
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memmove, memset

import os

import numpy as np


cdef double TAME = 200.0

cdef const Simd* simd
cdef bytes _wish = os.environ.get("CRFTRAIN_SIMD", "").encode()
simd = crftrain_simd(_wish)
if simd == NULL:
    raise ImportError(f"CRFTRAIN_SIMD={_wish.decode()}: this CPU or build has no such kernels, expected base, v3 or v4")
SIMD = simd.name.decode()


# ---- workspace -------------------------------------------------------------------------------------------------------

cdef Lattice* lattice_new(int L) noexcept nogil:
    cdef Lattice* X = <Lattice*> calloc(1, sizeof(Lattice))
    if X == NULL:
        return NULL
    X.L, X.LP = L, padded_labels(L)
    X.edge = <double*> calloc(L * X.LP, sizeof(double))
    if X.edge == NULL:
        free(X)
        return NULL
    return X


cdef int padded_labels(int L) noexcept nogil:
    return (L + 7) // 8 * 8


cdef int64_t tokens_between_signals(int L) noexcept nogil:
    """After so many tokens Python may handle a signal: some hundredths of a second."""
    return max(1, 10_000_000 // (L * L + 500))


cdef void lattice_free(Lattice* X) noexcept nogil:
    if X != NULL:
        free(X.memory)
        free(X.edge)
        free(X)


cdef bint lattice_fit(Lattice* X, int64_t T, bint pairs) noexcept nogil:
    """Room for T positions, and their label pairs where the corpus has attributes on them."""
    cdef int64_t room, row, square
    cdef double* at
    if T <= X.capacity and (not pairs or T <= X.pair_capacity):
        return True
    free(X.memory)
    room = max(64, (T + T // 4 + 7) // 8 * 8)
    row, square = room * X.LP, room * X.L * X.LP if pairs else 0
    X.capacity, X.pair_capacity = 0, 0
    X.memory = <double*> malloc((8 + 7 * row + 3 * room + 2 * square) * sizeof(double))
    if X.memory == NULL:
        return False
    at = X.memory + (64 - <uintptr_t> X.memory % 64) // sizeof(double)      # all rows begin at a cache line
    X.psi, X.x, X.a, X.b, X.v, X.q = at, at + row, at + 2 * row, at + 3 * row, at + 4 * row, at + 5 * row
    X.come_from = <int32_t*> (at + 6 * row)
    at += 7 * row
    X.top, X.z, X.e_top = at, at + room, at + 2 * room
    X.e, X.P = at + 3 * room, at + 3 * room + square
    X.capacity, X.pair_capacity = room, room if pairs else 0
    return True


# ---- gather ----------------------------------------------------------------------------------------------------------

cdef void gather(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """psi, and e where attributes sit on label pairs. The lattice must have room."""
    cdef int64_t first = s.seq[i], T = s.seq[i + 1] - first
    if s.listed.ptr != NULL:
        simd.gather_listed(&s.nodes, &W.nodes, &s.listed, i, first, T, W.LP, X.psi)
    else:
        simd.gather(&s.nodes, &W.nodes, first, T, W.L, W.LP, X.psi)
    if s.pairs.ptr != NULL:
        gather_pairs(W, s, first, T, X.e)


cdef void gather_pairs(const Weights* W, const Tokens* s, int64_t first, int64_t T, double* e) noexcept nogil:
    """e[t][i][j] = trans[i][j] + sum of the pair attributes' weights at t, t > 0."""
    cdef int64_t t, k, p, size = W.L * W.LP
    cdef int32_t a, pair
    cdef double c
    for t in range(1, T):
        e += size
        for k in range(size):
            e[k] = W.trans[k]
        for k in range(s.pairs.ptr[first + t], s.pairs.ptr[first + t + 1]):
            a = s.pairs.attr[k]
            c = s.pairs.value[k] if s.pairs.value != NULL else 1.0
            for p in range(W.pairs.ptr[a], W.pairs.ptr[a + 1]):
                pair = W.pairs.label[p]
                e[pair // W.L * W.LP + pair % W.L] += c * W.pairs.w[p]


# ---- forward and backward --------------------------------------------------------------------------------------------

cdef double forward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """log Z from psi (and e); leaves a, z and x for backward."""
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef bint pairs = s.pairs.ptr != NULL
    cdef const double* M = W.M
    cdef double log_z, z
    X.scaled = simd.exp_rows(T, W.L, LP, X.psi, X.x, X.top) <= TAME
    X.scaled = X.scaled and (exp_pairs(W, T, X) if pairs else W.tame)
    if not X.scaled:
        X.log_z = log_forward(W, s, T, X)
        return X.log_z
    z = 0
    for t in range(W.L):
        z += X.x[t]
    for t in range(LP):
        X.a[t] = X.x[t] / z
    X.z[0] = z
    log_z = log(z) + X.top[0]
    for t in range(1, T):
        if pairs:
            M = X.P + t * W.L * LP
        z = simd.forward(W.L, LP, X.a + (t - 1) * LP, M, X.x + t * LP, X.a + t * LP)
        X.z[t] = z
        log_z += log(z) + X.top[t] + (X.e_top[t] if pairs else W.shift)
    X.log_z = log_z
    return log_z


cdef bint exp_pairs(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    """P[t] = exp(e[t] - e_top[t]); False if a position's pairs span more than TAME."""
    cdef int64_t t, size = W.L * W.LP
    for t in range(1, T):
        if not exp_matrix(W.L, W.LP, X.e + t * size, X.P + t * size, X.e_top + t):
            return False
    return True


cdef bint exp_matrix(int L, int LP, double* e, double* M, double* top) noexcept nogil:
    """M = exp(e - top), top the largest score of all pairs, padding 0; False if they span more than TAME."""
    cdef int64_t i, j
    for i in range(L):
        for j in range(L, LP):
            e[i * LP + j] = e[0]
    if not simd.exp_rows(1, L * LP, L * LP, e, M, top) <= TAME:
        return False
    for i in range(L):
        for j in range(L, LP):
            M[i * LP + j] = 0
    return True


cdef void backward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """q and edge (and P) after forward."""
    cdef int64_t t, j, T = s.seq[i + 1] - s.seq[i]
    cdef int L = W.L, LP = W.LP
    memset(X.edge, 0, L * LP * sizeof(double))
    if not X.scaled:
        log_backward(W, s, T, X)
        return
    for j in range(LP):
        X.b[(T - 1) * LP + j] = j < L
        X.q[(T - 1) * LP + j] = X.a[(T - 1) * LP + j]
    if s.pairs.ptr != NULL:
        backward_pairs(L, LP, T, X)
        return
    for t in range(T - 1, 0, -1):
        simd.backward(L, LP, X.x + t * LP, X.b + t * LP, 1.0 / X.z[t], W.MT, X.a + (t - 1) * LP,
                      X.v + t * LP, X.b + (t - 1) * LP, X.q + (t - 1) * LP)
    simd.outer(T - 1, L, LP, X.a, X.v + LP, X.edge)
    for j in range(L * LP):
        X.edge[j] *= W.M[j]


cdef void backward_pairs(int L, int LP, int64_t T, Lattice* X) noexcept nogil:
    """The same with a matrix of its own at each position, which becomes P(y_{t-1} = i, y_t = j | x)."""
    cdef int64_t t, i, j
    cdef double* row
    cdef double* v
    cdef double total, a
    for t in range(T - 1, 0, -1):
        v = X.v + t * LP
        for j in range(LP):
            v[j] = X.x[t * LP + j] * X.b[t * LP + j] / X.z[t]
        for j in range(LP):
            X.b[(t - 1) * LP + j] = X.q[(t - 1) * LP + j] = 0
        for i in range(L):
            row, total, a = X.P + (t * L + i) * LP, 0, X.a[(t - 1) * LP + i]
            for j in range(LP):
                row[j] *= v[j]
                total += row[j]
            X.b[(t - 1) * LP + i] = total
            X.q[(t - 1) * LP + i] = a * total
            for j in range(LP):
                row[j] *= a
                X.edge[i * LP + j] += row[j]


# ---- the log domain --------------------------------------------------------------------------------------------------

cdef double log_sum(int n, const double* s, double shift) noexcept nogil:
    """log sum_i exp(s_i + shift); -inf if every s_i is."""
    cdef int i
    cdef double top = -INFINITY, total = 0
    for i in range(n):
        if not s[i] <= top:     # NaN passes too, and stays
            top = s[i]
    if not isfinite(top):
        return top
    for i in range(n):
        total += exp(s[i] - top)
    return top + log(total) + shift


cdef double log_forward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """a_t(j) = psi_t(j) + log sum_i exp(a_{t-1}(i) + e(i, j)), all logarithms; v is scratch."""
    cdef int64_t t, i, j
    cdef int L = W.L, LP = W.LP
    cdef const double* e = W.trans
    for j in range(L):
        X.a[j] = X.psi[j]
    for t in range(1, T):
        if s.pairs.ptr != NULL:
            e = X.e + t * L * LP
        for j in range(L):
            for i in range(L):
                X.v[i] = X.a[(t - 1) * LP + i] + e[i * LP + j]
            X.a[t * LP + j] = log_sum(L, X.v, X.psi[t * LP + j])
    return log_sum(L, X.a + (T - 1) * LP, 0)


cdef void log_backward(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    """b_{t-1}(i) = log sum_j exp(e(i, j) + psi_t(j) + b_t(j));  P = exp(a_{t-1}(i) + e(i, j) + psi_t(j) + b_t(j) - log Z)."""
    cdef int64_t t, i, j
    cdef int L = W.L, LP = W.LP
    cdef const double* e = W.trans
    cdef double p
    for t in range(T):
        for j in range(L, LP):
            X.q[t * LP + j] = 0
    for j in range(L):
        X.b[(T - 1) * LP + j] = 0
        X.q[(T - 1) * LP + j] = exp(X.a[(T - 1) * LP + j] - X.log_z)
    for t in range(T - 1, 0, -1):
        if s.pairs.ptr != NULL:
            e = X.e + t * L * LP
            memset(X.P + t * L * LP, 0, L * LP * sizeof(double))
        for i in range(L):
            for j in range(L):
                X.v[j] = e[i * LP + j] + X.psi[t * LP + j] + X.b[t * LP + j]
                p = exp(X.a[(t - 1) * LP + i] + X.v[j] - X.log_z)
                X.edge[i * LP + j] += p
                if s.pairs.ptr != NULL:
                    X.P[(t * L + i) * LP + j] = p
            X.b[(t - 1) * LP + i] = log_sum(L, X.v, 0)
            X.q[(t - 1) * LP + i] = exp(X.a[(t - 1) * LP + i] + X.b[(t - 1) * LP + i] - X.log_z)


cdef void fill_pairs(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """P(y_{t-1} = i, y_t = j | x) minus gold at each t > 0 after backward and minus_gold; P[0] is zero. The lattice must have room."""
    cdef int64_t t, j, k, T = s.seq[i + 1] - s.seq[i]
    cdef int L = W.L, LP = W.LP
    cdef const int32_t* y = s.label + s.seq[i]
    cdef double* P = X.P
    memset(P, 0, L * LP * sizeof(double))
    if s.pairs.ptr != NULL:     # backward has filled the rest
        return
    for t in range(1, T):
        P += L * LP
        for k in range(L):
            for j in range(LP):
                if j >= L:
                    P[k * LP + j] = 0
                elif X.scaled:
                    P[k * LP + j] = X.a[(t - 1) * LP + k] * W.M[k * LP + j] * X.v[t * LP + j]
                else:
                    P[k * LP + j] = exp(X.a[(t - 1) * LP + k] + W.trans[k * LP + j] + X.psi[t * LP + j] + X.b[t * LP + j] - X.log_z)
        P[y[t - 1] * LP + y[t]] -= 1


# ---- scores, losses, the best path -----------------------------------------------------------------------------------

cdef double path_score(const Weights* W, const Tokens* s, int64_t i, const Lattice* X, const int32_t* y) noexcept nogil:
    """sum_t psi[t][y_t] + sum_{t>0} e[y_{t-1}][y_t]."""
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef double score = X.psi[y[0]]
    for t in range(1, T):
        score += X.psi[t * LP + y[t]]
        score += (W.trans if s.pairs.ptr == NULL else X.e + t * W.L * LP)[y[t - 1] * LP + y[t]]
    return score


cdef void minus_gold(const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef const int32_t* y = s.label + s.seq[i]
    cdef int LP = X.LP
    for t in range(T):
        X.q[t * LP + y[t]] -= 1
        if t:
            X.edge[y[t - 1] * LP + y[t]] -= 1
            if s.pairs.ptr != NULL:
                X.P[(t * X.L + y[t - 1]) * LP + y[t]] -= 1


cdef double loss(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """-log p(y_i | x_i) = log Z - score of the gold path; NaN where there is no memory or no answer."""
    if not lattice_fit(X, s.seq[i + 1] - s.seq[i], s.pairs.ptr != NULL):
        return NAN
    gather(W, s, i, X)
    return forward(W, s, i, X) - path_score(W, s, i, X, s.label + s.seq[i])


cdef double loss_and_residual(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """The loss; q, edge and P hold the marginals minus the gold labels: the loss' gradient in psi and e."""
    cdef double value = loss(W, s, i, X)
    if isfinite(value):
        backward(W, s, i, X)
        minus_gold(s, i, X)
    return value


cdef double viterbi(const Weights* W, const Tokens* s, int64_t i, Lattice* X, int32_t* y) noexcept nogil:
    """The best path and its score, after gather; ties go to the lower label. a holds the best scores up to t."""
    cdef int64_t t, j, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef double best
    for j in range(W.L):
        X.a[j] = X.psi[j]
    for t in range(1, T):
        simd.viterbi(W.L, LP, X.a + (t - 1) * LP, W.trans if s.pairs.ptr == NULL else X.e + t * W.L * LP, X.psi + t * LP,
                     X.a + t * LP, X.come_from + t * LP)
    y[T - 1] = 0
    best = X.a[(T - 1) * LP]
    for j in range(1, W.L):
        if X.a[(T - 1) * LP + j] > best:
            best, y[T - 1] = X.a[(T - 1) * LP + j], j
    for t in range(T - 1, 0, -1):
        y[t - 1] = X.come_from[t * LP + y[t]]
    return best


# ---- weights, gradients and corpora for the kernels ------------------------------------------------------------------

cdef int64_t whole_rows(layout) except -1:
    """How many attributes the kernels may take as rows of LP.

    Where every block has all L labels, rows are read in place, a few numbers beyond their end; the last attributes
    are left to the sparse way so that no row reaches past the vector.
    """
    cdef int64_t L = layout.n_labels
    if layout.label is not None or L == 0:
        return layout.dense
    return max(0, layout.n_attributes - (padded_labels(L) - L + L - 1) // L)


cdef object aligned(int64_t n):
    """n zeros that begin at a cache line."""
    memory = np.zeros(n + 8)
    start = -memory.ctypes.data // 8 % 8
    return memory[start:start + n]


cdef class BlockView:
    """The layout's blocks as the kernels see them, over a vector of weights or a gradient.

    Padded: dense blocks are kept in rows of LP, apart from the vector. Else they are read in place, which takes
    blocks that have all L labels.
    """

    def __init__(self, layout, *, padded=None):
        cdef int L = layout.n_labels, LP = padded_labels(L)
        cdef int64_t dense = whole_rows(layout)
        cdef const int64_t[::1] ptr = layout.ptr, pair_ptr = layout.pair_ptr
        cdef const int32_t[::1] label, pair = layout.pair
        cdef int64_t a, p
        self.layout, self.L, self.LP = layout, L, LP
        self.nodes.whole = layout.label is None
        self.padded = not self.nodes.whole if padded is None else padded
        if self.nodes.whole:    # only the labels of the last few attributes are looked at
            self.label = np.tile(np.arange(L, dtype=np.int32), layout.n_attributes - dense)
        else:
            self.label = np.ascontiguousarray(layout.label, dtype=np.int32)
        label = self.label
        self.n_rows = dense if self.padded else 0
        self.rows = aligned(self.n_rows * LP)
        self.nodes.stride = LP if self.padded else L
        self.nodes.ptr, self.pairs.ptr = &ptr[0], &pair_ptr[0]
        self.present = np.zeros(max(1, dense), np.uint64)
        if self.padded and not self.nodes.whole and L <= 64:
            for a in range(dense):
                for p in range(ptr[a], ptr[a + 1]):
                    self.present[a] |= (<uint64_t> 1) << label[p]
            self.nodes.present = &self.present[0]
        # labels are looked up by the position in the vector
        self.nodes.label = (&label[0] if label.shape[0] else NULL) - (ptr[dense] if self.nodes.whole else 0)
        self.pairs.label = (&pair[0] if pair.shape[0] else NULL) - pair_ptr[0]

    cdef int point_to(self, double[::1] vector) except -1:
        if vector.shape[0] != self.layout.n_features:
            raise ValueError(f"{vector.shape[0]} numbers, expected {self.layout.n_features}")
        self.vector = vector
        self.nodes.w = self.pairs.w = &vector[0] if vector.shape[0] else NULL
        self.nodes.rows = self.nodes.w if not self.padded else &self.rows[0] if self.rows.shape[0] else NULL
        return 0

    cdef void spread_rows(self) noexcept nogil:
        """Whole rows from the vector; what has no weight stays zero."""
        cdef int64_t a, p, j
        for a in range(self.n_rows):
            if self.nodes.whole:
                for j in range(self.L):
                    self.rows[a * self.LP + j] = self.vector[a * self.L + j]
            else:
                for p in range(self.nodes.ptr[a], self.nodes.ptr[a + 1]):
                    self.rows[a * self.LP + self.nodes.label[p]] = self.vector[p]

    cdef void add_rows(self) noexcept nogil:
        """The vector += whole rows; what has no weight is dropped."""
        cdef int64_t a, p, j
        for a in range(self.n_rows):
            if self.nodes.whole:
                for j in range(self.L):
                    self.vector[a * self.L + j] += self.rows[a * self.LP + j]
            else:
                for p in range(self.nodes.ptr[a], self.nodes.ptr[a + 1]):
                    self.vector[p] += self.rows[a * self.LP + self.nodes.label[p]]


cdef class Scorer:
    def __init__(self, layout):
        cdef int L = layout.n_labels, LP = padded_labels(L)
        self.view = BlockView(layout)
        self.trans, self.M, self.MT = aligned(L * LP), aligned(L * LP), aligned(L * LP)
        self.W.L, self.W.LP = L, LP
        self.W.trans, self.W.M, self.W.MT = &self.trans[0], &self.M[0], &self.MT[0]

    cdef int use(self, double[::1] w) except -1:
        """Take w (kept, not copied; call again when it has changed)."""
        cdef const int32_t[::1] transition = self.view.layout.transition
        cdef int64_t k, first = self.view.layout.transitions.start
        cdef int L = self.W.L, LP = self.W.LP
        self.view.point_to(w)
        self.view.spread_rows()
        self.W.nodes, self.W.pairs = self.view.nodes, self.view.pairs
        for k in range(transition.shape[0]):
            self.trans[transition[k] // L * LP + transition[k] % L] = w[first + k]
        set_transitions(&self.W)
        return 0


cdef void set_transitions(Weights* W) noexcept nogil:
    """M, MT, shift and tame from trans."""
    cdef int i, j
    W.tame = exp_matrix(W.L, W.LP, W.trans, W.M, &W.shift)
    if W.tame:
        for i in range(W.L):
            for j in range(W.L):
                W.MT[j * W.LP + i] = W.M[i * W.LP + j]


cdef class Gradient:
    def __init__(self, layout):
        self.view = BlockView(layout)
        self.edge = np.zeros(self.view.L * self.view.LP + 8)

    cdef int use(self, double[::1] g) except -1:
        """Sums will be added to g, those of whole rows and transitions by collect()."""
        self.view.point_to(g)
        self.view.rows[:] = 0
        self.edge[:] = 0
        return 0

    cdef void add(self, const Tokens* s, int64_t i, const Lattice* X) noexcept nogil:
        """g += F' (q, edge, P) of sequence i."""
        scatter_nodes(s, &self.view.nodes, i, X.L, X.LP, X.q)
        self.add_rest(s, s.seq[i], s.seq[i + 1] - s.seq[i], X)

    cdef void add_tokens(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """The same for T tokens of one sequence or several."""
        simd.scatter(&s.nodes, &self.view.nodes, first, T, X.L, X.LP, X.q)
        self.add_rest(s, first, T, X)

    cdef void add_rest(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
        """edge and P."""
        simd.axpy(X.L * X.LP, 1.0, X.edge, &self.edge[0])
        if s.pairs.ptr != NULL:
            scatter_pairs(s, &self.view.pairs, first, T, X)

    cdef int collect(self) except -1:
        cdef const int32_t[::1] transition = self.view.layout.transition
        cdef int64_t k, first = self.view.layout.transitions.start
        cdef int L = self.view.L, LP = self.view.LP
        with nogil:
            self.view.add_rows()
        for k in range(transition.shape[0]):
            self.view.vector[first + k] += self.edge[transition[k] // L * LP + transition[k] % L]
        return 0


cdef void scatter_nodes(const Tokens* s, const Blocks* nodes, int64_t i, int L, int LP, const double* q) noexcept nogil:
    """The blocks of sequence i += q."""
    cdef int64_t first = s.seq[i], T = s.seq[i + 1] - first
    if s.listed.ptr != NULL:
        simd.scatter_listed(&s.nodes, nodes, &s.listed, i, first, T, LP, q)
    else:
        simd.scatter(&s.nodes, nodes, first, T, L, LP, q)


cdef void scatter_pairs(const Tokens* s, const Blocks* pairs, int64_t first, int64_t T, const Lattice* X) noexcept nogil:
    """The blocks of the pair attributes at t += P[t]."""
    cdef int64_t t, k, p
    cdef int32_t a, pair
    cdef int L = X.L
    cdef double c
    for t in range(1, T):
        for k in range(s.pairs.ptr[first + t], s.pairs.ptr[first + t + 1]):
            a = s.pairs.attr[k]
            c = s.pairs.value[k] if s.pairs.value != NULL else 1.0
            for p in range(pairs.ptr[a], pairs.ptr[a + 1]):
                pair = pairs.label[p]
                pairs.w[p] += c * X.P[(t * L + pair // L) * X.LP + pair % L]


cdef class Sequences:
    def __init__(self, corpus, layout):
        cdef int64_t dense = whole_rows(layout)
        cdef const int64_t[::1] seq = corpus.seq
        cdef const int32_t[::1] label = corpus.label
        self.corpus, self.n, self.block_ptr = corpus, len(corpus.seq) - 1, layout.ptr
        self.s.seq = &seq[0]
        self.s.label = &label[0] if label.shape[0] else NULL
        self.keep = [corpus, set_occurrences(&self.s.nodes, corpus.nodes, dense)]
        self.s.distinct = self.s.nodes
        if corpus.pairs is not None and layout.pair.shape[0]:
            self.keep.append(set_occurrences(&self.s.pairs, corpus.pairs, 0))

    def list_distinct(self):
        """`distinct`: each attribute of a sequence once, all at its first token. Good for those who go to blocks once a visit."""
        cdef const Occurrences* o = &self.s.nodes
        cdef int64_t tokens = self.s.seq[self.n], i, t, n = 0
        cdef int64_t[::1] ptr = np.zeros(tokens + 1, np.int64), split = np.zeros(tokens + 1, np.int64)
        cdef int32_t[::1] attr = np.empty(o.ptr[tokens] + 1, np.int32), seen = np.full(self.block_ptr.shape[0], -1, np.int32)
        if self.s.distinct.ptr != o.ptr:
            return
        with nogil:
            for i in range(self.n):
                t = self.s.seq[i]
                ptr[t] = n
                n += list_sequence(o, &self.block_ptr[0], t, self.s.seq[i + 1], i, &seen[0], &attr[n], &split[t])
                split[t] += ptr[t]
                for t in range(self.s.seq[i] + 1, self.s.seq[i + 1] + 1):
                    ptr[t] = split[t] = n
        self.s.distinct.ptr, self.s.distinct.split, self.s.distinct.attr, self.s.distinct.value = &ptr[0], &split[0], &attr[0], NULL
        self.keep += [ptr, split, attr]


cdef int64_t list_sequence(
    const Occurrences* o, const int64_t* block_ptr, int64_t first, int64_t end, int32_t number, int32_t* seen, int32_t* attr, int64_t* split
) noexcept nogil:
    """The different attributes of tokens first .. end - 1 to attr, where there is room for all; how many they are.

    Rows, blocks of one weight, then the others: a CPU that foretells its branches goes through them faster.
    """
    cdef int64_t t, k, n = 0, room = o.ptr[end] - o.ptr[first], others = room
    cdef int32_t a, new, one
    for t in range(first, end):
        for k in range(o.ptr[t], o.split[t]):
            a = o.attr[k]
            attr[n] = a
            n += seen[a] != number
            seen[a] = number
    split[0] = n
    for t in range(first, end):
        for k in range(o.split[t], o.ptr[t + 1]):
            a = o.attr[k]
            new, one = seen[a] != number, block_ptr[a + 1] - block_ptr[a] == 1
            seen[a] = number
            attr[n if one else others - 1] = a  # the others backwards from the end of the room
            n += new & one
            others -= new & ~one
    for k in range((room - others) // 2):
        attr[others + k], attr[room - 1 - k] = attr[room - 1 - k], attr[others + k]
    memmove(attr + n, attr + others, (room - others) * sizeof(int32_t))
    return n + room - others


cdef object set_occurrences(Occurrences* o, observations, int64_t dense):
    """Dense attributes (number below `dense`) to the front of each token, in place and in their order."""
    cdef const int64_t[::1] ptr = observations.ptr
    cdef int32_t[::1] attr = observations.attr
    cdef double[::1] value
    cdef bint valued = observations.value is not None
    split_array = np.empty(max(1, ptr.shape[0] - 1), np.int64)
    cdef int64_t[::1] split = split_array
    cdef int64_t t, k, at, move, longest = 0
    cdef int32_t* later
    cdef double* later_value
    if valued:
        value = observations.value
    for t in range(ptr.shape[0] - 1):
        longest = max(longest, ptr[t + 1] - ptr[t])
    later = <int32_t*> malloc((longest + 1) * sizeof(int32_t))
    later_value = <double*> malloc((longest + 1) * sizeof(double))
    if later == NULL or later_value == NULL:
        free(later)
        free(later_value)
        raise MemoryError()
    with nogil:
        for t in range(ptr.shape[0] - 1):
            at, move = ptr[t], 0
            for k in range(ptr[t], ptr[t + 1]):
                if attr[k] < dense:
                    attr[at] = attr[k]
                    if valued:
                        value[at] = value[k]
                    at += 1
                else:
                    later[move] = attr[k]
                    if valued:
                        later_value[move] = value[k]
                    move += 1
            split[t] = at
            for k in range(move):
                attr[at + k] = later[k]
                if valued:
                    value[at + k] = later_value[k]
    free(later)
    free(later_value)
    o.ptr, o.split = &ptr[0], &split[0]
    o.attr = &attr[0] if attr.shape[0] else NULL
    o.value = &value[0] if valued and value.shape[0] else NULL
    return observations, split_array


# ---- decoding --------------------------------------------------------------------------------------------------------

cdef class Decoder:
    def __init__(self, layout, w):
        self.scorer = Scorer(layout)
        self.scorer.use(w)

    def decode(self, Sequences sequences, *, probabilities=False, marginals=False):
        """(label int32[T], log p float64[n] of the best paths or None, P(y_t = j) float64[T, L] or None)."""
        cdef const Tokens* s = &sequences.s
        cdef const Weights* W = &self.scorer.W
        cdef int64_t i, t, j, first, tokens = s.seq[sequences.n]
        cdef bint sums = probabilities or marginals, all_marginals = marginals, room
        cdef double score
        labels, log_p = np.empty(tokens, np.int32), np.empty(sequences.n if sums else 0)
        p = np.empty((tokens if marginals else 0, W.L))
        cdef int32_t[::1] y = labels
        cdef double[::1] log_p_view = log_p
        cdef double[:, ::1] p_view = p
        cdef Lattice* X = lattice_new(W.L)
        room = X != NULL
        with nogil:
            for i in range(sequences.n):
                first = s.seq[i]
                if not room or not lattice_fit(X, s.seq[i + 1] - first, s.pairs.ptr != NULL):
                    room = False
                    break
                gather(W, s, i, X)
                score = viterbi(W, s, i, X, &y[first])
                if sums:
                    log_p_view[i] = score - forward(W, s, i, X)
                if all_marginals:
                    backward(W, s, i, X)
                    for t in range(s.seq[i + 1] - first):
                        for j in range(W.L):
                            p_view[first + t, j] = X.q[t * W.LP + j]
        lattice_free(X)
        if not room:
            raise MemoryError("the lattice of a sequence does not fit into memory")
        return labels, log_p if sums else None, p if marginals else None
