"""Values as cells of columns: a space becomes a no-break space, and nothing becomes _."""


def cell(value):
    """A value as a cell of columns."""
    text = value if isinstance(value, bytes) else value.encode()
    if not text:
        return b"_"
    if text.isalnum():
        return text
    return text.replace(b" ", b"\xc2\xa0").replace(b"\t", b"\xc2\xa0").replace(b"\n", b"\xc2\xa0").replace(b"\r", b"\xc2\xa0")


def joined(rows):
    """Rows of values as lines of columns."""
    return [b"\t".join(map(cell, row)) for row in rows]
