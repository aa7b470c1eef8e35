"""A corpus as the kernels see it."""

from libc.stdint cimport int32_t, int64_t

from .._kernels cimport Occurrences, Tokens


cdef class Sequences:
    """A corpus as the kernels see it: occurrences of dense attributes first in each token."""
    cdef Tokens s
    cdef readonly int64_t n
    cdef readonly object corpus
    cdef readonly object nodes, pairs   # its observations, in the order in which they are gone through
    cdef object keep
    cdef const int64_t[::1] block_ptr   # the layout's


cdef list set_distinct(Tokens* s, Sequences sequences)
cdef object set_occurrences(Occurrences* o, observations, int64_t dense)
cdef int dense_first(const int64_t[::1] ptr, int32_t[::1] attr, double[::1] value, int64_t dense) except -1
