"""Text -> sentences, streaming: bytes of any kind in, lines of UTF-8 out.

    file | stdin -> plain, gz, bz2 or xz -> decoded -> whole lines -> sentences

A sentence is a run of lines with something on them; a line of only white space, or the end of the file, ends it. It is handed on as
soon as the line that ends it has arrived: every read takes what is there (read1) and waits for no more. Memory holds
one block and one sentence, whatever the length of the file. What cannot be text is a DataError with file and line, raised only when the
sentences before it have been handed on.
"""

import codecs
import contextlib
import io
import os
import re
import sys
import zlib
from importlib import import_module
from itertools import islice

from ..errors import DataError
from ._formats import whole
from ._strings import line_ends
from .binary import kind
from .pieces import Piece, first_line, is_inside

BLOCK = 1 << 17  # bytes asked for at a time
LINE, SEQUENCE = 1 << 26, 1 << 22  # bytes of a line and lines of a sentence, at most
TOGETHER = 1000  # sentences at most that are handed on together

GZIP = ("gzip", lambda: zlib.decompressobj(wbits=31))
BZIP2 = ("bzip2", lambda: import_module("bz2").BZ2Decompressor())
XZ = ("xz", lambda: import_module("lzma").LZMADecompressor())
# The second line is an empty bzip2 stream; a bare "BZh9" may be a word.
MAGIC = {b"\x1f\x8b": GZIP, b"\xfd7zXZ\0": XZ, **{b"BZh%d1AY&SY" % level: BZIP2 for level in range(1, 10)}}
MAGIC |= {b"BZh%d\x17rE8P\x90" % level: BZIP2 for level in range(1, 10)}


class Sentence:
    """The lines of one sequence, without line ends, and where they stand."""

    __slots__ = ("lines", "source", "number")

    def __init__(self, lines, source, number):
        self.lines = lines  # list[bytes], UTF-8
        self.source = source
        self.number = number  # of the first line, from 1

    def place(self, i=0):
        """FILE:LINE of the i-th line."""
        return f"{self.source}:{self.number + i}"


def columns(line):
    """The columns of a line: runs of spaces and tabs part them, other white space does not."""
    return [cell for cell in line.replace(b"\t", b" ").split(b" ") if cell]


def source_name(path):
    """How messages call a path."""
    return "<stdin>" if path == "-" else os.fspath(path)


def source_names(paths):
    """The same for several."""
    return ", ".join(map(source_name, paths))


def sentences(path, *, encoding="utf-8", form=None):
    """Yield the sentences of a file, of standard input if path is "-"; form: a Form (forms.py) for what is not plain columns."""
    if form is not None:
        yield from form.sentences(path, encoding=encoding)
        return
    for block in blocks(path, encoding=encoding):
        yield from block


def blocks(path, *, encoding="utf-8", checked=True):
    """Yield lists of sentences, each all that have arrived by then; unchecked, bytes that are not UTF-8 are handed on as they are."""
    for run in runs(path, encoding=encoding, checked=checked):
        found = run.sentences()
        while some := list(islice(found, TOGETHER)):
            yield some


def runs(path, *, encoding="utf-8", checked=True):
    """The same as Runs: the bytes of all the sentences that have arrived whole."""
    source = source_name(path)
    with open_input(path) as file:
        text = decoded(file, path, encoding) if checked or not is_utf8(encoding) else _unmarked(_chunks(file, source))
        yield from _runs(text, source, first_line(path))


class Run:
    """The lines of whole sentences, and where they stand."""

    __slots__ = ("text", "source", "number")

    def __init__(self, text, source, number):
        self.text, self.source, self.number = text, source, number

    def sentences(self):
        """Yield them."""
        lines, text = [], self.text
        if b"\r" in text:
            text = re.sub(rb"\r+(?=\n|\Z)", b"", text)
        for number, line in enumerate(text.split(b"\n"), self.number):
            if line and not line.isspace():
                lines.append(line)
            elif lines:
                yield Sentence(lines, self.source, number - len(lines))
                lines = []
        if lines:
            yield Sentence(lines, self.source, self.number + text.count(b"\n") + 1 - len(lines))


