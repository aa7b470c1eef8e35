"""CRF++'s model files, binary and text. Numbers in the binary one are little-endian, as on all machines in use.

    u32 100   i32 0   f64 cost factor   u32 weights   u32 columns beside the label   u32 bytes of the keys' trie
    u32 n, labels       each with a NUL at its end
    u32 n, templates    each with a NUL, U lines first; zero bytes until both blocks together are a multiple of 4
    the trie            units of i32 base, u32 check (_doublearray.pyx): key -> number
    f32 weights

A key is what a template line makes of a token. One with U owns the L weights from its number on, one for each label, one with B the
L * L for label pairs i L + j, the previous label first, from the second token of a sentence on; a B line without macros is a key by
itself, whose weights are the plain transitions. The cost factor in the file counts for nothing: crf_test has an option for it.

    version: 100 / cost-factor: 1 / maxid: weights / xsize: columns        the text form, which crf_learn -t writes:
    labels; template lines; `number key`; weights                          a line each, an empty line between the parts (crfpp_text.py)
"""

import re
import struct

import numpy as np

from ...errors import TemplateError
from ...text.template import Template
from .._container import require
from ._doublearray import build
from .assemble import assemble, plain_lines

NAME, MAGIC = "CRF++", (b"d\0\0\0\0\0\0\0", b"version: ")
HEADER, SIZE, VERSION = struct.Struct("<IidIII"), struct.Struct("<I"), 100
FURTHEST = 8  # rows
MOST = 1 << 31  # weights: a trie's base is a signed number
LONGEST = 64  # bytes of keys for a byte of file
DEEPEST = 1 << 16  # bytes of a key
UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])


# ---- writing


def refusals(model):
    """What the file cannot say of the model, as sentences."""
    vocabulary, template = model.vocabulary, model.vocabulary.template
    if template is None:
        yield "a model for items: CRF++'s attributes come of templates"
        return
    if template.dialect.borders:
        yield f"{template.name}: the names outside of the sentence in the dialect {template.dialect.name}"
    for number, source in template.sources:
        if source[0] == "*":
            yield f"{template.name}:{number}: a line with *"
        for letter, at, row in re.findall(r"%(.)\[ *(@?) *([+-]?[0-9]+)", source):
            if letter != "x" or at or abs(int(row)) > FURTHEST:
                yield f"{template.name}:{number}: " + (f"%{letter}" if letter != "x" else f"row {at}{row}")
    sources = [_theirs(source) for _, source in template.sources]
    twice = [source for source in set(sources) if sources.count(source) > 1 and source[0] == "U"]
    yield from (f"lines that differ in the size of their first letter only, {source}" for source in twice if _differ(template, source))
    if any("\0" in label or not label for label in vocabulary.labels) or b"\0" in b"".join(_keys(model)):
        yield "a name that is empty or holds a NUL byte"


def _differ(template, source):
    return len({line for _, line in template.sources if _theirs(line) == source}) > 1


def remarks(model):
    """What whoever uses the file has to know."""
    return ()


def image(model):
    """The binary file in parts."""
    template, labels, sources, keys, number, weights = parts(model)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    base, check = build([keys[k] for k in order], number[order])
    trie = np.empty(len(base), UNIT)
    trie["base"], trie["check"] = base, check
    labels = b"".join(label + b"\0" for label in labels)
    templates = b"".join(source + b"\0" for source in sources)
    templates += bytes(-(len(labels) + len(templates)) % 4)
    head = HEADER.pack(VERSION, 0, 1.0, len(weights), template.columns, trie.nbytes)
    return [head, SIZE.pack(len(labels)), labels, SIZE.pack(len(templates)), templates, trie.tobytes(), weights.astype("<f4").tobytes()]


def parts(model):
    """(template, labels, its lines, keys, the number of each, all weights): what both forms consist of, as bytes."""
    vocabulary, layout, template = model.vocabulary, model.layout, model.vocabulary.template
    n, keys, edges = layout.n_labels, _keys(model), layout.transitions
    size = np.concatenate([np.diff(layout.ptr), np.diff([edges.start] * (len(_edge_keys(model)) > 0) + layout.pair_ptr.tolist())])
    width = np.where(np.arange(len(keys)) < layout.n_attributes, n, n * n)
    number = np.cumsum(width) - width
    n_weights = int(width.sum())
    require(n_weights < MOST, f"{n_weights} weights", f"less than {MOST}, as CRF++ has one for each label or label pair of a key")
    weights = np.zeros(n_weights)
    members = np.concatenate([layout.node_labels(), layout.transition, layout.pair])
    weights[np.repeat(number, size) + members] = model.w
    sources = sorted((_theirs(source) for _, source in template.sources), key=lambda source: source[0] == "B")
    return template, [label.encode() for label in vocabulary.labels], [source.encode() for source in sources], keys, number, weights


