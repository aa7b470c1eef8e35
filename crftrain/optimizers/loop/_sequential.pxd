"""The one loop over sequences that steps have."""

from libc.stdint cimport int32_t, int64_t

from ..._kernels cimport Lattice, Tokens, Weights
from ...chain._blocks cimport Transitions
from ...chain._sequences cimport Sequences
from ..weights._compiled cimport LazyWeights
from ...chain._problem cimport Problem


cdef class Sequential:
    cdef readonly Problem problem
    cdef readonly LazyWeights lazy
    cdef Sequences sequences
    cdef const Tokens* s
    cdef Lattice* X                     # the unit at hand; q and edge minus gold, times scale
    cdef Lattice* Y                     # trials of the line search
    cdef Weights trial                  # transitions of a trial
    cdef double* pair_scores            # [T][L][LP] e(g), where there are pair attributes
    cdef int64_t pair_room              # numbers there is room for
    cdef Transitions trial_transitions
    cdef double[::1] trial_trans, edge_sum
    cdef LocalGradient local
    cdef const double* edge_slope       # [places] along which trials go
    cdef readonly int64_t n_units
    cdef readonly int64_t[::1] units    # [n_units+1] first sequence of each
    cdef double scale                   # units / sequences: the mean over units of their losses is f
    cdef int64_t runs                   # forward runs of sequences since they were last counted
    cdef int32_t[::1] satisfied, skip   # [n_units] searches in a row without doubling, searches still to be left out
    cdef bint skipping
    cdef bint pairs_wanted              # evaluate() leaves P too
    cdef int each(self, int what, int64_t count) except -1                  # visit(what, k) for k = 0 .. count - 1
    cdef int64_t visit(self, int what, int64_t k) noexcept nogil            # a unit, or -1 - unit where its loss is not finite
    cdef int64_t visit_next(self) noexcept nogil                            # the step: a unit, or -1 on failure
    cdef double evaluate(self, int64_t u) noexcept nogil
    cdef double residual(self, int64_t i, Lattice* Z) noexcept nogil
    cdef double prepare_search(self, int64_t u) noexcept nogil
    cdef double square(self, int64_t u) noexcept nogil
    cdef double trial_loss(self, int64_t u, double h) noexcept nogil
    cdef double search(self, int64_t u, double f, double square, double L, bint halve, int64_t* doublings) noexcept nogil
    cdef void remember_search(self, int64_t u, int64_t doublings) noexcept nogil
    cdef int64_t first(self, int64_t u) noexcept nogil
    cdef int64_t length(self, int64_t u) noexcept nogil


cdef void scale_residual(Lattice* X, int64_t T, bint pairs, double c) noexcept nogil
cdef Lattice window(const Lattice* X, int64_t t) noexcept nogil
