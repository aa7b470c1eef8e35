"""Standard output and standard error as the commands use them.

Results: every byte of them arrives, or an error says why. What the system takes in parts, or not at once, is waited for. A reader
that goes away ends the command and is no error. Messages: whoever stops reading them, or a full disk, changes nothing.
"""

import contextlib
import errno
import io
import os
import select
import sys


class ClosedPipe(Exception):
    """Whoever read our results has had enough; no OSError, which click would turn into a status of its own."""


class _Whole(io.RawIOBase):
    """Bytes to an unbuffered file, all of them."""

    def __init__(self, file):
        super().__init__()
        self._file, self._broken = file, False

    def writable(self):
        return True

    def isatty(self):
        return self._file is not None and self._file.isatty()

    def fileno(self):
        if self._file is None:
            raise io.UnsupportedOperation("fileno")
        return self._file.fileno()

    def write(self, data):
        data = memoryview(data).cast("B")
        try:
            done = len(data) if self._broken else 0  # it was told when it broke
            while done < len(data):
                done += self._write(data[done:])
        except OSError as error:
            self._broken = True
            self._fail(error)
        return len(data)

    def _fail(self, error):
        """What to do when nothing more can be written."""
        raise error

    def _write(self, data):
        if self._file is None:
            raise OSError(errno.EBADF, "it is closed")
        try:
            n = self._file.write(data)
        except BlockingIOError as error:
            n = error.characters_written
        if not n:  # a pipe that is full and must not be waited for: we wait for it all the same
            select.select([], [self._file.fileno()], [])
        return n or 0


class _Results(_Whole):
    def _fail(self, error):
        if error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL):
            raise ClosedPipe from None
        raise OSError(error.errno, error.strerror, "<stdout>") from None


class _Messages(_Whole):
    def _fail(self, error):
        pass


@contextlib.contextmanager
def opened():
    """sys.stdout and sys.stderr made so, for a while."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:  # a file that is opened later must not take the place of a closed one
        pass
    os.close(number)
    before = sys.stdout, sys.stderr
    sys.stdout = _text(sys.stdout, _Results, "surrogateescape" if sys.stdout is None else sys.stdout.errors)
    sys.stderr = _text(sys.stderr, _Messages, "backslashreplace")
    try:
        yield
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _text(stream, kind, errors):
    if stream is not None:
        stream.flush()
    binary = getattr(stream, "buffer", None)
    encoding = "utf-8" if stream is None else stream.encoding
    terminal = stream is not None and stream.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(getattr(binary, "raw", binary))),
        encoding=encoding,
        errors="backslashreplace" if errors == "strict" else errors,
        line_buffering=terminal or kind is _Messages,
    )
