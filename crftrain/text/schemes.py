"""Tag schemes: how labels of tokens say where chunks begin and end, and the same chunks said in another scheme.

    iob1     I-X inside, B-X only where a chunk of the same type comes right after one       ioe1, ioe2   the same from the end, with E
    iob2     B-X first, I-X inside (BIO)                                                     grobid       I-<x> first, <x> inside
    bioes    and S-X for a chunk of one token, E-X for the last one; bilou: U and L; bmes: M inside

    labels -> spans(labels) = [(type, first, end), ...] -> labelled(spans, n, scheme)

Labels of any mixture are read by the rules of the CoNLL-2000 script: a tag that cannot go on begins anew. O, and what is no tag, is
outside. Labels without a type, B I E S alone, are chunks of the type "".

Which labels may stand side by side is said by RULES, in the letters B I E S O for the tags, whatever a scheme's own are:

    before    this tag goes on with what begins before it        iob2: I wants B or I of its type before it
    after     this tag wants to be gone on with                  bioes: B wants I or E of its type after it
"""

import re
from dataclasses import dataclass, field

SCHEMES = ("iob1", "iob2", "bioes", "bilou", "bmes", "ioe1", "ioe2", "grobid")
SAME = {"BIO": "iob2", "IOB": "iob1", "BIOUL": "bilou", "BILUO": "bilou", "IOBES": "bioes", "BMEWO": "bmes"}
KIND = {"M": "I", "L": "E", "U": "S", "W": "S"}
LETTERS = {"bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}  # first, inside, last, single
TAG = re.compile(r"([BIESMLUW])(?:-(.*))?\Z", re.DOTALL)
TAGS = frozenset("BIOESLUMW")
GROBID = re.compile(r"(I-)?(<[^<>]+>)\Z")
OTHER = "<other>"  # GROBID's outside, with I- or without
STARTS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE", "EB", "SB", "SE", "SI", "BS", "IS", "ES", "OS", "SS"}


@dataclass(frozen=True)
class Rules:
    """Of one scheme; the outside of sequences is O."""

    name: str
    tags: str  # its own letters
    before: dict = field(default_factory=dict)  # tag: the tags that may stand before it
    after: dict = field(default_factory=dict)  # tag: the tags that may stand after it

    @property
    def shown(self):
        """As people write it."""
        return self.name.upper()

    def legal(self, left, right):
        """Whether a label may stand before another; labels are (tag, type), the tag in any letters."""
        tags, same = [KIND.get(tag, tag) for tag, _ in (left, right)], left[1] == right[1]
        follows, precedes = self.after.get(tags[0]), self.before.get(tags[1])
        return (follows is None or (same and tags[1] in follows)) and (precedes is None or (same and tags[0] in precedes))


def _closed(name, tags):
    """Begin, inside, end, single: all of a chunk's parts are there, in order."""
    return Rules(name, tags + "O", {"I": {"B", "I"}, "E": {"B", "I"}}, {"B": {"I", "E"}, "I": {"I", "E"}})


RULES = (  # the strictest first
    _closed("bioes", "BIES"),
    _closed("bilou", "BILU"),
    _closed("bmes", "BMES"),
    _closed("bmewo", "BMEW"),
    Rules("iob2", "BIO", before={"I": {"B", "I"}}),
    Rules("ioe2", "IEO", after={"I": {"I", "E"}}),
    Rules("iob1", "BIO", before={"B": {"B", "I"}}),
    Rules("ioe1", "IEO", after={"E": {"I", "E"}}),
    Rules("io", "IO"),
)


def rules_of(name):
    """The Rules called so."""
    return next(rules for rules in RULES if rules.name == name)


def parts(label):
    """(tag, type); a label that is none of a chunk is a tag by itself."""
    tag, hyphen, kind = label.partition("-")
    return (tag, kind) if tag in TAGS and (kind or not hyphen) else (label, "")


def parsed(label):
    """(B, I, E, S or O, type)."""
    if match := GROBID.match(label):
        if match[2] == OTHER:
            return "O", ""
        return ("B" if match[1] else "I"), match[2]
    match = TAG.match(label)
    return (KIND.get(match[1], match[1]), match[2] or "") if match else ("O", "")


def spans(labels):
    """[(type, first, end)] of the chunks."""
    found, before, kind, first = [], "O", "", 0
    for t, label in enumerate([*labels, "O"]):
        tag, type_ = parsed(label)
        starts = tag != "O" and (before + tag in STARTS or type_ != kind or before == "O")
        if before != "O" and (starts or tag == "O"):
            found.append((kind, first, t))
        if starts:
            first = t
        before, kind = tag, type_
    return found


def labelled(chunks, n, scheme):
    """The n labels of chunks that do not overlap, in a scheme."""
    labels, chunks = ["O"] * n, sorted(chunks, key=lambda chunk: chunk[1])
    if scheme == "grobid":
        return _grobid(labels, chunks)
    for k, (kind, first, end) in enumerate(chunks):
        tags = _tags(end - first, scheme)
        if scheme == "iob1" and not (k and chunks[k - 1][0] == kind and chunks[k - 1][2] == first):
            tags[0] = "I"
        if scheme == "ioe1" and not (k + 1 < len(chunks) and chunks[k + 1][0] == kind and chunks[k + 1][1] == end):
            tags[-1] = "I"
        labels[first:end] = [f"{tag}-{kind}" if kind else tag for tag in tags]
    return labels


def _grobid(labels, chunks):
    for kind, first, end in chunks:
        name = kind if kind.startswith("<") else f"<{kind.lower()}>"
        labels[first:end] = [f"I-{name}"] + [name] * (end - first - 1)
    return [OTHER if label == "O" else label for label in labels]


def _tags(n, scheme):
    if scheme in LETTERS:
        first, inside, last, single = LETTERS[scheme]
        return [single] if n == 1 else [first, *inside * (n - 2), last]
    if scheme in ("ioe1", "ioe2"):
        return [*"I" * (n - 1), "E"]
    return ["B", *"I" * (n - 1)]


def converted(labels, scheme):
    """The labels in another scheme; the chunks are the same."""
    return labelled(spans(labels), len(labels), scheme)
