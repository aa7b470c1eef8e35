"""How good are the labels: accuracy, per-label scores, and chunks counted as conlleval counts them.

A label is TAG-TYPE, split at the first hyphen, or a TAG alone. A chunk starts or ends between two neighbours:

    start   BB IB OB OI EE EI OE           [ and ] always
    end     BB IB BO IO EE EI EO           [ and ] always
    either  where the type changes, unless the tag is O or . (the later one for a start, the earlier one for an end)

These are the rules of the CoNLL-2000 script and cover IOB1, IOB2, IOE1, IOE2 and brackets. They know no single-token tag
and join E-X B-X, so for BIOES and its kin (BILOU, BMES: M is I, L is E, U and W are S) rules are added: S starts and
ends always (and what stands before it), what follows it starts anew, and so does B after E. They change nothing in a
file without single-token tags and without B after E.

A found chunk is correct if a gold chunk of the same type starts and ends with it. One scan decides that, without spans:

    1) opens: both sides start a chunk of one type    closes: both sides end theirs    breaks: one side ends alone, or types part
    2) keep the positions where any of these happens; a chunk is correct iff it opens at one and closes at the very next

Everything is counted in one scan (_tally.pyx) with a boundary O after each sequence, lazily, when a result is asked for.
Reference: Tjong Kim Sang and Buchholz 2000, section 4; chunk representations: Tjong Kim Sang and Veenstra 1999.
"""

from array import array
from dataclasses import dataclass
from functools import cache

import numpy as np

from ._tally import Rules, parted, tally

_TAGS = "O.BIES[]"  # the tags that rules name; any other is the last row and column of the tables
ALIASES = {"M": "I", "L": "E", "U": "S", "W": "S"}
_OTHER = len(_TAGS)
_STARTS_AT = "BB IB OB OI EE EI OE" + " EB SB SE SI"
_ENDS_AT = "BB IB BO IO EE EI EO" + " EB ES BS IS"
_BOUNDARY = object()  # the label of no token: stands between two sequences
_NAMELESS = "<none>"  # how a missing label (None) is printed
WIDTH = 80  # of a terminal


def _tables():
    """(start, end, inside): bytes 0 or 1, [tag][next tag] twice, and whether a tag is a part of chunks."""
    n = _OTHER + 1
    start, end = bytearray(n * n), bytearray(n * n)
    for table, pairs in ((start, _STARTS_AT), (end, _ENDS_AT)):
        for pair in pairs.split():
            table[_TAGS.index(pair[0]) * n + _TAGS.index(pair[1])] = True
    for k in map(_TAGS.index, "[]S"):
        start[k::n] = end[k * n : (k + 1) * n] = b"\1" * n
    return start, end, bytearray(tag not in "O." for tag in [*_TAGS, "other"])


_START, _END, _INSIDE = _tables()


@cache
def _rules():
    """The same as arrays."""
    start, end, inside = (np.frombuffer(table, bool) for table in (_START, _END, _INSIDE))
    return start.reshape(len(inside), -1), end.reshape(len(inside), -1), inside


def _split(label):
    """(number of the tag, type): B-NP -> (2, "NP"); a missing label lies outside of all chunks."""
    if label is None or label is _BOUNDARY:
        return 0, ""
    tag, _, kind = label.partition("-")
    return tag_number(tag), kind


def tag_number(tag):
    """Its row in the tables."""
    tag = ALIASES.get(tag, tag)
    return _TAGS.index(tag) if len(tag) == 1 and tag in _TAGS else _OTHER


