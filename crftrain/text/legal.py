"""Which labels may follow one another, begin a sequence and end one.

    Legal.of(labels, scheme="iob2", forbid=["O I-*"], allow=["^ I-PER"])

A scheme says it of chunk labels TAG-TYPE; a pattern is two globs, of a label and of the one after it, where ^ and $ stand for the
sequence's ends. Patterns go before the scheme; a pair that is both forbidden and allowed is an error. A label sequence is legal if its
first label, each of its pairs and its last label are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import SettingsError
from .schemes import parts, rules_of

START, END = "^", "$"
SCHEMES = ("iob1", "iob2", "bioes", "bilou", "bmes", "ioe1", "ioe2", "auto")


@dataclass(frozen=True)
class Legal:
    """pairs[i, j] label j after i, first[j], last[i], in one table of bytes: row n is before the first label, column n after the last.

    It is made without numpy, which tagging under rules has no other use for.
    """

    n: int  # labels
    table: bytes  # 0 or 1 [n + 1][n + 1]
    said: dict = field(default_factory=dict)  # of what rules it comes: the words of `of` that make it again for other labels

    @classmethod
    def of(cls, labels, *, scheme=None, forbid=(), allow=(), transitions=None):
        """transitions: the weights [i, j] of label pairs, by which `auto` tells IOB1 from IOB2."""
        n = len(labels)
        table = bytearray(b"\1") * (n + 1) ** 2
        if scheme == "auto":
            scheme = scheme_of(labels, transitions)
        if scheme is not None:
            tags, rules = [*map(parts, labels), ("O", "")], rules_of(scheme)
            table = bytearray(rules.legal(before, after) for before in tags for after in tags)
        forbidden, allowed = _matching(labels, forbid), _matching(labels, allow)
        if both := forbidden & allowed:
            i, j = divmod(min(both), n + 1)
            raise SettingsError("", f"{_shown(labels, i, START)} {_shown(labels, j, END)} is both forbidden and allowed")
        for places, legal in ((forbidden, False), (allowed, True)):
            for place in places:
                table[place] = legal
        said = {"scheme": scheme, "forbid": list(forbid), "allow": list(allow)}
        found = cls(n, bytes(table), {name: rule for name, rule in said.items() if rule})
        found._check(labels)
        return found

    @classmethod
    def where(cls, pairs, first, last):
        """Of bool arrays."""
        n = len(first)
        table = np.ones((n + 1, n + 1), bool)
        table[:n, :n], table[n, :n], table[:n, n] = pairs, first, last
        return cls(n, table.tobytes())

    @cached_property
    def _whole(self):
        return np.frombuffer(self.table, bool).reshape(self.n + 1, self.n + 1)

    @property
    def pairs(self):
        """bool[n, n]"""
        return self._whole[: self.n, : self.n]

    @property
    def first(self):
        """bool[n]"""
        return self._whole[self.n, : self.n]

    @property
    def last(self):
        """bool[n]"""
        return self._whole[: self.n, self.n]

    def _check(self, labels):
        n = self.n
        for name, ends in (("begin", self.table[n * (n + 1) : -1]), ("end", self.table[n : -1 : n + 1])):
            if not any(ends):
                raise SettingsError("", f"no label may {name} a sequence", "at least one of " + ", ".join(labels[:5]))

    def __and__(self, other):
        """What both allow; other may be None."""
        if other is None:
            return self
        mine, theirs = (int.from_bytes(one.table, "little") for one in (self, other))
        return Legal(self.n, (mine & theirs).to_bytes(len(self.table), "little"))

    def broken(self, seq, labels):
        """bool[T]: the tokens at which sequences of label numbers, sequence i being labels[seq[i]:seq[i+1]], break the rules."""
        odd = np.zeros(len(labels), bool)
        odd[1:] = ~self.pairs[labels[:-1], labels[1:]]
        odd[seq[:-1]] = ~self.first[labels[seq[:-1]]]
        odd[seq[1:] - 1] |= ~self.last[labels[seq[1:] - 1]]
        return odd

    def allows(self, path):
        """Whether a sequence of label numbers is legal."""
        path = np.asarray(path)
        return not self.broken(np.array([0, len(path)]), path).any()

    def nearest(self, path):
        """The legal labels that differ from these in the fewest places; None if there are none of that length."""
        n = len(self.first)
        cost = np.where(self.first, (np.arange(n) != path[0]).astype(float), np.inf)
        back, step = [], np.where(self.pairs, 0.0, np.inf)
        for label in path[1:]:
            ways = cost[:, None] + step
            back.append(ways.argmin(axis=0))
            cost = ways.min(axis=0) + (np.arange(n) != label)
        cost = np.where(self.last, cost, np.inf)
        if not np.isfinite(cost.min()):
            return None
        best = [int(cost.argmin())]
        for origin in reversed(back):
            best.append(int(origin[best[-1]]))
        return np.array(best[::-1], np.int32)


def scheme_of(labels, transitions=None):
    """The scheme that chunk labels are in: by their tags, and IOB1 where I follows O more willingly than B does."""
    tags = [parts(label) for label in labels]
    kinds = {tag for tag, _ in tags}
    if not kinds & {"B", "I"}:
        raise SettingsError("", "--constrain auto: the labels are of no scheme", "labels such as B-X, I-X, O; or --constrain iob2, bioes")
    if not kinds & set("BSUW"):
        return "ioe2" if "E" in kinds else "iob1"
    if kinds & set("ESLUW"):
        return "bioes"
    if transitions is None or "O" not in labels:
        return "iob2"
    o, number = labels.index("O"), {tag: j for j, tag in enumerate(tags)}
    both = [kind for tag, kind in tags if tag == "B" and ("I", kind) in number]
    inner = sum(transitions[o, number["I", kind]] > transitions[o, number["B", kind]] for kind in both)
    return "iob1" if 2 * inner > len(both) else "iob2"


def _matching(labels, patterns):
    """The places in the table of the pairs that some pattern names."""
    from fnmatch import fnmatchcase

    n, found = len(labels), set()
    for pattern in patterns:
        names = pattern.split()
        if len(names) != 2:
            raise SettingsError("", f"{pattern!r} is no pair of labels", "two, as in 'O I-*'; ^ and $ are a sequence's ends")
        rows = [n] if names[0] == START else [i for i in range(n) if fnmatchcase(labels[i], names[0])]
        columns = [n] if names[1] == END else [j for j in range(n) if fnmatchcase(labels[j], names[1])]
        for name, ends in zip(names, (rows, columns), strict=True):
            if not ends:
                raise SettingsError("", f"{pattern!r}: no label is called {name!r}", "one of " + ", ".join(labels))
        found.update(i * (n + 1) + j for i in rows for j in columns)
    return found


def _shown(labels, i, end):
    return labels[i] if i < len(labels) else end
