"""Sequences encoded once: what searches, folds and repeated training share.

    X, y, rows of columns, a frame, a file -> Corpus and Vocabulary (text) -> slices, which cost numbers alone

A Dataset never changes. Names have the numbers of the whole Dataset in all of its slices; who trains on one, or tags one with
a model of other numbers, translates (for_training, numbered_as).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import DataError, DataTypeError
from ..text import template as templates
from ..text._objects import Objects, paired
from ..text._occurrences import translated
from ..text.encode import Corpus, CorpusBuilder, Encoder, Observations, StringTable, Vocabulary, read_corpus
from ..text.read import Sentence


def _named(tag, names, i):
    """The name of a number; -1 or -100, as some libraries mark tokens without a label, would be counted from the end."""
    if isinstance(tag, str) or not 0 <= tag < len(names):
        raise DataError(f"tags[{i}]", repr(tag), f"a number from 0 to {len(names) - 1}, the place of a name")
    return names[tag]


class Row:
    """One sequence of a Dataset, for whoever takes it apart and puts it together again, as scikit-learn does."""

    __slots__ = ("dataset", "index")

    def __init__(self, dataset: Dataset, index: int):
        self.dataset, self.index = dataset, index

    def __len__(self) -> int:
        seq = self.dataset.corpus.seq
        return int(seq[self.index + 1] - seq[self.index])


class Dataset:
    """Sequences, with labels or without, as numbers.

    X: sequences of dicts, lists or sets of attributes; with a template, of rows of columns (a lone text is a row of one), and then
    the labels may be the last column. Generators are consumed once and not kept.

    >>> data = Dataset([[{"word": "a"}, {"word": "b"}], [{"word": "a"}]], [["X", "O"], ["X"]])
    >>> data
    <Dataset of 2 sequences, 3 tokens, 2 labels, 2 attributes>
    >>> data[1:].labels
    [['X']]
    """

    def __init__(self, X: Iterable, y: Iterable | None = None, *, template: Any = None):
        vocabulary = Vocabulary([], StringTable(), StringTable(), None, "items", 0, 0)
        self.labelled = True
        if template is not None:
            corpus, vocabulary = _of_columns(X, y, replace(vocabulary, template=_loaded(template), format="conll"))
        else:
            labels = StringTable()
            builder = Objects(labels, vocabulary.attributes, learn=True)
            builder.add_all(X, y)
            vocabulary.labels += [name.decode() for name in labels.names()]
            corpus, self.labelled = corpus_of(builder, len(labels)), y is not None
        self.corpus, self.vocabulary = corpus, vocabulary

    @classmethod
    def _made(cls, corpus: Corpus, vocabulary: Vocabulary, labelled: bool = True) -> Dataset:
        made = object.__new__(cls)
        made.corpus, made.vocabulary, made.labelled = corpus, vocabulary, labelled
        return made

    @classmethod
    def read(cls, paths, *, template: Any = None, format: str = "conll", label_column: int = -1, encoding: str = "utf-8") -> Dataset:
        """Labelled files, as the command reads them."""
        paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        paths = [os.fspath(path) for path in paths]
        return cls._made(*read_corpus(paths, template=_loaded(template), format=format, label_column=label_column, encoding=encoding))

    @classmethod
    def from_columns(cls, *columns: Iterable, tags: Iterable | None = None, names: Sequence[str] | None = None, template="auto") -> Dataset:
        """Columns of which each has a list for each sequence, as those of a Hugging Face dataset; names are those of numbers in tags.

        >>> Dataset.from_columns([["a", "b"], ["a"]], tags=[[1, 0], [1]], names=["O", "X"], template="pos").labels
        [['X', 'O'], ['X']]
        """
        X = []
        for i, cells in enumerate(zip_longest(*columns, fillvalue=())):
            if len({len(cell) for cell in cells}) > 1:
                raise DataError(f"X[{i}]", f"{' and '.join(str(len(cell)) for cell in cells)} tokens", "as many in each column")
            X.append(list(zip(*cells, strict=True)))
        if tags is not None and names is not None:
            tags = [[_named(tag, names, i) for tag in sequence] for i, sequence in enumerate(tags)]
        return cls(X, tags, template=template)

    @classmethod
    def from_frame(cls, frame: Any, *, group: str, label: str | None = None, template: Any = None) -> Dataset:
        """The rows of a pandas or polars frame are tokens, in their order; those alike in column `group` are a sequence.

        With a template the other columns are cells of text; without one a row is a dict of attributes by the columns' names.
        """
        for name in (group,) if label is None else (group, label):
            if name not in frame.columns:
                raise DataError("frame", f"no column {name!r}", f"one of {', '.join(map(repr, frame.columns))}")
        columns = [name for name in frame.columns if name not in (group, label)]
        cells = [frame[name].to_list() for name in columns]
        rows = zip(*cells, strict=True)
        tokens = ([str(cell) for cell in row] if template else dict(zip(columns, row, strict=True)) for row in rows)
        labels = frame[label].to_list() if label is not None else None
        X: dict = {}
        y: dict = {}
        for t, (key, token) in enumerate(zip(frame[group].to_list(), tokens, strict=True)):
            X.setdefault(key, []).append(token)
            if labels is not None:
                y.setdefault(key, []).append(labels[t])
        return cls(X.values(), y.values() if labels is not None else None, template=template)

    # ---- a sequence of sequences

    def __len__(self) -> int:
        return self.corpus.n_sequences

    @property
    def shape(self) -> tuple[int]:
        """One dimension, which is what makes scikit-learn take many sequences at once."""
        return (len(self),)

    def __getitem__(self, index):
        if isinstance(index, tuple):  # numpy's [index, ...]
            index = index[0]
        if isinstance(index, int | np.integer):
            if not -len(self) <= index < len(self):
                raise IndexError(f"sequence {index} of {len(self)}")
            return Row(self, int(index) % len(self))
        if isinstance(index, slice):
            return self.take(np.arange(*index.indices(len(self))))
        index = np.asarray(index)
        return self.take(np.flatnonzero(index) if index.dtype == bool else index)

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, i) for i in range(len(self)))

    def take(self, indices) -> Dataset:
        """The sequences at these places, in this order."""
        indices = np.asarray(indices, np.int64).reshape(-1)
        if len(indices) and not (-len(self) <= indices.min() and indices.max() < len(self)):
            raise IndexError(f"a sequence beyond {len(self)}")
        return self._made(self.corpus.take(indices % max(1, len(self))), self.vocabulary, self.labelled)

    def portions(self, size: int) -> Iterator[Dataset]:
        """So many sequences at a time, views of the whole."""
        whole = self.corpus
        for i in range(0, len(self), size):
            seq = whole.seq[i : i + size + 1]
            first, end = int(seq[0]), int(seq[-1])
            pairs = whole.pairs and _view(whole.pairs, first, end)
            corpus = Corpus(seq - first, whole.label[first:end], _view(whole.nodes, first, end), pairs, whole.n_labels)
            yield self._made(corpus, self.vocabulary, self.labelled)

    def split(self, share: float, *, stratify: bool = False, groups=None, random_state: int | None = 1) -> tuple[Dataset, Dataset]:
        """(the rest, a share of about that size): whole groups stay together; stratify: by the rarest label of each sequence.

        >>> data = Dataset([[{"a"}]] * 10, [["X"]] * 10)
        >>> [len(part) for part in data.split(0.2)]
        [8, 2]
        """
        if not 0 < share < 1:
            raise ValueError(f"share {share!r}, expected a number between 0 and 1")
        rng = np.random.default_rng(random_state)
        number = np.arange(len(self)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        if len(number) != len(self):
            raise ValueError(f"{len(number)} groups for {len(self)} sequences")
        n = int(number.max()) + 1 if len(number) else 0
        order = rng.permutation(n)
        if stratify:
            kind = np.zeros(n, np.int64)
            kind[number] = self._rarest()
            order = order[np.argsort(kind[order], kind="stable")]
        chosen = np.zeros(n, bool)
        chosen[order[np.diff(np.floor(np.arange(n + 1) * share + 1e-9)) > 0]] = True  # evenly over all, and over each kind
        return self.take(np.flatnonzero(~chosen[number])), self.take(np.flatnonzero(chosen[number]))

    def _rarest(self):
        """The rank of each sequence's rarest label, -1 where it has none."""
        label = self.corpus.label
        count = np.bincount(label[label >= 0], minlength=len(self.vocabulary.labels))
        rank = np.argsort(np.argsort(count, kind="stable"))
        found = np.full(len(self), -1)
        for i, (first, end) in enumerate(self._bounds()):
            known = label[first:end][label[first:end] >= 0]
            if len(known):
                found[i] = rank[known].min()
        return found

    def _bounds(self):
        seq = self.corpus.seq.tolist()
        return zip(seq, seq[1:], strict=False)

    @property
    def labels(self) -> list[list[str]]:
        """A list of labels for each sequence."""
        if not self.labelled:
            raise DataError("y", "no labels", "labels for each sequence")
        names = self.vocabulary.labels
        flat = [names[j] for j in self.corpus.label.tolist()]
        return [flat[first:end] for first, end in self._bounds()]

    def with_labels(self, y: Iterable) -> Dataset:
        """The same tokens with other labels."""
        labels = StringTable()
        sizes = np.diff(self.corpus.seq).tolist()
        builder = Objects(labels, StringTable(), learn=True)
        builder.add_all(([()] * size for size in sizes), y)
        label = builder.take()[1]
        vocabulary = replace(self.vocabulary, labels=[name.decode() for name in labels.names()])
        return self._made(replace(self.corpus, label=label, n_labels=len(labels)), vocabulary)

    # ---- in numbers

    def for_training(self) -> tuple[Corpus, Vocabulary]:
        """A corpus that may be changed, of the sequences that have tokens, and their labels alone."""
        if not self.labelled:
            raise DataError("y", "no labels", "labels for each sequence")
        corpus = self.corpus.take(np.flatnonzero(np.diff(self.corpus.seq)))
        if not corpus.n_sequences:
            raise DataError("X", "no sequences", "at least one, with tokens")
        used, number = np.unique(corpus.label, return_inverse=True)
        names = [self.vocabulary.labels[j] for j in used.tolist()]
        corpus = replace(corpus, label=number.astype(np.int32), n_labels=len(names))
        return corpus, replace(self.vocabulary, labels=names)

    def grown_into(self, vocabulary: Vocabulary) -> Corpus:
        """The corpus in the numbers of a vocabulary, which gets the names that it has not."""
        known = set(vocabulary.labels)
        corpus, own = self.for_training()
        vocabulary.labels += [label for label in own.labels if label not in known]
        for observations, names, others in (
            (corpus.nodes, own.attributes, vocabulary.attributes),
            (corpus.pairs, own.pair_attributes, vocabulary.pair_attributes),
        ):
            if observations is not None:
                for a in np.unique(observations.attr).tolist():
                    others.add(names.name(a))
        return self._made(corpus, own).numbered_as(vocabulary)

    def numbered_as(self, vocabulary: Vocabulary) -> Corpus:
        """The corpus in another vocabulary's numbers; attributes that it has not are dropped, labels become -1."""
        return Renumbering(self.vocabulary, vocabulary).of(self.corpus)

    def __repr__(self) -> str:
        n_attributes = len(self.vocabulary.attributes) + len(self.vocabulary.pair_attributes)
        counts = f"{len(self)} sequences, {self.corpus.n_tokens} tokens, {len(self.vocabulary.labels)} labels, {n_attributes} attributes"
        return f"<Dataset of {counts}>"


