"""A part of a file that somebody reads alone: the sentences whose beginning lies between two cuts, which may be at any byte.

    b(c)     where the first blank line ends that begins at c or behind it; b(0) = 0
    piece    the bytes b(start) .. b(stop) - 1

b never falls, and no sentence goes on beyond a blank line: pieces that follow one another have each sentence once and in order,
wherever the cuts are. Where each line is a sentence every line end will do.
"""

import io
import os
from dataclasses import dataclass, replace

BLOCK = 1 << 16


@dataclass(frozen=True)
class Piece:
    """Takes the place of a path where something is read."""

    path: str
    start: int
    stop: int | None  # None: the end of the file
    blank: bool = True  # sentences end with blank lines; else each line is one
    line: int = 1  # what its first line is called, which takes counting: numbered()
    data: bytes | None = None  # its bytes, where they came with it

    def __fspath__(self):
        return self.path

    def opened(self):
        """Its bytes as a binary file."""
        if self.data is not None:
            return io.BytesIO(self.data)
        file = open(self.path, "rb")  # noqa: SIM115
        begin, end = self._ends(file)
        file.seek(begin)
        return io.BufferedReader(_Span(file, max(0, end - begin)))

    def _ends(self, file):
        begin = self._boundary(file, self.start)
        return begin, os.fstat(file.fileno()).st_size if self.stop is None else self._boundary(file, self.stop)

    def _boundary(self, file, cut):
        """b(cut)."""
        if cut == 0:
            return 0
        file.seek(cut - 1)
        there = _pass_line(file) is not None
        while there and self.blank:
            blank = _pass_line(file)
            there = blank is False
        return file.tell()

    def numbered(self):
        """The same knowing what its first line is called; what came with its bytes does."""
        if self.data is not None:
            return self
        with open(self.path, "rb") as file:
            left, _ = self._ends(file)
            file.seek(0)
            line = 1
            while left and (block := file.read(min(left, BLOCK))):
                line, left = line + block.count(b"\n"), left - len(block)
        return replace(self, line=line)


def _pass_line(file):
    """Whether the line that begins here is blank; None where there is none."""
    blank, at = None, file.tell()
    while part := file.readline(BLOCK):
        blank = blank is not False and part.isspace()
        if part.endswith(b"\n"):
            break
    return None if file.tell() == at else blank


class _Span(io.RawIOBase):
    """The next bytes of a file, so many at most."""

    def __init__(self, file, left):
        self._file, self._left = file, left

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._file.read1(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self):
        self._file.close()
        super().close()


def shipped(pieces):
    """Pieces that follow one another with their bytes, so that whoever reads them needs no files."""
    lines = {}
    for piece in pieces:
        with piece.opened() as file:
            data = file.read()
        line = lines.get(piece.path, 1)
        lines[piece.path] = line + data.count(b"\n")
        yield replace(piece, line=line, data=data)


def first_line(path):
    """What the first line is called."""
    return path.line if isinstance(path, Piece) else 1


def is_inside(path):
    """Whether something comes before it in its file."""
    return isinstance(path, Piece) and path.start > 0
