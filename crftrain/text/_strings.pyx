# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Growing memory, and names with their numbers.

    name -> hash -> slot with (hash, number) -> the name itself is compared, so equal hashes do no harm

Open addressing with the hash stored in the slot, at most two thirds full; the names lie one after the other in one block. Every
string that is hashed, compared or copied has SLACK readable bytes behind it, so that all three go in steps of 8 and 16 bytes
and never look at single characters. The hash is seeded anew in each process: no file can be made to collide.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

cimport cython

import os
from array import array
from itertools import accumulate
from struct import calcsize

import numpy as np

cdef enum:
    AHEAD = 16                      # names between the question for a slot and the look at it

cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


@cython.final
cdef class Growing:
    """C memory that grows, and that numpy takes over without a copy."""

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        """Room for so many bytes and SLACK."""
        cdef Py_ssize_t room = self.used + more + SLACK
        cdef char* data
        if room > self.room:
            room = max(room, self.room + self.room // 2)
            data = <char*> realloc(self.data, room)
            if data == NULL:
                with gil:
                    raise MemoryError(f"{room} bytes")
            self.data, self.room = data, room
        return 0

    cdef int push(self, const void* item, Py_ssize_t size) except -1 nogil:
        if self.used + size + SLACK > self.room:
            self.reserve(size)
        memcpy(self.data + self.used, item, size)
        self.used += size
        return 0

    def __getbuffer__(self, Py_buffer* view, int flags):
        view.buf, view.len, view.obj, view.readonly = self.data, self.used, self, 0
        view.itemsize, view.format, view.ndim = 1, NULL, 1
        view.shape, view.strides, view.suboffsets, view.internal = &view.len, &view.itemsize, NULL, NULL


cdef object taken(Growing memory, dtype):
    """The contents as an array that owns them; the memory may not grow any more."""
    if memory.used == 0:
        return np.empty(0, dtype)
    cdef char* data = <char*> realloc(memory.data, memory.used)
    if data != NULL:
        memory.data, memory.room = data, memory.used
    return np.frombuffer(memory, dtype)


cpdef object zeros(Py_ssize_t n, str kind):
    """Numbers for whom numpy, which takes as long to load as all the rest of tagging, is not worth it."""
    return memoryview(bytearray(n * calcsize(kind))).cast(kind)


@cython.final
cdef class StringTable:
    """Names <-> numbers 0, 1, ... in order of first appearance; open addressing, the names in one block."""

    def __cinit__(self):
        self.seed = SEED
        self.rehash(16)
        self.enlarge(8, 64)
        self.start[0] = 0

    def __dealloc__(self):
        free(self.text)
        free(self.start)
        free(self.slots)

    def __len__(self):
        return self.n

    def add(self, bytes name not None):
        """The number of a name, a new one if it has none."""
        cdef int64_t length = len(name)
        self.enlarge(1, length)
        cdef char* place = self.text + self.start[self.n]       # where it has to be if it is new
        memcpy(place, PyBytes_AsString(name), length)
        cdef uint32_t h = hash_of(place, length, self.seed)
        cdef int32_t i = self.find(place, length, h)
        return i if i >= 0 else self.append(place, length, h)

    def get(self, bytes name not None):
        """The number of a name, or -1."""
        return self.lookup(PyBytes_AsString(name), len(name))

    def name(self, Py_ssize_t i):
        if not 0 <= i < self.n:
            raise IndexError(f"name {i} of {self.n}")
        return PyBytes_FromStringAndSize(self.text + self.start[i], self.start[i + 1] - self.start[i])

    def names(self):
        """list[bytes], in order."""
        return [PyBytes_FromStringAndSize(self.text + self.start[i], self.start[i + 1] - self.start[i]) for i in range(self.n)]

    def arrays(self):
        """(blob, offsets): name i is blob[offsets[i]:offsets[i+1]]; int64[n+1]."""
        offsets = np.empty(self.n + 1, np.int64)
        cdef int64_t[::1] view = offsets
        memcpy(&view[0], self.start, (self.n + 1) * sizeof(int64_t))
        return PyBytes_FromStringAndSize(self.text, self.start[self.n]), offsets

    @staticmethod
    def from_names(names):
        """The table of distinct names: an iterable of bytes, or the (blob, offsets) of arrays(). Else a ValueError."""
        cdef StringTable table = StringTable()
        if isinstance(names, tuple) and len(names) == 2 and not isinstance(names[1], bytes):
            text, offsets = names[0], np.ascontiguousarray(names[1], np.int64)
        else:
            names = list(names)
            text, offsets = b"".join(names), array("q", accumulate(map(len, names), initial=0))
        cdef const unsigned char[::1] blob = text
        cdef const int64_t[::1] start = offsets
        cdef Py_ssize_t i, n = start.shape[0] - 1
        if n < 0 or start[0] != 0 or start[n] > blob.shape[0]:
            raise ValueError("offsets that are not those of the names")
        for i in range(n):
            if start[i] > start[i + 1]:
                raise ValueError("offsets that go back")
        table.enlarge(n, start[n])
        if start[n]:
            memcpy(table.text, &blob[0], start[n])
        table.append_all(start)
        return table

    cdef int append_all(self, const int64_t[::1] start) except -1:
        """Append the new names that stand in their places already; slots are asked for from memory before they are looked at."""
        cdef Py_ssize_t i, n = start.shape[0] - 1
        cdef uint64_t size = self.mask + 1
        cdef Growing hashes = Growing()
        cdef uint32_t* hash
        while 3 * <uint64_t> n >= 2 * (size - 1):
            size *= 2
        self.rehash(size)
        hashes.reserve(n * sizeof(uint32_t))
        hash = <uint32_t*> hashes.data
        for i in range(n):
            hash[i] = hash_of(self.text + start[i], start[i + 1] - start[i], self.seed)
        for i in range(n):
            if i + AHEAD < n:
                crf_prefetch(&self.slots[hash[i + AHEAD] & self.mask])
            self.append_new(self.text + start[i], start[i + 1] - start[i], hash[i])
        return 0

    cdef int adopt(self, int32_t n, const uint32_t* hash) except -1:
        """Become the table of n distinct names, nothing but their slots missing yet."""
        cdef uint64_t i, size = self.mask + 1
        cdef int32_t k
        while 3 * <uint64_t> n >= 2 * (size - 1):
            size *= 2
        self.n = 0
        self.rehash(size)
        with nogil:
            for k in range(n):
                if k + AHEAD < n:
                    crf_prefetch(&self.slots[hash[k + AHEAD] & self.mask])
                i = hash[k] & self.mask
                while self.slots[i].id >= 0:
                    i = (i + 1) & self.mask
                self.slots[i] = Slot(hash[k], k)
        self.n = n
        return 0

    def numbers_of(self, StringTable names not None):
        """int32: the number of each name of another table, -1 where there is none."""
        numbers = np.empty(names.n, np.int32)
        cdef int32_t[::1] number = numbers
        cdef Py_ssize_t i, at
        cdef const int64_t* start = names.start
        cdef uint32_t hashes[AHEAD]
        with nogil:
            for i in range(names.n + AHEAD):    # slots are asked for from memory before they are looked at
                at = i - AHEAD
                if at >= 0:
                    number[at] = self.find(names.text + start[at], start[at + 1] - start[at], hashes[i % AHEAD])
                if i < names.n:
                    hashes[i % AHEAD] = hash_of(names.text + start[i], start[i + 1] - start[i], self.seed)
                    crf_prefetch(&self.slots[hashes[i % AHEAD] & self.mask])
        return numbers

    def add_all(self, StringTable names not None):
        """int32: the number of each name of another table, a new one where there is none."""
        numbers = self.numbers_of(names)
        cdef int32_t[::1] number = numbers
        cdef Py_ssize_t i
        cdef int64_t length
        cdef const char* name
        for i in range(names.n):
            if number[i] < 0:
                name, length = names.text + names.start[i], names.start[i + 1] - names.start[i]
                number[i] = self.append(name, length, hash_of(name, length, self.seed))
        return numbers

    def keep(self, order):
        """A table of the names in that order of their numbers (each at most once), without the others."""
        cdef StringTable table = StringTable()
        cdef const int64_t[::1] old = np.ascontiguousarray(order, np.int64)
        cdef Py_ssize_t i, n = old.shape[0]
        cdef int64_t length, n_bytes = 0
        cdef const char* name
        for i in range(n):
            if not 0 <= old[i] < self.n:
                raise IndexError(f"name {old[i]} of {self.n}")
            n_bytes += self.start[old[i] + 1] - self.start[old[i]]
        table.enlarge(n, n_bytes)
        for i in range(n):
            name, length = self.text + self.start[old[i]], self.start[old[i] + 1] - self.start[old[i]]
            table.append_new(name, length, hash_of(name, length, table.seed))
        return table

    def __reduce__(self):
        """The names as an array, which whoever sends it to other processes may share with them."""
        blob, offsets = self.arrays()
        return StringTable.from_names, ((np.frombuffer(blob, np.uint8), offsets),)

    cdef int append_new(self, const char* name, int64_t length, uint32_t h) except -1:
        if self.find(name, length, h) >= 0:
            raise ValueError(f"the name {PyBytes_FromStringAndSize(name, length)!r} twice")
        self.append(name, length, h)
        return 0

    cdef int lookup(self, const char* name, Py_ssize_t length) noexcept nogil:
        """The number of a name that lies anywhere, or -1; the others ask for SLACK behind it."""
        cdef char short_one[256]
        cdef char* padded = short_one
        cdef int i
        if length + SLACK > 256:
            padded = <char*> malloc(length + SLACK)
            if padded == NULL:
                return -1
        memcpy(padded, name, length)
        i = self.find(padded, length, hash_of(padded, length, self.seed))
        if padded != short_one:
            free(padded)
        return i

    cdef int32_t append(self, const char* name, int64_t length, uint32_t h) except -1 nogil:
        """The number of a name that is known to be new; it may lie where it has to be."""
        cdef uint64_t i
        if self.n + 2 > self.start_room or self.start[self.n] + length + SLACK > self.text_room:
            self.enlarge(1, length)
        if 3 * <uint64_t> self.n >= 2 * self.mask:
            self.rehash(2 * (self.mask + 1))
        cdef char* place = self.text + self.start[self.n]
        if place != name:
            memcpy(place, name, length)
        i = h & self.mask
        while self.slots[i].id >= 0:
            i = (i + 1) & self.mask
        self.slots[i] = Slot(h, self.n)
        self.n += 1
        self.start[self.n] = self.start[self.n - 1] + length
        return self.n - 1

    cdef int enlarge(self, int64_t n_names, int64_t n_bytes) except -1 nogil:
        """Room for so many more names of so many bytes."""
        cdef int64_t names = self.n + n_names + 1, n_text = n_bytes + SLACK
        cdef void* memory
        if self.start != NULL:
            n_text += self.start[self.n]
        if names > 0x7FFFFFFF:
            with gil:
                raise OverflowError("more than 2147483646 different names")
        if names > self.start_room:
            names = max(names, min(self.start_room + self.start_room // 2, <int64_t> 0x7FFFFFFF))
            memory = realloc(self.start, names * sizeof(int64_t))
            if memory == NULL:
                with gil:
                    raise MemoryError(f"{names} names")
            self.start, self.start_room = <int64_t*> memory, names
        if n_text > self.text_room:
            n_text = max(n_text, self.text_room + self.text_room // 2)
            memory = realloc(self.text, n_text)
            if memory == NULL:
                with gil:
                    raise MemoryError(f"{n_text} bytes of names")
            self.text, self.text_room = <char*> memory, n_text
        return 0

    cdef int rehash(self, uint64_t n_slots) except -1 nogil:
        """A slot keeps all 32 bits, so names need not be looked at."""
        cdef Slot* slots = <Slot*> malloc(n_slots * sizeof(Slot))
        cdef uint64_t i, k
        if slots == NULL:
            with gil:
                raise MemoryError(f"a table of {n_slots} names")
        memset(slots, 255, n_slots * sizeof(Slot))
        if self.slots != NULL:
            for k in range(self.mask + 1):
                if self.slots[k].id >= 0:
                    i = self.slots[k].hash & (n_slots - 1)
                    while slots[i].id >= 0:
                        i = (i + 1) & (n_slots - 1)
                    slots[i] = self.slots[k]
        free(self.slots)
        self.slots, self.mask = slots, n_slots - 1
        return 0


def line_ends(bytes text not None):
    """How many bytes are line feeds, counted in bytes for as long as one holds the count: so many additions at once."""
    cdef const char* p = PyBytes_AsString(text)
    cdef Py_ssize_t i, k, n = 0, length = len(text), whole = length - length % 128
    cdef unsigned char few
    for i in range(0, whole, 128):
        few = 0
        for k in range(i, i + 128):
            few += p[k] == 10
        n += few
    for i in range(whole, length):
        n += p[i] == 10
    return n


def keep_numbered(int64_t[::1] ptr, int32_t[::1] numbers, value, const int32_t[::1] new):
    """numbers[k] = new[numbers[k]], in place, those without one (-1) dropped: how many are left.

    ptr marks runs of occurrences; value, if it is not None, goes with them.
    """
    cdef double[::1] values = value
    cdef Py_ssize_t t, k, out = 0
    cdef int64_t begin = 0, end
    with nogil:
        for t in range(ptr.shape[0] - 1):
            end = ptr[t + 1]
            for k in range(begin, end):
                if new[numbers[k]] >= 0:
                    numbers[out] = new[numbers[k]]
                    if values is not None:
                        values[out] = values[k]
                    out += 1
            begin, ptr[t + 1] = end, out
    return out
