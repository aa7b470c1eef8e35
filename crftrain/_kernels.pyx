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

so that the only exponentials are T x L for a sequence and L x L for a weight vector. While those of the label pairs span at most
TAME, M' a is e^-200 at least, b is between e^-200 and e^200, and so is whatever else is divided by: no product leaves the range of
double. The node scores may span anything: a label whose x is e^-500 has a marginal of e^-500+200+200 at most, nothing, so x = 0 is as
good (DEEP). Where label pairs span more, the sequence is done in the log domain, slowly and safely: never a NaN where there is an
answer, never a path lost.

With attributes on label pairs, M is another one at each position (P below keeps them).

What is not legal scores -inf: M and x are 0 there, and the spans are those of the rest. Then M says nothing of how small a marginal is,
so the scores of a position may span no more than TAME either. Labels that cannot be reached have a_t(j) = 0; one that can and is next
to nothing could be all that is legal in the end, so it sends the sequence to the log domain.
"""

from libc.math cimport INFINITY, log
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import os


cdef double TAME = 200.0
cdef double LEAST = 1e-130      # of a_t(j), where illegal labels leave others little; times M and x it is still more than 0

cdef const Simd* simd
cdef bytes _wish = os.environ.get("CRFTRAIN_SIMD", "").encode()
simd = crftrain_simd(_wish)
if simd == NULL:
    raise ImportError(f"CRFTRAIN_SIMD={_wish.decode()}: this CPU or build has no such kernels, expected base, v3 or v4")
SIMD = simd.name.decode()

cdef extern from *:
    const char* __VERSION__

COMPILER = __VERSION__.decode()


# ---- workspace -------------------------------------------------------------------------------------------------------

cdef Lattice* lattice_new(int L, const Arcs* arcs) noexcept nogil:
    cdef Lattice* X = <Lattice*> calloc(1, sizeof(Lattice))
    if X == NULL:
        return NULL
    X.L, X.LP, X.arcs, X.places = L, padded_labels(L), arcs, n_places(L, arcs)
    X.edge = <double*> calloc(X.places, sizeof(double))
    if X.edge == NULL:
        free(X)
        return NULL
    return X


cdef int padded_labels(int L) noexcept nogil:
    return (L + 7) // 8 * 8


cdef int64_t n_places(int L, const Arcs* arcs) noexcept nogil:
    """Numbers that come one for each label pair."""
    return L * padded_labels(L) if arcs == NULL else (arcs.n + 8) // 8 * 8


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
    gather_nodes(s, &W.nodes, i, W.L, W.LP, X.psi)
    if s.pairs.ptr != NULL:
        gather_pairs(W, s, s.seq[i], s.seq[i + 1] - s.seq[i], X.e)


cdef void gather_nodes(const Tokens* s, const Blocks* nodes, int64_t i, int L, int LP, double* psi) noexcept nogil:
    """psi of sequence i."""
    cdef int64_t first = s.seq[i], T = s.seq[i + 1] - first
    if s.listed.ptr != NULL:
        simd.gather_listed(&s.nodes, nodes, &s.listed, i, first, T, LP, psi)
    else:
        simd.gather(&s.nodes, nodes, first, T, L, LP, psi)


# ---- forward and backward --------------------------------------------------------------------------------------------

cdef double forward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """log Z from psi (and e); leaves a, z and x for backward."""
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    cdef int LP = W.LP
    cdef bint pairs = s.pairs.ptr != NULL
    cdef bint limited = False
    cdef double log_z, z
    X.scaled = tame_nodes(W, T, X, &limited) and (exp_pairs(W, T, X, &limited) if pairs else W.tame)
    z = 0
    for t in range(W.L):
        z += X.x[t]
    if not X.scaled or z == 0:
        return log_instead(W, s, T, X)
    for t in range(LP):
        X.a[t] = X.x[t] / z
    X.z[0] = z
    log_z = log(z) + X.top[0]
    for t in range(1, T):
        if pairs:
            z = simd.forward(W.L, LP, X.a + (t - 1) * LP, X.P + t * W.L * LP, X.x + t * LP, X.a + t * LP)
        else:
            z = step_ahead(W, t, X)
        if limited and not reached(W.L, 1, X.x + t * LP, X.a + t * LP):
            return log_instead(W, s, T, X)
        X.z[t] = z
        log_z += log(z) + X.top[t] + (X.e_top[t] if pairs else W.shift)
    X.log_z = log_z
    return log_z


cdef double log_instead(const Weights* W, const Tokens* s, int64_t T, Lattice* X) noexcept nogil:
    X.scaled = False
    X.log_z = log_forward(W, s, T, X)
    return X.log_z


cdef void close_ends(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    cdef int j
    if W.ends != NULL:
        for j in range(W.L):
            X.psi[j] += W.ends[j]
            X.psi[(T - 1) * W.LP + j] += W.ends[W.LP + j]


cdef double exp_nodes(int64_t rows, int L, int LP, const double* psi, double* x, double* top, bint* limited) noexcept nogil:
    """simd.exp_rows, the span that of legal labels; limited: there are others."""
    cdef double spread = simd.exp_rows(rows, L, LP, psi, x, top), widest = 0
    cdef int64_t r
    if spread != INFINITY:
        return spread
    for r in range(rows):
        spread = exp_legal(L, LP, psi + r * LP, x + r * LP, top + r, limited)
        widest = spread if not spread <= widest else widest
    return widest


cdef double exp_legal(int64_t L, int64_t LP, const double* psi, double* x, double* top, bint* limited) noexcept nogil:
    """x = exp(psi - top) of one row, 0 where psi is -inf; the span of the rest."""
    cdef double high = -INFINITY, spread
    cdef int64_t j
    for j in range(L):
        high = psi[j] if not psi[j] <= high else high
    for j in range(L):
        x[j] = psi[j] if psi[j] != -INFINITY else high
    spread = simd.exp_rows(1, <int> L, <int> LP, x, x, top)
    for j in range(L):
        if psi[j] == -INFINITY:
            x[j], limited[0] = 0, True
    return spread if high != -INFINITY else 0


cdef bint reached(int64_t n, int64_t step, double* x, const double* next) noexcept nogil:
    """Whether all labels that can be reached are more than next to nothing; x of the others becomes 0. n numbers, `step` apart."""
    cdef int64_t j
    for j in range(n):
        if next[j * step] == 0:
            x[j * step] = 0
        elif next[j * step] < LEAST:
            return False
    return True


cdef bint tame_nodes(const Weights* W, int64_t T, Lattice* X, bint* limited) noexcept nogil:
    """x and top; whether scores span little enough. limited: not everything is legal."""
    cdef double spread
    close_ends(W, T, X)
    limited[0] = W.limited
    spread = exp_nodes(T, W.L, W.LP, X.psi, X.x, X.top, limited)
    return spread <= TAME if limited[0] else spread < INFINITY


cdef bint exp_matrix(int L, int LP, double* e, double* M, double* top, bint* limited) noexcept nogil:
    """M = exp(e - top), top the largest score of all pairs, padding 0; False if they span more than TAME."""
    cdef int64_t i, j
    for i in range(L):
        for j in range(L, LP):
            e[i * LP + j] = e[0]
    if not exp_nodes(1, L * LP, L * LP, e, M, top, limited) <= TAME:
        return False
    for i in range(L):
        for j in range(L, LP):
            M[i * LP + j] = 0
    return True


cdef void backward(const Weights* W, const Tokens* s, int64_t i, Lattice* X) noexcept nogil:
    """q and edge (and P) after forward."""
    cdef int64_t t, T = s.seq[i + 1] - s.seq[i]
    memset(X.edge, 0, X.places * sizeof(double))
    if not X.scaled:
        log_backward(W, s, T, X)
        return
    at_the_end(T, X)
    if s.pairs.ptr != NULL:
        backward_pairs(W.L, W.LP, T, X)
        return
    for t in range(T - 1, 0, -1):
        step_back(W, t, X)
    sum_pairs(W, T, X)


cdef void at_the_end(int64_t T, Lattice* X) noexcept nogil:
    """b and q of the last position."""
    cdef int64_t j, last = (T - 1) * X.LP
    for j in range(X.LP):
        X.b[last + j] = j < X.L
        X.q[last + j] = X.a[last + j]


cdef double step_ahead(const Weights* W, int64_t t, Lattice* X) noexcept nogil:
    """a of position t; returns z."""
    cdef int64_t now = t * W.LP
    if W.arcs != NULL:
        return forward_arcs(W, X.a + now - W.LP, X.x + now, X.a + now)
    return simd.forward(W.L, W.LP, X.a + now - W.LP, W.M, X.x + now, X.a + now)


cdef void step_back(const Weights* W, int64_t t, Lattice* X) noexcept nogil:
    """v of position t; b and q of the one before."""
    cdef int64_t now = t * W.LP, before = now - W.LP
    if W.arcs != NULL:
        back_arcs(W, t, X)
    else:
        simd.backward(W.L, W.LP, X.x + now, X.b + now, 1.0 / X.z[t], W.MT, X.a + before, X.v + now, X.b + before, X.q + before)


cdef void sum_pairs(const Weights* W, int64_t T, Lattice* X) noexcept nogil:
    """edge after all steps back."""
    cdef int64_t k
    if W.arcs == NULL:
        simd.outer(T - 1, W.L, W.LP, X.a, X.v + W.LP, X.edge)
    for k in range(X.places if W.arcs == NULL else W.arcs.n):
        X.edge[k] *= W.M[k]


# ---- what a weight vector says of label pairs; scatter ----------------------------------------------------------------

cdef void set_transitions(Weights* W) noexcept nogil:
    """M, MT, shift and tame from trans; S, ST and base of arcs."""
    cdef int64_t i, j, k, n
    W.limited = False
    if W.arcs == NULL:
        W.tame = exp_matrix(W.L, W.LP, W.trans, W.M, &W.shift, &W.limited)
        if W.tame:
            for i in range(W.L):
                for j in range(W.L):
                    W.MT[j * W.LP + i] = W.M[i * W.LP + j]
        return
    n, W.base = W.arcs.n, 0
    W.trans[n] = 0
    W.tame = exp_nodes(1, <int> (n + 1 if n < W.L * W.L else n), <int> W.places, W.trans, W.M, &W.shift, &W.limited) <= TAME
    W.limited = W.limited or W.arcs.closed
    if W.tame:
        W.base = W.M[n]     # 0 where every pair is an arc
        W.M[n] = 0
        for i in range(W.L):
            for k in range(W.arcs.ptr[i], W.arcs.ptr[i + 1]):
                W.S[k] = W.M[k] - W.base * W.arcs.leaves[i] * W.arcs.enters[W.arcs.to[k]]
        for k in range(n):
            W.MT[k], W.ST[k] = W.M[W.arcs.number[k]], W.S[W.arcs.number[k]]


cdef void scatter_nodes(const Tokens* s, const Blocks* nodes, int64_t i, int L, int LP, const double* q) noexcept nogil:
    """The blocks of sequence i += q."""
    cdef int64_t first = s.seq[i], T = s.seq[i + 1] - first
    if s.listed.ptr != NULL:
        simd.scatter_listed(&s.nodes, nodes, &s.listed, i, first, T, LP, q)
    else:
        simd.scatter(&s.nodes, nodes, first, T, L, LP, q)


include "_kernels_pairs.pxi"    # attributes on label pairs
include "_kernels_arcs.pxi"     # the recursions where label pairs are a list
include "_kernels_logs.pxi"     # the log domain
include "_kernels_paths.pxi"    # scores, losses, the best path
