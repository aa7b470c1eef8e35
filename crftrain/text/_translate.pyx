# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Occurrences of attributes in other numbers, without Python's lock."""

from libc.stdint cimport int32_t, int64_t

import numpy as np


def translated(const int64_t[::1] ptr, const int32_t[::1] attr, const double[::1] value, const int32_t[::1] number):
    """(ptr, attr, value) with number[a] in the place of a; occurrences of attributes that have none, -1, are left out."""
    cdef bint valued = value is not None
    cdef Py_ssize_t t, k, n = 0, tokens = ptr.shape[0] - 1
    new_ptr, new_attr = np.empty(tokens + 1, np.int64), np.empty(attr.shape[0], np.int32)
    new_value = np.empty(attr.shape[0]) if valued else None
    cdef int64_t[::1] to_ptr = new_ptr
    cdef int32_t[::1] to_attr = new_attr
    cdef double[::1] to_value = new_value
    cdef int32_t a
    with nogil:
        to_ptr[0] = 0
        for t in range(tokens):
            for k in range(ptr[t], ptr[t + 1]):
                a = number[attr[k]]
                if a >= 0:
                    to_attr[n] = a
                    if valued:
                        to_value[n] = value[k]
                    n += 1
            to_ptr[t + 1] = n
    return new_ptr, new_attr[:n], new_value[:n] if valued else None


def counted(const int32_t[::1] attr, int64_t n):
    """int64[n]: how often each number below n occurs."""
    cdef Py_ssize_t k
    counts = np.zeros(n, np.int64)
    cdef int64_t[::1] count = counts
    with nogil:
        for k in range(attr.shape[0]):
            count[attr[k]] += 1
    return counts
