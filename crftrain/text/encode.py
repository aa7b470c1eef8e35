"""Sentences -> Corpus and Vocabulary: strings become numbers here and nowhere else.

    read_corpus    training data; every name gets the next number, in order of first appearance
    CorpusBuilder  the same sentence by sentence, and for a vocabulary that has names already
    Encoder        data to tag or to score, with the names of a Vocabulary; what it does not know is dropped
    expand         what a template makes of sentences, in CRFsuite's item format

What they become is in corpus.py, the loops are in _encode.pyx and _items.pyx; here is decided what lines must look like.
"""

import re
import threading
from itertools import islice

from ..errors import DataError, TemplateError
from ._encode import Columns
from ._items import Items
from ._strings import StringTable
from .corpus import Corpus, Observations, Vocabulary, corpus_of
from .forms import hint, hinted
from .rare import without_rare
from .read import columns, runs, sentences, source_name

__all__ = ["Corpus", "CorpusBuilder", "Encoder", "Observations", "StringTable", "Vocabulary", "expand", "read_corpus"]

NO_SENTENCES = "no sentences", "one token a line and a blank line after each sentence"
SAMPLE = 1000  # sentences that a template is chosen by
TOLD = 5000  # sentences, after which it is told how many have been read


def read_corpus(paths, *, template=None, format="conll", label_column=-1, encoding="utf-8", min_freq=0, look=None, form=None, told=None):
    """(Corpus, Vocabulary) of one or more files; conll without a template takes one that suits the data. look(sentence) sees each.

    told(path, n) hears now and then how many sentences of a file have been read.
    """
    if format not in ("conll", "items"):
        raise ValueError(f"format {format!r}")
    if format == "items" and template is not None:
        raise TemplateError(template.name, "a template for items, which are attributes already", "data in columns")
    vocabulary = Vocabulary([], StringTable(), StringTable(), template, format, 0, 0, form)
    builder = CorpusBuilder(vocabulary, label_column=label_column)
    for path in [paths] if isinstance(paths, str) else paths:
        if not builder.add_file(path, encoding=encoding, look=look, told=told):
            raise DataError(source_name(path), *NO_SENTENCES)
    return without_rare(builder.take(), vocabulary, min_freq), vocabulary


class CorpusBuilder:
    """Sentences to learn from as the numbers of a vocabulary, which grows: every new name gets the next number.

    A vocabulary that has no columns yet takes the first sentence's. Without a template the first SAMPLE sentences wait until one
    is chosen by what they hold.
    """

    def __init__(self, vocabulary, *, label_column=-1, first=None):
        """first: the sentence that the columns were taken from, if somebody else has done so."""
        self.vocabulary, self._label_column = vocabulary, label_column
        self._labels = StringTable.from_names([label.encode() for label in vocabulary.labels])
        self.first, self._source, self._builder = first, None, None
        self._sample = [] if vocabulary.format == "conll" and vocabulary.template is None else None  # of (sentence, its cells)
        if vocabulary.format == "items":
            self._builder = Items(self._labels, vocabulary.attributes, learn=True)
        elif vocabulary.n_columns:
            self._builder = self._columns()

    def _columns(self):
        v = self.vocabulary
        return Columns(v.template, self._labels, v.attributes, v.pair_attributes, learn=True)

    @property
    def names(self):
        """How many labels and attributes there are."""
        v = self.vocabulary
        return len(self._labels), len(v.attributes) + len(v.pair_attributes)

    def add_file(self, path, *, encoding="utf-8", look=None, told=None):
        """The number of sentences in it."""
        n = 0
        if look is None and self.vocabulary.form is None and self.vocabulary.format == "conll":
            for run in runs(path, encoding=encoding):
                n += self._add_run(run)
                if told is not None:
                    told(run.source, n)
            return n
        for sentence in sentences(path, encoding=encoding, form=self.vocabulary.form):
            self.add(sentence)
            if look is not None:
                look(sentence)
            n += 1
            if told is not None and n % TOLD == 0:
                told(sentence.source, n)
        return n

    def _add_run(self, run):
        """The same of a Run; sentences go one by one until the template is known, and where one is odd."""
        n, found = 0, run.sentences()
        if self._sample is None:
            if run.source != self._source:
                first = next(found, None)
                if first is None:
                    return 0
                self._turn_to(first)
                self._source, found = run.source, run.sentences()
            n, whole = self._builder.add_run(run.text)
            if whole:
                return n
        for sentence in islice(found, n, None):
            self.add(sentence)
            n += 1
        return n

    def add(self, sentence):
        if self._sample is None:
            self._add(sentence)
            return
        self._sample.append((sentence, self._cells(sentence)))
        if len(self._sample) == SAMPLE:
            self._choose()

    def _cells(self, sentence):
        """The columns of each line, as many as the first sentence has."""
        v = self.vocabulary
        if not v.n_columns:
            _settle_columns(v, sentence, self._label_column)
            self.first = sentence
        rows = [columns(line) for line in sentence.lines]
        for i, row in enumerate(rows):
            if len(row) != v.n_columns:
                expectation = hinted(_as_in(self.first, sentence, v.n_columns), sentence.lines[i])
                raise DataError(sentence.place(i), f"{len(row)} column{'s' * (len(row) != 1)}", expectation)
        return rows

    def _choose(self):
        """A template by the sample, which is then learnt from."""
        from .choose import choose

        sample, self._sample = self._sample, None
        self.vocabulary.template = choose([row for _, rows in sample for row in rows], self.vocabulary.label_column)
        self._builder = self._columns()
        for sentence, _ in sample:
            self._add(sentence)

    def _add(self, sentence):
        if sentence.source != self._source and self.vocabulary.format == "conll":
            self._turn_to(sentence)
        self._source = sentence.source
        self._builder.add(sentence)

    def _turn_to(self, sentence):
        """Make the builder expect the lines of the sentence's source."""
        v = self.vocabulary
        if not v.n_columns:
            _settle_columns(v, sentence, self._label_column)
            self._builder, self.first = self._columns(), sentence
        n = v.n_columns
        expectation = _as_in(self.first, sentence, n) if self.first else f"{n} as in the data that the model was learnt from"
        self._builder.expect(n, v.label_column, expectation)

    def take(self):
        """The Corpus of what was added since the last time; the vocabulary then has its labels too."""
        if self._sample:
            self._choose()
        v = self.vocabulary
        v.labels += [self._labels.name(j).decode() for j in range(len(v.labels), len(self._labels))]
        return corpus_of(self._builder, v)


