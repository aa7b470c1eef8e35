"""Growing memory, and names with their numbers: what is small and called most is inline here."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cimport cython

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define crf_prefetch(p) __builtin_prefetch(p)
    #else
    #define crf_prefetch(p) ((void)(p))
    #endif
    static inline uint64_t crf_word(const void* p) { uint64_t v; memcpy(&v, p, 8); return v; }
    static inline void crf_copy16(char* to, const char* from) { memcpy(to, from, 16); }
    static inline uint64_t crf_first(int64_t k)    /* a mask for the first k bytes of a word in memory, k < 8, in any byte order */
    {
        static const unsigned char mask[16] = {255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0};
        return crf_word(mask + 8 - k);
    }
    """
    void crf_prefetch(const void* p) noexcept nogil
    uint64_t crf_word(const void* p) noexcept nogil
    void crf_copy16(char* to, const char* source) noexcept nogil
    uint64_t crf_first(int64_t k) noexcept nogil

cdef enum:
    SLACK = 32                      # bytes behind every string that may be read, and behind every end that may be written


cdef inline uint32_t hash_of(const char* p, int64_t n, uint64_t seed) noexcept nogil:
    """h <- (h xor word) * FACTOR over the words, the last one filled up with zeros; then mixed."""
    cdef uint64_t FACTOR = 0x9E3779B97F4A7C15ULL
    cdef uint64_t h = seed ^ (<uint64_t> n * FACTOR)
    while n >= 8:
        h = (h ^ crf_word(p)) * FACTOR
        h ^= h >> 32
        p += 8
        n -= 8
    h = (h ^ (crf_word(p) & crf_first(n))) * FACTOR
    h = (h ^ (h >> 32)) * FACTOR
    return <uint32_t> (h >> 32)


cdef inline bint same(const char* p, const char* q, int64_t n) noexcept nogil:
    """Whether n bytes are equal."""
    while n >= 8:
        if crf_word(p) != crf_word(q):
            return False
        p += 8
        q += 8
        n -= 8
    return ((crf_word(p) ^ crf_word(q)) & crf_first(n)) == 0


cdef inline void put(char* to, const char* p, int64_t n) noexcept nogil:
    """Copy n bytes; up to 16 more may be written."""
    crf_copy16(to, p)
    if n > 16:
        memcpy(to + 16, p + 16, n - 16)


@cython.final
cdef class Growing:
    cdef char* data
    cdef Py_ssize_t used, room
    cdef int reserve(self, Py_ssize_t more) except -1 nogil
    cdef int push(self, const void* item, Py_ssize_t size) except -1 nogil


cdef struct Slot:
    uint32_t hash
    int32_t id                      # -1: empty


@cython.final
cdef class StringTable:
    cdef char* text                 # the names, one after the other
    cdef int64_t* start             # [n+1] name i is text[start[i]:start[i+1]]
    cdef Slot* slots                # [mask+1]
    cdef uint64_t mask, seed
    cdef int32_t n, start_room
    cdef int64_t text_room

    cdef inline int32_t find(self, const char* name, int64_t length, uint32_t h) noexcept nogil:
        """The number of a name with that hash, or -1."""
        cdef uint64_t i = h & self.mask
        cdef Slot slot = self.slots[i]
        cdef int64_t at
        while slot.id >= 0:
            if slot.hash == h:
                at = self.start[slot.id]
                if self.start[slot.id + 1] - at == length and same(self.text + at, name, length):
                    return slot.id
            i = (i + 1) & self.mask
            slot = self.slots[i]
        return -1

    cdef int lookup(self, const char* name, Py_ssize_t length) noexcept nogil       # the same for a name that lies anywhere
    cdef int32_t append(self, const char* name, int64_t length, uint32_t h) except -1 nogil
    cdef int append_new(self, const char* name, int64_t length, uint32_t h) except -1
    cdef int enlarge(self, int64_t n_names, int64_t n_bytes) except -1 nogil
    cdef int rehash(self, uint64_t n_slots) except -1 nogil
    cdef int append_all(self, const int64_t[::1] start) except -1
    cdef int adopt(self, int32_t n, const uint32_t* hash) except -1


cdef object taken(Growing memory, dtype)
cpdef object zeros(Py_ssize_t n, str kind)      # n zeros as Python's own memory; kind: a letter of struct's