def _view(observations, first, end):
    """What tokens first .. end - 1 have."""
    ptr = observations.ptr[first : end + 1]
    own = slice(int(ptr[0]), int(ptr[-1]))
    return Observations(ptr - ptr[0], observations.attr[own], None if observations.value is None else observations.value[own])


class Renumbering:
    """What the numbers of one vocabulary are in another, -1 where it has none."""

    def __init__(self, own: Vocabulary, other: Vocabulary):
        if (own.template is None) != (other.template is None):
            raise DataError("X", "attributes and columns", "data of the kind that the model was learnt from")
        known = {label: j for j, label in enumerate(other.labels)}
        self.label = np.array([known.get(name, -1) for name in own.labels] + [-1], np.int32)
        self.attributes = other.attributes.numbers_of(own.attributes)
        self.pair_attributes = other.pair_attributes.numbers_of(own.pair_attributes)
        self.n_labels = len(other.labels)

    def of(self, corpus: Corpus) -> Corpus:
        """A corpus in the other numbers, without what they have not."""
        pairs = corpus.pairs and _translated(corpus.pairs, self.pair_attributes)
        return Corpus(corpus.seq, self.label[corpus.label], _translated(corpus.nodes, self.attributes), pairs, self.n_labels)


def _translated(observations, numbers):
    return Observations(*translated(observations.ptr, observations.attr, observations.value, numbers))


