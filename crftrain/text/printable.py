"""Pieces of data for a terminal, which must not obey them."""


def printable(text, most=None):
    """Text or bytes with what cannot be seen, or would move the cursor, as its code point; cut to `most` characters."""
    text = text.decode(errors="backslashreplace") if isinstance(text, bytes) else text
    if not text.isprintable():
        text = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