def _edge_keys(model):
    """The key of the plain transitions, if there are any, in a list."""
    return [_theirs(source).encode() for source in plain_lines(model.vocabulary.template)][:1]


def _keys(model):
    """Attributes, the plain transitions, attributes of label pairs: in the order of the weights."""
    vocabulary = model.vocabulary
    keys = [*vocabulary.attributes.names(), *_edge_keys(model), *vocabulary.pair_attributes.names()]
    return [key[:1].upper() + key[1:] for key in keys]


def _theirs(source):
    """A line as CRF++ takes it: a capital first, numbers without + and spaces."""
    source = re.sub(r"%x\[ *([+-]?[0-9]+) *, *([0-9]+) *\]", lambda m: f"%x[{int(m[1])},{int(m[2])}]", source)
    return source[:1].upper() + source[1:]


# ---- reading


def read(data):
    """The Model in the bytes of a file, of either form."""
    labels, sources, keys, number, weights = (_text if data.startswith(b"version: ") else _binary)(data)
    n = len(labels)
    template, plain = _template(sources)
    is_pair = np.frombuffer(b"".join([key[:1] for key in keys]), np.uint8) == ord("B")
    require(len(is_pair) == len(keys) and all(key[:1] in b"UB" for key in keys), "damaged: a key", "one that begins with U or B")
    width = np.where(is_pair, n * n, n)
    order = np.argsort(number, kind="stable")
    ends = (number + width)[order]
    apart = len(keys) == 0 or (number.min() >= 0 and ends[-1] <= len(weights) and (ends[:-1] <= number[order][1:]).all())
    require(apart, "damaged: the keys' numbers", f"weights of their own, of {len(weights)}")
    is_plain = np.array([key in plain for key in keys], bool)
    times = np.array([plain.get(key, 1) for key in keys], np.int64)
    owner, member, weight = _blocks(np.flatnonzero(~is_pair), number, np.int64(n), weights)
    edges = _blocks(np.flatnonzero(is_plain), number, np.int64(n * n), weights)
    pairs = _blocks(np.flatnonzero(is_pair & ~is_plain), number, np.int64(n * n), weights)
    return assemble(
        labels,
        (keys, owner, member, weight),
        (edges[1], edges[2] * times[edges[0]]),
        (keys, *pairs),
        template=template,
        facts={"kind": f"{NAME} model", "keys": len(keys)},
        size=len(data),
    )


