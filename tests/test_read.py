"""Laws of reading: the same sentences however the bytes arrive, and an error with its place for what is not text."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import threading
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crftrain.errors import DataError
from crftrain.text.read import blocks, check, columns, sentences

COMPRESS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
TEXT = "a DT O\nb NN O\n\nü VB O\n".encode()
SENTENCES = [(1, [b"a DT O", b"b NN O"]), (4, ["ü VB O".encode()])]


class Dribble(io.RawIOBase):
    """A pipe that gives at most so many bytes at a time."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.turn = data, sizes, 0

    def read1(self, size=-1):
        give = min(self.sizes[self.turn % len(self.sizes)], len(self.data) if size < 0 else size)
        self.turn += 1
        out, self.data = self.data[:give], self.data[give:]
        return out


class Stdin:
    def __init__(self, buffer):
        self.buffer = buffer


def read_stdin(buffer, **options):
    before, sys.stdin = sys.stdin, Stdin(buffer)
    try:
        return [(s.number, s.lines) for s in sentences("-", **options)]
    finally:
        sys.stdin = before


def read(data, **options):
    return read_stdin(io.BytesIO(data), **options)


def error(data, **options):
    with pytest.raises(DataError) as caught:
        read(data, **options)
    return str(caught.value)


def twin(text):
    """What reading means, on a whole text: (line number, lines) of each sentence."""
    out, run = [], []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n") + [""], 1):
        line = line.rstrip("\r").encode()
        if line.strip():
            run.append(line)
        elif run:
            out.append((number - len(run), run))
            run = []
    return out


LINES = st.lists(st.text(alphabet="ab O\t\r\n\n\v\f\u3000\xa0é漢😀\x85\u2028", max_size=12), max_size=12).map("\n".join)


@given(text=LINES, sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4), kind=st.sampled_from(sorted(COMPRESS)), bom=st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_same_sentences_however_the_bytes_arrive(text, sizes, kind, bom):
    text = "\ufeff" + text if bom else text
    assert read_stdin(Dribble(COMPRESS[kind](text.encode()), sizes)) == twin(text)


