"""The sentences of a page, packed: what report.js unpacks when they are looked at."""

import numpy as np

from ..tagging.mistakes import KINDS
from ..text.read import Sentence
from . import packed


def listing(answers, other=None):
    """What the list of sentences needs; other: the Answers of a second model."""
    by = answers.by
    names = [name if isinstance(name, str) else "<none>" for name in by.names[1:]]  # the first is that of a boundary
    data = {
        "labels": names,
        "types": _types(answers.evaluation, names),
        "chunked": answers.evaluation.chunked,
        "text": "\n".join(answers.words),
        "lines": np.diff([line_of(sentence, 0) for sentence in answers.sentences], prepend=0).tolist(),
        "apart": _apart(answers.sentences),
        "files": _files(answers.sentences),
        "width": packed.width_for(2 * len(names) + 1),
        "gold": _side(by, by.gold, by.gold_spans, len(names)),
        "predicted": _side(by, by.predicted, by.found_spans, len(names)),
        "sure": packed.pack(packed.shares(answers.probability)),
        "kinds": list(KINDS) if answers.evaluation.chunked else ["label"],
        "mistakes": _mistakes(answers),
    }
    if other is not None:
        theirs = other.by
        number = {name: k for k, name in enumerate(names)}
        new = [name for name in theirs.names[2:] if name not in number]
        data["labels"] = names = names + new
        number |= {name: len(names) - len(new) + k for k, name in enumerate(new)}
        data["types"], data["width"] = _types(answers.evaluation, names), packed.width_for(2 * len(names) + 1)
        again = np.array([0, *(number.get(name, 0) + 1 if isinstance(name, str) else 1 for name in theirs.names[1:])])
        data["gold"] = _side(by, by.gold, by.gold_spans, len(names))
        data["predicted"] = _side(by, by.predicted, by.found_spans, len(names))
        data["other"] = _side(by, again[theirs.predicted], theirs.found_spans, len(names))
    return data


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


def _types(evaluation, names):
    """For each label the number of its type in the order of frequency, -1 outside of chunks: [names of types, of each label]."""
    from ..tagging.evaluate import _OTHER, _split

    if not evaluation.chunked:
        return [[], [-1] * len(names)]
    order = sorted(evaluation.types, key=lambda kind: -evaluation.types[kind].gold)
    number = {kind: k for k, kind in enumerate(order)}
    found = []
    for name in names:
        tag, kind = _split(name)
        outside = name in ("O", ".") or (tag == 0 and not kind) or (tag == _OTHER and kind not in number)
        found.append(-1 if outside else number.get(kind, -1))
    return [order, found]


def _side(by, labels, spans, n_labels):
    """2 (label) + (a chunk begins here) of each token."""
    begins = np.zeros(len(labels), np.int64)
    begins[spans[0]] = 1
    inside = by.gold > 0
    return packed.pack((2 * (labels.astype(np.int64) - 1) + begins)[inside], packed.width_for(2 * n_labels + 1))


def _mistakes(answers):
    """[sentence, kind] of each mistake, in one row, where labels are those of chunks."""
    if not answers.evaluation.chunked:
        return []
    return [number for m in answers.mistakes for number in (m.sequence, KINDS.index(m.kind))]
