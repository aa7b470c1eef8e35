"""A labelled file as a model tags it: what every part of a report asks for."""

import re
from array import array
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..chain._sequences import Sequences
from ..errors import DataError
from ..tagging._decoder import Decoder
from ..tagging.evaluate import Evaluation
from ..tagging.mistakes import mistakes
from ..tagging.query import Query
from ..text.encode import Encoder
from ..text.read import columns, sentences

AT_ONCE = 1000  # sentences whose marginals are kept
MODELS = object()  # the form of the model's own data


@dataclass
class Answers:
    """Tokens are counted over the whole file, label numbers are the model's."""

    sentences: list
    evaluation: Evaluation
    predicted: np.ndarray  # int32[T]
    probability: np.ndarray  # float32[T], of the predicted label
    seq: np.ndarray  # int64[n+1]
    gold: list = field(repr=False)  # T strings
    words: list = field(repr=False)  # of each sentence, with a space between

    @cached_property
    def by(self):
        """The evaluation sequence by sequence."""
        return self.evaluation.by_sequence()

    @cached_property
    def mistakes(self):
        return mistakes(self.evaluation)

    @property
    def right(self):
        """bool[T]"""
        return ((self.by.gold == self.by.predicted) & (self.by.gold > 1))[self.by.gold > 0]


def answers(model, path, *, gold="auto", encoding="utf-8", form=MODELS, decoder=None):
    """Tag a file with gold labels; DataError if it has none. form: what the file is read as, else what the model was learnt from."""
    form = model.vocabulary.form if form is MODELS else form
    labels, rows = model.vocabulary.labels, _Rows(model.vocabulary)
    encoder, decoder = Encoder(model.vocabulary, gold=gold), decoder or Decoder(model.layout, model.calibrated_w)
    evaluation = Evaluation(labels=labels)
    read, golds, words, predicted, probability, seq = [], [], [], [], [], array("q", [0])
    for batch in _batches(sentences(path, encoding=encoding, form=form)):
        if not encoder.has_gold(batch[0]):
            raise DataError(batch[0].place(), "no gold labels", "a file with labels, which a report compares with")
        decoded = decoder.decode(Sequences(encoder.encode(batch), model.layout), Query(marginals=True))
        best, marginals = decoded.labels, decoded.marginals
        predicted.append(best)
        probability.append(marginals[np.arange(len(best)), best].astype(np.float32))
        names, at = [labels[k] for k in best.tolist()], 0
        for sentence in batch:
            own, text = rows.cut(sentence)
            golds += own
            words.append(text)
            seq.append(len(golds))
            evaluation.add(own, names[at : at + len(own)])
            at += len(own)
        read += batch
    if not read:
        raise DataError(path, "no sentences", "one token a line and a blank line after each sentence")
    return Answers(read, evaluation, np.concatenate(predicted), np.concatenate(probability), np.array(seq, np.int64), golds, words)


def _batches(stream):
    batch = []
    for sentence in stream:
        batch.append(sentence)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


class _Rows:
    """Cuts the lines of sentences: the gold labels, and what people call the tokens.

    That is the first column that is not the label; of items the first attribute, with hard spaces.
    """

    def __init__(self, vocabulary):
        self.items, self.label = vocabulary.format == "items", vocabulary.label_column
        self.known = {}  # line: (gold, word), for lines come again and again

    def cut(self, sentence):
        """(gold labels, the words with a space between)."""
        known, pairs = self.known, []
        for line in sentence.lines:
            pair = known.get(line)
            if pair is None:
                pair = known[line] = self._item(line) if self.items else self._row(line)
            pairs.append(pair)
        return [gold for gold, _ in pairs], " ".join([word for _, word in pairs])

    def _row(self, line):
        row = columns(line)
        return row[self.label].decode(), row[1 if self.label == 0 else 0].decode()

    def _item(self, line):
        label, *attributes = line.split(b"\t")
        word = next(filter(None, attributes), b"(none)").decode().replace(" ", "\u00a0")
        return re.sub(r"\\([:\\])", r"\1", label.decode()), word
