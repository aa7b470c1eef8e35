"""The worst sentences of an evaluation as text: gold over predicted, wrong chunks marked with ! and, where there is colour, in it."""

from collections import defaultdict

import numpy as np

from ..tagging.mistakes import counts, mistakes
from ..text.printable import printable

WIDTH = 100


def _ordered(evaluation):
    """({sequence: its mistakes}, the sequences with mistakes, the worst first)."""
    apart, tokens = defaultdict(list), evaluation.by_sequence().tokens.tolist()
    for mistake in mistakes(evaluation):
        apart[mistake.sequence].append(mistake)
    return apart, sorted(apart, key=lambda i: (-len(apart[i]), -(tokens[i][0] - tokens[i][1]) / tokens[i][0], i))


def worst(evaluation, sentences, n, *, paint=lambda text, *how: text, width=WIDTH):
    """Lines for the n sentences with most mistakes, those with the greater share of wrong tokens first among equals.

    sentences: (place, words) of each sequence of the evaluation; paint(text, colour...) colours.
    """
    by, (apart, order) = evaluation.by_sequence(), _ordered(evaluation)
    yield f"{len(apart):,} of {len(by.first):,} sentences with mistakes: {_told(counts(m for own in apart.values() for m in own))}"
    for i in order[:n]:
        place, words = sentences[i][0], list(map(printable, sentences[i][1]))
        yield ""
        yield f"{paint(place, 'bold')}  {_told(counts(apart[i]))}"
        sides = _sides(by, i) if evaluation.chunked else _labelled(by, i)
        for name, spans, colour in (("gold", sides[0], "green"), ("predicted", sides[1], "red")):
            wrong = {side for m in apart[i] if (side := m.gold if name == "gold" else m.found)}
            yield from _wrapped(f"  {name:<11}", _pieces(words, spans, wrong, colour, paint), width)


def worst_as_json(evaluation, sentences, n):
    """The same as data."""
    apart, order = _ordered(evaluation)
    side = lambda span: span and {"first": span[0], "end": span[1], "type": span[2]}  # noqa: E731
    return [
        {
            "place": sentences[i][0],
            "words": sentences[i][1],
            "mistakes": [{"kind": m.kind, "gold": side(m.gold), "predicted": side(m.found)} for m in apart[i]],
        }
        for i in order[:n]
    ]


def _told(many):
    return ", ".join(f"{number:,} {kind}" for kind, number in many.items()) or "none"


def _sides(by, i):
    """The chunks of sequence i, gold and found, as (first, end, type)."""
    first = int(by.first[i])
    borders, sides = [first, first + int(by.tokens[i, 0])], []
    for spans in (by.gold_spans, by.found_spans):
        own = spans[:, slice(*np.searchsorted(spans[0], borders))]
        sides.append([(a - first, b - first, by.kinds[kind]) for a, b, kind in own.T.tolist()])
    return sides


def _labelled(by, i):
    """The same where every token is by itself: those that are wrong."""
    first = int(by.first[i])
    length = int(by.tokens[i, 0])
    gold, predicted = by.gold[first : first + length].tolist(), by.predicted[first : first + length].tolist()
    wrong = [k for k in range(length) if gold[k] != predicted[k] or gold[k] == 1]
    return [[(k, k + 1, by.names[side[k]]) for k in wrong] for side in (gold, predicted)]


def _pieces(words, spans, wrong, colour, paint):
    """(text, its width on a terminal): words, and chunks in brackets."""
    at, pieces = 0, []
    for first, end, kind in spans:
        pieces += [(word, len(word)) for word in words[at:first]]
        mark = "!" if (first, end, kind) in wrong else ""
        text = f"[{printable(kind) or 'chunk'}{mark} {' '.join(words[first:end])}]"
        pieces.append((paint(text, colour, "bold") if mark else paint(text, "dim"), len(text)))
        at = end
    return pieces + [(word, len(word)) for word in words[at:]]


def _wrapped(head, pieces, width):
    """Lines no wider than the terminal, as far as pieces allow."""
    line, used = [head], len(head)
    for text, size in pieces:
        if used + 1 + size > width and len(line) > 1:
            yield " ".join(line)
            line, used = [" " * len(head)], len(head)
        line.append(text)
        used += 1 + size
    yield " ".join(line)