def _runs(chunks, source, number):
    """Runs of what has arrived up to the last blank line; `number` is that of the first line that is kept."""
    kept, part = [], []  # whole lines since the last blank one; the pieces of a line
    n_kept = size = 0  # lines that are kept, bytes of the pieces
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        size = len(chunk) - end + 1 if end else size + len(chunk)
        if size > LINE:
            raise DataError(f"{source}:{number + n_kept + chunk.count(10)}", f"a line of more than {LINE:,} bytes", "shorter ones")
        if not end:
            part.append(chunk)
            continue
        text = b"".join([*part, chunk[:end]])
        part, cut = [chunk[end:]], _last_blank(text)
        if cut:
            run = Run(b"".join([*kept, text[:cut]]), source, number)
            number += line_ends(run.text)
            kept, n_kept = [], 0
            yield run
        if cut < len(text):
            kept.append(text[cut:])
            n_kept += line_ends(kept[-1])
        if n_kept > SEQUENCE:
            raise DataError(f"{source}:{number}", f"a sentence of more than {SEQUENCE:,} lines", "blank lines between sentences")
    rest = b"".join([*kept, *part])
    if rest:
        yield Run(rest, source, number)


def _last_blank(text):
    """Where the last line of whole ones that is blank ends; 0: none is."""
    end = len(text)
    while end:
        start = text.rfind(b"\n", 0, end - 1) + 1
        if text[start:end].isspace():
            return end
        end = start
    return 0


def decoded_lines(path, encoding="utf-8"):
    """Lists of lines of a file as they arrive."""
    return (text.split(b"\n") for text in decoded_text(path, encoding))


def decoded_text(path, encoding="utf-8"):
    """The same as bytes, a line end between the lines of a list."""
    with open_input(path) as file:
        yield from _whole_text(decoded(file, path, encoding), source_name(path), first_line(path))


def is_utf8(encoding):
    return _decoder(encoding)[0] == "utf-8"


def check(sentence):
    """A DataError for the first line that is not UTF-8."""
    for i, line in enumerate(sentence.lines):
        fault = "NUL byte" if b"\0" in line else None
        try:
            line.decode()
        except UnicodeDecodeError as error:
            fault = _finding(error, "utf-8")
        if fault:
            raise DataError(sentence.place(i), kind(sentence.source) or fault, "text in utf-8 (--encoding names another)")


