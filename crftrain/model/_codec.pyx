"""The loops of the model file: numbers as varints, sorted names front-coded, blocks spread from label sets.

What decodes here decodes strangers' bytes: every position is checked before it is read, every length before it is copied,
and a ValueError says what was wrong.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

import numpy as np

cdef enum Fault:
    FINE, TRUNCATED, TOO_LARGE, PADDED, PREFIX, ORDER

FAULTS = {
    TRUNCATED: "its numbers end early",
    TOO_LARGE: "a number above 2^31 - 1",
    PADDED: "a number with superfluous zeros",
    PREFIX: "a name that shares more than the name before it has",
    ORDER: "names out of order",
}


def encode_varints(const int64_t[::1] values):
    """Seven bits a byte, the lowest first; the eighth bit says that more follow. 0 <= value < 2^31."""
    cdef Py_ssize_t k, size = 0
    cdef int64_t v
    for k in range(values.shape[0]):
        v = values[k]
        if v < 0 or v > 0x7fffffff:
            raise ValueError(f"{v} does not fit in 31 bits")
        size += 1 + (v >= 1 << 7) + (v >= 1 << 14) + (v >= 1 << 21) + (v >= 1 << 28)
    cdef bytes out = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t* p = <uint8_t*> PyBytes_AsString(out)
    with nogil:
        for k in range(values.shape[0]):
            v = values[k]
            while v > 127:
                p[0] = (v & 127) | 128
                p += 1
                v >>= 7
            p[0] = <uint8_t> v
            p += 1
    return out


def decode_varints(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t count):
    """(int64[count], position after them), the numbers at data[start:]; each takes a byte at least, so count is bounded."""
    cdef Py_ssize_t k, i = start, end = data.shape[0]
    cdef Fault fault = FINE
    cdef int64_t v
    cdef int shift
    if start < 0 or start > end or count < 0 or count > end - start:
        raise ValueError(FAULTS[TRUNCATED])
    values = np.empty(count, np.int64)
    cdef int64_t[::1] out = values
    with nogil:
        for k in range(count):
            v = shift = 0
            while i < end and data[i] > 127 and shift < 28:
                v |= <int64_t> (data[i] & 127) << shift
                shift += 7
                i += 1
            if i == end:
                fault = TRUNCATED
            elif shift == 28 and data[i] > 7:
                fault = TOO_LARGE
            elif shift > 0 and data[i] == 0:
                fault = PADDED
            if fault != FINE:
                break
            out[k] = v | <int64_t> data[i] << shift
            i += 1
    if fault != FINE:
        raise ValueError(FAULTS[fault])
    return values, i


def front_encode(list names):
    """(shared, fresh, tail): names[k] = names[k-1][:shared[k]] + the next fresh[k] bytes of tail."""
    cdef Py_ssize_t n = len(names), k, j, m, size = 0
    cdef bytes name
    cdef const char* previous = b""
    cdef const char* text
    shared_array, fresh_array = np.zeros(n, np.int64), np.zeros(n, np.int64)
    cdef int64_t[::1] shared = shared_array
    cdef int64_t[::1] fresh = fresh_array
    m = 0
    for k in range(n):
        name = names[k]
        text, j = PyBytes_AsString(name), 0
        m = min(m, PyBytes_Size(name))
        while j < m and text[j] == previous[j]:
            j += 1
        shared[k], fresh[k] = j, PyBytes_Size(name) - j
        size += fresh[k]
        previous, m = text, PyBytes_Size(name)
    cdef bytes tail = PyBytes_FromStringAndSize(NULL, size)
    cdef char* out = PyBytes_AsString(tail)
    for k in range(n):
        name = names[k]
        memcpy(out, PyBytes_AsString(name) + shared[k], fresh[k])
        out += fresh[k]
    return shared_array, fresh_array, tail


def front_decode(const int64_t[::1] shared, const int64_t[::1] fresh, const uint8_t[::1] tail, const int64_t[::1] start, Py_ssize_t size):
    """bytes[size]: name k at start[k]. The caller has made sum(fresh) = len(tail) and laid the names out within size.

    Names rise strictly, which also makes them distinct.
    """
    cdef bytes blob = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t* out = <uint8_t*> PyBytes_AsString(blob)
    cdef const uint8_t* text = &tail[0] if tail.shape[0] else out
    cdef const uint8_t* previous = out
    cdef uint8_t* name
    cdef Py_ssize_t k, common, old, new, length = 0
    cdef Fault fault = FINE
    cdef int sign
    with nogil:
        for k in range(shared.shape[0]):
            common, new = shared[k], fresh[k]
            old = length - common
            if old < 0:
                fault = PREFIX
            elif k > 0:
                sign = memcmp(previous + common, text, min(old, new))
                if sign > 0 or sign == 0 and new <= old:
                    fault = ORDER
            if fault != FINE:
                break
            name = out + start[k]
            memcpy(name, previous, common)
            memcpy(name + common, text, new)
            text += new
            previous, length = name, common + new
    if fault != FINE:
        raise ValueError(FAULTS[fault])
    return blob


def collect(const int64_t[::1] order, const int64_t[::1] ptr, const int32_t[::1] member, const float[::1] weight):
    """(size, member, weight) of the blocks in the given order, without the weights that are zero.

    Block k owns weight[ptr[k]:ptr[k+1]]; without members it has all of them: 0, 1, 2, ...
    """
    cdef Py_ssize_t k, j, p, q = 0
    cdef bint all_members = member.shape[0] == 0
    size_array = np.zeros(order.shape[0], np.int64)
    cdef int64_t[::1] size = size_array
    with nogil:
        for k in range(order.shape[0]):
            for p in range(ptr[order[k]], ptr[order[k] + 1]):
                size[k] += weight[p] != 0
            q += size[k]
    member_array, weight_array = np.empty(q, np.int32), np.empty(q, np.float32)
    cdef int32_t[::1] member_out = member_array
    cdef float[::1] weight_out = weight_array
    with nogil:
        q = 0
        for k in range(order.shape[0]):
            j = ptr[order[k]]
            for p in range(j, ptr[order[k] + 1]):
                if weight[p] != 0:
                    member_out[q] = <int32_t> (p - j) if all_members else member[p]
                    weight_out[q] = weight[p]
                    q += 1
    return size_array, member_array, weight_array


def spread(const int64_t[::1] number, const int64_t[::1] set_ptr, const int32_t[::1] member, const float[::1] weight,
           const int64_t[::1] start, int32_t[::1] label, double[::1] w):
    """Block k takes the members of set number[k] and the next weights, and goes to start[k].

    An empty label array is not wanted. The caller has checked the numbers, and that all sizes add up to len(weight) = len(w).
    """
    cdef Py_ssize_t k, j, p, q = 0
    cdef bint wanted = label.shape[0] > 0
    with nogil:
        for k in range(number.shape[0]):
            p = start[k]
            for j in range(set_ptr[number[k]], set_ptr[number[k] + 1]):
                if wanted:
                    label[p] = member[j]
                w[p] = weight[q]
                p += 1
                q += 1
