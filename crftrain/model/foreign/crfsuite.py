"""CRFsuite's model file. All integers are 32 bits and little-endian, weights are doubles; offsets count from the start of the file.

    header   lCRF, size of the file, FOMC, version 100, 0, labels L, attributes A, offsets of the five parts below          48 bytes
    FEAT     FEAT, size, K, then K features: type (0 attribute and label, 1 label pair), source, label, weight
    labels   CQDB, a table of strings; then one for the attributes
    LFRF     LFRF, size, L + 2, as many offsets, the last two 0; at each offset a count and the features whose source the label is
    AFRF     AFRF, size, A, A offsets; the same for attributes; both parts begin at multiples of 4

    CQDB     CQDB, size, 0, 0x62445371, n, offset of the list, 256 x (offset of a table, its slots)    offsets count from CQDB here
             n strings: number, length, bytes, all with a NUL at the end
             tables: slots of (hash, offset of the string, 0 for a free one); then the list: n offsets of strings by number

A string with hash h (_hashes) is in table h mod 256, at slot (h >> 8) mod slots or the first free one after it, in a circle; a
table has twice as many slots as strings.

What the file cannot hold: templates (whoever tags has to build the same attributes), attributes of label pairs, NUL bytes.
"""

import struct

import numpy as np

from .._container import require
from .assemble import assemble

NAME, MAGIC = "CRFsuite", b"lCRF"
HEADER, CHUNK, CQDB = struct.Struct("<4sI4s9I"), struct.Struct("<4sII"), struct.Struct("<4sIIIII")
VERSION, BYTE_ORDER, TABLES = 100, 0x62445371, 256
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
LIMIT = 1 << 32  # bytes of a file


# ---- writing


def refusals(model):
    """What the file cannot say of the model, as sentences."""
    vocabulary = model.vocabulary
    if vocabulary.template is not None:
        for line in vocabulary.template.bigrams:
            yield f"{vocabulary.template.place(line)}: attributes of label pairs"
    if any(not label or "\0" in label for label in vocabulary.labels):
        yield "a label that is empty or holds a NUL byte"
    if any(not name or b"\0" in name for name in vocabulary.attributes.names()):
        yield "an attribute that is empty or holds a NUL byte"


def remarks(model):
    """What whoever uses the file has to know."""
    if model.vocabulary.template is not None:
        yield "it holds no template: its attributes are those that `crftrain features` writes"