def open_input(path):
    """A binary file whose read1 gives the text, decompressed; closing it leaves standard input open."""
    source = source_name(path)
    try:
        file = sys.stdin.buffer if path == "-" else path.opened() if isinstance(path, Piece) else open(path, "rb")  # noqa: SIM115
        head = b"" if is_inside(path) else _peek(file)
    except (OSError, ValueError, AttributeError) as error:  # a closed or missing standard input is one of the last two
        raise DataError(source, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    archive = next((archive for magic, archive in MAGIC.items() if head.startswith(magic)), None)
    raw = _Plain(file, head, path != "-") if archive is None else _Archive(file, head, path != "-", *archive)
    return io.BufferedReader(raw, BLOCK)


def is_packed(path):
    """Whether a file is compressed."""
    with open_input(path) as file:
        return isinstance(file.raw, _Archive)


def _peek(file):
    """The first bytes, just as many as it takes to know whether they are a magic number."""
    head = b""
    while any(len(head) < len(magic) and magic.startswith(head) for magic in MAGIC):
        more = file.read1(1)
        if not more:
            break
        head += more
    return head


class _Plain(io.RawIOBase):
    """A file with the bytes that were peeked at put back."""

    def __init__(self, file, head, ours):
        self._file, self._head, self._ours = file, head, ours

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _take(self, size):
        head, self._head = self._head[:size], self._head[size:]
        return head or self._file.read1(size)

    def close(self):
        if self._ours:
            with contextlib.suppress(OSError):  # all that was wanted of it has been read
                self._file.close()
        super().close()


class _Archive(_Plain):
    """The text of one or more compressed streams, decompressed; never more at a time than is asked for, however dense they are."""

    def __init__(self, file, head, ours, name, new):
        super().__init__(file, head, ours)
        self._name, self._new, self._stream, self._rest = name, new, new(), b""

    def readinto(self, buffer):
        while True:
            if self._stream.eof and not self._next_stream():
                return 0
            text = self._decompress(len(buffer))
            if text:
                buffer[: len(text)] = text
                return len(text)
            if not self._rest and not self._stream.eof:
                self._rest = self._take(BLOCK)
                if not self._rest:
                    raise _Damaged(f"truncated {self._name} data")

    def _decompress(self, size):
        try:
            text = self._stream.decompress(self._rest, size)
        except (zlib.error, import_module("lzma").LZMAError, OSError) as error:
            raise _Damaged(f"damaged {self._name} data ({error})") from None
        self._rest = getattr(self._stream, "unconsumed_tail", b"")  # bz2 and lzma keep what they have not used
        return text

    def _next_stream(self):
        """Whether there is one: streams may follow each other, with zero bytes between and after them."""
        rest = self._stream.unused_data.lstrip(b"\0")
        while not rest:
            more = self._take(BLOCK)
            if not more:
                return False
            rest = more.lstrip(b"\0")
        self._stream, self._rest = self._new(), rest
        return True


class _Damaged(OSError):
    """Compressed data that is not whole."""


def _chunks(file, source):
    """Blocks of bytes as they arrive."""
    while True:
        try:
            chunk = file.read1(BLOCK)
        except _Damaged as error:
            raise DataError(source, str(error), "a whole archive") from None
        except OSError as error:
            raise DataError(source, f"cannot be read: {error.strerror or error}") from None
        if not chunk:
            return
        yield chunk


def _decoder(encoding):
    """(normal name, incremental decoder) of a codec that makes text of bytes."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True) or codec.incrementaldecoder is None:
        raise DataError("", f"unknown encoding {encoding!r}", "a text encoding that Python knows, as utf-8 or latin-1")
    return codec.name, codec.incrementaldecoder()


def decoded(file, path, encoding):
    """Blocks of its text in UTF-8, without a byte-order mark; what is not text is an error with its line."""
    name, decoder = _decoder(encoding)
    source, expectation = source_name(path), f"text in {name} (--encoding names another)"
    n_lines, start = first_line(path) - 1, not is_inside(path)
    for chunk in _and_end(_chunks(file, source)):
        state, fault = decoder.getstate(), None
        try:
            data = _checked(decoder, state[0], chunk) if name == "utf-8" else decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError as error:
            decoder.setstate(state)
            data, fault = _before_fault(decoder, chunk, error), _finding(error, name)
        nul = data.find(0)
        if nul >= 0:
            data, fault = data[:nul], "NUL byte"
        if start and data:
            data, start = data.removeprefix(codecs.BOM_UTF8), False
        if fault is None:
            n_lines += line_ends(data)
            yield data
        else:
            yield data[: data.rfind(b"\n") + 1]
            raise DataError(f"{source}:{n_lines + data.count(10) + 1}", kind(source) or fault, expectation)


def _checked(decoder, held, chunk):
    """The whole characters of UTF-8, which are not decoded to know what they are; what is left waits in the decoder."""
    text = held + chunk
    end = whole(text)
    if end < 0 or (end < len(text) and not chunk):
        return decoder.decode(chunk, final=not chunk).encode()  # an error that knows its place
    decoder.setstate((text[end:], 0))
    return text[:end]


def _unmarked(chunks):
    """The same bytes without a byte-order mark at their beginning."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(codecs.BOM_UTF8) or b"\n" in head:
            yield head.removeprefix(codecs.BOM_UTF8)
            break
    else:
        yield head.removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _and_end(chunks):
    """The chunks and then an empty one, which tells a decoder that nothing follows."""
    yield from chunks
    yield b""


def _before_fault(decoder, chunk, error):
    """The text of a chunk up to the bytes that the decoder refused."""
    if not isinstance(error, UnicodeDecodeError):
        return b""
    good = error.start - (len(error.object) - len(chunk))  # the decoder may have held bytes of the chunk before
    try:
        return decoder.decode(chunk[: max(good, 0)]).encode()
    except UnicodeError:
        return b""


def _finding(error, name):
    if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
        return f"byte 0x{error.object[error.start]:02x} is not {name}"
    return f"not {name}: {getattr(error, 'reason', error)}"


def _whole_text(chunks, source, number):
    """Whole lines, line ends between them alone; each text is all that has arrived up to the last line end."""
    tail, size = [], 0  # the pieces of a line that has not ended, which is line `number`, and how long it is by now
    for chunk in chunks:
        end = chunk.rfind(b"\n")
        size = size + len(chunk) if end < 0 else len(chunk) - end
        if size > LINE:
            raise DataError(f"{source}:{number + max(0, chunk.count(10))}", f"a line of more than {LINE:,} bytes", "shorter ones")
        number += line_ends(chunk)
        if end < 0:
            tail.append(chunk)
            continue
        tail.append(chunk[:end])
        block = b"".join(tail)
        tail = [chunk[end + 1 :]]
        if b"\r" in block:
            block = re.sub(rb"\r+(?=\n|\Z)", b"", block)
        yield block
    rest = b"".join(tail).rstrip(b"\r")
    if rest:
        yield rest
