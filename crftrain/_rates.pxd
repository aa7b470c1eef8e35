"""Weights with a rate for each of them, adapted period by period, of which only the blocks at hand are touched."""

from libc.stdint cimport int64_t

from ._kernels cimport BlockView, Lattice, Tokens
from ._lazy cimport LazyWeights


cdef struct Run:                        # a block: n weights in a row, places without a weight included
    int64_t n
    double* w
    double* rate                        # 0 where there is no weight
    double* start
    double* middle


cdef class RatedWeights(LazyWeights):
    cdef BlockView start, middle        # w when the block was first looked at in the first half of a period, and in the second
    cdef double[::1] start_edge, middle_edge
    cdef int64_t[::1] half              # [blocks] the half period in which the block was last looked at; -1: never
    cdef int64_t[::1] seen              # [blocks] those looked at in both halves of this period, in their order
    cdef int64_t n_seen
    cdef readonly double eta            # the first rate of a weight
    cdef readonly double scale          # a factor of all rates
    cdef readonly double l2
    cdef readonly int64_t updates       # so far
    cdef int64_t now                    # the half period at hand, counted from the beginning
    cdef readonly int64_t period        # updates in half a period
    cdef void descend(self, const Tokens* s, int64_t first, int64_t T, const Lattice* X) noexcept nogil
    cdef void descend_edge(self, const double* edge) noexcept nogil
    cdef void end_update(self, int64_t sequences) noexcept nogil
    cdef void look_at(self, int64_t a) noexcept nogil
    cdef Run run_of(self, int64_t a) noexcept nogil
    cdef void pay(self, int64_t a, const Run* run) noexcept nogil
    cdef Run close(self, int64_t a) noexcept nogil
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
