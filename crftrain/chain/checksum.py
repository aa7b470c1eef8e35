"""CRC-32 of arrays that lie in pieces.

    crc(A B) = x^(8 |B|) crc(A) + crc(B)        polynomials over GF(2) modulo that of CRC-32, bits reflected

Reference: combining checksums as zlib's crc32_combine does.
"""

import zlib

import numpy as np

POLYNOMIAL, ONE, X = 0xEDB88320, 1 << 31, 1 << 30


def checksum(array, before=0):
    """Of an array's bytes, behind those of the checksum `before`."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, before)


def combined(first, second, n_bytes):
    """The checksum of both, where the second is of n_bytes."""
    return _product(_power(8 * n_bytes), first) ^ second


def _product(a, b):
    p = 0
    for k in reversed(range(32)):
        if a >> k & 1:
            p ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return p


def _power(n):
    """x^n."""
    p, square = ONE, X
    while n:
        if n & 1:
            p = _product(square, p)
        square, n = _product(square, square), n >> 1
    return p
