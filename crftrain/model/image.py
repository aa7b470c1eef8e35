r"""The model file: what training leaves, what tagging needs. Only weights that are not zero are kept, as float32.

    magic       8    \x89CRFTRN\n                                                       all numbers little-endian
    version     u32  1, or 2 with more     sections   u32  10, or more (sections.py)
    table       for each section: tag 4, CRC-32 u32, offset u64, length u64, unpacked length u64
    CRC-32      u32  of all the bytes before it
    sections    in the order of the table, without gaps, up to the end of the file; deflated where unpacked length != length

    SIZE   i64 x 11: format (0 conll, 1 items), n_columns, label_column, labels L, attributes A, bytes of their names, their
           weights, transitions K, pair attributes P, bytes of their names, their weights
    LABL   L lengths, then the labels in UTF-8                     lengths, counts and ids are varints (_codec.pyx) below 2^31
    TMPL   {"name": ..., "text": ...} in JSON; empty for items
    FACT   the training facts, a JSON object
    NAME   the names in bytewise order, front-coded: A lengths shared with the name before, A lengths of what is new, the new bytes
    SETS   the distinct sets of labels: how many, their sizes, their members; then for each attribute the number of its set
    TRAN   the K label pairs i * L + j
    PNAM   as NAME, for B lines with macros
    PSET   as SETS, of label pairs
    WGTS   float32: of the attributes in the order of NAME and SETS, of TRAN, of PNAM and PSET

Members rise, and are written as the gaps between them. Numbers that mean the same stand together, which deflates to half the
bytes and costs little time. The reader believes nothing: each count is held against the bytes there are before anything is
allocated, and a file may unpack to UNPACKED times its size and to NAMES times its size in names; a model that would need
more is written as it is, neither deflated nor front-coded.
"""

import json
import math
import struct
from array import array
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from ..chain.layout import DENSE, Layout
from ..errors import ModelError, SettingsError
from ..text._strings import zeros
from ..text.encode import Vocabulary
from ..text.template import Template
from . import _container as container
from ._codec import (
    bounds,
    collect,
    decode_varints,
    encode_varints,
    floats,
    front_decode,
    front_encode,
    members,
    sized,
    spread,
    weights_of,
    widen,
)
from ._container import require

TAGS = (b"SIZE", b"LABL", b"TMPL", b"FACT", b"NAME", b"SETS", b"TRAN", b"PNAM", b"PSET", b"WGTS")
FORMATS = ("conll", "items")
NAMES = 32  # bytes of names that a byte of file may stand for
MAX_LABELS = 46340  # label pairs are int32


@dataclass
class Sizes:
    """Section SIZE, field by field."""

    format: int
    n_columns: int
    label_column: int
    labels: int
    attributes: int
    name_bytes: int
    node_weights: int
    transitions: int
    pair_attributes: int
    pair_name_bytes: int
    pair_weights: int


def encode(vocabulary, layout, weights, facts, extras):
    """The file in parts."""
    names, sets, node_weights = _blocks(vocabulary.attributes.names(), layout.ptr, layout.label, weights)
    pair_names, pair_sets, pair_weights = _blocks(vocabulary.pair_attributes.names(), layout.pair_ptr, layout.pair, weights)
    kept = weights[layout.transitions] != 0
    labels, template = [label.encode() for label in vocabulary.labels], vocabulary.template
    sizes = Sizes(
        format=FORMATS.index(vocabulary.format),
        n_columns=vocabulary.n_columns,
        label_column=max(vocabulary.label_column, 0),
        labels=len(labels),
        attributes=len(names),
        name_bytes=sum(map(len, names)),
        node_weights=len(node_weights),
        transitions=int(kept.sum()),
        pair_attributes=len(pair_names),
        pair_name_bytes=sum(map(len, pair_names)),
        pair_weights=len(pair_weights),
    )
    contents = {
        b"SIZE": np.array([*vars(sizes).values()], "<i8").tobytes(),
        b"LABL": encode_varints(_lengths(labels)) + b"".join(labels),
        b"TMPL": b"" if template is None else _json({"name": template.name, "text": template.text}),
        b"FACT": _json(facts),
        b"NAME": _front_coded(names),
        b"SETS": sets,
        b"TRAN": encode_varints(_gaps(layout.transition[kept], np.empty(0, np.int64))),
        b"PNAM": _front_coded(pair_names),
        b"PSET": pair_sets,
        b"WGTS": np.concatenate([node_weights, weights[layout.transitions][kept], pair_weights]).astype("<f4", copy=False).tobytes(),
    }
    if extras:
        from . import sections

        contents |= sections.written(extras)
    version = 2 if extras else 1
    parts = container.image(contents, deflate=True, version=version)
    if sizes.name_bytes + sizes.pair_name_bytes > NAMES * sum(map(len, parts)):
        contents[b"NAME"], contents[b"PNAM"] = _not_coded(names), _not_coded(pair_names)
        parts = container.image(contents, deflate=False, version=version)
    return parts


