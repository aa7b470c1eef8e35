"""What macros make of cells of ASCII, by the rules of template.py, without Python."""

from libc.stdint cimport int64_t


cdef struct Compiled:               # a macro's function as compiled code knows it
    int64_t n
    char letter                     # small; 0: it does not
    bint lower


cdef inline int64_t of_ascii(const Compiled* function, const char* p, int64_t n, char* to) noexcept nogil:
    """Write what a function makes of n characters; how many it writes, -1 where one is not ASCII."""
    cdef int64_t i, out = 0, run = 0
    cdef char c, last = 0
    for i in range(n):
        if <unsigned char> p[i] > 127:
            return -1
    if function.letter == b"p":
        n = min(n, function.n)
    elif function.letter == b"s" and n > function.n:
        p, n = p + n - function.n, function.n
    for i in range(n):
        c = p[i]
        if function.letter == b"w" and (b"A" <= c <= b"Z" or b"a" <= c <= b"z"):
            c = b"X" if c <= b"Z" else b"x"
        elif (function.letter == b"w" or function.letter == b"d") and b"0" <= c <= b"9":
            c = b"0"
        elif function.letter == b"l" and b"A" <= c <= b"Z":
            c += 32
        if function.letter == b"w" and function.n:
            run = run + 1 if out and c == last else 1
            last = c
            if run > function.n:
                continue
        to[out] = c + 32 if function.lower and b"A" <= c <= b"Z" else c
        out += 1
    return out
