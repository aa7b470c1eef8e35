r"""Wapiti's model file: text, with strings as `length:bytes,` and a line end after each.

    #mdl#TYPE#N             2 is a CRF; N weights. Old files have no type
    #rdr#P/C/AUTO           P patterns, the highest column that they name; AUTO 1: observations without patterns. Old files end at C
    12:u00:%x[-3,0],        the patterns
    #qrk#L                  the labels, then #qrk#O and the observations, in the order of their numbers
    0=0x1.6865b4b9ebccfp-4  N weights: place = number, places rising, zeros left out

In the order of the observations one that begins with u has L places, for each label; one with b has L * L, for label pairs i L + j,
the previous label first; one with * has both, labels first. A pattern without macros gives one observation, its own text: with b
or * the plain transitions.

Outside of the sentence and for letters Wapiti has its own rules (the dialect `wapiti`, text/dialect.py). A model that was learnt in
another dialect is written if no rule but that of the names outside makes a difference; these are translated.
"""

import re
from itertools import product

import numpy as np

from ...text.dialect import DIALECTS
from ...text.template import Macro, Template
from .._container import require
from .assemble import assemble, plain_lines

NAME, MAGIC = "Wapiti", b"#mdl#"
OWN = DIALECTS["wapiti"]
FURTHEST = 4  # the last row outside with a name of its own


# ---- writing


def refusals(model):
    """What the file cannot say of the model, as sentences."""
    vocabulary = model.vocabulary
    if vocabulary.template is None:
        yield "a model for items: Wapiti's attributes come of patterns"
        return
    if vocabulary.template.dialect is not OWN:
        yield from _foreign_lines(vocabulary.template)
    sources = [_small(source) for _, source in vocabulary.template.sources]
    twice = [source for source in set(sources) if sources.count(source) > 1]
    yield from (f"lines that differ in the size of their first letter only, {source}" for source in twice)
    names = [*vocabulary.attributes.names(), *vocabulary.pair_attributes.names(), *(label.encode() for label in vocabulary.labels)]
    if b"\0" in b"".join(names):
        yield "a name that holds a NUL byte"


def _foreign_lines(template):
    """The lines that mean something else to Wapiti, and not only at the borders."""
    for number, source in template.sources:
        for letter, at, row in re.findall(r"%(.)\[ *(@?) *([+-]?[0-9]+)", source):
            if letter != "x" or at or abs(int(row)) > FURTHEST:
                what = f"%{letter}" if letter != "x" else f"row {at}{row}"
                yield f"{template.name}:{number}: {what} without the line #dialect wapiti"


def remarks(model):
    """What whoever uses the file has to know."""
    return ()


def image(model):
    """The file in parts."""
    vocabulary, layout, template = model.vocabulary, model.layout, model.vocabulary.template
    n, edges = layout.n_labels, layout.transitions
    translated = _translation(template)
    nodes, pairs = translated(vocabulary.attributes.names()), translated(vocabulary.pair_attributes.names())
    pairs = [_small(source).encode() for source in plain_lines(template)] + pairs
    shared = {name: k for k, name in enumerate(nodes) if name[:1] == b"*"}
    observations = nodes + [name for name in pairs if name not in shared]
    later = {name: k for k, name in enumerate(observations[len(nodes) :], len(nodes))}
    of_pair = np.array([shared[name] if name in shared else later[name] for name in pairs], np.int64)
    kind = np.frombuffer(b"".join([name[:1] for name in observations]), np.uint8)
    width = n * (kind != ord("b")) + n * n * (kind != ord("u"))
    place = np.cumsum(width) - width
    start = (place + n * (kind == ord("*")))[of_pair]
    size = np.diff(layout.pair_ptr)
    if len(pairs) > len(size):
        size = np.concatenate([[edges.stop - edges.start], size])
    at = np.concatenate(
        [
            np.repeat(place[: len(nodes)], np.diff(layout.ptr)) + layout.node_labels(),
            np.repeat(start, size) + np.concatenate([layout.transition, layout.pair]),
        ]
    )
    order = np.argsort(at)
    order = order[model.w[order] != 0]
    highest = max((macro.column for _, macro in template.macros), default=0)
    lines = [f"{k}={w.hex()}" for k, w in zip(at[order].tolist(), model.w[order].tolist(), strict=True)]
    return [
        b"#mdl#2#%d\n" % len(lines),
        b"#rdr#%d/%d/0\n" % (len(template.sources), highest),
        *(_net(_small(source).encode()) for _, source in template.sources),
        b"#qrk#%d\n" % n,
        *(_net(label.encode()) for label in vocabulary.labels),
        b"#qrk#%d\n" % len(observations),
        b"".join([b"%d:%b,\n" % (len(name), name) for name in observations]),
        "\n".join([*lines, ""]).encode(),
    ]


