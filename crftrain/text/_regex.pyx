"""Wapiti's regular expressions, a small language of its own, matched on characters.

    .        any character                        \\a \\d \\l \\p  letter, digit, small letter, punctuation or symbol,
    c  \\c    the character itself                 \\s \\u \\w     white space, capital, letter or digit; \\A ... \\W: none of these
    e*  e?   e any number of times, as few as will do; e or nothing, e if it will do
    ^  $     first and last in a pattern: the start and the end of the text

The leftmost match counts. With can[i][j] = "the elements from i on match at j", filled from the last element to the first,

    can[i][j] = e_i matches j and can[i+1][j+1]                    a single element
              = can[i+1][j]  or  e_i matches j and can[i][j+1]     e*        (e?: ... and can[i+1][j+1])

the match starts at the first j with can[0][j] and is read off the table, so no pattern takes longer than its length times the text's.
The table has at most LARGEST places.
"""

from libc.stdlib cimport free, malloc

import unicodedata

from ..errors import DataError

CLASSES = "adlpsuw"
LARGEST = 1 << 26     # places of the table, a byte each: 64 MB


cdef class Regex:
    """A compiled pattern; a ValueError says what is expected of one that means nothing."""

    cdef readonly str source
    cdef str letters                # [m] the character, or the class's letter
    cdef bytes kinds                # [m] 'c' character, '.' any, 'k' class, 'n' complement of a class
    cdef bytes counts               # [m] '1', '?' or '*'
    cdef bint at_start, at_end
    cdef bint ascii                 # classes hold ASCII alone, as C's do

    def __init__(self, str source, bint ascii=False):
        self.source, self.ascii = source, ascii
        letters, kinds, counts = [], bytearray(), bytearray()
        self.at_start = source.startswith("^")
        self.at_end = False
        i = int(self.at_start)
        while i < len(source):
            c, kind = source[i], b"c"
            if c in "*?":
                raise ValueError(f"something before {c}, or \\{c}")
            if c == "$" and i + 1 == len(source):
                self.at_end = True
                break
            if c == "\\":
                i += 1
                if i == len(source):
                    raise ValueError("a character after the last \\")
                c = source[i]
                if c.lower() in CLASSES and c.isascii():
                    c, kind = c.lower(), b"k" if c.islower() else b"n"
            elif c == ".":
                kind = b"."
            i += 1
            letters.append(c)
            kinds += kind
            if source[i:i + 1] in ("*", "?"):
                counts += source[i].encode()
                i += 1
            else:
                counts += b"1"
        self.letters, self.kinds, self.counts = "".join(letters), bytes(kinds), bytes(counts)

    def search(self, str text):
        """(start, end) of the leftmost match, or None."""
        cdef Py_ssize_t m = len(self.kinds), n = len(text), i, j, start
        cdef const char* counts = self.counts
        cdef char* can = NULL                                           # [m+1][n+1]
        cdef char* row
        cdef char* after
        if (m + 1) * (n + 1) > LARGEST:
            found = f"a pattern of {m:,} characters on a cell of {n:,}"
            raise DataError("", found, f"no more than {LARGEST:,} for the product of their lengths")
        can = <char*> malloc((m + 1) * (n + 1))
        if can == NULL:
            raise MemoryError
        try:
            after = can + m * (n + 1)
            for j in range(n + 1):
                after[j] = j == n or not self.at_end
            for i in range(m - 1, -1, -1):
                row, after = can + i * (n + 1), can + (i + 1) * (n + 1)
                row[n] = after[n] and counts[i] != b"1"
                for j in range(n - 1, -1, -1):
                    if counts[i] == b"1":
                        row[j] = after[j + 1] and self.matches(i, text[j])
                    elif after[j]:
                        row[j] = True
                    else:
                        row[j] = (row[j + 1] if counts[i] == b"*" else after[j + 1]) and self.matches(i, text[j])
            for start in range(1 if self.at_start else n + 1):
                if can[start]:
                    return start, self.end(can, start, text)
            return None
        finally:
            free(can)

    cdef Py_ssize_t end(self, const char* can, Py_ssize_t j, str text) except -1:
        """Where the match that starts at j ends: * takes as little as it can, ? the character if it can."""
        cdef Py_ssize_t m = len(self.kinds), n = len(text), i = 0
        cdef const char* counts = self.counts
        cdef const char* after
        while i < m:
            after = can + (i + 1) * (n + 1)
            if counts[i] == b"*":
                while not after[j]:
                    j += 1
            elif counts[i] == b"1" or (j < n and after[j + 1] and self.matches(i, text[j])):
                j += 1
            i += 1
        return j

    cdef bint matches(self, Py_ssize_t i, Py_UCS4 c) except -1:
        """Whether element i matches the character."""
        cdef char kind = self.kinds[i]
        if kind == b"c":
            return c == self.letters[i]
        if kind == b".":
            return True
        if not self.ascii:
            return in_class(self.letters[i], c) == (kind == b"k")
        return (c < 128 and not 28 <= c < 32 and in_class(self.letters[i], c)) == (kind == b"k")      # Python has four more spaces


cdef bint in_class(Py_UCS4 letter, Py_UCS4 c) except -1:
    if letter == u"a":
        return c.isalpha()
    if letter == u"d":
        return c.isdecimal()
    if letter == u"l":
        return c.islower()
    if letter == u"s":
        return c.isspace()
    if letter == u"u":
        return c.isupper()
    if letter == u"w":
        return c.isalpha() or c.isdecimal()
    if c < 128:
        return 32 < c < 127 and not c.isalnum()
    return unicodedata.category(c)[0] in "PS"
