"""What the parts of a corpus sum into."""

from libc.stdint cimport int32_t, int64_t

from .._kernels cimport Lattice, Occurrences, Tokens
from ._blocks cimport BlockView, Transitions
from ._sequences cimport Sequences


cdef class Part:
    """A run of sequences, and what one thread sums of them."""
    cdef readonly int64_t first, last   # the sequences
    cdef BlockView whole                # over the vector that is wanted, one for all parts
    cdef BlockView rest                 # over this part's own numbers; None: it needs none
    cdef Tokens mine, others            # occurrences of the attributes that go into `whole`, and of those that go into `rest`
    cdef double[::1] edge               # [places]
    cdef double[::1] numbers            # of `rest`
    cdef const int32_t[::1] attributes, pair_attributes     # those of `rest`, as `whole` numbers them
    cdef Sequences sequences            # whose arrays `mine` and `others` point to, or to those in `keep`
    cdef list keep
    cdef int _take(self, Occurrences* o, observations, int64_t dense, int64_t first) except -1
    cdef int _list(self, Tokens* s, layout) except -1
    cdef int begin(self, double magic) except -1
    cdef void add(self, int64_t i, const Lattice* X) noexcept nogil


cdef class Parts:
    """The parts, and the sum of all."""
    cdef readonly list parts
    cdef readonly int threads
    cdef readonly double bound          # the largest sum of values
    cdef object layout
    cdef Transitions transitions
    cdef BlockView whole
    cdef double[::1] edge               # the parts' together
    cdef double[::1] squares            # the sum of squares of each piece of the vector
    cdef int64_t[::1] stretches         # pieces of the vector, evenly to the threads
    cdef int64_t[::1] ranges            # attributes, whose sums the threads put together
    cdef double open(self, double[::1] w, double c, double[::1] out, double limit) except -1
    cdef double norm(self)
    cdef int close(self) except -1