def _blocks(keys, number, width, weights):
    """(key, member, weight) of the weights that are not zero, of keys with `width` members."""
    place = (number[keys][:, None] + np.arange(width)).ravel()
    weight = weights[place]
    kept = np.flatnonzero(weight)
    return keys[kept // max(width, 1)], kept % max(width, 1), weight[kept]


def _template(sources):
    """(Template, {B line without macros: how often it is there}): of those one stays, as a template of ours has."""
    lines, plain = ["#dialect crfpp"], {}
    for source in sources:
        require("\n" not in source and source[:1] in ("U", "B"), f"the template line {source[:40]!r}", "one that begins with U or B")
        if source[0] == "B" and "%" not in source:
            plain[source.encode()] = plain.get(source.encode(), 0) + 1
            if sum(plain.values()) > 1:
                continue
        lines.append(source)
    return Template.parse("\n".join(lines) + "\n", NAME), plain


def _decoded(names, what):
    try:
        return [name.decode() for name in names]
    except UnicodeDecodeError as error:
        raise TemplateError("", f"{what} {error.object[:40]!r}", "UTF-8") from None


def _binary(data):
    """(labels, template lines, keys, their numbers, weights)."""
    require(len(data) >= HEADER.size, f"cut off after {len(data)} bytes", f"a header of {HEADER.size}")
    version, _, _, n_weights, _, n_trie = HEADER.unpack_from(data)
    require(version // 100 == VERSION // 100, f"of version {version}", f"{VERSION}")
    at, blocks = HEADER.size, []
    for what in ("labels", "templates"):
        require(at + SIZE.size <= len(data), f"cut off after {len(data)} bytes", f"the {what}")
        (size,) = SIZE.unpack_from(data, at)
        at += SIZE.size
        require(size <= len(data) - at, f"damaged: {size} bytes of {what}", f"at most {len(data) - at}")
        blocks.append(data[at : at + size])
        at += size
    end = at + n_trie + 4 * n_weights
    require(len(data) == end, f"damaged: {len(data)} bytes", f"{end} by its header")
    labels, sources = blocks
    require(labels.endswith(b"\0"), "damaged: the labels", "a NUL byte after each")
    sources = [source for source in sources.split(b"\0") if source]
    keys, number = _leaves(np.frombuffer(data, UNIT, n_trie // UNIT.itemsize, at), LONGEST * len(data))
    with np.errstate(invalid="ignore"):  # a signalling NaN, which assemble refuses like any other
        weights = np.frombuffer(data, "<f4", n_weights, at + n_trie).astype(np.float64)
    return labels[:-1].split(b"\0"), _decoded(sources, "the template line"), keys, number, weights


def _leaves(trie, most):
    """(keys, their numbers): from each leaf up to the root, all leaves side by side. Keys may have `most` bytes together."""
    base, check = trie["base"].astype(np.int64), trie["check"].astype(np.int64)
    require(len(base) > 0 and base[0] > 0, "damaged: the trie", "a root")
    unit = np.arange(len(base))
    code = unit - check
    live = (check > 0) & (code >= 0) & (code < 257)
    inner = np.flatnonzero(live & (code > 0))
    require(max(base[0], base[inner].max(initial=0)) <= len(base), "damaged: the trie", f"bases up to {len(base)}")
    node = np.zeros(len(base) + 1, np.int64)  # base: the unit that has it
    require(len(np.unique(base[inner])) == len(inner) and (base[inner] > 0).all(), "damaged: the trie", "a base for each node")
    require(not np.isin(base[0], base[inner]), "damaged: the trie", "one root")
    node[base[inner]] = inner
    leaf = np.flatnonzero(live & (code == 0) & (base < 0))
    number, parent = -base[leaf] - 1, check[leaf]
    letters, who, total, alive = [], [], 0, np.arange(len(leaf))
    while True:
        below = parent != base[0]
        alive, parent = alive[below], parent[below]
        if not len(alive):
            break
        at = node[np.minimum(parent, len(node) - 1)]
        require((parent < len(node)).all() and (at > 0).all(), "damaged: the trie", "a way from each key to the root")
        total += len(alive)
        require(total <= most and len(who) < DEEPEST, "damaged: the trie", f"keys of at most {most} bytes together")
        letters.append((code[at] - 1).astype(np.uint8))
        who.append(alive)
        parent = check[at]
    depth = np.bincount(np.concatenate([*who, np.empty(0, np.int64)]).astype(np.int64), minlength=len(leaf))
    end = np.cumsum(depth)
    text = np.empty(total, np.uint8)
    for step, (letter, k) in enumerate(zip(letters, who, strict=True)):
        text[end[k] - 1 - step] = letter
    text, ends = text.tobytes(), end.tolist()
    return [text[first:last] for first, last in zip([0, *ends], ends, strict=False)], number


def _text(data):
    """The same of the text form."""
    lines = data.split(b"\n")
    parts, start = [], 0
    for _ in range(4):
        require(b"" in lines[start:], "damaged: the text form", "header, labels, templates, keys and weights, an empty line between")
        stop = lines.index(b"", start)
        parts.append(lines[start:stop])
        start = stop + 1
    weights = lines[start:]
    require(weights and weights.pop() == b"", "cut off", "a line end after the last weight")
    head = dict(line.split(b": ", 1) for line in parts[0] if b": " in line)
    version = head.get(b"version", b"")
    require(version.isdigit() and len(version) < 9 and int(version) // 100 == 1, f"of version {version.decode(errors='replace')}", "100")
    keys = [line.partition(b" ") for line in parts[3]]
    try:
        number = np.array([int(number) for number, _, _ in keys], np.int64)
        weights = np.array([float(weight) for weight in weights], np.float64)
    except (ValueError, OverflowError):
        require(False, "damaged: a number", "`number key` lines, then weights")
    require(head.get(b"maxid") == b"%d" % len(weights), f"damaged: {len(weights)} weights", "as many as the line maxid says")
    return parts[1], _decoded(parts[2], "the template line"), [key for _, _, key in keys], number, weights
