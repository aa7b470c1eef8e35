"""Which scheme chunk labels follow, and where they do not.

A label is TAG-TYPE or a TAG alone; a scheme says which tags there are, and what has to stand beside one within the same type:

    before    this tag goes on with what begins before it        IOB2: I wants B or I before it
    after     this tag wants to be gone on with                  BIOES: B wants I or E after it

Outside of sentences is O. The scheme of a file is the one with the fewest violations, the strictest of those.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Scheme:
    name: str
    tags: str
    before: dict = field(default_factory=dict)  # tag: the tags that may stand before it
    after: dict = field(default_factory=dict)  # tag: the tags that may stand after it

    def legal(self, left, right):
        """Whether a label may stand before another; labels are (tag, type)."""
        same = left[1] == right[1]
        wanted = self.after.get(left[0])
        if wanted is not None and not (same and right[0] in wanted):
            return False
        wanted = self.before.get(right[0])
        return wanted is None or (same and left[0] in wanted)


def _closed(name, tags):
    """Begin, inside, end, single: all of a chunk's parts are there, in order."""
    begin, inside, end = tags[:3]
    within = {begin, inside}
    return Scheme(name, tags + "O", {inside: within, end: within}, {begin: {inside, end}, inside: {inside, end}})


SCHEMES = (  # the strictest first
    _closed("BIOES", "BIES"),
    _closed("BILOU", "BILU"),
    _closed("BMES", "BMES"),
    _closed("BMEWO", "BMEW"),
    Scheme("IOB2", "BIO", before={"I": {"B", "I"}}),
    Scheme("IOE2", "IEO", after={"I": {"I", "E"}}),
    Scheme("IOB1", "BIO", before={"B": {"B", "I"}}),
    Scheme("IOE1", "IEO", after={"E": {"I", "E"}}),
    Scheme("IO", "IO"),
)
TAGS = frozenset("BIOESLUMW")


def parts(label):
    """(tag, type); a label that is none of a chunk is a tag by itself."""
    tag, hyphen, kind = label.partition("-")
    return (tag, kind) if tag in TAGS and (kind or not hyphen) else (label, "")


def chunk_like(labels, counts):
    """Whether nearly all tokens have labels of chunks: O, TAG-TYPE, or tags alone of which one begins something."""
    split = [parts(label) for label in labels]
    good = np.array([tag in TAGS and (bool(kind) or tag == "O") for tag, kind in split])
    typed = any(kind for _, kind in split)
    if not typed:
        good = np.array([tag in TAGS for tag, _ in split])
        if not {"B", "I", "E"} & {tag for tag, _ in split} or good.sum() < 2:
            return False
    return counts[good].sum() > 0.9 * counts.sum()


def pairs_of(part, n_labels):
    """(left, right, token): numbers of neighbouring labels with the token on the right; 0 stands before, after and between sentences.

    The token of the pair after the last one of a sentence is that last one.
    """
    label, seq = part.label, part.seq
    left, starts = np.empty_like(label), seq[:-1]
    left[1:] = label[:-1]
    left[starts] = 0
    last = seq[1:] - 1
    token = np.concatenate([np.arange(len(label)), last])
    return np.concatenate([left, label[last]]), np.concatenate([label, np.zeros(len(last), label.dtype)]), token


def violations(scheme, names, left, right):
    """bool[pairs]: where the scheme is broken. A label of no scheme is no violation: something else tells of it."""
    split = [("O", "")] + [parts(name) for name in names[1:]]
    table = np.zeros((len(names), len(names)), bool)
    seen = np.unique(left.astype(np.int64) * len(names) + right)
    for i, j in zip((seen // len(names)).tolist(), (seen % len(names)).tolist(), strict=True):
        table[i, j] = not scheme.legal(split[i], split[j])
    return table[left, right]


def detect(names, counts, left, right):
    """(scheme, violations) for labels of chunks."""
    tags = {}
    for name, count in zip(names[1:], counts[1:].tolist(), strict=True):
        tag = parts(name)[0]
        tags[tag] = tags.get(tag, 0) + count
    total = sum(tags.values())
    found = []
    for scheme in SCHEMES:
        foreign = sum(count for tag, count in tags.items() if tag not in scheme.tags)
        absent = sum(1 for tag in scheme.tags if tag not in tags and tag != "O")
        if foreign > 0.01 * total or absent > (1 if len(scheme.tags) > 3 else 0):
            continue
        broken = violations(scheme, names, left, right)
        found.append((int(broken.sum()) + foreign, len(found), scheme, broken))
    if not found:
        return None, None
    _, _, scheme, broken = min(found, key=lambda one: one[:2])
    return scheme, broken
