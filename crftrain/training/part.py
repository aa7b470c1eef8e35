"""A part of the training files on its way to a shard, wherever that is: each step is a method, told and answered in plain arrays.

    read      its sentences, in numbers of its own       -> Names     merged in order: the vocabulary, and what is legal
    settle    the labels' numbers, rare attributes       -> Found     merged: which weights there are
    place     the attributes' places among its weights   -> Met       from then on it is a Shard

A part that is lost is made again by the same steps with the same arguments. Who merges is parted.py.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..chain._order_free import value_sums
from ..chain._sequences import order_occurrences
from ..chain.checksum import checksum
from ..chain.layout import Seen
from ..chain.shard import Shard
from ..chain.sizes import Met
from ..errors import DataError
from ..text._occurrences import renumber
from ..text.pieces import Piece
from ..text.rare import drop, occurrences
from ..text.read import source_name
from .constrained import Odd, counted, keep_legal

PIECE = 1 << 17  # numbers that stay in the cache


@dataclass(frozen=True)
class Names:
    """What was read: of each source how many sentences, up to the first error."""

    sizes: list
    error: DataError | None
    labels: list
    attributes: object  # StringTables
    pair_attributes: object
    counts: tuple | None  # how often each attribute occurs, of either kind, where somebody asks
    followed: np.ndarray | None  # int64[L, L], how often a label follows another, where somebody asks


@dataclass(frozen=True)
class Found:
    """What there is once labels have their numbers."""

    n_sequences: int
    n_tokens: int
    n_occurrences: int
    n_pair_occurrences: int
    valued: bool
    seen: Seen
    sums: list  # of the values, their squares, and label pairs, for each attribute: value_sums
    odd: Odd | None
    error: DataError | None = None


class Part(Shard):
    """sources: paths and Pieces that follow one another; reading: how they are read."""

    def __init__(self, sources, reading):
        self.sources, self.reading, self.corpus = sources, reading, None

    def read(self, counting, following):
        """Names; whether attributes are counted, and labels that follow one another."""
        builder, self.sizes = self.reading.builder(), []
        v = builder.vocabulary
        try:
            for source in self.sources:
                self.sizes.append(builder.add_file(source, encoding=self.reading.encoding))
        except DataError as error:
            placed = self._placed(self.sources[len(self.sizes)], error)
            return Names(self.sizes, placed, [], v.attributes, v.pair_attributes, None, None)
        self.corpus = corpus = builder.take()
        counts = followed = None
        if counting:
            pairs = occurrences(corpus.pairs, len(v.pair_attributes)) if corpus.pairs is not None else np.empty(0, np.int64)
            counts = occurrences(corpus.nodes, len(v.attributes)), pairs
        if following:
            followed = counted(corpus, len(v.labels))
        self.n_attributes = len(v.attributes)
        return Names(self.sizes, None, v.labels, v.attributes, v.pair_attributes, counts, followed)

    def _placed(self, source, error):
        """The same error with its line, which is counted only now."""
        if isinstance(source, Piece) and source.data is None:
            try:
                self.reading.builder().add_file(source.numbered(), encoding=self.reading.encoding)
            except DataError as placed:
                return placed
        return error

    def settle(self, labels, names, kept, legal, on_illegal, features, transitions):
        """Found; labels: int32, the numbers of its own ones among the names of all. kept: of its attributes of either kind, or None."""
        corpus = self.corpus
        corpus.n_labels, corpus.label, odd = len(names), labels[corpus.label], None
        if kept is not None:
            self.n_attributes = len(drop(corpus.nodes, kept[0]))
            if corpus.pairs is not None:
                drop(corpus.pairs, kept[1])
        if legal is not None:
            try:
                corpus, odd = keep_legal(corpus, names, legal, self.place_of, on_illegal)
            except DataError as error:
                return Found(0, 0, 0, 0, False, None, [], None, error)
        self.corpus = corpus
        seen = Seen.of(corpus, self.n_attributes, features=features, transitions=transitions)
        sums = [value_sums(corpus.nodes, self.n_attributes, power) for power in ((1, 2) if self.valued else (1,))]
        n_pairs = 0 if corpus.pairs is None else len(corpus.pairs.attr)
        pair_sums = np.empty(0) if corpus.pairs is None else value_sums(corpus.pairs, 0)
        found = corpus.n_sequences, corpus.n_tokens, len(corpus.nodes.attr), n_pairs
        return Found(*found, self.valued, seen, [sums[0], sums[-1], pair_sums], odd)

    @property
    def valued(self):
        return self.corpus.nodes.value is not None

    def place_of(self, i, k):
        """FILE:LINE of token k of sentence i, which is read once more."""
        for source, n in zip(self.sources, self.sizes, strict=True):
            if i < n:
                numbered = source.numbered() if isinstance(source, Piece) else source
                sentence = next(islice(self.reading.sentences(numbered), i, None))
                return f"{source_name(source)}:{sentence.number + k}"
            i -= n
        raise IndexError(i)

    def place(self, numbers, pair_numbers, layout, whole, valued, threads):
        """Met; the places of its attributes in the layout. valued: whether any part has values."""
        corpus = self.corpus
        if valued and not self.valued:
            corpus.nodes.value = np.ones(len(corpus.nodes.attr))
        renumber(corpus.nodes.attr, numbers)
        if corpus.pairs is not None:
            renumber(corpus.pairs.attr, pair_numbers)
        order_occurrences(corpus, layout)
        super().__init__(corpus, layout, whole, threads=threads)
        return Met.of(corpus, layout)

    def checksums(self, names, pair_names, tokens, nodes, pairs):
        """Of each of its arrays, as they stand in the whole corpus: numbers of attributes and what comes before the part."""
        corpus = self.corpus
        found = [checksum(corpus.seq[1:] + tokens), checksum(corpus.label)]
        for observations, numbers, before in ((corpus.nodes, names, nodes), (corpus.pairs, pair_names, pairs)):
            if observations is not None:
                found += [checksum(observations.ptr[1:] + before), renumbered_checksum(observations.attr, numbers)]
                found += [] if observations.value is None else [checksum(observations.value)]
        return found


def renumbered_checksum(attr, numbers):
    """Of the array in other numbers, made a piece at a time."""
    check = 0
    for first in range(0, len(attr), PIECE):
        there = attr[first : first + PIECE].copy()
        renumber(there, numbers)
        check = checksum(there, check)
    return check
