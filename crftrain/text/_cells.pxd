"""Values as cells of columns, as cells.py has it."""


cdef inline char* put_cell(char* to, const char* p, const char* end) noexcept nogil:
    """Write a text as a cell: a space, and what else no cell holds, becomes a no-break space, and nothing becomes _; its end."""
    if p == end:
        to[0] = b"_"
        return to + 1
    while p < end:
        if p[0] == b" " or p[0] == b"\r":
            to[0], to[1] = 0xC2, 0xA0
            to += 2
        else:
            to[0] = p[0]
            to += 1
        p += 1
    return to
