"""The objective over a corpus."""

from libc.stdint cimport int64_t

from ._blocks cimport Gradient, Scorer
from ._sequences cimport Sequences
from ._sums cimport Sums
from ._tangent cimport Curvature


cdef class Problem:
    cdef readonly Sequences sequences
    cdef readonly object layout
    cdef readonly double l2, l1
    cdef public double passes
    cdef readonly int threads
    cdef bint cancelled         # threads end at their next look
    cdef object first_gap       # at w = 0, once it was asked for
    cdef Scorer scorer
    cdef list gradients         # one sum for each thread
    cdef Sums sums              # and their vectors
    cdef object by_length       # where sequences are summed by arcs: those of each thread, the longest first
    cdef object shards          # int64[threads+1]: sequences, evenly many tokens each
    cdef Curvature _point(self, Curvature at, double[::1] w)
    cdef Gradient _begin(self, k)
    cdef double _sum(self, int64_t first, int64_t last, Gradient gradient, Curvature keep, int thread) except? -1
    cdef double _sum_in_lanes(self, const int64_t[::1] order, Gradient gradient, Curvature keep, int thread) except? -1
    cdef int _product(self, int64_t first, int64_t last, Gradient gradient, Curvature at, int thread) except -1
