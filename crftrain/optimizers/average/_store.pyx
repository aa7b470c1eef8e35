"""Where a table keeps its numbers: in double precision, or rounded to single precision."""

import numpy as np

from ..._kernels cimport simd


cdef extern from "_simd.h":
    void crf_prefetch(const void*) noexcept nogil


cdef class Store:
    cdef void swap(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        """Store x; x becomes the change."""

    cdef void minus(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        """x becomes the change that storing it would make."""

    cdef void read(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        """x becomes what is stored, and what is between its rows 0."""

    cdef void fetch(self, int64_t at, int64_t n) noexcept nogil:
        """So many numbers will be wanted soon."""


cdef class Doubles(Store):
    cdef double[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        cdef int64_t r, k
        cdef double new
        for r in range(rows):
            for k in range(n):
                new = x[r * stride + k]
                x[r * stride + k] = new - self.numbers[at]
                self.numbers[at] = new
                at += 1

    cdef void minus(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        cdef int64_t r, k
        for r in range(rows):
            for k in range(n):
                x[r * stride + k] -= self.numbers[at + r * n + k]

    cdef void read(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        cdef int64_t r, k
        for r in range(rows):
            for k in range(n):
                x[r * stride + k] = self.numbers[at + r * n + k]
            for k in range(n, stride):
                x[r * stride + k] = 0


cdef class Singles(Store):
    cdef float[::1] numbers

    def __init__(self, n):
        self.memory = np.zeros(n, np.float32)
        self.numbers = self.memory

    cdef void swap(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        cdef int64_t r
        for r in range(rows if n else 0):
            simd.exchange(n, x + r * stride, &self.numbers[at + r * n])

    cdef void minus(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        cdef int64_t r, k
        for r in range(rows):
            for k in range(n):
                x[r * stride + k] = <double> <float> x[r * stride + k] - <double> self.numbers[at + r * n + k]

    cdef void read(self, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
        if rows and n:
            simd.widen(rows, n, stride, &self.numbers[at], x)

    cdef void fetch(self, int64_t at, int64_t n) noexcept nogil:
        cdef int64_t k
        for k in range(at, at + n, 16):     # a cache line has 16
            crf_prefetch(&self.numbers[k])


cdef void swap(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
    store.swap(at, x, rows, n, stride)


cdef void minus(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
    store.minus(at, x, rows, n, stride)


cdef void recall(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
    store.read(at, x, rows, n, stride)


cdef void bring(Store store, int64_t at, double* x, int64_t rows, int64_t n, int64_t stride) noexcept nogil:
    store.fetch(at, rows * n)