def _blocks(names, ptr, member, weights):
    """(names, section SETS, weights): the blocks with weights that are not zero, names in bytewise order."""
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    first, last = int(ptr[0]), int(ptr[-1])
    size, member, weights = collect(order, ptr - first, np.empty(0, np.int32) if member is None else member, weights[first:last])
    names = [names[k] for k in order[size > 0].tolist()]
    text, start, seen, number = member.astype("<i4", copy=False).tobytes(), 0, {}, np.empty(len(names), np.int64)
    for k, stop in enumerate((4 * np.cumsum(size[size > 0])).tolist()):
        number[k] = seen.setdefault(text[start:stop], len(seen))
        start = stop
    # sets that many attributes have get small numbers
    use, sets = np.bincount(number, minlength=len(seen)), list(seen)
    by_use = sorted(range(len(sets)), key=lambda s: (-use[s], sets[s]))
    rank = np.empty(len(sets), np.int64)
    rank[by_use] = np.arange(len(sets))
    sets = [sets[s] for s in by_use]
    set_size = _lengths(sets) // 4
    gaps = _gaps(np.frombuffer(b"".join(sets), "<i4"), np.cumsum(set_size) - set_size)
    return names, encode_varints(np.concatenate([_lengths([sets]), set_size, gaps, rank[number]])), weights


def _gaps(members, start):
    """What lies between each member and the one before it; runs of rising members begin at the positions start, and at 0."""
    before = np.concatenate([[-1], members[:-1].astype(np.int64)])[: len(members)]
    before[start] = -1
    return members - before - 1


def _lengths(items):
    return np.array([len(item) for item in items], np.int64)


def _front_coded(names):
    shared, fresh, tail = front_encode(names)
    return encode_varints(np.concatenate([shared, fresh])) + tail


def _not_coded(names):
    return encode_varints(np.concatenate([np.zeros(len(names), np.int64), _lengths(names)])) + b"".join(names)


def _json(value):
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False, default=str).encode()


def _plain(value):
    """The value without numpy's types, and with null for what JSON has no number for."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Numbers:
    """Takes varints off the front of a section."""

    def __init__(self, contents, tag):
        self.tag, self.content, self.position = tag.decode(), contents[tag], 0

    def take(self, count, *, narrow=False):
        try:
            values, self.position = decode_varints(self.content, self.position, count, narrow=narrow)
        except ValueError as error:
            raise self.damaged(error) from None
        return values

    def rest(self):
        start, self.position = self.position, len(self.content)
        return self.content[start:]

    def finish(self):
        self.require(self.position == len(self.content), "bytes after its end")

    def require(self, holds, finding):
        if not holds:
            raise self.damaged(finding)

    def damaged(self, finding):
        return ModelError("", f"damaged: section {self.tag}: {finding}")


def decode(contents, size):
    """(vocabulary, layout, w, facts, extras) of the sections of a file of so many bytes."""
    sizes = _sizes(contents[b"SIZE"], size)
    first, pairs = sizes.node_weights, sizes.node_weights + sizes.transitions
    weights = _weights(contents[b"WGTS"], pairs + sizes.pair_weights)
    w = zeros(len(weights), "d")
    widen(weights[first:pairs], w[first:pairs])
    labels = _labels(_Numbers(contents, b"LABL"), sizes.labels)
    attributes, ptr, label, dense = _nodes(contents, sizes, weights[:first], w[:first])
    transition = _transitions(_Numbers(contents, b"TRAN"), sizes)
    pair_attributes, pair_ptr, pair = _pairs(contents, sizes, weights[pairs:], w[pairs:], pairs)
    layout = Layout(sizes.labels, ptr, label, dense, transition, pair_ptr, pair)
    template = _template(contents, sizes)
    has_line = template is not None and template.bigrams
    require(has_line or not sizes.pair_attributes, f"damaged: {sizes.pair_attributes} attributes of label pairs", "none for this template")
    vocabulary = Vocabulary(
        labels=labels,
        attributes=attributes,
        pair_attributes=pair_attributes,
        template=template,
        format=FORMATS[sizes.format],
        n_columns=sizes.n_columns,
        label_column=sizes.label_column if sizes.n_columns or sizes.format else -1,
    )
    if len(contents) == len(TAGS):
        return vocabulary, layout, w, _object(contents, b"FACT"), {}
    from . import sections

    extras = sections.read({tag: content for tag, content in contents.items() if tag not in TAGS})
    vocabulary.form = extras.pop("form", None)
    if rules := extras.pop("Rule", None):
        from ..text.legal import Legal

        try:
            vocabulary.legal = Legal.of(labels, **rules)
        except SettingsError as error:
            raise ModelError("", f"damaged: section Rule: {error}") from None
        layout = replace(layout, legal=vocabulary.legal)
    return vocabulary, layout, w, _object(contents, b"FACT"), extras


def _sizes(content, size):
    n_fields = len(Sizes.__dataclass_fields__)
    require(len(content) == 8 * n_fields, "damaged: section SIZE", f"{n_fields} numbers")
    sizes = Sizes(*struct.unpack(f"<{n_fields}q", content))
    require(min(vars(sizes).values()) >= 0, "damaged: section SIZE: a negative number")
    require(sizes.format < len(FORMATS), f"damaged: format {sizes.format}", f"one of {len(FORMATS)}")
    require(1 <= sizes.labels <= MAX_LABELS, f"damaged: {sizes.labels} labels", f"1 to {MAX_LABELS}")
    require(sizes.n_columns < 2**31, f"damaged: {sizes.n_columns} columns", "less than 2^31")
    name_bytes = sizes.name_bytes + sizes.pair_name_bytes
    require(name_bytes <= NAMES * size, f"damaged: {name_bytes} bytes of names", f"at most {NAMES} times the {size} of the file")
    return sizes


def _weights(content, count):
    require(len(content) == 4 * count, f"damaged: {len(content)} bytes of weights", f"{4 * count}")
    try:
        return floats(content)
    except ValueError as error:
        raise ModelError("", "damaged: section WGTS", str(error)) from None


def _labels(numbers, n_labels):
    end = list(accumulate(numbers.take(n_labels)))
    text = bytes(numbers.rest())
    numbers.require(end[-1] == len(text), f"{len(text)} bytes where the lengths add up to {end[-1]}")
    try:
        labels = [text[start:stop].decode() for start, stop in zip([0, *end], end, strict=False)]
    except UnicodeDecodeError:
        raise numbers.damaged("a label that is not UTF-8") from None
    numbers.require(len(set(labels)) == n_labels, "a label twice")
    return labels


def _object(contents, tag):
    """The JSON object in a section."""
    try:
        value = _plain(json.loads(bytes(contents[tag])))
    except (ValueError, RecursionError):
        value = None
    require(isinstance(value, dict), f"damaged: section {tag.decode()}", "a JSON object")
    return value


def _template(contents, sizes):
    if FORMATS[sizes.format] == "items":
        require(len(contents[b"TMPL"]) == 0, "damaged: section TMPL", "no template in a model for items")
        return None
    parts = _object(contents, b"TMPL")
    name, text = parts.get("name"), parts.get("text")
    require(isinstance(name, str) and _is_text(text), "damaged: section TMPL", "a name and a text")
    template = Template.parse(text, name)
    if sizes.n_columns:  # else it was imported: the template says how many there have to be
        require(sizes.label_column < sizes.n_columns, f"damaged: label column {sizes.label_column}", f"below {sizes.n_columns}")
        template.check(sizes.n_columns, sizes.label_column)
    return template


def _is_text(value):
    """Text that UTF-8 can hold: JSON lets half a surrogate pair through."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _names(contents, tag, sizes, number, first):
    """StringTable of the names: those with sets among the first ones, then the others; sizes: how many, and of how many bytes."""
    try:
        return front_decode(contents[tag], *sizes, number, first)
    except ValueError as error:
        raise ModelError("", f"damaged: section {tag.decode()}: {error}") from None


