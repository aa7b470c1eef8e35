"""The objective over a corpus."""

from libc.stdint cimport int64_t

from ._kernels cimport Gradient, Scorer, Sequences


cdef class Problem:
    cdef readonly Sequences sequences
    cdef readonly object layout
    cdef readonly double l2, l1
    cdef public double passes
    cdef readonly int threads
    cdef bint cancelled         # threads end at their next look
    cdef Scorer scorer
    cdef list gradients         # one sum for each thread
    cdef list buffers           # and its vector; the first is the caller's
    cdef object shards          # int64[threads+1]: sequences, evenly many tokens each
    cdef object ranges          # int64[threads+1]: weights, evenly
