"""Sections in one file: header, table, checksums, deflating (the layout is in model.py's docstring).

Reading: a ModelError without a place; load adds the file's name.
"""

import struct
import zlib

from ..errors import ModelError

MAGIC = b"\x89CRFTRN\n"
VERSIONS = (1, 2)  # of the format; 2 has sections more than those that every model has
MOST = 64  # sections
START, ENTRY, CRC = struct.Struct("<8sII"), struct.Struct("<4sIQQQ"), struct.Struct("<I")
UNPACKED = 8  # bytes that a byte of file may unpack to
DEFLATE_FROM = 1024  # bytes; smaller sections stay as they are
CHUNK = 1 << 16


def require(holds, finding, expectation=""):
    if not holds:
        raise ModelError("", finding, expectation)


def image(contents, *, deflate, version=1):
    """The file in parts, from {tag: content}; as it is if the reader would not unpack that much."""
    stored = [_deflated(content) if deflate else content for content in contents.values()]
    table, offset = START.pack(MAGIC, version, len(contents)), _header_size(len(contents))
    for (tag, content), part in zip(contents.items(), stored, strict=True):
        table += ENTRY.pack(tag, zlib.crc32(part), offset, len(part), len(content))
        offset += len(part)
    if sum(map(len, contents.values())) > UNPACKED * offset:
        return image(contents, deflate=False, version=version)
    return [table + CRC.pack(zlib.crc32(table)), *stored]


def read(file, tags):
    """({tag: content}, size of the file), all lengths and checksums right: the sections `tags`, then in format 2 others."""
    table, size = _table(file, tags)
    end = size
    for tag, _, offset, length, _ in table:
        require(offset == end, f"damaged: section {tag.decode()} at byte {offset}", f"it at {end}")
        end += length
    unpacked = sum(entry[4] for entry in table)
    require(unpacked <= UNPACKED * end, f"damaged: {unpacked} bytes unpacked", f"at most {UNPACKED} times the {end} of the file")
    body = _take(file, end - size + 1)
    require(len(body) >= end - size, f"cut off after {size + len(body)} bytes", f"{end} bytes")
    require(len(body) == end - size, "damaged: bytes after the end", f"{end} bytes")
    body, contents = memoryview(body), {}
    for tag, crc, offset, length, unpacked in table:
        stored = body[offset - size : offset - size + length]
        require(zlib.crc32(stored) == crc, f"damaged: section {tag.decode()} does not match its checksum")
        contents[tag] = stored if length == unpacked else _inflated(tag, stored, unpacked)
    return contents, end


def _table(file, tags):
    """(The table of sections, size of the header)."""
    size = _header_size(len(tags))
    header = _take(file, START.size)
    require(header, "an empty file", "a model")
    require(header.startswith(MAGIC), "not a model", "a file that crftrain learn, CRFsuite, Wapiti or CRF++ wrote")
    require(len(header) == START.size, f"cut off after {len(header)} bytes", f"a header of {size}")
    _, version, count = START.unpack(header)
    require(version in VERSIONS, f"model format {version}", f"{VERSIONS[-1]} or below, those that this crftrain reads")
    more = count - len(tags)
    require(more == 0 or (version == 2 and 0 < more <= MOST - len(tags)), "damaged: unknown sections")
    size = _header_size(count)
    header += _take(file, size - START.size)
    require(len(header) == size, f"cut off after {len(header)} bytes", f"a header of {size}")
    require(CRC.unpack(header[-CRC.size :])[0] == zlib.crc32(header[: -CRC.size]), "damaged: the header does not match its checksum")
    table = list(ENTRY.iter_unpack(header[START.size : -CRC.size]))
    found = [entry[0] for entry in table]
    others = found[len(tags) :]
    require(tuple(found[: len(tags)]) == tags, "damaged: unknown sections")
    require(others == sorted(set(others) - set(tags)) and all(map(bytes.isalnum, others)), "damaged: odd sections")
    return table, size


def _header_size(n_sections):
    return START.size + ENTRY.size * n_sections + CRC.size


def _deflated(content):
    """The shorter form, if it saves an eighth: less is not worth the time."""
    if len(content) < DEFLATE_FROM:
        return content
    short = zlib.compress(content)
    return short if 8 * len(short) <= 7 * len(content) else content


def _inflated(tag, stored, unpacked):
    engine = zlib.decompressobj()
    try:
        content = engine.decompress(stored, unpacked + 1)
    except zlib.error:
        content = b""
    whole = engine.eof and not engine.unused_data and len(content) == unpacked
    require(whole, f"damaged: section {tag.decode()} does not unpack", f"{unpacked} bytes")
    return content


def _take(file, size):
    """Up to size bytes, in portions, so that memory follows what is there and not what a header claims."""
    parts = []
    while size > 0 and (part := file.read(min(size, CHUNK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
