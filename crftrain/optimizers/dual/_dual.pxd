"""Ascent in the dual, one sequence at a time."""

from libc.stdint cimport int64_t

from ..._kernels cimport Lattice, Tokens
from ..average._compiled cimport Sampler
from ..loop._compiled cimport Sequential

cdef enum Sweep:                        # what look_at() does with a sequence
    BEGIN                               # set alpha_i; X holds mu - gold
    MEASURE                             # gaps[i]
    TRY                                 # BatchOegSteps: alpha_i after a step; X holds mu - gold
    KEEP                                # and take it


cdef class Parts:
    """A number for each part of each sequence: rows of labels, and matrices of label pairs, or lists of those that are arcs."""
    cdef int64_t LP, size               # [LP] a row, [L][LP] a matrix or the lattice's places
    cdef bint by_position               # a matrix for each position t > 0, else one for the sequence
    cdef const int64_t* seq
    cdef readonly double[::1] node_numbers, edge_numbers
    cdef double* nodes(self, int64_t i) noexcept nogil              # [T][LP]
    cdef double* edges(self, int64_t i) noexcept nogil              # [T-1][L][LP] or [L][LP]
    cdef int64_t n_nodes(self, int64_t i) noexcept nogil            # T LP
    cdef int64_t n_edges(self, int64_t i) noexcept nogil
    cdef double* matrices(self, const Lattice* X) noexcept nogil    # the lattice's marginals of that shape


cdef class DualSteps(Sequential):
    cdef Sampler sampler
    cdef Tokens by_position             # the corpus, said to have attributes on label pairs: a lattice's e is used
    cdef double C
    cdef bint warm
    cdef bint at_positions              # alpha_i has a matrix of label pairs for each position t > 0, else one
    cdef double[::1] entropy, gaps      # [n] H(alpha_i); KL(alpha_i || p_i(w)) as last seen
    cdef const int64_t[::1] order       # the first draws
    cdef int64_t drawn
    cdef int64_t next_unit(self) noexcept nogil
    cdef bint look_at(self, Sweep what, int64_t u) noexcept nogil      # False: failure
    cdef bint look(self, int64_t u) noexcept nogil                  # X.psi, X.e and the transitions under w; room in X and Y
    cdef double oracle_by_position(self, int64_t u, Lattice* Y) noexcept nogil  # log Z of Y.psi and Y.e; Y.q, Y.edge, Y.P
    cdef double score(self, int64_t u, const Lattice* X) noexcept nogil         # <psi, X>
    cdef void move(self, int64_t u, double c) noexcept nogil        # w -= c/C F' X
