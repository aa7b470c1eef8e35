"""Labels of which a sequence may have one run at most: the best such labelling, by branch and bound.

A run is a chunk, or among labels that are no chunk labels the same label from token to token. The best labelling without the rule
is a bound for all that keep it. Where it has two runs of X with a token p between them that is not X, every labelling that keeps
the rule is in one of three parts, none of which has the one at hand:

    X nowhere from p on        X nowhere up to p        X at p

Each part is labels that tokens may have, so its best labelling is decoded as any other, and is its bound. The part with the
best bound is looked at next; the first one whose labelling keeps the rule has the best of all. Two runs of X side by side are
forbidden as label pairs.

In the worst case this takes exponential time (the problem is hard in general). After LIMIT parts the search dives: of the three
parts always the best one, to the end; the labelling found keeps the rule, but may not be the best.
"""

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ..errors import SettingsError
from ..text.legal import Legal
from ..text.schemes import parts
from .evaluate import chunk_rules, is_chunked
from .query import Query

LIMIT = 500  # parts of one sequence


@dataclass(order=True)
class _Part:
    """Labellings that keep to `known`; the best of them and its score."""

    bound: float  # minus the score: the heap's first is the best
    number: int
    known: np.ndarray = field(compare=False)
    labels: np.ndarray = field(compare=False)


class Once:
    """The rule for some types of chunks, or labels; `names` may be ("all",)."""

    def __init__(self, labels, names):
        if is_chunked(labels):
            self.starts, kinds = chunk_rules(labels)[0], [parts(label)[1] if label != "O" else None for label in labels]
        else:
            n = len(labels) + 1
            self.starts, kinds = ~np.eye(n, dtype=bool), list(labels)
        known = sorted({kind for kind in kinds if kind})
        if odd := set(names) - {"all"} - set(known):
            raise SettingsError("", f"--once {min(odd)}", "all, or some of " + ", ".join(known))
        wanted = [kind for kind in known if "all" in names or kind in names]
        self.group = np.array([wanted.index(kind) if kind in wanted else -1 for kind in kinds])  # -1: as often as it likes
        self.n_groups = len(wanted)

    def legal(self, legal):
        """The rules with the pairs that would begin a second run at once."""
        same = (self.group[:, None] == self.group) & (self.group >= 0)
        pairs, every = ~(same & self.starts[:-1, :-1]), np.ones(len(self.group), bool)
        return Legal.where(pairs, every, every) & legal

    def broken(self, path):
        """(group, a token between two of its runs), or None if no group has two."""
        group = self.group[path]
        begins = np.flatnonzero(self.starts[np.append(-1, path[:-1]), path] & (group >= 0))
        seen = {}
        for t in begins.tolist():
            if group[t] in seen:
                between = np.flatnonzero(group[seen[group[t]] : t] != group[t])
                return group[t], seen[group[t]] + int(between[0])
            seen[group[t]] = t
        return None

    def search(self, decoder, sequences, known):
        """(labels, whether they are proved to be the best, the number of parts) of one sequence; known: bool[T, L]."""
        numbers, heap = count(), []

        def add(known):
            decoded = decoder.decode(sequences, Query(known=known))
            if not decoded.impossible[0]:
                heapq.heappush(heap, _Part(-decoded.scores[0], next(numbers), known, decoded.labels))

        add(known)
        proved = True
        while heap:
            part = heapq.heappop(heap)
            found = self.broken(part.labels)
            if found is None:
                return part.labels, proved, next(numbers)
            if proved and part.number >= LIMIT:
                proved = False
            if not proved:
                heap.clear()
            for smaller in self._parts(part.known, *found):
                add(smaller)
        return None, True, next(numbers)

    def _parts(self, known, group, p):
        own = self.group == group
        for where, labels in ((slice(p, None), ~own), (slice(None, p + 1), ~own), (slice(p, p + 1), own)):
            smaller = known.copy()
            smaller[where] &= labels
            yield smaller
