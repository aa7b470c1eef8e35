"""The objective over a corpus."""

from libc.stdint cimport int64_t

from ._blocks cimport Scorer
from ._measures cimport Measures
from ._parts cimport Part, Parts
from ._sequences cimport Sequences
from ._tangent cimport Curvature, Workspace


cdef class Problem(Measures):
    cdef readonly Sequences sequences
    cdef readonly object layout
    cdef readonly int threads
    cdef readonly object whole  # of which this is a shard, or None
    cdef double scale           # 1 / n
    cdef bint cancelled         # threads end at their next look
    cdef Scorer scorer
    cdef double[::1] losses     # of the sequences, at the last w
    cdef int64_t[::1] cuts      # [threads+1] sequences, evenly many tokens to each part
    cdef Parts parts, square_parts      # once they are needed
    cdef object by_length       # where sequences are summed by arcs: those of each part, the longest first
    cdef Curvature _point(self, Curvature at, double[::1] w)
    cdef Parts _parts(self)
    cdef Parts _square_parts(self)
    cdef int _sum(self, int k, Part part, Curvature keep, double magic) except -1
    cdef int _sum_in_lanes(self, int k, Part part, Curvature keep, double magic) except -1
    cdef int _product(self, Part part, Curvature at, Workspace room, double magic) except -1
