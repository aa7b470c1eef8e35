"""Lines in a run of bytes."""

from libc.string cimport memchr

from ._texts cimport Text


cdef struct Rest:                   # what has not been read yet
    const char* at
    const char* end


cdef inline bint is_space(char c) noexcept nogil:
    return c == b" " or 9 <= c <= 13


cdef inline bint next_line(Rest* rest, Text* line) noexcept nogil:
    """The next line without its end, of no length if it is blank; whether there is one."""
    cdef const char* p = rest.at
    cdef const char* end
    if p == rest.end:
        return False
    end = <const char*> memchr(p, b"\n", rest.end - p)
    rest.at = rest.end if end == NULL else end + 1
    end = rest.end if end == NULL else end
    while end > p and (end - 1)[0] == b"\r":
        end -= 1
    line.at, line.length = p, end - p
    while p < end and is_space(p[0]):
        p += 1
    if p == end:
        line.length = 0
    return True
