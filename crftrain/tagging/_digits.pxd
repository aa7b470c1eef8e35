"""Probabilities as text, as printf writes them where the locale is C."""

from libc.math cimport fabs, floor, fma
from libc.stdint cimport int64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

cdef enum:
    DIGITS = 8                      # of 0.000000


cdef inline char* put_fixed(char* to, double p) noexcept nogil:
    """%.6f of p in [0, 1]: the nearest such number to p itself, of two as near the even one."""
    cdef double millions = p * 1e6, whole = floor(millions), more = millions - whole - 0.5
    cdef int64_t n = <int64_t> whole
    cdef int k
    if p < 4e-7:                    # most of a token's labels
        memcpy(to, <const char*> b"0.000000", DIGITS)
        return to + DIGITS
    if fabs(more) < 1e-9:           # so near to the middle that what was lost by rounding millions decides
        more += fma(p, 1e6, -millions)
    if more > 0 or (more == 0 and n & 1 == 1):
        n += 1
    for k in range(DIGITS - 1, 1, -1):
        to[k] = c"0" + <char> (n % 10)
        n //= 10
    to[1] = b"."
    to[0] = c"0" + <char> n
    return to + DIGITS


cdef inline char* put_general(char* to, double p) noexcept nogil:
    """%.6g of a p that is not negative."""
    cdef char[32] text
    cdef int k, n = snprintf(text, sizeof(text), b"%.6g", p)
    cdef bint in_point = False
    for k in range(n):
        if b"0" <= text[k] <= b"9" or text[k] == b"e" or text[k] == b"-":
            to[0], in_point = text[k], False
            to += 1
        elif not in_point:          # the locale's point, which may be several bytes
            to[0], in_point = b".", True
            to += 1
    return to