def is_chunked(labels):
    """Whether labels look like chunk labels.

    Typed: more than half of those that are not O are TAG-TYPE, so that one misspelt label does not change the measure.
    Untyped: all are tags (B I O, B M E S, [ ] .), there are two or more, and one of them is B, I, E, [ or ].
    """
    seen = {label for label in labels if label is not None}
    parts = [_split(label) for label in seen - {"O", "."}]
    typed = sum(1 for tag, kind in parts if kind and _INSIDE[tag] and tag != _OTHER)
    if typed:
        return 2 * typed > len(parts)
    return len(seen) > 1 and not seen.isdisjoint("BIE[]") and all(tag != _OTHER and not kind for tag, kind in parts)


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 in percent, 0 where nothing can be divided."""

    gold: int  # how many there are (the support)
    found: int  # how many were predicted
    correct: int

    @property
    def precision(self):
        return 100 * self.correct / self.found if self.found else 0.0

    @property
    def recall(self):
        return 100 * self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self):
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def as_json(self):
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


class _Numbers(dict):
    """Label -> number, given at the first look."""

    def __missing__(self, label):
        self[label] = number = len(self)
        return number


class Evaluation:
    """Collects sequences with add(), then answers.

    Whether the labels are chunk labels is decided by `chunks`, else by `labels` in place of the seen ones, else by those.
    """

    def __init__(self, *, labels=None, chunks=None):
        self._labels, self._chunks = labels, chunks
        self._number = _Numbers({_BOUNDARY: 0, None: 1})
        self._gold = array("i")  # label numbers, a 0 after each sequence
        self._predicted = array("i")
        self._first = array("q")  # where sequences begin
        self._counts = None

    def add(self, gold, predicted):
        """One sequence: two lists of labels; None is a label that is not known, and always wrong."""
        if len(gold) != len(predicted):
            raise ValueError(f"{len(gold)} gold labels, {len(predicted)} predicted ones")
        if not len(gold):
            return
        number = self._number.__getitem__
        self._counts = None
        self._first.append(len(self._gold))
        for store, labels in ((self._gold, gold), (self._predicted, predicted)):
            store.extend(map(number, labels))
            store.append(0)

    def add_numbered(self, names, pairs):
        """Sequences as int32[2 n], gold and predicted label side by side, numbers of names, and -1 after each sequence."""
        self._counts = None
        number = array("i", [self._number[name] for name in names])
        found = parted(pairs, number, len(self._gold))
        for store, numbers in zip((self._gold, self._predicted, self._first), found, strict=True):
            store.frombytes(numbers.cast("B"))

    @property
    def n_tokens(self):
        return len(self._gold) - len(self._first)

    @property
    def n_sequences(self):
        return len(self._first)

    @property
    def accuracy(self):
        return 100 * self._counted.hits / self.n_tokens if self.n_tokens else 0.0

    @property
    def sequence_accuracy(self):
        return 100 * self._counted.whole / self.n_sequences if self.n_sequences else 0.0

    @property
    def chunk(self):
        """Score over the chunks of all types."""
        return self._counted.chunk

    @property
    def types(self):
        """{type: Score}, types by name; the type of untyped chunks is the empty string."""
        return self._counted.types

    @property
    def labels(self):
        """{label: Score} over tokens, labels by name."""
        return self._counted.labels

    @property
    def chunked(self):
        if self._chunks is not None:
            return self._chunks
        seen = (label for label in self._number if label is not _BOUNDARY)
        return is_chunked(seen if self._labels is None else self._labels)

    @property
    def score(self):
        """The one number to compare models by: chunk F1 if the labels are chunk labels, else accuracy."""
        return self.chunk.f1 if self.chunked else self.accuracy

    def confusions(self):
        """{(gold label, predicted label): tokens} for the pairs that occur."""
        return self._counted.pairs()

    def by_sequence(self):
        """BySequence: the same numbers apart for each sequence."""
        from .by_sequence import BySequence

        first, gold, predicted = np.array(self._first), np.array(self._gold), np.array(self._predicted)
        kinds, gold_spans, found_spans = self._counted.spans()
        return BySequence(list(self._number), first, gold, predicted, kinds, gold_spans, found_spans)

    @property
    def _counted(self):
        if self._counts is None:
            self._counts = _Counts(list(self._number), self._gold, self._predicted)
        return self._counts

    def report(self):
        """conlleval's lines, where there are chunks; then ours."""
        lines = self._phrases() if self.chunked else self._tokens()
        lines += ["", f"sequence accuracy: {self.sequence_accuracy:6.2f}% ({self._counted.whole} of {self.n_sequences})", ""]
        width = max(map(len, ["label", *self.labels]))
        lines.append(f"{'label':<{width}}  precision   recall       F1  support")
        for label, score in self.labels.items():
            lines.append(f"{label:<{width}}  {score.precision:9.2f} {score.recall:8.2f} {score.f1:8.2f} {score.gold:8d}")
        return "\n".join(lines) + "\n"

    def _phrases(self):
        chunk = self.chunk
        lines = [f"processed {self.n_tokens} tokens with {chunk.gold} phrases; found: {chunk.found} phrases; correct: {chunk.correct}."]
        if self.n_tokens:
            lines.append(f"accuracy: {self.accuracy:6.2f}%; {_conlleval(chunk)}")
        return lines + [f"{kind:>17}: {_conlleval(score)}  {score.found}" for kind, score in self.types.items()]

    def _tokens(self):
        lines = [f"processed {self.n_tokens} tokens; correct: {self._counted.hits}."]
        return lines + ([f"accuracy: {self.accuracy:6.2f}%"] if self.n_tokens else [])

    def as_json(self):
        """Percentages at full precision; chunk is None where labels are no chunk labels."""
        return {
            "accuracy": self.accuracy,
            "sequence_accuracy": self.sequence_accuracy,
            "chunk": self.chunk.as_json() if self.chunked else None,
            "types": {kind: {**score.as_json(), "support": score.gold} for kind, score in self.types.items()},
            "labels": {label: {**score.as_json(), "support": score.gold} for label, score in self.labels.items()},
        }

    def confusion(self, *, top=10):
        """The matrix (gold rows, predicted columns), the frequent labels first, and the most frequent confusions as a list."""
        pairs = self.confusions()
        total = {}
        for (gold, _), count in pairs.items():
            total[gold] = total.get(gold, 0) + count
        names = sorted({label for pair in pairs for label in pair}, key=lambda label: (-total.get(label, 0), label))
        lines = ["gold labels are rows, predicted labels are columns"]
        lines += _matrix(names, pairs)
        wrong = sorted((-count, pair) for pair, count in pairs.items() if pair[0] != pair[1] or _NAMELESS in pair)[:top]
        if wrong:
            lines += ["", "most frequent confusions (share of the gold label)"]
        for count, (gold, predicted) in wrong:
            lines.append(f"{-count:8d}  {-100 * count / total[gold]:6.2f}%  {gold} -> {predicted}")
        return "\n".join(lines) + "\n"


