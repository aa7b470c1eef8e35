"""The sentences of a page, packed: what report.js unpacks when they are looked at."""

import numpy as np

from ..tagging.mistakes import KINDS
from ..text.read import Sentence
from . import packed


def listing(answers, other=None):
    """What the list of sentences needs; other: the Answers of a second model."""
    by, names = answers.by, _Names()
    sides = {"gold": (names.of(by)[by.gold], by.gold_spans, by.kinds), "predicted": (names.of(by)[by.predicted], by.found_spans, by.kinds)}
    if other is not None:
        sides["other"] = names.of(other.by)[other.by.predicted], other.by.found_spans, other.by.kinds
    width = packed.width_for(2 * len(names) + 1)
    return {
        "labels": list(names),
        "types": _types(answers.evaluation, len(names), sides.values()),
        "chunked": answers.evaluation.chunked,
        "text": "\n".join(answers.words),
        "lines": np.diff([line_of(sentence, 0) for sentence in answers.sentences], prepend=0).tolist(),
        "apart": _apart(answers.sentences),
        "files": _files(answers.sentences),
        "width": width,
        **{name: _side(labels, spans, width) for name, (labels, spans, _) in sides.items()},
        "sure": packed.pack(packed.shares(answers.probability)),
        "kinds": list(KINDS) if answers.evaluation.chunked else ["label"],
        "mistakes": _mistakes(answers),
    }


class _Names(dict):
    """Label: its number on the page, 0 for one that is not known."""

    def __init__(self):
        self["<none>"] = 0

    def of(self, by):
        """int[label numbers of an evaluation]: the numbers here, -1 of the boundary."""
        known = (self.setdefault(name, len(self)) if isinstance(name, str) else 0 for name in by.names[1:])
        return np.array([-1, *known])


def line_of(sentence, i):
    """The line of the file on which a token stands."""
    return int(sentence.place(i).rpartition(":")[2])


def _apart(sentences):
    """{sentence: [line of each token]} of those whose tokens are not on lines that follow each other."""
    found = {}
    for k, sentence in enumerate(sentences):
        last = len(sentence.lines) - 1
        if type(sentence) is not Sentence and line_of(sentence, last) - line_of(sentence, 0) != last:
            found[k] = [line_of(sentence, i) for i in range(last + 1)]
    return found


def _files(sentences):
    """[[first sentence, name]...] of the runs that come from one file."""
    runs = []
    for i, sentence in enumerate(sentences):
        if not runs or runs[-1][1] != sentence.source:
            runs.append([i, sentence.source])
    return runs


def _types(evaluation, n_labels, sides):
    """[types of chunks, the most frequent first; the type of each label, -1 outside of chunks]."""
    found = np.full(n_labels, -1)
    if not evaluation.chunked:
        return [[], found.tolist()]
    sides = list(sides)
    gold = {kind: score.gold for kind, score in evaluation.types.items()}
    order = sorted({kind for *_, kinds in sides for kind in kinds}, key=lambda kind: (-gold.get(kind, -1), kind))
    for labels, (first, end, kind), kinds in sides:
        size = end - first
        inside = np.repeat(end - np.cumsum(size), size) + np.arange(size.sum())
        found[labels[inside]] = np.repeat(np.array([order.index(name) for name in kinds], int)[kind], size)
    return [order, found.tolist()]


def _side(labels, spans, width):
    """2 (label) + (a chunk begins here) of each token."""
    begins = np.zeros(len(labels), np.int64)
    begins[spans[0]] = 1
    return packed.pack((2 * labels + begins)[labels >= 0], width)


def _mistakes(answers):
    """[sentence, kind] of each mistake, in one row, where labels are those of chunks."""
    if not answers.evaluation.chunked:
        return []
    return [number for m in answers.mistakes for number in (m.sequence, KINDS.index(m.kind))]