def together(X) -> Dataset | None:
    """The Dataset of a list of Rows, which scikit-learn makes of one; None for anything else."""
    if not (isinstance(X, list | tuple) and X and all(isinstance(x, Row) for x in X)):
        return None
    if any(x.dataset is not X[0].dataset for x in X):
        raise DataError("X", "sequences of several Datasets", "those of one")
    return X[0].dataset.take([x.index for x in X])


def refuse_frame(X) -> None:
    """A frame does not say where a sequence ends."""
    if hasattr(X, "columns") and hasattr(X, "to_dict"):
        raise DataTypeError("X", "a frame", "Dataset.from_frame(frame, group=COLUMN, label=COLUMN), which says what a sequence is")


def _loaded(template):
    """A Template out of a name, a path or one; None where it is to be chosen."""
    return None if template in (None, "auto") else templates.load(template) if isinstance(template, str | os.PathLike) else template


def corpus_of(builder, n_labels: int) -> Corpus:
    """What a builder of attributes alone has collected."""
    seq, label, ptr, attr, value, _, _ = builder.take()
    return Corpus(seq, label, Observations(ptr, attr, value), None, n_labels)


# ---- rows of columns


class Rows(Sentence):
    """A sequence of rows of columns as lines."""

    xseq: Any = None  # what explanations look at again

    def place(self, i: int = 0) -> str:
        return f"X[{self.number}][{i}]"


