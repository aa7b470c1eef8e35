"""Long vectors in threads, a piece at a time. What pieces say is added up in their order, so that no bit tells how many threads there were.

A piece finds in the cache what was done to it just before; the threads have runs of pieces.
"""

from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport simd

from ...chain.threads import in_threads

cdef int64_t PIECE = 4096       # numbers


cdef double dot_of(int64_t n, const double* x, const double* y) noexcept nogil:
    cdef int64_t p, whole = n // 8 * 8
    cdef double total = simd.dot(whole, x, y) if whole else 0
    for p in range(whole, n):
        total += x[p] * y[p]
    return total


cdef void add_times(int64_t n, double c, const double* x, double* y) noexcept nogil:
    """y += c x."""
    cdef int64_t p, whole = n // 8 * 8
    if whole:
        simd.axpy(whole, c, x, y)
    for p in range(whole, n):
        y[p] += c * x[p]


def in_pieces(run, int64_t size, int threads):
    """run(first, last) of the runs of pieces that are the threads'."""
    cdef int64_t pieces = n_pieces(size), runs = max(1, min(threads, pieces))

    def work(int64_t k):
        run(pieces * k // runs * PIECE, min(size, pieces * (k + 1) // runs * PIECE))

    in_threads(work, runs)


def n_pieces(int64_t size):
    return (size + PIECE - 1) // PIECE


def dot(const double[::1] x, const double[::1] y, int threads):
    """x.y"""
    sums = np.zeros(n_pieces(x.shape[0]))
    cdef double[::1] parts = sums

    def run(int64_t first, int64_t last):
        cdef int64_t at = first
        with nogil:
            while at < last:
                parts[at // PIECE] = dot_of(min(PIECE, last - at), &x[at], &y[at])
                at += PIECE

    in_pieces(run, x.shape[0], threads)
    return float(sums.sum())


def go(const double[::1] w, double a, const double[::1] d, double[::1] out, int threads):
    """out = w + a d"""
    def run(int64_t first, int64_t last):
        cdef int64_t p
        with nogil:
            for p in range(first, last):
                out[p] = w[p] + a * d[p]

    in_pieces(run, w.shape[0], threads)


def exchange(double[::1] old, double[::1] new, int threads):
    """old becomes new, new what changed."""
    def run(int64_t first, int64_t last):
        cdef int64_t p
        cdef double x
        with nogil:
            for p in range(first, last):
                x = new[p]
                new[p] = x - old[p]
                old[p] = x

    in_pieces(run, old.shape[0], threads)


def products(vectors, const double[:, ::1] rows, used, int threads):
    """[vectors] [rows]', 0 for rows that are not used."""
    cdef const double[::1] vector
    cdef const int64_t[::1] row = np.array(used, np.int64)
    cdef const double* x[3]
    cdef int n = len(vectors), k
    cdef int64_t m = row.shape[0]
    for k in range(n):
        vector = vectors[k]
        x[k] = &vector[0] if vector.shape[0] else NULL
    sums = np.zeros((n_pieces(rows.shape[1]), n, rows.shape[0]))
    cdef double[:, :, ::1] parts = sums

    def run(int64_t first, int64_t last):
        cdef int64_t at = first, r
        cdef int j
        with nogil:
            while at < last:
                for r in range(m):
                    for j in range(n):
                        parts[at // PIECE, j, row[r]] = dot_of(min(PIECE, last - at), x[j] + at, &rows[row[r], at])
                at += PIECE

    in_pieces(run, rows.shape[1], threads)
    return sums.sum(axis=0)


def combine(const double[::1] c, const double[:, ::1] rows, double c_g, const double[::1] g, double[::1] out, int threads):
    """out = c_g g + sum_r c_r rows_r; out.g"""
    cdef const int64_t[::1] row = np.flatnonzero(c)
    sums = np.zeros(n_pieces(g.shape[0]))
    cdef double[::1] parts = sums

    def run(int64_t first, int64_t last):
        cdef int64_t at = first, p, r, n
        with nogil:
            while at < last:
                n = min(PIECE, last - at)
                for p in range(at, at + n):
                    out[p] = c_g * g[p]
                for r in range(row.shape[0]):
                    add_times(n, c[row[r]], &rows[row[r], at], &out[at])
                parts[at // PIECE] = dot_of(n, &out[at], &g[at])
                at += PIECE

    in_pieces(run, g.shape[0], threads)
    return float(sums.sum())
