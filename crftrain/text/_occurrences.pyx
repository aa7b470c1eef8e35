"""Loops over all occurrences of attributes, without Python's lock: counted, in other numbers, with which labels."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

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


def squares(const int32_t[::1] attr, const double[::1] value, int64_t n):
    """float64[n]: the sum of the squared values of each number below n."""
    cdef Py_ssize_t k
    sums = np.zeros(n)
    cdef double[::1] sum = sums
    with nogil:
        for k in range(attr.shape[0]):
            sum[attr[k]] += value[k] * value[k]
    return sums


def observed_labels(
    const int64_t[::1] token_ptr, const int32_t[::1] attr, const int32_t[::1] label, Py_ssize_t n_attributes, Py_ssize_t n_labels
):
    """(ptr, label): attribute a was seen with label[ptr[a]:ptr[a+1]], in increasing order.

    One bit for each pair of attribute and label, set in a pass over the occurrences.
    """
    cdef Py_ssize_t words = (n_labels + 63) // 64, a, t, k, w, j, p = 0
    cdef uint64_t* seen = <uint64_t*> calloc(max(1, n_attributes * words), sizeof(uint64_t))    # [A][words]
    cdef uint64_t bits
    cdef int32_t y
    if seen == NULL:
        raise MemoryError(f"{n_attributes * words * 8} bytes for attributes x labels")
    ptr_array = np.zeros(n_attributes + 1, np.int64)
    cdef int64_t[::1] ptr = ptr_array
    cdef int32_t[::1] out
    try:
        with nogil:
            for t in range(label.shape[0]):
                y = label[t]
                for k in range(token_ptr[t], token_ptr[t + 1]):
                    seen[attr[k] * words + y // 64] |= (<uint64_t> 1) << (y % 64)
            for a in range(n_attributes):
                for w in range(words):
                    bits = seen[a * words + w]
                    while bits:
                        bits &= bits - 1
                        p += 1
                ptr[a + 1] = p
        label_array = np.empty(p, np.int32)
        out = label_array
        with nogil:
            p = 0
            for a in range(n_attributes):
                for j in range(n_labels):
                    if seen[a * words + j // 64] >> (j % 64) & 1:
                        out[p] = j
                        p += 1
    finally:
        free(seen)
    return ptr_array, label_array


def renumber(int32_t[::1] attr, const int32_t[::1] position):
    """attr[k] = position[attr[k]], in place."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(attr.shape[0]):
            attr[k] = position[attr[k]]
