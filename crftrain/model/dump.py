r"""A model as text, in tab-separated lines: first the training facts, then every weight, with nine digits, which is all of a float32.

    # key     value                     values that are not text are JSON
    T         from   to       weight    transitions of the plain B line
    B         name   from     to        weight    attributes of B lines with macros
    U         name   label    weight    attributes of U lines, or items

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
        yield from kind.lines() if top is None else kind.heaviest(top)


@dataclass
class _Kind:
    """Blocks of one kind of weight: block k has weights[ptr[k]:ptr[k+1]], of members which text() names and rank() orders."""

    letter: str
    names: list
    ptr: np.ndarray
    members: np.ndarray | range  # a range: those of every block
    weights: np.ndarray
    text: Callable[[int], str]
    rank: Callable[[int], Any]

    def lines(self):
        for k in sorted(range(len(self.names)), key=self.names.__getitem__):
            start, stop = int(self.ptr[k]), int(self.ptr[k + 1])
            members = self.members if isinstance(self.members, range) else self.members[start:stop].tolist()
            block = sorted(zip(map(self.rank, members), members, self.weights[start:stop].tolist(), strict=True))
            head = self.head(k)
            for _, member, weight in block:
                yield f"{head}{self.text(member)}\t{weight:.9g}"

    def heaviest(self, top):
        size = np.abs(self.weights)
        least = np.partition(size, len(size) - top)[len(size) - top] if 0 < top < len(size) else 0
        chosen = heapq.nsmallest(top, np.flatnonzero(size >= least).tolist(), key=lambda p: (-size[p], *self.place(p)))
        for p in chosen:
            yield f"{self.head(self.block(p))}{self.text(self.member(p))}\t{self.weights[p]:.9g}"

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
    labels = [_shown(label) for label in vocabulary.labels]
    rank = [0] * n_labels
    for position, y in enumerate(sorted(range(n_labels), key=vocabulary.labels.__getitem__)):
        rank[y] = position

    def pair_text(pair):
        return f"{labels[pair // n_labels]}\t{labels[pair % n_labels]}"

    def pair_rank(pair):
        return rank[pair // n_labels] * n_labels + rank[pair % n_labels]

    transitions, first_pair = layout.transitions, int(layout.pair_ptr[0])
    n_transitions = transitions.stop - transitions.start
    node_labels = range(n_labels) if layout.label is None else layout.label
    pair_ptr, pair_names = layout.pair_ptr - first_pair, vocabulary.pair_attributes.names()
    yield _Kind("T", [None], np.array([0, n_transitions]), layout.transition, w[transitions], pair_text, pair_rank)
    yield _Kind("B", pair_names, pair_ptr, layout.pair, w[first_pair:], pair_text, pair_rank)
    names = vocabulary.attributes.names()
    yield _Kind("U", names, layout.ptr, node_labels, w[: transitions.start], labels.__getitem__, rank.__getitem__)


def _shown(name):
    """Text or bytes on one line and in one field."""
    if isinstance(name, str):
        name = name.encode(errors="surrogatepass")
    return name.replace(b"\\", b"\\\\").decode(errors="backslashreplace").translate(CONTROL)
