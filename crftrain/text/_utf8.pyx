"""Whether bytes are UTF-8, as the standard (RFC 3629) has it: no surrogates, nothing said in more bytes than it needs."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef enum:
    TOGETHER = 8                    # bytes, looked at as one word
    LONGEST = 4                     # bytes of a character


def whole(bytes text):
    """How many bytes of the text are whole characters, if the rest is the beginning of one; -1: the text is not UTF-8."""
    cdef const unsigned char* p = <const unsigned char*> PyBytes_AsString(text)
    cdef Py_ssize_t n = PyBytes_Size(text), i = 0
    cdef uint64_t word
    cdef int length
    with nogil:
        while i < n:
            while i + TOGETHER <= n:    # a word of ASCII at a time
                memcpy(&word, p + i, TOGETHER)
                if word & 0x8080808080808080ULL:
                    break
                i += TOGETHER
            if i == n:
                break
            if p[i] < 0x80:
                i += 1
                continue
            length = character(p + i, min(n - i, <Py_ssize_t> LONGEST))
            if length <= 0:
                n = i if length == 0 else -1
                break
            i += length
    return n


cdef int character(const unsigned char* p, Py_ssize_t n) noexcept nogil:
    """The length of the character at p of more than one byte; 0: it is cut off after the n bytes, -1: it is none."""
    cdef int length, k
    cdef unsigned char low = 0x80, high = 0xBF  # between which the second byte is
    if 0xC2 <= p[0] <= 0xDF:
        length = 2
    elif 0xE0 <= p[0] <= 0xEF:
        length = 3
        low, high = (0xA0 if p[0] == 0xE0 else 0x80), (0x9F if p[0] == 0xED else 0xBF)
    elif 0xF0 <= p[0] <= 0xF4:
        length = 4
        low, high = (0x90 if p[0] == 0xF0 else 0x80), (0x8F if p[0] == 0xF4 else 0xBF)
    else:
        return -1
    for k in range(1, length):
        if k == n:
            return 0
        if not low <= p[k] <= high:
            return -1
        low, high = 0x80, 0xBF
    return length
