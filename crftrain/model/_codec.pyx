"""The loops of the model file: numbers as varints, sorted names front-coded, blocks spread from label sets.

What decodes here decodes strangers' bytes: every position is checked before it is read, every length before it is copied,
and a ValueError says what was wrong. Numbers come out as Python's own memory (`zeros`), for whom numpy is not worth its loading.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from ..text._strings cimport Growing, StringTable, hash_of, zeros

import numpy as np

ctypedef fused Number:
    int32_t
    int64_t

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


cdef Fault varints(const uint8_t[::1] data, Py_ssize_t* at, Number* out, Py_ssize_t count) noexcept nogil:
    """The numbers at data[at:], which goes behind them; each takes a byte at least, so count is bounded."""
    cdef Py_ssize_t k, i = at[0], end = data.shape[0]
    cdef int64_t v
    cdef int shift
    if i < 0 or i > end or count < 0 or count > end - i:
        return TRUNCATED
    for k in range(count):
        if i < end and data[i] < 128:
            out[k] = data[i]
            i += 1
            continue
        v = shift = 0
        while i < end and data[i] > 127 and shift < 28:
            v |= <int64_t> (data[i] & 127) << shift
            shift += 7
            i += 1
        if i == end:
            return TRUNCATED
        if shift == 28 and data[i] > 7:
            return TOO_LARGE
        if shift > 0 and data[i] == 0:
            return PADDED
        out[k] = <Number> (v | <int64_t> data[i] << shift)
        i += 1
    at[0] = i
    return FINE


def decode_varints(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t count, *, bint narrow=False):
    """(int64[count], or int32 if narrow, position after them), the numbers at data[start:]."""
    cdef Py_ssize_t at = start
    cdef Fault fault
    if count < 0 or count > data.shape[0]:
        raise ValueError(FAULTS[TRUNCATED])
    found = zeros(count, "i" if narrow else "q")
    cdef int32_t[::1] short_ones = found if narrow else zeros(0, "i")
    cdef int64_t[::1] long_ones = zeros(0, "q") if narrow else found
    with nogil:
        fault = varints(data, &at, &short_ones[0], count) if narrow else varints(data, &at, &long_ones[0], count)
    if fault != FINE:
        raise ValueError(FAULTS[fault])
    return found, at


def bounds(const int64_t[::1] size):
    """int64: 0 and the running sums."""
    cdef Py_ssize_t k
    found = zeros(size.shape[0] + 1, "q")
    cdef int64_t[::1] ptr = found
    for k in range(size.shape[0]):
        ptr[k + 1] = ptr[k] + size[k]
    return found


def members(const int64_t[::1] gap, const int64_t[::1] ptr, int64_t universe):
    """int32: the members from their gaps, all below universe; run k is at ptr[k]:ptr[k+1]."""
    cdef Py_ssize_t k, i
    cdef int64_t m
    found = zeros(gap.shape[0], "i")
    cdef int32_t[::1] member = found
    for k in range(ptr.shape[0] - 1):
        m = -1
        for i in range(ptr[k], ptr[k + 1]):
            m += gap[i] + 1
            if m >= universe:
                raise ValueError(f"an id of {universe} or more")
            member[i] = <int32_t> m
    return found


def sized(const int64_t[::1] ptr, double least):
    """uint8: whether a run has so many members."""
    cdef Py_ssize_t k
    found = zeros(ptr.shape[0] - 1, "B")
    cdef uint8_t[::1] large = found
    for k in range(ptr.shape[0] - 1):
        large[k] = ptr[k + 1] - ptr[k] >= least
    return found


def floats(const uint8_t[::1] data):
    """float32 of the bytes, which need not be aligned; ValueError unless all are finite and not zero."""
    cdef Py_ssize_t k
    cdef bint fine = True
    found = zeros(data.shape[0] // 4, "f")
    cdef float[::1] weight = found
    memcpy(&weight[0], &data[0], 4 * weight.shape[0])
    with nogil:
        for k in range(weight.shape[0]):
            fine &= isfinite(weight[k]) != 0 and weight[k] != 0
    if not fine:
        raise ValueError("numbers that are finite and not zero")
    return found


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


cdef struct Sums:       # of names: new bytes, all bytes, and how many are of the first ones, with how many bytes
    int64_t fresh, all, first
    Py_ssize_t n_first


cdef Sums sums_of(Py_ssize_t n, const int32_t* shared, const int32_t* fresh, const int32_t[::1] number,
                  const uint8_t[::1] first) noexcept nogil:
    cdef Sums sums = [0, 0, 0, 0]
    cdef Py_ssize_t k
    for k in range(n):
        sums.fresh += fresh[k]
        sums.all += <int64_t> shared[k] + fresh[k]
        if first[number[k]]:
            sums.n_first += 1
            sums.first += <int64_t> shared[k] + fresh[k]
    return sums


cdef Fault unfold(StringTable table, Py_ssize_t n, const char* text, const int32_t* shared, const int32_t* fresh, const int32_t[::1] number,
                  const uint8_t[::1] first, Sums sums, uint32_t* hash) noexcept nogil:
    """Each name from the one before: so many bytes of that, then new ones."""
    cdef Py_ssize_t k, j, common, old, new, length = 0
    cdef Py_ssize_t[2] numbered = [sums.n_first, 0]     # of the others, of the first ones: where the next one goes
    cdef int64_t[2] place = [sums.first, 0]
    cdef const char* previous = table.text
    cdef char* name
    cdef int sign, side
    for k in range(n):
        common, new, side = shared[k], fresh[k], first[number[k]] != 0
        old = length - common
        if old < 0:
            return PREFIX
        if k > 0:
            sign = memcmp(previous + common, text, min(old, new))
            if sign > 0 or sign == 0 and new <= old:
                return ORDER
        name, j, length = table.text + place[side], numbered[side], common + new
        memcpy(name, previous, common)
        memcpy(name + common, text, new)
        hash[j] = hash_of(name, length, table.seed)
        numbered[side] += 1
        place[side] += length
        table.start[j + 1] = place[side]
        text += new
        previous = name
    return FINE


def front_decode(const uint8_t[::1] data, Py_ssize_t n, int64_t size, const int32_t[::1] number, const uint8_t[::1] first):
    """StringTable of n names, size bytes in all: those whose set is among the first ones, then the others.

    Names rise strictly, which also makes them distinct: none is looked up.
    """
    cdef Py_ssize_t at = 0
    cdef Growing lengths = Growing(), hashes = Growing()
    cdef StringTable table = StringTable()
    cdef Fault fault
    cdef Sums sums
    if n < 0 or n > data.shape[0] // 2:
        raise ValueError(FAULTS[TRUNCATED])
    lengths.reserve(2 * n * sizeof(int32_t))
    cdef int32_t* shared = <int32_t*> lengths.data
    cdef int32_t* fresh = shared + n
    with nogil:
        fault = varints(data, &at, shared, 2 * n)
        if fault == FINE:
            sums = sums_of(n, shared, fresh, number, first)
    if fault != FINE:
        raise ValueError(FAULTS[fault])
    if sums.fresh != data.shape[0] - at:
        raise ValueError(f"{data.shape[0] - at} new bytes where the lengths add up to {sums.fresh}")
    if sums.all != size:
        raise ValueError(f"{sums.all} bytes of names, not {size}")
    table.enlarge(n, size)
    hashes.reserve(n * sizeof(uint32_t))
    cdef uint32_t* hash = <uint32_t*> hashes.data
    cdef const char* text = <const char*> &data[0] + at if n else table.text
    with nogil:
        fault = unfold(table, n, text, shared, fresh, number, first, sums, hash)
    if fault != FINE:
        raise ValueError(FAULTS[fault])
    table.adopt(<int32_t> n, hash)
    return table


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


def spread(const int32_t[::1] number, const int64_t[::1] set_ptr, const int32_t[::1] member, const uint8_t[::1] first,
           const float[::1] weight, int32_t[::1] label, double[::1] w, int64_t origin=0):
    """(ptr, how many blocks have a set among the first ones): block k takes the members of set number[k] and the next weights.

    The blocks of the first sets come first. An empty label array is not wanted. The caller has checked the numbers, and that all
    sizes add up to len(weight) = len(w). ptr counts from origin.
    """
    cdef Py_ssize_t k, i, size, q = 0, n = number.shape[0]
    cdef Py_ssize_t numbered[2]
    cdef int64_t p
    cdef int64_t place[2]
    cdef bint wanted = label.shape[0] > 0
    cdef int side
    ptr_memory = zeros(n + 1, "q")
    cdef int64_t[::1] ptr = ptr_memory
    numbered[0] = numbered[1] = place[0] = place[1] = 0
    ptr[0] = origin
    with nogil:
        for k in range(n):
            if first[number[k]]:
                numbered[0] += 1
                place[0] += set_ptr[number[k] + 1] - set_ptr[number[k]]
        for k in range(n):
            side, p, size = first[number[k]] != 0, set_ptr[number[k]], set_ptr[number[k] + 1] - set_ptr[number[k]]
            for i in range(size):
                w[place[side] + i] = weight[q + i]
            if wanted:
                memcpy(&label[place[side]], &member[p], size * sizeof(int32_t))
            q += size
            place[side] += size
            numbered[side] += 1
            ptr[numbered[side]] = origin + place[side]
    return ptr_memory, numbered[1]


def widen(const float[::1] weight, double[::1] w):
    """w = weight"""
    cdef Py_ssize_t k
    for k in range(weight.shape[0]):
        w[k] = weight[k]


def weights_of(const int32_t[::1] number, const int64_t[::1] set_ptr):
    """How many weights blocks with sets of these numbers have; -1 if there is no such set."""
    cdef Py_ssize_t k
    cdef int64_t total = 0
    cdef bint fine = True
    with nogil:
        for k in range(number.shape[0]):
            if not 0 <= number[k] < set_ptr.shape[0] - 1:
                fine = False
                break
            total += set_ptr[number[k] + 1] - set_ptr[number[k]]
    return total if fine else -1