@given(text=LINES, encoding=st.sampled_from(["utf-16", "utf-16-le", "utf-32", "utf-7", "gb18030", "utf_8_sig"]), size=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_any_encoding_gives_the_same_sentences(text, encoding, size):
    assert read_stdin(Dribble(text.encode(encoding), [size]), encoding=encoding) == twin(text)


def test_latin_1():
    assert read("café O\n".encode("latin-1"), encoding="latin-1") == [(1, ["café O".encode()])]


@pytest.mark.parametrize("kind", sorted(COMPRESS))
@pytest.mark.parametrize("name", ["data", "data.gz", "data.txt"])
def test_compression_is_told_by_content_not_by_name(tmp_path, kind, name):
    (tmp_path / name).write_bytes(COMPRESS[kind](TEXT))
    got = list(sentences(tmp_path / name))
    assert [(s.number, s.lines) for s in got] == SENTENCES
    assert got[1].place() == f"{tmp_path / name}:4" and got[0].place(1) == f"{tmp_path / name}:2"


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_archives_may_follow_each_other_and_be_padded(kind):
    pack = COMPRESS[kind]
    assert read(pack(TEXT[:20]) + pack(TEXT[20:]) + b"\0" * 12) == SENTENCES
    assert read(pack(b"")) == []


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_a_truncated_archive_is_an_error(tmp_path, kind):
    packed = COMPRESS[kind](TEXT * 50)
    path = tmp_path / "data"
    for end in range(11, len(packed), 7):
        path.write_bytes(packed[:end])
        with pytest.raises(DataError) as caught:
            list(sentences(path))
        assert str(caught.value) == f"{path}: truncated {kind} data, expected a whole archive"


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_a_damaged_archive_is_an_error(kind):
    packed = bytearray(COMPRESS[kind](TEXT * 50))
    packed[len(packed) // 2] ^= 0xFF
    assert re.match(rf"<stdin>: (damaged|truncated) {kind} data", error(bytes(packed)))
    assert re.match(rf"<stdin>: damaged {kind} data", error(COMPRESS[kind](TEXT) + b"garbage after the end"))


def test_words_that_look_like_the_beginning_of_an_archive():
    assert read(b"BZh9 O\nBZ O\n") == [(1, [b"BZh9 O", b"BZ O"])]
    assert read(b"B") == [(1, [b"B"])]


def test_a_dense_archive_is_never_unpacked_whole(tmp_path):
    path = tmp_path / "dense.xz"
    path.write_bytes(lzma.compress(b"word O\n\n" * 4_000_000, preset=0))
    tracemalloc.start()
    stream = sentences(path)
    assert next(stream).lines == [b"word O"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_memory_does_not_grow_with_the_file():
    class Endless(io.RawIOBase):
        left = 160

        def read1(self, size):
            self.left -= 1
            return b"word tag O\n" * 5000 + b"\n" if self.left else b""

    before, sys.stdin = sys.stdin, Stdin(Endless())
    tracemalloc.start()
    try:
        n = sum(len(sentence.lines) for sentence in sentences("-"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        sys.stdin = before
    assert n == 159 * 5000 and peak < 4e6


@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_a_sentence_is_handed_on_when_its_blank_line_has_arrived(tmp_path, kind):
    """The writer sends the second sentence only when it has seen the first one come out."""
    out, into = os.pipe()
    seen = threading.Event()
    pack = gzip.GzipFile(fileobj=os.fdopen(into, "wb", buffering=0), mode="wb") if kind == "gzip" else os.fdopen(into, "wb", buffering=0)

    def write():
        pack.write(b"a O\n\n")
        pack.flush()
        assert seen.wait(20)
        pack.write(b"b O\n")
        pack.close()
        if kind == "gzip":
            pack_file.close()

    pack_file = pack.fileobj if kind == "gzip" else None
    writer = threading.Thread(target=write)
    writer.start()
    before, sys.stdin = sys.stdin, Stdin(os.fdopen(out, "rb"))
    try:
        stream = sentences("-")
        assert next(stream).lines == [b"a O"]
        seen.set()
        assert [s.lines for s in stream] == [[b"b O"]]
    finally:
        seen.set()
        sys.stdin.buffer.close()
        sys.stdin = before
        writer.join()


def test_standard_input_is_left_open():
    buffer = io.BytesIO(TEXT)
    assert read_stdin(buffer) == SENTENCES and not buffer.closed


# ---- what is not text


def test_invalid_utf_8_has_its_line_and_the_sentences_before_it_come_first():
    data = b"a O\n\nb O\nc\xe9 O\n"
    assert error(data) == "<stdin>:4: byte 0xe9 is not utf-8, expected text in utf-8 (--encoding names another)"
    before, sys.stdin = sys.stdin, Stdin(io.BytesIO(data))
    try:
        stream = sentences("-")
        assert next(stream).lines == [b"a O"]
        with pytest.raises(DataError):
            next(stream)
    finally:
        sys.stdin = before


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("bad", "line"), [(b"\xff", 3), (b"\xe6\xbc", 3), (b"\xc0\x80", 3), (b"\xed\xa0\x80", 3), (b"\0", 3), (b"\n\n\0", 5)]
)
def test_the_line_is_right_however_the_bytes_arrive(size, bad, line):
    with pytest.raises(DataError) as caught:
        read_stdin(Dribble(b"a O\n\n" + bad + b" O\n", [size]))
    assert caught.value.place == f"<stdin>:{line}"


def test_text_that_ends_inside_a_character():
    assert error(b"a O\n\n\xe6\xbc").startswith("<stdin>:3: byte 0xe6 is not utf-8")


def test_nul_byte():
    assert error(b"a O\nb\0 O\n") == "<stdin>:2: NUL byte, expected text in utf-8 (--encoding names another)"
    assert error("a O\n".encode("utf-16-le")).startswith("<stdin>:1: NUL byte")


def test_wrong_encoding():
    assert error("a O\n漢 O\n".encode(), encoding="ascii").startswith("<stdin>:2: byte 0xe6 is not ascii, expected text in ascii")
    assert error(b"a O\n\x81\x20 O\n", encoding="shift_jis").startswith("<stdin>:2: byte 0x81 is not shift_jis")


@pytest.mark.parametrize("name", ["nonsense", "rot13", "base64", "zlib_codec", "hex", "", "utf\0"])
def test_unknown_encoding(name):
    assert error(b"a O\n", encoding=name) == f"unknown encoding {name!r}, expected a text encoding that Python knows, as utf-8 or latin-1"


# ---- files that cannot be read


def test_missing_file(tmp_path):
    with pytest.raises(DataError) as caught:
        list(sentences(tmp_path / "none.txt"))
    assert str(caught.value) == f"{tmp_path / 'none.txt'}: cannot be read: No such file or directory"


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_file_whose_closing_fails_was_read_all_the_same(tmp_path, monkeypatch):
    class Sour(io.FileIO):
        def close(self):
            super().close()
            raise OSError(5, "Input/output error")

    (tmp_path / "train.txt").write_bytes(1000 * (TEXT + b"\n"))
    opened = open
    monkeypatch.setattr("builtins.open", lambda path, *how: io.BufferedReader(Sour(path)) if path == "train.txt" else opened(path, *how))
    monkeypatch.chdir(tmp_path)
    assert len(list(sentences("train.txt"))) == 2000
    begun = sentences("train.txt")
    next(begun)
    begun.close()
    del begun


def test_directory(tmp_path):
    with pytest.raises(DataError) as caught:
        list(sentences(tmp_path))
    assert str(caught.value).startswith(f"{tmp_path}: cannot be read: ")


def test_closed_or_missing_standard_input():
    for buffer in (None, io.BytesIO()):
        if buffer:
            buffer.close()
        with pytest.raises(DataError) as caught:
            read_stdin(buffer)
        assert caught.value.place == "<stdin>"


# ---- lines


def test_only_spaces_and_tabs_part_columns():
    line = " a\u3000b \t c\xa0d\x0be ".encode()
    assert columns(line) == ["a\u3000b".encode(), "c\xa0d\x0be".encode()]


def test_a_line_of_only_white_space_is_a_boundary():
    """CRFsuite takes a line of one space for a token."""
    for blank in (b"", b" ", b"\t", b" \t ", b"\r"):
        assert read(b"a O\n" + blank + b"\nb O\n") == [(1, [b"a O"]), (3, [b"b O"])]


def test_the_last_line_may_lack_its_end():
    """CRFsuite reads on for ever, and takes more and more memory."""
    assert read(b"a O\nb O") == read(b"a O\nb O\n") == read(b"a O\nb O\n\n") == [(1, [b"a O", b"b O"])]


def test_crlf_and_byte_order_mark_change_nothing():
    """CRFsuite makes one sequence of 200 and a label of the carriage return; CRF++ sees columns that are not there."""
    plain = b"a O\nb O\n\nc O\n"
    for other in (plain.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + plain, b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")[:-2]):
        assert read(other) == read(plain)


def test_long_lines():
    """CRF++ stops reading at a line of 8,192 bytes, without a word."""
    long = b"x" * 3_000_000
    assert read(b"a O\n" + long + b" O\nb O\n\nc O\n") == [(1, [b"a O", long + b" O", b"b O"]), (5, [b"c O"])]


def test_every_sentence_is_counted_once():
    """CRFsuite counts one too many."""
    assert len(read(b"a O\n\n" * 200)) == len(read(b"a O\n\n" * 199 + b"a O")) == 200


def test_blocks_are_the_sentences_as_they_arrive(tmp_path):
    path = tmp_path / "t"
    text = b"\xef\xbb\xbfa b\n\nc d\n" + b"x y\n" * 100_000 + b"\nlast z"
    path.write_bytes(text)
    found = list(blocks(str(path)))
    assert [one.lines for block in found for one in block] == [one.lines for one in sentences(str(path))]
    assert found[0][0].lines == [b"a b"]
    unchecked = list(blocks(str(path), checked=False))
    assert [[one.lines for one in block] for block in unchecked] == [[one.lines for one in block] for block in found]
    path.write_bytes(b"a b\n\nc \xff\n")
    (bad,) = [one for block in blocks(str(path), checked=False) for one in block][1:]
    assert bad.lines == [b"c \xff"]
    with pytest.raises(DataError, match="t:3: byte 0xff is not utf-8"):
        check(bad)


@pytest.mark.parametrize("text", [b"", b"\xef", b"\xef\xbb\xbf", b"\xef\xbb\xbfa", b"a"])
def test_a_mark_at_the_beginning_is_no_text(tmp_path, text):
    (tmp_path / "t").write_bytes(text)
    found = [one.lines for block in blocks(str(tmp_path / "t"), checked=False) for one in block]
    assert found == ([[text.removeprefix(b"\xef\xbb\xbf")]] if text.removeprefix(b"\xef\xbb\xbf") else [])
