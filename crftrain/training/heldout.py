"""Labelled data that training does not learn from: its scores decide which step is kept."""

import math
import warnings
from itertools import pairwise

import numpy as np

from ..chain._parts import even
from ..chain._problem import Problem
from ..chain._sequences import Sequences
from ..chain.threads import in_threads
from ..errors import CrftrainWarning, DataError
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..text.encode import Encoder
from ..text.read import sentences


def decode(layout, w, parts):
    """int32[T]: the best labels of the sequences of all parts, each in a thread."""
    decoder, found = Decoder(layout, w), [None] * len(parts)

    def work(k):
        found[k] = decoder.decode(parts[k]).labels

    in_threads(work, len(parts))
    return np.concatenate(found)


def add_corpus(evaluation, names, seq, gold, predicted):
    """Sequences i of tokens seq[i] .. seq[i + 1] - 1, labels as numbers of names, of which those count that occur."""
    ids, number = np.unique(np.stack([gold, predicted], axis=1), return_inverse=True)
    pairs = np.insert(number.reshape(-1, 2), seq[1:][np.diff(seq) > 0], -1, axis=0)
    evaluation.add_numbered([names[j] for j in ids.tolist()], pairs.astype(np.int32).ravel())


class HeldOutData:
    """Labelled sequences in the numbers of a vocabulary, for scores during training.

    gold has their labels as they stand there, also those that the vocabulary has not.
    """

    def __init__(self, corpus, gold, labels, name="held-out data"):
        self.corpus, self.gold, self.labels, self.name = corpus, gold, labels, name
        self.unknown = np.add.reduceat(corpus.label < 0, corpus.seq[:-1]) > 0
        if self.unknown.any():
            warnings.warn(f"{name}: {self._of_unknown()}", CrftrainWarning, stacklevel=2)

    def _of_unknown(self):
        names = sorted(set(self.gold) - set(self.labels))
        shown = ", ".join(names[:5]) + (", .." if len(names) > 5 else "")
        return f"{self.unknown.sum():,} of {len(self.unknown):,} sentences have labels that training has not ({len(names)}: {shown})"

    @classmethod
    def read(cls, path, vocabulary, *, encoding="utf-8"):
        """A labelled file."""
        encoder = Encoder(vocabulary, gold="yes")
        read = list(sentences(path, encoding=encoding, form=vocabulary.form))
        for sentence in read:
            if not encoder.has_gold(sentence):
                raise DataError(sentence.place(), "no gold label", f"{vocabulary.n_columns} columns, the label among them")
        if not read:
            raise DataError(path, "no sentences", "held-out data with gold labels")
        gold = [label for sentence in read for label in encoder.gold_labels(sentence)]
        return cls(encoder.encode(read), gold, vocabulary.labels, path)

    def possible(self, layout):
        """bool[n]: the sequences whose labels have a probability."""
        possible = ~self.unknown
        if layout.legal is not None:
            possible &= np.add.reduceat(layout.legal.broken(self.corpus.seq, self.corpus.label), self.corpus.seq[:-1]) == 0
        return possible

    def _numbered(self):
        """(the labels and those that training has not, int32[T]: the gold ones as numbers of them)."""
        names = list(dict.fromkeys([*self.labels, *self.gold]))
        number = {name: k for k, name in enumerate(names)}
        return names, np.array([number[label] for label in self.gold], np.int32)

    def scorer(self, layout, *, select="score", threads=1):
        """w -> (what decides, {"f1": ..., "accuracy": ..., "likelihood": ...}); f1 only where the labels are chunk labels.

        `score` decides by f1, or accuracy; `likelihood` by the mean log p(y|x) of the sequences whose labels are all known.
        """
        possible = self.possible(layout)
        if select == "likelihood" and not possible.any():
            found = self._of_unknown() if self.unknown.all() else "no sentence whose labels are legal"
            raise DataError(self.name, found, "one of known labels alone, to select by the likelihood")
        known = Problem(self.corpus.take(np.flatnonzero(possible)), layout, threads=threads)
        cuts = np.unique(even(self.corpus, threads))
        parts = [Sequences(self.corpus.take(np.arange(*ends)), layout) for ends in pairwise(cuts)]
        names, gold = self._numbered()

        def evaluate(w):
            evaluation = Evaluation(labels=self.labels)
            add_corpus(evaluation, names, self.corpus.seq, gold, decode(layout, w, parts))
            chunk = {"f1": evaluation.chunk.f1} if evaluation.chunked else {}
            likelihood = -known.value(w) if known.n_sequences else math.nan
            numbers = {**chunk, "accuracy": evaluation.accuracy, "likelihood": likelihood}
            return (likelihood if select == "likelihood" else evaluation.score), numbers

        return evaluate