def _sets(numbers, n_blocks, universe, n_weights):
    """(int32: number of each block's set, set_ptr, members int32)."""
    size = numbers.take(int(numbers.take(1)[0]))
    numbers.require(all(size), "an empty set")
    set_ptr = bounds(size)
    member = _members(numbers, set_ptr, universe)
    number = numbers.take(n_blocks, narrow=True)
    numbers.finish()
    total = weights_of(number, set_ptr)
    numbers.require(total >= 0, "the number of a set that is not there")
    numbers.require(total == n_weights, f"{total} weights, not {n_weights}")
    return number, set_ptr, member


def _members(numbers, ptr, universe):
    """The same as members, from the next numbers."""
    try:
        return members(numbers.take(ptr[-1]), ptr, universe)
    except ValueError as error:
        raise numbers.damaged(error) from None


def _nodes(contents, sizes, weights, w):
    """(StringTable, ptr, label, dense); fills w. Dense blocks come first, as in layout.number."""
    number, set_ptr, member = _sets(_Numbers(contents, b"SETS"), sizes.attributes, sizes.labels, sizes.node_weights)
    full = all(sized(set_ptr, sizes.labels))
    many = sized(set_ptr, 1 if full else max(2.0, DENSE * sizes.labels))
    label = zeros(0 if full else len(w), "i")
    ptr, dense = spread(number, set_ptr, member, many, weights, label, w)
    names = _names(contents, b"NAME", (sizes.attributes, sizes.name_bytes), number, many)
    return names, ptr, None if full else label, dense


def _transitions(numbers, sizes):
    transition = _members(numbers, bounds(array("q", [sizes.transitions])), sizes.labels**2)
    numbers.finish()
    return transition


def _pairs(contents, sizes, weights, w, origin):
    """(StringTable, ptr from origin, pairs); fills w."""
    number, set_ptr, member = _sets(_Numbers(contents, b"PSET"), sizes.pair_attributes, sizes.labels**2, sizes.pair_weights)
    same = sized(set_ptr, math.inf)
    pair = zeros(len(w), "i")
    ptr, _ = spread(number, set_ptr, member, same, weights, pair, w, origin)
    names = _names(contents, b"PNAM", (sizes.pair_attributes, sizes.pair_name_bytes), number, same)
    return names, ptr, pair
