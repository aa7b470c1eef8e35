"""The one loop over sequences that steps have: without the GIL, interruptible, its randomness from numpy's bit generator.

A subclass says what a step does with one unit (a sequence, or `batch` of them in a row), visit_next(), which run() repeats; and what else
is to be done with each unit, visit(). Shared here:

    evaluate    settle the unit's blocks, gather, forward, backward: its loss, and q and edge minus gold
    search      the constant L of a unit: double it until  f_i(w - g/L) <= f_i(w) - |g|^2 / 2L   (Beck and Teboulle 2009);
                a trial is a forward run on psi(w) - psi(g)/L, whatever the number of weights
    skipping    after k searches in a row that were satisfied at once, leave out the next 2^(k-1)  (Schmidt et al. 2015, 5.2)

The loss of a unit is scaled so that the mean over units is the mean over sequences.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isfinite, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dataclasses import replace

import numpy as np

from ..._kernels cimport (
    backward,
    fill_pairs,
    forward,
    lattice_fit,
    lattice_free,
    lattice_new,
    minus_gold,
    path_score,
    set_transitions,
    tokens_between_signals,
)
from ...chain._blocks cimport Transitions, aligned
from ...chain._sequences cimport Sequences

from ...chain._occurrence_list import few, listed_bytes
from ...errors import TrainingError

cdef int STEP = -1              # what run() does; subclasses number the rest from 0
cdef int64_t TRIALS = 100
cdef int32_t MOST = 20          # the longest run of searches left out is 2^(MOST-1)


cdef class Sequential:
    def __init__(self, Problem problem, double[::1] w, *, batch=1, skip=True, lazy=None, all_pairs=False):
        """lazy: the LazyWeights of a subclass' own kind; all_pairs: a lattice of all label pairs, for those who need each one's number."""
        cdef int L = problem.n_labels
        self.problem = problem
        layout = replace(problem.layout, lattice="dense") if all_pairs else problem.layout
        self.lazy = LazyWeights(layout, w) if lazy is None else lazy
        self.local = LocalGradient(self.lazy)
        self.skipping = skip
        Sequential.turn_to(self, problem.sequences, batch=batch)
        self.scale = <double> self.n_units / problem.n_sequences
        self.X, self.Y = lattice_new(L, self.lazy.W.arcs), lattice_new(L, self.lazy.W.arcs)
        if self.X == NULL or self.Y == NULL:
            raise MemoryError()
        self.edge_sum, self.trial_transitions = aligned(self.X.places), Transitions(self.lazy.layout)
        self.trial.L, self.trial.LP, self.trial_trans = L, self.X.LP, self.trial_transitions.trans
        self.trial_transitions.attach(&self.trial)

    def __dealloc__(self):
        lattice_free(self.X)
        lattice_free(self.Y)
        free(self.pair_scores)

    def turn_to(self, Sequences sequences, *, batch=1):
        """Go on with the units of other sequences of the same layout. What is remembered of units does not go with them."""
        self.sequences, self.s = sequences, &sequences.s
        self.units = np.append(np.arange(0, sequences.n, batch), sequences.n)
        self.n_units = self.units.shape[0] - 1
        self.satisfied, self.skip = np.zeros(self.n_units, np.int32), np.zeros(self.n_units, np.int32)

    def list_few_weights(self):
        """List the weights of the attributes with few labels, where an occurrence meets few of them."""
        corpus = self.sequences.corpus
        if few(listed_bytes(corpus, self.problem.layout), len(corpus.nodes.attr)):
            self.problem.list_weights()

    def run(self, int64_t steps):
        """So many steps."""
        self.each(STEP, steps)

    cdef int each(self, int what, int64_t count) except -1:
        """Signals are looked at after so many tokens, however long the units are."""
        cdef int64_t done = 0, tokens, u = 0, slice = tokens_between_signals(self.X.L)
        while done < count and u >= 0:
            PyErr_CheckSignals()
            tokens = 0
            with nogil:
                while done < count and tokens < slice:
                    u = self.visit_next() if what == STEP else self.visit(what, done)
                    if u < 0:
                        break
                    tokens += self.length(u)
                    done += 1
        self.count_passes()
        if u < 0:
            place = f"step {done + 1} of the pass" if what == STEP else f"sequence {self.units[-1 - u] + 1}"
            raise TrainingError(place, "the loss of a sequence is not finite", "weights of moderate size")
        return 0

    def count_passes(self):
        self.problem.passes += <double> self.runs / self.problem.n_sequences
        self.runs = 0

    cdef int64_t visit_next(self) noexcept nogil:
        return -1

    cdef int64_t visit(self, int what, int64_t k) noexcept nogil:
        return -1 - k

    cdef int64_t first(self, int64_t u) noexcept nogil:
        """The unit's first token."""
        return self.s.seq[self.units[u]]

    cdef int64_t length(self, int64_t u) noexcept nogil:
        """Its tokens."""
        return self.s.seq[self.units[u + 1]] - self.s.seq[self.units[u]]

    cdef double evaluate(self, int64_t u) noexcept nogil:
        """The unit's loss; X holds the gradient's q, edge and P. NaN: no memory, or weights out of range."""
        cdef int64_t first = self.first(u), T = self.length(u), i, k, size = self.X.places
        cdef bint pairs = self.s.pairs.ptr != NULL or self.pairs_wanted
        cdef double f = 0, c = self.scale
        cdef Lattice Z
        if not lattice_fit(self.X, T, pairs):
            return NAN
        self.lazy.settle(self.s, first, T)
        self.lazy.scores(self.s, self.units[u], self.units[u + 1], self.X.psi, self.X.e)
        memset(&self.edge_sum[0], 0, size * sizeof(double))
        for i in range(self.units[u], self.units[u + 1]):
            Z = window(self.X, self.s.seq[i] - first)
            f += self.residual(i, &Z)
            if not isfinite(f):
                return NAN
        for k in range(size):
            self.X.edge[k] = c * self.edge_sum[k] * self.lazy.exists[k]
        if c != 1:
            scale_marginals(self.X, T, pairs, c)
        return c * f

    cdef double residual(self, int64_t i, Lattice* Z) noexcept nogil:
        """The loss of a sequence whose scores stand in Z; marginals minus gold go to q and P, and are added to edge_sum."""
        cdef int64_t k
        cdef double f = forward(&self.lazy.W, self.s, i, Z) - path_score(&self.lazy.W, self.s, i, Z, self.s.label + self.s.seq[i])
        self.runs += 1
        if not isfinite(f):
            return f
        backward(&self.lazy.W, self.s, i, Z)
        minus_gold(self.s, i, Z)
        if self.s.pairs.ptr != NULL or self.pairs_wanted:
            fill_pairs(&self.lazy.W, self.s, i, Z)
        for k in range(Z.places):
            self.edge_sum[k] += Z.edge[k]
        return f

    cdef double prepare_search(self, int64_t u) noexcept nogil:
        """|g|^2 of the unit evaluated last, and the scores of g for trials. NaN: no memory."""
        cdef double square
        if not lattice_fit(self.Y, self.length(u), self.s.pairs.ptr != NULL):
            return NAN
        square = self.square(u)
        self.edge_slope = self.X.edge
        if not isnan(square):
            self.local.scores(self.first(u), self.length(u), self.Y.q)      # Y.q keeps psi(g)
        return square

    cdef double square(self, int64_t u) noexcept nogil:
        """|F' X|^2, X's numbers of the unit; pair_scores get their scores. NaN: no memory."""
        cdef int64_t first = self.first(u), T = self.length(u), size
        cdef double square = self.local.build(self.s, first, T, self.X)
        if self.s.pairs.ptr != NULL and not isnan(square):
            size = T * self.X.L * self.X.LP
            if size > self.pair_room:
                free(self.pair_scores)
                self.pair_room = size + size // 2
                self.pair_scores = <double*> malloc(self.pair_room * sizeof(double))
                if self.pair_scores == NULL:
                    self.pair_room = 0
                    return NAN
            square += self.local.pairs(self.s, first, T, self.X, self.pair_scores)
        return square

    cdef double trial_loss(self, int64_t u, double h) noexcept nogil:
        """The unit's loss at w - h g."""
        cdef int64_t first = self.first(u), T = self.length(u), i, k, size = self.X.places
        cdef double f = 0
        cdef Lattice Z
        for k in range(T * self.X.LP):
            self.Y.psi[k] = self.X.psi[k] - h * self.Y.q[k]
        for k in range(size):
            self.trial_trans[k] = self.lazy.trans[k] - h * self.edge_slope[k]
        set_transitions(&self.trial)
        if self.s.pairs.ptr != NULL:
            for k in range(size, T * size):
                self.Y.e[k] = self.X.e[k] - h * self.pair_scores[k]
        for i in range(self.units[u], self.units[u + 1]):
            Z = window(self.Y, self.s.seq[i] - first)
            f += forward(&self.trial, self.s, i, &Z) - path_score(&self.trial, self.s, i, &Z, self.s.label + self.s.seq[i])
            self.runs += 1
        return self.scale * f

    cdef double search(self, int64_t u, double f, double square, double L, bint halve, int64_t* doublings) noexcept nogil:
        """L, doubled until the test holds. halve: if it holds at once, L is halved while it does, for a start that is far too large."""
        cdef int64_t k = 0
        while k < TRIALS and not self.trial_loss(u, 1 / L) <= f - square / (2 * L):
            L *= 2
            k += 1
        doublings[0] = k
        if halve and k == 0:
            while k < TRIALS and self.trial_loss(u, 2 / L) <= f - square / L:
                L /= 2
                k += 1
        return L

    cdef void remember_search(self, int64_t u, int64_t doublings) noexcept nogil:
        """How many of the next searches to leave out."""
        if not self.skipping:
            return
        if doublings:
            self.satisfied[u] = 0
        else:
            self.satisfied[u] += 1
            self.skip[u] = <int32_t> 1 << (min(self.satisfied[u], MOST) - 1)


cdef void scale_marginals(Lattice* X, int64_t T, bint pairs, double c) noexcept nogil:
    cdef int64_t k
    for k in range(T * X.LP):
        X.q[k] *= c
    if pairs:
        for k in range(T * X.L * X.LP):
            X.P[k] *= c


cdef void scale_residual(Lattice* X, int64_t T, bint pairs, double c) noexcept nogil:
    """q, edge and P times c."""
    cdef int64_t k
    scale_marginals(X, T, pairs, c)
    for k in range(X.places):
        X.edge[k] *= c


cdef Lattice window(const Lattice* X, int64_t t) noexcept nogil:
    """The lattice from its position t on."""
    cdef Lattice Z = X[0]
    Z.psi += t * X.LP
    Z.x += t * X.LP
    Z.a += t * X.LP
    Z.b += t * X.LP
    Z.v += t * X.LP
    Z.q += t * X.LP
    Z.top += t
    Z.z += t
    Z.come_from += t * X.LP
    if X.pair_capacity:
        Z.e += t * X.L * X.LP
        Z.P += t * X.L * X.LP
        Z.e_top += t
    return Z