def image(model):
    """The file in parts."""
    layout = model.layout
    n_labels, names = layout.n_labels, model.vocabulary.attributes.names()
    nodes, edges = layout.transitions.start, layout.transition
    features = np.zeros(nodes + len(edges), FEATURE)
    features["weight"] = model.w[: len(features)]
    features["source"][:nodes] = np.repeat(np.arange(len(names)), np.diff(layout.ptr))
    features["label"][:nodes] = layout.node_labels()
    features["type"][nodes:], features["source"][nodes:], features["label"][nodes:] = 1, edges // n_labels, edges % n_labels

    starts = np.searchsorted(edges // n_labels, np.arange(n_labels + 1)) + nodes  # label pairs rise
    labels = [label.encode() for label in model.vocabulary.labels]
    parts = [CHUNK.pack(b"FEAT", CHUNK.size + features.nbytes, len(features)) + features.tobytes(), _strings(labels), _strings(names)]
    offsets, end = [], HEADER.size
    for part in parts:
        offsets.append(end)
        end += len(part)
    for tag, ptr, relics in ((b"LFRF", starts, 2), (b"AFRF", layout.ptr, 0)):
        parts.append(bytes(-end % 4))
        offsets.append(end + len(parts[-1]))
        parts.append(_references(tag, ptr, relics, offsets[-1]))
        end = offsets[-1] + len(parts[-1])
    require(end < LIMIT, f"a file of {end} bytes", f"less than {LIMIT}, as its offsets have 32 bits")
    return [HEADER.pack(MAGIC, end, b"FOMC", VERSION, 0, n_labels, len(names), *offsets), *parts]


def _references(tag, ptr, relics, at):
    """The part with the features of each source: source k has those from ptr[k] to ptr[k+1]; it begins at byte `at` of the file."""
    n, size = len(ptr) - 1, np.diff(ptr)
    word = CHUNK.size // 4 + n + relics + (ptr[:-1] - ptr[0]) + np.arange(n)  # where each record begins
    part = np.zeros(CHUNK.size // 4 + 2 * n + relics + int(size.sum()), "<u4")
    part[3 : 3 + n] = at + 4 * word
    part[word] = size
    part[np.repeat(word + 1 - ptr[:-1], size) + np.arange(ptr[0], ptr[-1])] = np.arange(ptr[0], ptr[-1])
    return CHUNK.pack(tag, part.nbytes, n + relics) + part[3:].tobytes()


def _strings(names):
    """A CQDB of the names."""
    n, first = len(names), CQDB.size + 8 * TABLES
    if n == 0:
        return CQDB.pack(b"CQDB", first, 0, BYTE_ORDER, 0, 0) + bytes(8 * TABLES)
    records = [struct.pack("<II", k, len(name) + 1) + name + b"\0" for k, name in enumerate(names)]
    offset = first + np.concatenate([[0], np.cumsum([len(record) for record in records])])
    hashes = _hashes(names)
    table = hashes % TABLES
    slots = 2 * np.bincount(table, minlength=TABLES)
    start = np.cumsum(slots) - slots  # of each table, in slots
    where = np.where(slots > 0, offset[-1] + 8 * start, 0)
    content = np.zeros((int(slots.sum()), 2), "<u4")
    chosen = start[table] + _slots(table, (hashes >> 8) % np.maximum(slots[table], 1), slots)
    content[chosen, 0], content[chosen, 1] = hashes, offset[:-1]
    listed = int(offset[-1]) + content.nbytes
    require(listed < LIMIT, f"{listed} bytes of strings", f"less than {LIMIT}")
    head = CQDB.pack(b"CQDB", listed + 4 * n, 0, BYTE_ORDER, n, listed)
    heads = np.stack([where, slots], axis=1).astype("<u4")
    return b"".join([head, heads.tobytes(), *records, content.tobytes(), offset[:-1].astype("<u4").tobytes()])


def _slots(table, home, slots):
    """The slot of each string: its home in a table of so many slots, or the first free one after it, in a circle.

    With a table's strings by home, the k-th goes to max(home_k, the one before + 1) = k + max_{j <= k} (home_j - j). To close the
    circle they go round twice: the second time all that the end of the table drove to its beginning are in their places.
    """
    order = np.lexsort((home, table))
    count = (slots // 2)[table[order]]
    rank = np.arange(len(order)) - (np.cumsum(slots // 2) - slots // 2)[table[order]]
    group, turn = table[order] * (8 * len(order)), slots[table[order]]  # a group's numbers are above those of all before it
    place = 2 * (np.arange(len(order)) - rank) + rank
    ahead = np.empty(2 * len(order), np.int64)
    ahead[place], ahead[place + count] = group + home[order] - rank, group + turn + home[order] - rank - count
    ahead = np.maximum.accumulate(ahead)[place + count]
    chosen = np.empty(len(order), np.int64)
    chosen[order] = (ahead - group + rank + count) % turn
    return chosen


def _hashes(names):
    """int64: Bob Jenkins' lookup3 of each name and its NUL, the public-domain `hashlittle` with seed 0, all names side by side."""
    length = np.fromiter(map(len, names), np.int64, len(names)) + 1
    n_blocks = -(-length // 12)
    first = np.cumsum(n_blocks) - n_blocks
    text = np.zeros(12 * int(n_blocks.sum()), np.uint8)
    source = np.frombuffer(b"\0".join(names) + b"\0", np.uint8)
    text[np.repeat(12 * first - (np.cumsum(length) - length), length) + np.arange(len(source))] = source
    words = text.view("<u4").reshape(-1, 3)
    a, b, c = (np.full(len(names), 0xDEADBEEF, np.uint32) + length.astype(np.uint32) for _ in range(3))
    hashes, live = np.empty(len(names), np.int64), np.arange(len(names))
    for k in range(int(n_blocks.max(initial=0))):
        block = words[first[live] + k]
        a, b, c = a + block[:, 0], b + block[:, 1], c + block[:, 2]
        last = n_blocks[live] == k + 1
        hashes[live[last]] = _final(a[last], b[last], c[last])
        live = live[~last]
        a, b, c = _mix(a[~last], b[~last], c[~last])
    return hashes


def _rotated(x, k):
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))


def _mix(a, b, c):
    for k in (4, 6, 8, 16, 19, 4):
        a, b, c = b, c + b, (a - c) ^ _rotated(c, k)
    return a, b, c


def _final(a, b, c):
    for k in (14, 11, 25, 16, 4, 14, 24):
        a, b, c = b, (c ^ b) - _rotated(b, k), a
    return b


# ---- reading


def read(data):
    """The Model in the bytes of a file."""
    file = _File(data)
    n_labels, n_attributes, features, labels, attributes, label_references, attribute_references = file.header()
    features = file.features(features)
    labels, attributes = file.strings(labels, n_labels, "labels"), file.strings(attributes, n_attributes, "attributes")
    source, used = file.references(attribute_references, b"AFRF", n_attributes, len(features))
    nodes = _checked(features[used], 0, source, n_labels)
    source, used = file.references(label_references, b"LFRF", n_labels, len(features))
    edges = _checked(features[used], 1, source, n_labels)
    pair = edges["source"].astype(np.int64) * n_labels + edges["label"]
    require(len(np.unique(pair)) == len(pair), "damaged: a label pair twice")
    none = np.empty(0, np.int64)
    facts = {"kind": f"{NAME} model", "attributes": n_attributes}
    return assemble(
        labels,
        (attributes, nodes["source"], nodes["label"], nodes["weight"]),
        (pair, edges["weight"]),
        ([], none, none, none),
        facts=facts,
        size=len(data),
    )


def _checked(features, type_, source, n_labels):
    holds = (features["type"] == type_) & (features["source"] == source) & (features["label"] < n_labels)
    require(holds.all(), "damaged: a feature that is not what refers to it")
    return features


class _File:
    """Takes the parts out of the bytes of a file; every offset, count and length is held against what there is."""

    def __init__(self, data):
        self.data = data
        self.bytes = np.frombuffer(data, np.uint8)

    def header(self):
        """(L, A, offsets of the five parts)."""
        require(len(self.data) >= HEADER.size, f"cut off after {len(self.data)} bytes", f"a header of {HEADER.size}")
        _, size, kind, version, _, *rest = HEADER.unpack_from(self.data)
        require(kind == b"FOMC" and version == VERSION, f"type {kind!r} and version {version}", f"FOMC and {VERSION}")
        require(len(self.data) >= size, f"cut off after {len(self.data)} bytes", f"{size}")
        require(len(self.data) == size, "damaged: bytes after the end", f"{size} bytes")
        return rest

    def chunk(self, at, tag, head):
        """(fields after the size, size) of a part with its tag and its size."""
        require(at + head.size <= len(self.data), f"damaged: part {tag.decode()} at byte {at}", f"it within {len(self.data)} bytes")
        found, size, *fields = head.unpack_from(self.data, at)
        fits = found == tag and head.size <= size <= len(self.data) - at
        require(fits, f"damaged: part {tag.decode()} at byte {at}", "its tag, and a size within the file")
        return fields, size

    def features(self, at):
        (count,), size = self.chunk(at, b"FEAT", CHUNK)
        require(count * FEATURE.itemsize <= size - CHUNK.size, f"damaged: {count} features in {size} bytes")
        return np.frombuffer(self.data, FEATURE, count, at + CHUNK.size)

    def references(self, at, tag, n, n_features):
        """(source, feature) for each feature that one of n sources refers to."""
        (count,), size = self.chunk(at, tag, CHUNK)
        require(n <= count <= (size - CHUNK.size) // 4, f"damaged: {count} offsets in part {tag.decode()}", f"{n} or more")
        record = self.words(at + CHUNK.size + 4 * np.arange(n), tag)
        there = np.flatnonzero(record)
        length = np.zeros(n, np.int64)
        length[there] = self.words(record[there], tag)
        require(length.sum() <= n_features, f"damaged: {length.sum()} features in part {tag.decode()}", f"at most {n_features}")
        first = np.cumsum(length) - length
        within = np.arange(int(length.sum())) - np.repeat(first, length)
        feature = self.words(np.repeat(record + 4, length) + 4 * within, tag)
        holds = len(feature) == 0 or (feature.max() < n_features and np.bincount(feature).max() == 1)
        require(holds, f"damaged: part {tag.decode()}", "features that are there, each once")
        return np.repeat(np.arange(n), length), feature

    def strings(self, at, n, what):
        """The n names in a CQDB, as bytes."""
        (_, order, count, listed), size = self.chunk(at, b"CQDB", CQDB)
        require(order == BYTE_ORDER, "damaged: the byte order of CQDB")
        require(count == n, f"damaged: {count} {what}", f"{n} as the header says")
        if n == 0:
            return []
        require(listed + 4 * n <= size, f"damaged: the list of {what}", f"it within {size} bytes")
        start = self.words(at + listed + 4 * np.arange(n), b"CQDB") + at
        number, length = self.words(start, b"CQDB"), self.words(start + 4, b"CQDB")
        holds = (number == np.arange(n)).all() and (length > 0).all() and length.sum() <= size
        require(holds and (start + 8 + length <= at + size).all(), f"damaged: the {what}", "strings within their part")
        require(not self.bytes[start + 7 + length].any(), f"damaged: the {what}", "strings that end with a NUL byte")
        ends = (start + 7 + length).tolist()
        names = [self.data[first:end] for first, end in zip((start + 8).tolist(), ends, strict=True)]
        require(not any(b"\0" in name for name in names), f"damaged: the {what}", "strings without NUL bytes")
        return names

    def words(self, at, tag):
        """int64: the 32-bit numbers at these bytes of the file."""
        at = np.asarray(at, np.int64)
        holds = len(at) == 0 or (at.min() >= 0 and at.max() + 4 <= len(self.data))
        require(holds, f"damaged: part {tag.decode()}", f"offsets within {len(self.data)} bytes")
        parts = (self.bytes[at + k].astype(np.int64) << 8 * k for k in range(4))
        return sum(parts, np.zeros(len(at), np.int64))
