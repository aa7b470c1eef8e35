"""How far probabilities can be believed: of what is called 80 % sure, 80 % should be right.

    found = Calibration().read(sentences)     output of `tag --json --score --marginals best` (tokens and spans) or of
                                              `tag --marginals best` (tokens)
    found.tokens, found.spans                 Reliability, None where nothing has a probability

Probabilities fall into BINS bins of equal width. The expected calibration error is the mean over all items of how far the share of right
ones in their bin is from the bin's mean probability (Naeini et al. 2015). A token is right if its label is, a span if a gold span has its
type and borders.
"""

import json

import numpy as np

from ..errors import DataError
from ..text.read import columns
from ..text.schemes import spans
from .tagged import PROBABILITY_LINE, marginals_of

BINS = 10
WANTED = "the output of `tag --json --score --marginals best`, or of `tag --marginals best`, for data with gold labels"


class Reliability:
    """p float64[n], and whether each was right."""

    def __init__(self, p, right):
        self.p, self.right = np.asarray(p, float), np.asarray(right, bool)
        number = np.minimum((self.p * BINS).astype(int), BINS - 1)
        self.n = np.bincount(number, minlength=BINS)
        with np.errstate(invalid="ignore"):
            self.mean = np.bincount(number, self.p, minlength=BINS) / self.n
            self.share = np.bincount(number, self.right, minlength=BINS) / self.n

    @property
    def error(self):
        """The expected calibration error, 0 to 1."""
        some = self.n > 0
        return float(np.abs(self.mean - self.share)[some] @ self.n[some] / len(self.p))

    def rows(self):
        """(from, to, items, mean probability, share of right ones) of each bin that has some."""
        for k in np.flatnonzero(self.n):
            yield k / BINS, (k + 1) / BINS, int(self.n[k]), float(self.mean[k]), float(self.share[k])

    def as_json(self):
        names = ("from", "to", "items", "probability", "right")
        return {"ece": self.error, "items": len(self.p), "bins": [dict(zip(names, row, strict=True)) for row in self.rows()]}

    def lines(self, what):
        """The table."""
        yield f"{what}: {len(self.p):,}, expected calibration error {self.error:.4f}"
        yield "  probability        items     mean    right"
        for low, high, n, mean, share in self.rows():
            yield f"   {low:.1f} to {high:.1f}  {n:10,}   {mean:.4f}   {share:.4f}"


class Calibration:
    """What tagged sentences say of their own certainty."""

    def __init__(self):
        self._tokens, self._spans = ([], []), ([], [])

    @property
    def tokens(self):
        return Reliability(*self._tokens) if self._tokens[0] else None

    @property
    def spans(self):
        return Reliability(*self._spans) if self._spans[0] else None

    def read(self, sentences, *, gold=-2):
        """Add the sentences of a file; self."""
        for sentence in sentences:
            lines = sentence.lines
            if lines[0].startswith(b"{"):
                for k, line in enumerate(lines):
                    self._object(line, sentence.place(k))
            else:
                skip = bool(PROBABILITY_LINE.match(lines[0]))
                for k, line in enumerate(lines[skip:], skip):
                    self._cells(columns(line), gold, sentence.place(k))
        if not self._tokens[0] and not self._spans[0]:
            raise DataError("", "no probabilities", WANTED)
        return self

    def _cells(self, row, gold, place):
        found = marginals_of(row)
        if not found:
            raise DataError(place, "no LABEL:PROBABILITY", WANTED)
        left = row[: len(row) - len(found) + 1]  # the label's own cell comes first
        if len(left) < -gold or gold >= len(left):
            raise DataError(place, f"{len(left)} columns", "a gold label beside the predicted one")
        self._add(self._tokens, found[0][1], left[gold] == found[0][0])

    def _object(self, line, place):
        try:
            found = json.loads(line)
            gold, labels = found["gold"], found["labels"]
            for mine, theirs, p in zip(labels, gold, found.get("probabilities", ()), strict=False):
                self._add(self._tokens, float(p), mine == theirs)
            chunks = set(spans(gold))
            for span in found.get("spans", ()):
                if "probability" in span:
                    self._add(self._spans, float(span["probability"]), (span["type"], span["start"], span["end"]) in chunks)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            found = f"no {error}" if isinstance(error, KeyError) else "what `tag --json` does not write"
            raise DataError(place, found, WANTED) from None

    @staticmethod
    def _add(to, p, right):
        if not 0 <= p <= 1:
            raise ValueError(f"the probability {p}")
        to[0].append(p)
        to[1].append(right)

    def parts(self):
        """{"tokens": Reliability, "spans": Reliability}: those that there are."""
        return {name: found for name in ("tokens", "spans") if (found := getattr(self, name))}
