"""What text becomes: sequences as numbers, and the names behind the numbers.

A corpus is three nested runs: sequences are runs of tokens, tokens are runs of occurrences of attributes. An occurrence takes 4
bytes, and 8 more for its value only where some value is not 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._strings import StringTable
from .forms import Form
from .template import Template

TYPE_CHECKING = False  # as typing has it, which is not worth its loading

if TYPE_CHECKING:
    from .legal import Legal


@dataclass
class Observations:
    """Occurrences of attributes: token t has attr[ptr[t]:ptr[t+1]]."""

    ptr: np.ndarray  # int64[T+1]
    attr: np.ndarray  # int32[N]
    value: np.ndarray | None  # float64[N]; None: all 1


@dataclass
class Corpus:
    """Sequences as numbers: sequence i is tokens seq[i] .. seq[i+1]-1."""

    seq: np.ndarray  # int64[n+1]
    label: np.ndarray  # int32[T], -1: none, or not one of the vocabulary
    nodes: Observations  # attributes that go with a label
    pairs: Observations | None  # attributes that go with a label pair; the first token of a sequence has none
    n_labels: int

    @property
    def n_sequences(self):
        return len(self.seq) - 1

    @property
    def n_tokens(self):
        return len(self.label)

    def arrays(self):
        """All that it consists of."""
        yield from (self.seq, self.label)
        for observations in (self.nodes, self.pairs):
            if observations is not None:
                yield from (array for array in (observations.ptr, observations.attr, observations.value) if array is not None)

    def take(self, sequences):
        """The corpus of some of the sequences, in the order given."""
        tokens, seq = _ranges(self.seq, sequences)
        pairs = None if self.pairs is None else _take_tokens(self.pairs, tokens)
        return Corpus(seq, self.label[tokens], _take_tokens(self.nodes, tokens), pairs, self.n_labels)


def _take_tokens(observations, tokens):
    occurrences, ptr = _ranges(observations.ptr, tokens)
    value = None if observations.value is None else observations.value[occurrences]
    return Observations(ptr, observations.attr[occurrences], value)


def _ranges(ptr, chosen):
    """(all of ptr[i] .. ptr[i+1]-1 for the chosen i, the new ptr)."""
    size = ptr[chosen + 1] - ptr[chosen]
    new = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return np.repeat(ptr[chosen] - new[:-1], size) + np.arange(new[-1]), new


@dataclass(eq=False)
class Vocabulary:
    """The names behind the numbers, and how the data they were found in look; equal to itself alone."""

    labels: list  # of str, in order of first appearance
    attributes: StringTable
    pair_attributes: StringTable
    template: Template | None  # None: items
    format: str  # "conll" or "items"
    n_columns: int  # of the training data, the label included; 0 for items, and where the template alone says what there has to be
    label_column: int  # from 0; 0 for items, -1 where n_columns is 0
    form: Form | None = None  # what is read as columns, if not columns
    legal: Legal | None = None  # which labellings there are; None: all


def corpus_of(builder, vocabulary):
    """What a builder has taken in."""
    seq, label, ptr, attr, value, pair_ptr, pair_attr = builder.take()
    pairs = Observations(pair_ptr, pair_attr, None) if vocabulary.template is not None and vocabulary.template.bigrams else None
    return Corpus(seq, label, Observations(ptr, attr, value), pairs, len(vocabulary.labels))