def _net(text):
    return b"%d:%s,\n" % (len(text), text)


def _small(source):
    return source[:1].lower() + source[1:]


def _translation(template):
    """names -> names: the first letter small; what our dialect calls the places outside is called as Wapiti does."""
    forms = [] if template.dialect is OWN else [form for line in {*template.unigrams, *template.bigrams} for form in _bordering(line)]
    forms.sort(key=lambda form: -form[0])

    def translate(name):
        for _, pattern, replacement in forms:
            if match := pattern.fullmatch(name):
                return b"".join([part if isinstance(part, bytes) else match[part] for part in replacement])
        return name

    def all_translated(names):
        names = [translate(name) if b"_B" in name else name for name in names] if forms else names
        return [name[:1].lower() + name[1:] for name in names]

    return all_translated


def _bordering(line):
    """(places outside, pattern of a name, its translation) for each way in which the line's rows can lie outside."""
    rows = [piece.row for piece in line.pieces if isinstance(piece, Macro)]
    before, after = range(max([-row for row in rows], default=0)), range(max(rows, default=0))
    for first, last in product([*before, None], [*after, None]):  # tokens before this one and after it, where there are few
        pattern, outside, group = b"", 0, 0
        replacement: list[bytes | int] = []
        for piece in line.pieces:
            if isinstance(piece, bytes):
                pattern += re.escape(piece)
                replacement.append(piece)
                continue
            distance = 0
            if first is not None and first + piece.row < 0:
                distance = first + piece.row
            elif last is not None and piece.row > last:
                distance = piece.row - last
            if distance:
                outside += 1
                pattern += re.escape(b"_B%+d" % distance)
                replacement.append(b"_x%+d" % distance)
            else:
                group += 1
                pattern += b"(.+)"
                replacement.append(group)
        if outside:
            yield outside, re.compile(pattern, re.DOTALL), replacement


# ---- reading


