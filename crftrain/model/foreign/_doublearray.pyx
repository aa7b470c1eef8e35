# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A trie in two arrays, as CRF++ keeps its keys (the Darts library's form): units of base and check, by which a key leads to a number.

    walk     b = base[0]; for each byte of the key  p = b + byte + 1,  check[p] = b or the key is not there,  b = base[p]
    end      check[b] = b and base[b] = -number - 1

The children of a node share their check, the node's base. A base is found by trying: the first place at which all children's units
are free, and which is no other node's base. `next_check` is where it pays to begin: before it nearly all is taken.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

cdef enum:
    CODES = 257                     # the end of a key, then 256 bytes


def build(list keys not None, numbers):
    """(base int32[n], check uint32[n]) of the keys, distinct bytes in bytewise order, and their numbers."""
    cdef Builder builder = Builder(keys, numbers)
    return builder.run()


cdef class Builder:
    cdef list keys
    cdef const int64_t[::1] numbers
    cdef object base_array, check_array, used_array
    cdef int32_t[::1] base
    cdef uint32_t[::1] check
    cdef unsigned char[::1] used
    cdef Py_ssize_t room, size, next_check

    def __init__(self, list keys, numbers):
        self.keys, self.numbers = keys, np.ascontiguousarray(numbers, np.int64)
        self.room = self.size = self.next_check = 0
        self.grow(8192)

    cdef int grow(self, Py_ssize_t room) except -1:
        """Room for so many units; those that were there stay."""
        new = [np.zeros(room, dtype) for dtype in (np.int32, np.uint32, np.uint8)]
        if self.room:
            for array, old in zip(new, (self.base_array, self.check_array, self.used_array), strict=True):
                array[:self.room] = old
        self.base_array, self.check_array, self.used_array = new
        self.base, self.check, self.used, self.room = new[0], new[1], new[2], room
        return 0

    def run(self):
        """One node after the other, a node's children in order, before what is beside it."""
        cdef Py_ssize_t left, right, depth, parent, first, k, n
        cdef Py_ssize_t code, last, begin
        cdef Py_ssize_t codes[CODES]
        cdef Py_ssize_t starts[CODES + 1]
        self.base[0] = 1
        self.size = 1
        stack = [(0, len(self.keys), 0, 0)] if self.keys else []
        while stack:
            left, right, depth, parent = stack.pop()
            n, last = 0, -1
            for k in range(left, right):
                text = <bytes> self.keys[k]
                code = 0 if len(text) == depth else (<const unsigned char*> (<char*> text))[depth] + 1
                if code != last:
                    codes[n], starts[n] = code, k
                    n, last = n + 1, code
            starts[n] = right
            begin = self.place(codes, n)
            for k in range(n):
                self.check[begin + codes[k]] = <uint32_t> begin
            if depth:
                self.base[parent] = <int32_t> begin
            first = 0
            if codes[0] == 0:
                self.base[begin] = <int32_t> (-self.numbers[left] - 1)
                first = 1
            for k in range(n - 1, first - 1, -1):
                stack.append((starts[k], starts[k + 1], depth + 1, begin + codes[k]))
        n = self.size + CODES
        if n > self.room:
            self.grow(n)
        return self.base_array[:n].copy(), self.check_array[:n].copy()

    cdef Py_ssize_t place(self, const Py_ssize_t* codes, Py_ssize_t n) except -1:
        """A base for a node with these codes."""
        cdef Py_ssize_t pos = max(codes[0] + 1, self.next_check) - 1, begin, taken = 0, k
        cdef bint first = True
        while True:
            pos += 1
            if pos + CODES >= self.room:
                self.grow(2 * self.room)
            if self.check[pos]:
                taken += 1
                continue
            if first:
                self.next_check, first = pos, False
            begin = pos - codes[0]
            if self.used[begin]:
                continue
            for k in range(1, n):
                if self.check[begin + codes[k]]:
                    break
            else:
                break
        if 20 * taken >= 19 * (pos - self.next_check + 1):
            self.next_check = pos
        if begin >= 1 << 31:
            raise OverflowError("a trie of more than 2^31 units")
        self.used[begin] = True
        self.size = max(self.size, begin + codes[n - 1] + 1)
        return begin
