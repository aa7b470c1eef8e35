"""Files dealt to readers: each reads runs of about as many bytes, and what they read one after the other is what the files hold in order.

cut       where a file is plain and a byte tells by itself whether it is a line end: at any byte (pieces.py)
whole     compressed files, encodings of several bytes but UTF-8, pipes, lists of JSON: one unit each, where its middle falls
"""

import os

from ..errors import DataError
from .forms import Each
from .pieces import Piece
from .read import is_packed, is_utf8, source_name

PACKED = 4  # bytes of text in one that is compressed, about


def dealt(paths, n, *, encoding="utf-8", form=None):
    """What each of n readers reads: lists of paths and Pieces."""
    files = [_file(path, encoding, form) for path in paths]
    total, first, hands = sum(weight for weight, _ in files), 0, [[] for _ in range(n)]
    marks = [total * k // n for k in range(n + 1)]
    blank = form is None or not issubclass(form.module.Reader, Each)
    for path, (weight, divisible) in zip(paths, files, strict=True):
        for hand, left, right in zip(hands, marks, marks[1:], strict=False):
            start, stop = max(left - first, 0), min(right - first, weight)
            if divisible and start < stop:
                hand.append(Piece(os.fspath(path), start, None if stop == weight else stop, blank))
            elif not divisible and left <= first + weight // 2 < right:
                hand.append(Piece(os.fspath(path), 0, None, blank))
        first += weight
    return hands


def _file(path, encoding, form):
    """(bytes of text, about and at least 1; whether it can be cut)."""
    if path == "-" or (os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))):
        raise DataError(source_name(path), "no regular file, and only one process could read it", "files")
    packed, size = is_packed(path), os.path.getsize(path)
    return max(1, size * (PACKED if packed else 1)), size > 0 and not packed and _sees_lines(encoding) and not (form and form.is_one(path))


def _sees_lines(encoding):
    """Whether each byte up to 127 is that character wherever it stands, and no other byte is one of them."""
    if is_utf8(encoding):
        return True
    text = bytes(range(256)).decode(encoding, "replace")
    return len(text) == 256 and text[:128].encode("ascii", "replace") == bytes(range(128)) and not any(map(str.isascii, text[128:]))