def _settle_columns(vocabulary, sentence, label_column):
    """How many columns there are, and which is the label."""
    from .choose import look_like_items

    if look_like_items(sentence.lines):
        finding = "lines of CRFsuite's items, a label and attributes with tabs between"
        raise DataError(sentence.place(), finding, "the same columns on each line (--format items reads items)")
    line = sentence.lines[0]
    n = len(columns(line))
    if n < 2:
        parted = " (spaces or tabs part columns, commas do not)" if b"," in line or b";" in line else hint(line)
        raise DataError(sentence.place(), "1 column", "at least 2, one of them the label" + parted)
    if len(sentence.lines) == 1 and b"\r" in line and len({len(columns(part)) for part in line.split(b"\r")} - {0}) == 1:
        raise DataError(sentence.place(), "carriage returns within the line, each part of it like a line", "line ends of \\n or \\r\\n")
    label = label_column + n if label_column < 0 else label_column
    if not 0 <= label < n:
        raise DataError(sentence.place(), f"no column {label_column} for the label", f"{-n} to {n - 1}")
    vocabulary.n_columns, vocabulary.label_column = n, label
    if vocabulary.template is not None:
        vocabulary.template.check(n, label)


def _as_in(first, sentence, n):
    """What is expected of lines when the first sentence has n columns."""
    return f"{n} as on " + (f"line {first.number}" if first.source == sentence.source else first.place()) + hint(first.lines[0])


