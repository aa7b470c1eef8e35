"""Colour on a terminal, where it is wanted: NO_COLOR forbids it, FORCE_COLOR demands it, a dumb terminal or a pipe gets none."""

import os
import sys

CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "bold": "1", "dim": "2"}


def wanted(stream=None):
    """Whether to write colour to a stream, standard output if none is given."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    stream = sys.stdout if stream is None else stream
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def painter(on):
    """paint(text, "red", ...) -> the text in that colour, or as it is."""

    def paint(text, *how):
        return f"\x1b[{';'.join(CODES[name] for name in how)}m{text}\x1b[0m" if on and how else text

    return paint