def rows_in(xseq, number: int) -> list[list]:
    """The rows of one sequence."""
    if isinstance(xseq, str | bytes):
        raise DataTypeError(f"X[{number}]", f"the text {xseq[:40]!r} for a sequence", "a list of rows")
    return [[row] if isinstance(row, str) else list(row) for row in xseq]


def rows_of(xseq, yseq, number: int) -> Rows:
    """The lines of one sequence."""
    rows = rows_in(xseq, number)
    found = Rows([], "X", number)
    if yseq is not None:
        yseq = list(yseq)
        if len(yseq) != len(rows):
            raise DataError(f"X[{number}]", f"{len(rows)} tokens and {len(yseq)} labels", "one label for each token")
        rows = [[*row, label] for row, label in zip(rows, yseq, strict=True)]
    for i, row in enumerate(rows):
        for cell in row:
            if not isinstance(cell, str):
                raise DataTypeError(found.place(i), f"a cell {cell!r}", "text")
            if not cell or " " in cell or "\t" in cell:
                raise DataError(found.place(i), f"a cell {cell!r}", "text without spaces and tabs, which part the columns of a file")
        found.lines.append("\t".join(row).encode())
    return found


def _of_columns(X, y, vocabulary):
    """(Corpus, Vocabulary) of rows of columns."""
    builder = CorpusBuilder(vocabulary)
    for i, xseq, yseq in paired(X, y):
        rows = rows_of(xseq, yseq, i)
        if rows.lines:
            builder.add(rows)
    return builder.take(), vocabulary


def encoder_of(vocabulary: Vocabulary):
    """A function of sequences -> Corpus in the numbers of a vocabulary, empty ones left out of it."""
    if vocabulary.template is None:
        labels = StringTable.from_names([label.encode() for label in vocabulary.labels])
        builder = Objects(labels, vocabulary.attributes, learn=False)

        def encode(X):
            builder.add_all(X)
            return corpus_of(builder, len(vocabulary.labels))

        return encode
    encoder = Encoder(vocabulary, gold="auto")
    return lambda X: encoder.encode([rows for i, xseq in enumerate(X) if (rows := rows_of(xseq, None, i)).lines])


def as_dataset(X, y=None, *, template: Any = None) -> Dataset:
    """Whatever `fit` is given."""
    if (rows := together(X)) is not None:
        X = rows
    if isinstance(X, Dataset):
        return X if y is None else X.with_labels(y)
    refuse_frame(X)
    if isinstance(X, str | os.PathLike) or (isinstance(X, list | tuple) and X and all(isinstance(x, str | os.PathLike) for x in X)):
        if y is not None:
            raise DataError("y", "labels beside files, which have their own", "y=None")
        return Dataset.read(X, template=template)
    return Dataset(X, y, template=template)
