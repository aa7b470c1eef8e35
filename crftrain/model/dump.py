r"""A model as text, in tab-separated lines: first the training facts, then every weight, with nine digits, which is all of a float32.

    # key     value                     values that are not text are JSON
    T         from   to       weight    transitions of the plain B line
    B         name   from     to        weight    attributes of B lines with macros
    U         name   label    weight    attributes of U lines, or items

dump_json() has an object for each line: {"facts": ...}, {"kind": "U", "name": ..., "label": ..., "weight": ...} and so on.

Sorted by name, then label, both bytewise; with `top`, the heaviest of each kind, by absolute value, ties in that order.
A backslash is written \\, a tab \t, line ends \n and \r, other control characters and bytes that are not UTF-8 \xNN.
Lines are made one by one: there may be millions.
"""

import heapq
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127)} | {9: r"\t", 10: r"\n", 13: r"\r"}


def dump(model, top=None):
    """Iterate over the lines, without line ends."""
    for key, value in model.facts.items():
        yield f"# {_shown(key)}\t{_shown(value) if isinstance(value, str) else json.dumps(value)}"
    for kind in _kinds(model):
        head, last = "", None
        for k, member, weight in kind.records(top):
            if k != last:
                head, last = kind.head(k), k
            fields = "\t".join(map(_shown, kind.labels(member)))
            yield f"{head}{fields}\t{weight:.9g}"


def dump_json(model, top=None):
    """The same as JSON: an object with the facts, then one for each weight."""
    yield json.dumps({"facts": model.facts}, ensure_ascii=False)
    for record in weights(model, top):
        yield json.dumps({**record, "weight": float(f"{record['weight']:.9g}")}, ensure_ascii=False)


def weights(model, top=None):
    """A dict for each weight, which is not rounded."""
    for kind in _kinds(model):
        for k, member, weight in kind.records(top):
            name = {} if kind.names[k] is None else {"name": kind.names[k].decode(errors="backslashreplace")}
            labels = zip(("from", "to") if kind.letter != "U" else ("label",), kind.labels(member), strict=True)
            yield {"kind": kind.letter, **name, **dict(labels), "weight": weight}


@dataclass
class _Kind:
    """Blocks of one kind of weight: block k has weights[ptr[k]:ptr[k+1]], of members whose labels() there are and which rank() orders."""

    letter: str
    names: list
    ptr: np.ndarray
    members: np.ndarray | range  # a range: those of every block
    weights: np.ndarray
    labels: Callable[[int], tuple]
    rank: Callable[[int], Any]

    def records(self, top):
        """(block, member, weight): all in their order, or the heaviest."""
        return self.all() if top is None else self.heaviest(top)

    def all(self):
        for k in sorted(range(len(self.names)), key=self.names.__getitem__):
            start, stop = int(self.ptr[k]), int(self.ptr[k + 1])
            members = self.members if isinstance(self.members, range) else self.members[start:stop].tolist()
            block = sorted(zip(map(self.rank, members), members, self.weights[start:stop].tolist(), strict=True))
            for _, member, weight in block:
                yield k, member, weight

    def heaviest(self, top):
        size = np.abs(self.weights)
        least = np.partition(size, len(size) - top)[len(size) - top] if 0 < top < len(size) else 0
        chosen = heapq.nsmallest(top, np.flatnonzero(size >= least).tolist(), key=lambda p: (-size[p], *self.place(p)))
        for p in chosen:
            yield self.block(p), self.member(p), self.weights[p].item()

    def head(self, k):
        return f"{self.letter}\t{_shown(self.names[k])}\t" if self.names[k] is not None else f"{self.letter}\t"

    def block(self, p):
        return int(np.searchsorted(self.ptr, p, side="right")) - 1

    def member(self, p):
        return int(self.members[p - int(self.ptr[self.block(p)])] if isinstance(self.members, range) else self.members[p])

    def place(self, p):
        """What lines are sorted by."""
        return self.names[self.block(p)], self.rank(self.member(p))


def _kinds(model):
    layout, vocabulary, w, n_labels = model.layout, model.vocabulary, model.w, model.layout.n_labels
    labels = vocabulary.labels
    rank = [0] * n_labels
    for position, y in enumerate(sorted(range(n_labels), key=vocabulary.labels.__getitem__)):
        rank[y] = position

    def label_pair(pair):
        return labels[pair // n_labels], labels[pair % n_labels]

    def pair_rank(pair):
        return rank[pair // n_labels] * n_labels + rank[pair % n_labels]

    transitions, first_pair = layout.transitions, int(layout.pair_ptr[0])
    n_transitions = transitions.stop - transitions.start
    node_labels = range(n_labels) if layout.label is None else layout.label
    pair_ptr, pair_names = layout.pair_ptr - first_pair, vocabulary.pair_attributes.names()
    yield _Kind("T", [None], np.array([0, n_transitions]), layout.transition, w[transitions], label_pair, pair_rank)
    yield _Kind("B", pair_names, pair_ptr, layout.pair, w[first_pair:], label_pair, pair_rank)
    names = vocabulary.attributes.names()
    yield _Kind("U", names, layout.ptr, node_labels, w[: transitions.start], lambda y: (labels[y],), rank.__getitem__)


def _shown(name):
    """Text or bytes on one line and in one field."""
    if isinstance(name, str):
        name = name.encode(errors="surrogatepass")
    return name.replace(b"\\", b"\\\\").decode(errors="backslashreplace").translate(CONTROL)
