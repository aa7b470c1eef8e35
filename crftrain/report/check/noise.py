"""Gold labels that models doubt which have not seen them: of cross-validation, or of a model of other data.

The file is what `learn --folds-out` or `tag --marginals all` writes: gold label, predicted label, then label:probability for each
label; if only the predicted label's is there, a gold label that is another one has at most the rest.
"""

import numpy as np

from ...errors import DataError
from ...tagging.tagged import PROBABILITY_LINE, marginals_of
from ...text.read import columns, sentences
from .findings import Example, Finding, counted, shown

DOUBT = 0.05  # a gold label is doubted where its probability is less


def check_noise(data, path, *, encoding="utf-8"):
    """Findings on the gold labels in a file of predictions, at the lines of the training data where these are the same sentences."""
    doubted, sizes, at = [], [], 0
    for sentence in sentences(path, encoding=encoding):
        skip = 1 if PROBABILITY_LINE.match(sentence.lines[0]) else 0
        for i, line in enumerate(sentence.lines[skip:]):
            gold, found, p = _read(sentence, skip + i, columns(line))
            if p < DOUBT:
                doubted.append((p, at + i, sentence.place(skip + i), gold, found))
        at += len(sentence.lines) - skip
        sizes.append(len(sentence.lines) - skip)
    if not at:
        raise DataError(path, "no tokens", "what `learn --folds-out` writes")
    same = np.array_equal(sizes, data.train.lengths)
    if not doubted:
        return
    doubted.sort()
    examples = []
    for p, t, place, gold, found in doubted[: data.most]:
        where, around = (data.train.place(t), data.train.around(t)) if same else (place, "")
        examples.append(Example(where, f"{shown(gold)} has {p:.4f}, predicted is {shown(found)}: {around}".rstrip(": ")))
    yield Finding(
        "noise",
        "warning",
        len(doubted),
        f"{counted(len(doubted), 'gold label')} ({len(doubted) / at:.2%}) that models of other sentences give less than {DOUBT:.0%}",
        "look at them, the first ones first: they are wrong, or hard",
        examples,
    )


def _read(sentence, i, row):
    """(gold label, predicted label, the gold label's probability)."""
    told = marginals_of(row)
    rest = row[: len(row) - len(told)]
    if not told or not rest:
        raise DataError(sentence.place(i), "no label with its probability", "what `learn --folds-out` writes")
    gold, (found, best) = rest[-1], told[0]
    if len(told) == 1:
        return gold, found, best if gold == found else 1 - best
    return gold, found, dict(told[1:]).get(gold, 0.0)
