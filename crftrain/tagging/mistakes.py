"""Errors by kind: each chunk that is gold and not found, or found and not gold, is in one of them.

    type                both borders are right, the type is not
    boundary            the type is right, the two overlap
    type and boundary   they overlap
    missed, spurious    nothing of the other side that is wrong overlaps with it

Chunks are paired one to one, in this order of kinds, the longest overlap first. Where labels are no chunk labels a wrong token is one
mistake, of kind `label`.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .by_sequence import right

KINDS = ("missed", "spurious", "type", "boundary", "type and boundary")


@dataclass(frozen=True)
class Mistake:
    """Tokens are counted from the sequence's first; a side that is not there is None."""

    sequence: int
    kind: str
    gold: tuple | None  # (first, end, type)
    found: tuple | None


def mistakes(evaluation):
    """All of an Evaluation's, in order."""
    by = evaluation.by_sequence()
    return _of_chunks(by) if evaluation.chunked else _of_labels(by)


def _of_labels(by):
    wrong = np.flatnonzero((by.gold > 0) & ((by.gold != by.predicted) | (by.gold == 1)))
    sequence = np.searchsorted(by.first, wrong, "right") - 1
    found = []
    for i, t, gold, predicted in zip(
        sequence.tolist(), (wrong - by.first[sequence]).tolist(), by.gold[wrong], by.predicted[wrong], strict=True
    ):
        found.append(Mistake(i, "label", (t, t + 1, by.names[gold]), (t, t + 1, by.names[predicted])))
    return found


def _of_chunks(by):
    sides = []
    for spans, others in ((by.gold_spans, by.found_spans), (by.found_spans, by.gold_spans)):
        wrong = spans[:, ~right(spans, others)]
        sequence = np.searchsorted(by.first, wrong[0], "right") - 1
        apart = {}
        rows = zip(sequence.tolist(), (wrong[:2] - by.first[sequence]).T.tolist(), wrong[2].tolist(), strict=True)
        for i, (first, end), kind in rows:
            apart.setdefault(i, []).append((first, end, by.kinds[kind]))
        sides.append(apart)
    return [mistake for i in sorted(set(sides[0]) | set(sides[1])) for mistake in _paired(i, sides[0].get(i, []), sides[1].get(i, []))]


def _paired(i, gold, found):
    """The mistakes of sequence i, by their first token."""
    near = []
    for g in gold:
        for f in found:
            overlap = min(g[1], f[1]) - max(g[0], f[0])
            if overlap > 0:
                kind = "type" if g[:2] == f[:2] else "boundary" if g[2] == f[2] else "type and boundary"
                near.append((KINDS.index(kind), -overlap, g, f))
    pairs, free_gold, free_found = [], set(gold), set(found)
    for kind, _, g, f in sorted(near):
        if g in free_gold and f in free_found:
            pairs.append(Mistake(i, KINDS[kind], g, f))
            free_gold.remove(g)
            free_found.remove(f)
    pairs += [Mistake(i, "missed", g, None) for g in free_gold] + [Mistake(i, "spurious", None, f) for f in free_found]
    return sorted(pairs, key=lambda mistake: min(mistake.gold or mistake.found, mistake.found or mistake.gold))


def counts(found):
    """{kind: how many}, in the order of KINDS."""
    many = Counter(mistake.kind for mistake in found)
    return {kind: many[kind] for kind in (*KINDS, "label") if many[kind]}
