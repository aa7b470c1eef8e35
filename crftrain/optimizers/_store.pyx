"""Where a table keeps its numbers: in double precision, or rounded to single precision."""

import numpy as np

from .._kernels cimport simd


cdef class Store:
    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        """Store x; x becomes the change."""

    cdef void minus(self, int64_t at, double* x, int64_t n) noexcept nogil:
        """x becomes the change that storing it would make."""


cdef class Doubles(Store):
    cdef double[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        cdef int64_t k
        cdef double new
        for k in range(n):
            new = x[k]
            x[k] = new - self.numbers[at + k]
            self.numbers[at + k] = new

    cdef void minus(self, int64_t at, double* x, int64_t n) noexcept nogil:
        cdef int64_t k
        for k in range(n):
            x[k] -= self.numbers[at + k]


cdef class Singles(Store):
    cdef float[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n, np.float32)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t n) noexcept nogil:
        if n:
            simd.exchange(n, x, &self.numbers[at])

    cdef void minus(self, int64_t at, double* x, int64_t n) noexcept nogil:
        cdef int64_t k
        for k in range(n):
            x[k] = <double> <float> x[k] - <double> self.numbers[at + k]


cdef void swap(Store store, int64_t at, double* x, int64_t n) noexcept nogil:
    store.swap(at, x, n)


cdef void minus(Store store, int64_t at, double* x, int64_t n) noexcept nogil:
    store.minus(at, x, n)