class Encoder:
    """Sentences as the numbers of a vocabulary; unknown attributes are dropped, unknown labels are -1.

    Whether a gold label is there is settled by the first sentence of each source. Columns: there are as many as in training, or one
    fewer. Items: gold says yes, no, or auto, which is yes if the first field is a label of the vocabulary. Threads may share an
    Encoder, if the first sentence of a source comes before the others. With learn, what the vocabulary has not gets a number too.
    """

    def __init__(self, vocabulary, *, gold="auto", learn=False):
        if gold not in ("yes", "no", "auto"):
            raise ValueError(f"gold {gold!r}")
        self._vocabulary, self._option = vocabulary, gold
        self._lock = threading.Lock()  # the builder's buffers serve one sentence at a time
        self._sources, self._source = {}, None  # source: (first sentence, its number of columns, gold); the one the builder expects
        self._labels = StringTable.from_names([label.encode() for label in vocabulary.labels])
        if vocabulary.format == "items":
            self._builder = Items(self._labels, vocabulary.attributes, learn=learn)
            return
        if vocabulary.n_columns:
            vocabulary.template.check(vocabulary.n_columns, vocabulary.label_column)
            if not 0 <= vocabulary.label_column < vocabulary.n_columns:
                raise ValueError(f"label column {vocabulary.label_column} of {vocabulary.n_columns}")
        tables = self._labels, vocabulary.attributes, vocabulary.pair_attributes
        self._builder = Columns(vocabulary.template, *tables, learn=learn)

    def sentence(self, sentence):
        """The Corpus of one sentence."""
        return self.encode((sentence,))

    def encode(self, sentences):
        """The Corpus of the sentences; there may be none."""
        with self._lock:
            try:
                for sentence in sentences:
                    if sentence.source != self._source:
                        self._turn_to(sentence)
                    self._builder.add(sentence)
            except BaseException:
                self._builder.take()  # half a sentence must not become part of the next one
                raise
            return corpus_of(self._builder, self._vocabulary)

    def has_gold(self, sentence):
        """Whether the lines of the sentence's source carry a gold label."""
        with self._lock:
            if sentence.source != self._source:
                self._turn_to(sentence)
            return self._sources[sentence.source][2]

    def width(self, sentence):
        """(columns, the one that the lines lack or None) of the sentence's source."""
        with self._lock:
            if sentence.source != self._source:
                self._turn_to(sentence)
            _, n, gold = self._sources[sentence.source]
            return n, None if gold or not self._vocabulary.n_columns else self._vocabulary.label_column

    def gold_labels(self, sentence):
        """The gold labels as they stand there, also those that the vocabulary has not; None if there are none."""
        if not self.has_gold(sentence):
            return None
        if self._vocabulary.format == "items":
            return [_first_field(line).decode() for line in sentence.lines]
        return [columns(line)[self._vocabulary.label_column].decode() for line in sentence.lines]

    def _turn_to(self, sentence):
        """Make the builder expect the lines of the sentence's source."""
        v, source = self._vocabulary, sentence.source
        if source not in self._sources:
            self._sources[source] = (sentence, *self._look(sentence))
        first, n, gold = self._sources[source]
        if v.format == "items":
            self._builder.expect(gold)
        elif gold:
            self._builder.expect(n, v.label_column % n, _as_in(first, first, n))
        else:
            self._builder.expect(n, -1, _as_in(first, first, n), missing=v.label_column if v.n_columns else None)
        self._source = source

    def _look(self, sentence):
        """(columns, gold) by the first line of a source."""
        v, line = self._vocabulary, sentence.lines[0]
        if v.format == "items":
            return 0, self._option == "yes" or (self._option == "auto" and self._labels.get(_first_field(line)) >= 0)
        n = len(columns(line))
        if not v.n_columns:
            if n < v.template.columns:
                expectation = f"the {v.template.columns} of the model's template, or more" + hint(line)
                raise DataError(sentence.place(), f"{n} column{'s' * (n != 1)}", expectation)
            return n, n > v.template.columns and self._option != "no"
        if n not in (v.n_columns, v.n_columns - 1):
            expectation = f"{v.n_columns} with the label, or {v.n_columns - 1} without it" + hint(line)
            raise DataError(sentence.place(), f"{n} column{'s' * (n != 1)}", expectation)
        return n, n == v.n_columns


def _first_field(line):
    return re.sub(rb"\\([:\\])", rb"\1", line.partition(b"\t")[0])


def expand(sentences, template, *, label_column=-1):
    """Yield the lines of each sentence in item format: label TAB attribute TAB attribute ..., with \\: and \\\\ for : and \\."""
    expansion = _Expansion(template, label_column)
    for sentence in sentences:
        expansion.turn_to(sentence)
        yield expansion.builder.items(sentence)


def expand_runs(runs, template, *, label_column=-1):
    """Yield the same of Runs as bytes, an empty line after each sentence."""
    expansion = _Expansion(template, label_column)
    for run in runs:
        found = run.sentences()
        first = next(found, None)
        if first is None:
            continue
        expansion.turn_to(first)
        text, n, whole = expansion.builder.items_of_run(run.text)
        yield text
        for sentence in () if whole else islice(run.sentences(), n, None):  # the first of them is odd
            yield b"\n".join([*expansion.builder.items(sentence), b"", b""])


class _Expansion:
    """Columns for expand, made to expect the lines of a source."""

    def __init__(self, template, label_column):
        for line in template.bigrams:
            raise TemplateError(template.place(line), "a line for label pairs with macros, which items cannot express", "a plain B line")
        for line in template.unigrams:
            if any(isinstance(piece, bytes) and b"\t" in piece for piece in line.pieces):
                raise TemplateError(template.place(line), "a tab, which ends an attribute in items", "a space")
        self.vocabulary, self.label_column = Vocabulary([], StringTable(), StringTable(), template, "conll", 0, 0), label_column
        self.builder = Columns(template, StringTable(), StringTable(), StringTable(), learn=False)
        self.first = self.source = None

    def turn_to(self, sentence):
        """Expect the lines of the sentence's source."""
        v = self.vocabulary
        if self.first is None:
            self.first = sentence
            _settle_columns(v, sentence, self.label_column)
        if sentence.source != self.source:
            self.builder.expect(v.n_columns, v.label_column, _as_in(self.first, sentence, v.n_columns))
            self.source = sentence.source