def _conlleval(score):
    return f"precision: {score.precision:6.2f}%; recall: {score.recall:6.2f}%; FB1: {score.f1:6.2f}"


class _Counts:
    """Everything that is counted, from label numbers; gold and predicted have a boundary (0) after each sequence."""

    def __init__(self, names, gold, predicted):
        self._names = [_NAMELESS if name is None else name for name in names]
        self._gold, self._predicted = gold, predicted
        kinds = _Numbers({"": 0})
        self._tag, self._kind = array("i"), array("i")  # of each label
        for tag, kind in map(_split, names):
            self._tag.append(tag)
            self._kind.append(kinds[kind])
        self._kinds = list(kinds)
        rules = Rules(_START, _END, _INSIDE, self._tag, self._kind)
        self.hits, self.whole, labels, chunks = tally(gold, predicted, rules, len(kinds))
        self.labels = self._scores(self._names[2:], labels[2:])
        self.types = self._scores(self._kinds, chunks)
        self.chunk = Score(*map(sum, zip(*chunks, strict=True)))

    def _scores(self, names, rows):
        """{name: Score}, sorted by name, without what occurs nowhere."""
        return dict(sorted((name, Score(*row)) for name, row in zip(names, rows, strict=True) if row[0] or row[1]))

    def spans(self):
        """(names of types, gold, found): the chunks as int arrays [3][n] of their first token, their end and their type."""
        border, sides = np.array(self._gold) == 0, []  # a sequence ends whatever tags no rule names leave open
        tag, kind = np.array(self._tag), np.array(self._kind)
        for numbers in map(np.array, (self._gold, self._predicted)):
            starts, ends = borders(tag[numbers], kind[numbers])
            sides.append(_spans(starts, ends | border, kind[numbers]))
        return self._kinds, *sides

    def pairs(self):
        """{(gold label, predicted label): tokens} for the pairs that occur."""
        size = len(self._names)
        key, count = np.unique(np.array(self._gold, np.int64) * size + np.array(self._predicted), return_counts=True)
        pairs = zip((key // size).tolist(), (key % size).tolist(), count.tolist(), strict=True)
        return {(self._names[gold], self._names[predicted]): n for gold, predicted, n in pairs if gold}


def _before(numbers, first):
    """numbers moved one place to the right: what stood before each."""
    moved = np.empty_like(numbers)
    moved[:1] = first
    moved[1:] = numbers[:-1]
    return moved


def borders(tag, kind):
    """(starts, ends): whether a chunk starts at t, and whether one ends between t-1 and t."""
    (start, end, inside), last = _rules(), _before(tag, 0)
    changed = kind != _before(kind, 0)
    return start[last, tag] | (inside[tag] & changed), end[last, tag] | (inside[last] & changed)


def chunk_rules(labels):
    """(starts, ends): bool[L + 1, L + 1], whether a chunk starts with a label after another one, or ends between the two.

    Label L is none: what stands before the first token and behind the last.
    """
    (start, end, inside), (tag, kind) = _rules(), zip(*map(_split, [*labels, None]), strict=True)
    tag, changed = np.array(tag), np.array([[a != b for b in kind] for a in kind])
    starts = start[tag[:, None], tag] | (inside[tag] & changed)
    return starts, end[tag[:, None], tag] | (inside[tag][:, None] & changed)


def _spans(starts, ends, kind):
    first, end = np.flatnonzero(starts), np.flatnonzero(ends)
    return np.array([first, end[np.searchsorted(end, first, "right")] if len(first) else first, kind[first]])


def _matrix(names, pairs):
    """Lines of the table; columns are called by their row's number and folded into blocks that fit a terminal."""
    shown = [name if len(name) <= 20 else name[:19] + "~" for name in names]
    number, width = len(str(len(names))), max(map(len, shown), default=0)
    cells = [[str(pairs.get((gold, found), ".")) for found in names] for gold in names]
    column = [1 + max(len(str(j + 1)), *(len(row[j]) for row in cells)) for j in range(len(names))]
    lines, j = [], 0
    while j < len(names):
        room, end = WIDTH - number - 1 - width, j
        while end < len(names) and (end == j or room >= column[end]):
            room -= column[end]
            end += 1
        lines += ["", " " * (number + 1 + width) + "".join(f"{k + 1:{column[k]}d}" for k in range(j, end))]
        for i, row in enumerate(cells):
            lines.append(f"{i + 1:{number}d} {shown[i]:<{width}}" + "".join(f"{row[k]:>{column[k]}}" for k in range(j, end)))
        j = end
    return lines
