"""What `tag` wrote, read again: lines with a gold and a predicted label.

    the DT B-NP B-NP                                          plain
    the DT B-NP B-NP:0.980000                                 --marginals best
    the DT B-NP B-NP:0.980000  B-NP:0.980000  I-NP:0.020000   --marginals all: the predicted label, then every label of the model
    @probability 0.31                                         --score: a line before each sentence
    @probability 0.31 1                                       -n: a line before each labelling, of which the first is scored

The first line settles the form and the number of columns; what looks otherwise is an error. So is a file without gold labels, which
would be scored as wrong throughout: with --labels-only there is no column for them, and in data without labels the
column in their place has something else, none of which is ever predicted.
"""

import re
import warnings

from ..errors import CrftrainWarning, DataError
from ..text.read import Run, columns
from ..text.schemes import converted
from ._two_columns import TwoColumns

PROBABILITY_LINE = re.compile(rb"@probability\t[0-9.eE+-]+(\t\d+)?\Z")
ENDS = set("ESLUMW")
_MARGINAL = re.compile(rb"(.*):([01]\.\d{6})", re.DOTALL)


def read_columns(evaluation, sentences, *, gold=-2, predicted=-1, sure=False, scheme=None):
    """Add Sentences, or Runs of them, with the gold and the predicted label in two columns (from 0, or from the end); the evaluation.

    sure: gold labels none of which is ever predicted are taken for what they are. With a scheme the labels of both are put into it.
    """
    reader = _Reader(evaluation, gold, predicted, scheme)
    for some in sentences:
        (reader.add_run if isinstance(some, Run) else reader.add)(some)
    if not sure:
        _check_gold(evaluation, reader.where, gold)
    _check_schemes(evaluation, reader.where)
    return evaluation


class _Reader:
    """Knows what the first line has settled."""

    def __init__(self, evaluation, gold, predicted, scheme):
        self.evaluation, self.gold, self.predicted, self.scheme = evaluation, gold, predicted, scheme
        self.width = self.where = None
        self.marginals = 0  # cells LABEL:PROBABILITY at the end of a line
        self.columns = TwoColumns()

    def add_run(self, run):
        """The sentences of a Run, in compiled code where nothing stands in its way."""
        if self.width is None and (first := next(run.sentences(), None)) is not None and first.lines[0][:1] != b"@":
            self.settle(first, 0, columns(first.lines[0]))
        if self.width is not None and not self.marginals and self.scheme is None:
            found = self.columns.take(run.text, self.width, self.gold % self.width, self.predicted % self.width)
            if found is not None:
                self.evaluation.add_numbered([name.decode() for name in self.columns.names.names()], found)
                return
        for sentence in run.sentences():
            self.add(sentence)

    def settle(self, sentence, i, row):
        """What the first line, which is this sentence's i-th, says of all others."""
        if sentence.lines[i].startswith((b'{"', b"[{")):
            raise DataError(sentence.place(i), "JSON", "columns, as `tag` writes them without --json")
        self.marginals, self.where, self.width = _marginals(row), sentence.place(i), len(row)
        need = max(-column if column < 0 else column + 1 for column in (self.gold, self.predicted))
        if _left(row, self.marginals) < need:
            raise DataError(self.where, _finding(self.width, self.marginals), f"at least {need}: a gold and a predicted label")

    def add(self, sentence):
        """One sentence."""
        probability = PROBABILITY_LINE.match(sentence.lines[0]) if sentence.lines else None
        if probability and probability[1] and int(probability[1]) > 1:
            return
        skip = 1 if probability else 0
        rows = [columns(line) for line in sentence.lines[skip:]]
        if self.width is None and rows:
            self.settle(sentence, skip, rows[0])
        for i, row in enumerate(rows):
            if len(row) != self.width:
                raise DataError(sentence.place(skip + i), _number(len(row)), f"{self.width} as at {self.where}")
            if self.marginals or _MARGINAL.fullmatch(row[-1]):
                if _marginals(row) != self.marginals:
                    expected = f"{self.marginals} as at {self.where}"
                    raise DataError(sentence.place(skip + i), f"{_marginals(row)} cells LABEL:PROBABILITY", expected)
                row[-self.marginals :] = [_MARGINAL.fullmatch(row[-self.marginals])[1]]
        labels = [row[self.gold].decode() for row in rows], [row[self.predicted].decode() for row in rows]
        self.evaluation.add(*(labels if self.scheme is None else (converted(side, self.scheme) for side in labels)))


def _marginals(row):
    """How many cells LABEL:PROBABILITY are at the end of a line: 0, 1, or one more than there are labels."""
    n = 0
    while n < len(row) and _MARGINAL.fullmatch(row[-1 - n]):
        n += 1
    return n


def marginals_of(row):
    """[(label, probability)] of the cells LABEL:PROBABILITY at the end of a line."""
    found = [_MARGINAL.fullmatch(cell) for cell in row[len(row) - _marginals(row) :]]
    return [(match[1], float(match[2])) for match in found]


def _left(row, marginals):
    """The number of columns when the labels' probabilities are gone."""
    return len(row) - max(0, marginals - 1)


def _finding(width, marginals):
    return _number(width) if marginals < 2 else f"{_number(width)}, {marginals} of them LABEL:PROBABILITY"


def _check_gold(evaluation, where, column):
    """A DataError where the gold labels and the predicted ones have nothing in common."""
    labels = evaluation.labels.items()
    gold, found = [name for name, score in labels if score.gold], [name for name, score in labels if score.found]
    if gold and set(gold).isdisjoint(found):
        finding = f"no label of column {column} ({_some(gold)}) is ever predicted ({_some(found)})"
        raise DataError(where, finding, f"gold labels there (--gold names another column, or says --gold {column} for sure)")


def _check_schemes(evaluation, where):
    """Warn where one side has tags for ends or single tokens and the other has none: what `tag --scheme` writes beside gold labels."""
    labels = evaluation.labels.items() if evaluation.chunked else ()
    gold, found = ({name[0] for name, score in labels if getattr(score, side) and name[1:2] in ("", "-")} for side in ("gold", "found"))
    if gold and found and bool(gold & ENDS) != bool(found & ENDS):
        told = f"{where}: gold labels have the tags {' '.join(sorted(gold))}, predicted ones {' '.join(sorted(found))}"
        warnings.warn(f"{told}: phrases can be compared, accuracy cannot", CrftrainWarning, stacklevel=2)


def _some(names):
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _number(n):
    return "1 column" if n == 1 else f"{n} columns"
