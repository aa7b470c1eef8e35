"""What threads sum into, and how their sums become one:

    out = l2 w + sum_k buffer_k         in the order of the threads k, so that their number decides the bits

The last thread sums into out itself. Attributes have their numbers from the order in which they appear (but for those
with many labels, which come first), so what only later sequences have is one stretch of the vector. The buffer of an
earlier thread leaves it out: it is neither cleared nor added. Memory is what this costs, so all is added a chunk at a time.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

import numpy as np

from .._kernels cimport simd

cdef int64_t CHUNK = 1 << 13    # weights; three vectors of it fit the second cache


cdef class Sums:
    def __init__(self, layout, corpus, shards, *, l2):
        self.threads, self.size, self.l2 = len(shards) - 1, layout.n_features, l2
        self.buffers = [None] * self.threads
        self.ranges = np.linspace(0, (self.size + CHUNK - 1) // CHUNK, self.threads + 1).astype(np.int64)
        idle = np.zeros((self.threads, 2), np.int64)
        for k in range(self.threads - 1):
            seen = corpus.nodes.attr[corpus.nodes.ptr[corpus.seq[shards[k]]] : corpus.nodes.ptr[corpus.seq[shards[k + 1]]]]
            first = (layout.ptr[seen.max(initial=-1) + 1] + CHUNK - 1) // CHUNK
            last = layout.transitions.start // CHUNK
            if first < last:
                idle[k] = first, last
        self.idle = idle

    def open(self, out, w):
        """Sum into out, with the l2 term of w."""
        for k in range(self.threads - 1):
            self.buffers[k] = np.empty(self.size) if self.buffers[k] is None else self.buffers[k]
        self.buffers[self.threads - 1], self.added = out, w

    def close(self):
        """Let go of the caller's vectors."""
        self.buffers[self.threads - 1] = self.added = None

    cdef double[::1] begin(self, int k):
        """The vector of thread k: zero, or with the l2 term if it is the only one."""
        cdef double[::1] vector = self.buffers[k]
        cdef const double[::1] w = self.added
        cdef int64_t first = self.idle[k, 0] * CHUNK, last = self.idle[k, 1] * CHUNK, p
        with nogil:
            if self.threads == 1 and self.l2 != 0:
                for p in range(self.size):
                    vector[p] = self.l2 * w[p]
            elif self.size:
                memset(&vector[0], 0, first * sizeof(double))
                memset(&vector[0] + last, 0, (self.size - last) * sizeof(double))
        return vector

    cdef double norm(self, int k) noexcept:
        """The sum of w_p^2 over the weights that thread k adds up."""
        cdef const double[::1] w = self.added
        with nogil:
            return square(w, self.ranges[k] * CHUNK, min(self.ranges[k + 1] * CHUNK, self.size))

    def add(self, int thread):
        """Add up, for the weights of one thread."""
        cdef double[::1] out = self.buffers[self.threads - 1], buffer
        cdef const double[::1] w = self.added
        cdef int64_t chunk, first, last
        cdef int k
        for k in range(self.threads - 1):
            buffer = self.buffers[k]
            with nogil:
                for chunk in range(self.ranges[thread], self.ranges[thread + 1]):
                    first, last = chunk * CHUNK, min((chunk + 1) * CHUNK, self.size)
                    if not self.idle[k, 0] <= chunk < self.idle[k, 1]:
                        add_range(out, buffer, first, last, 1.0)
                    if k == 0:
                        add_range(out, w, first, last, self.l2)


cdef double square(const double[::1] w, int64_t first, int64_t last) noexcept nogil:
    """The sum of w_p^2 over first .. last - 1."""
    cdef int64_t p, whole = (last - first) // 8 * 8
    cdef double s = simd.dot(whole, &w[first], &w[first]) if whole else 0
    for p in range(first + whole, last):
        s += w[p] * w[p]
    return s


cdef void add_range(double[::1] out, const double[::1] vector, int64_t first, int64_t last, double c) noexcept nogil:
    """out += c vector, over first .. last - 1."""
    cdef int64_t whole = (last - first) // 8 * 8, p
    if whole:
        simd.axpy(whole, c, &vector[first], &out[first])
    for p in range(first + whole, last):
        out[p] += c * vector[p]