def read(data):
    """The Model in the bytes of a file."""
    text = _Text(data)
    count = text.numbers(rb"#mdl#(?:(\d{1,9})#)?(\d{1,18})\n", "a line #mdl#2#weights")
    require(count[0] in (None, 2), f"of type {count[0]}", "2, a CRF; the others have no label pairs")
    n_patterns, _, _ = text.numbers(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/(\d))?\n", "a line #rdr#patterns/column/0")
    require(n_patterns, "without patterns", "patterns that make its observations of columns")
    patterns = text.strings(n_patterns, "patterns")
    labels = text.strings(text.numbers(rb"#qrk#(\d{1,18})\n", "a line #qrk#labels")[0], "labels")
    observations = text.strings(text.numbers(rb"#qrk#(\d{1,18})\n", "a line #qrk#observations")[0], "observations")
    place, weight = text.weights(count[1])
    template, plain = _template(patterns)
    kind = np.frombuffer(b"".join([name[:1] for name in observations]), np.uint8)
    holds = len(kind) == len(observations) and np.isin(kind, list(b"ub*")).all()
    require(holds, "damaged: an observation", "one that begins with u, b or *")
    n = len(labels)
    width = n * (kind != ord("b")) + n * n * (kind != ord("u"))
    end = np.cumsum(width.astype(np.int64))
    require(len(place) == 0 or (len(end) and place.max() < end[-1]), "damaged: a weight", "one of an observation")
    owner = np.searchsorted(end, place, side="right")
    within = place - (end - width)[owner] if len(place) else place
    shift = np.where(kind[owner] == ord("*"), n, 0)
    of_label = (kind[owner] != ord("b")) & (within < n)
    within = within - np.where(of_label, 0, shift)
    times = np.array([plain.get(name, 0) for name in observations], np.int64)[owner]
    weight = weight * np.maximum(times, 1)
    is_plain = (times > 0) & ~of_label
    of_pair = ~of_label & ~is_plain
    return assemble(
        labels,
        (observations, owner[of_label], within[of_label], weight[of_label]),
        (within[is_plain], weight[is_plain]),
        (observations, owner[of_pair], within[of_pair], weight[of_pair]),
        template=template,
        facts={"kind": f"{NAME} model", "observations": len(observations)},
        size=len(data),
    )


def _template(patterns):
    """(Template, {pattern without macros that asks for transitions: how often it is there}).

    Of such patterns one stays, as a template of ours has; what the others would add is added to the weights. They are no rarity: a
    model that was trained on from an older one, with a pattern file besides, has all its patterns twice.
    """
    lines, plain = ["#dialect wapiti"], {}
    for pattern in patterns:
        try:
            source = pattern.decode()
        except UnicodeDecodeError:
            source = ""
        holds = source and OWN.line(source) == source and "\n" not in source
        require(holds, f"the pattern {pattern[:40]!r}", "a line of UTF-8 without #, that begins with u, b or *")
        if source[0] in "b*" and "%" not in source:
            require(not plain or pattern in plain or source[0] == "b", f"the pattern {source}", "a single * without macros")
            plain[pattern] = plain.get(pattern, 0) + 1
            if sum(plain.values()) > 1:
                continue
        lines.append(source)
    return Template.parse("\n".join(lines) + "\n", NAME), plain


class _Text:
    """Takes lines and strings off the front of a file's bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def numbers(self, pattern, expectation):
        match = re.compile(pattern).match(self.data, self.at)
        require(match, f"damaged: {bytes(self.data[self.at : self.at + 24])!r} at byte {self.at}", expectation)
        self.at = match.end()
        return [None if number is None else int(number) for number in match.groups()]

    def strings(self, n, what):
        """n strings of the form length:bytes,"""
        found, data, at = [], self.data, self.at
        require(4 * n <= len(data) - at, f"damaged: {n} {what} in {len(data) - at} bytes")
        for _ in range(n):
            colon = data.find(b":", at, at + 12)
            length = data[at:colon] if colon > at else b""
            end = colon + 1 + int(length) if length.isdigit() else len(data)
            require(data[end : end + 2] == b",\n", f"damaged: {what}: byte {at}", "length:text, and a line end")
            found.append(data[colon + 1 : end])
            at = end + 2
        self.at = at
        return found

    def weights(self, n):
        """(places, numbers) of the n lines that are left."""
        lines = self.data[self.at :].replace(b",", b".").split(b"\n")  # some locales have a decimal comma
        require(not lines.pop().strip() and len(lines) == n, f"damaged: {len(lines)} lines of weights", f"{n}")
        parts = [line.split(b"=") for line in lines]
        try:
            place = np.array([int(place) for place, _ in parts], np.int64)
            weight = [float.fromhex(w.decode()) if b"x" in w else float(w) for _, w in parts]
        except (ValueError, OverflowError):
            require(False, "damaged: a line of weights", "place=number")
        require(len(place) == 0 or place.min() >= 0, "damaged: a weight at a place below 0")
        return place, np.array(weight, np.float64)
