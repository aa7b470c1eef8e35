"""Weights with a rate for each of them, adapted period by period, of which only the blocks at hand are touched."""

from libc.stdint cimport int64_t

from ..._kernels cimport Lattice, Tokens
from ...chain._blocks cimport BlockView


cdef struct Run:                        # a block: n weights in a row, places without a weight included
    int64_t n
    double* w
    double* rate                        # 0 where there is no weight


cdef struct Visit:
    double paid                         # S when the block last paid
    int64_t place                       # of its snapshots, from `begun` on; below: none in this period; after the second, `taken` more


cdef class RatedWeights(LazyWeights):
    cdef Visit* visits                  # [blocks]
    cdef double[:, ::1] visits_memory
    cdef double[::1] snapshots          # [taken] start and middle of each block looked at in this period
    cdef int64_t taken, begun           # numbers in use; what counts as the place of the first
    cdef int64_t wanted, wanted_end     # the places of blocks of which there shall be a snapshot
    cdef int64_t[::1] seen              # [n_seen] blocks looked at in both halves of this period, in their order
    cdef int64_t n_seen
    cdef double[::1] row                # room for a row, or for the transitions
    cdef readonly double eta            # the first rate of a weight
    cdef readonly double scale          # a factor of all rates
    cdef readonly double l2
    cdef readonly int64_t updates       # so far
    cdef readonly int64_t period        # updates in half a period
    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef void descend_edge(self, const double* edge) noexcept nogil
    cdef void end_update(self, int64_t sequences) noexcept nogil
    cdef inline void look_at(self, int64_t a) noexcept nogil
    cdef inline int64_t length(self, int64_t a) noexcept nogil
    cdef inline double* block(self, BlockView view, double* edge, int64_t a) noexcept nogil
    cdef inline Run run_of(self, int64_t a) noexcept nogil
    cdef void want(self) noexcept nogil
    cdef void faded(self, int64_t a, double* out) noexcept nogil
    cdef object snapshot(self, int64_t half)
    cdef void move_snapshots(self, BlockView view, double[::1] edge, int64_t half, bint back)
    cdef inline int64_t n_blocks(self) noexcept nogil
    cdef void remember(self, int64_t a) noexcept nogil
    cdef void pay(self, Visit* visit, const Run* run) noexcept nogil
    cdef Run close(self, int64_t a, double** start) noexcept nogil
    cdef void adapt(self) noexcept nogil


cdef class ComponentRates(RatedWeights):
    pass


cdef class CommonRate(RatedWeights):
    cdef double across(self, double old, double both, double new) noexcept nogil


cdef class ProjectedRate(CommonRate):
    pass


cdef class NormRate(CommonRate):
    pass


cdef class InverseRate(CommonRate):
    pass
