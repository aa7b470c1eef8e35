"""The training files read in parts, by an engine that has them, merged to what one process would have made of them in order.

    recipes(settings, n)                what makes each of n Parts                  Part(*recipe), wherever the engine likes
    parted(engine, recipes, settings)   reads, numbers, encodes                     -> Parted, a Training without a corpus

    names       the first part's, then the next one's that are new: numbered by first appearance, as in order
    weights     the union of what the parts have seen
    counts      sums; the largest of sums over sequences, for which sums are rounded

So vocabulary, layout and all bits of training are those of one process. The engine (chain/sharded.py) has one Part for each recipe;
where it makes one anew it lets it go through engine.prepared(k), (method, arguments) of each step, and then through what Sharded tells.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..chain.checksum import checksum, combined
from ..chain.layout import Layout, Seen, arranged, has_transitions, places
from ..chain.rounding import Whole
from ..chain.shard import Share
from ..chain.sharded import Sharded
from ..chain.sizes import Met, sizes_of
from ..errors import DataError
from ..text.cuts import dealt
from ..text.encode import NO_SENTENCES, StringTable, Vocabulary
from ..text.legal import Legal
from ..text.read import source_name
from ..text.reading import Reading
from ..text.template import choice
from .constrained import tell
from .events import SILENT
from .learn import asked
from .train import Numbered


def recipes(settings, n, observer=SILENT):
    """[(sources, reading)] of n parts."""
    how = asked(settings, observer)
    reading = Reading.of(settings.paths, **how)
    if told := choice(reading.template):
        observer.say(told)
    return [(sources, reading) for sources in dealt(settings.paths, n, encoding=reading.encoding, form=reading.form)]


@dataclass
class Parted(Numbered):
    """What a Training is, where the corpus is somewhere else."""

    engine: Any
    vocabulary: Vocabulary
    dense: int
    layout: Layout
    encode_seconds: float
    shares: list
    found: list
    met: Met
    whole: Whole
    valued: bool

    @property
    def n_sequences(self):
        return self.whole.n_sequences

    @property
    def n_tokens(self):
        return self.whole.n_tokens

    @property
    def elsewhere(self):
        return self.engine.traffic is not None

    def objective(self, settings, l2, l1):
        sizes = [found.n_sequences for found in self.found]
        return Sharded(self.engine, self.layout, self.shares, sizes, self.whole, l2=l2, l1=l1, threads=settings.threads)

    @property
    def sizes(self):
        return sizes_of(self.n_sequences, self.n_tokens, self.met, self.layout)

    def copies(self, threads):
        """The shards have theirs, which are not here."""
        return 0

    @property
    def n_bytes(self):
        """Of the corpus, in all parts."""
        n_tokens, pairs = self.n_tokens, sum(found.n_pair_occurrences for found in self.found)
        per_node = 12 if self.valued else 4
        return 8 * self.n_sequences + 12 * n_tokens + per_node * self.met.n_occurrences + (8 * n_tokens + 4 * pairs) * bool(pairs)

    def checksum(self):
        """That of the corpus in order: the parts' own are combined array by array."""
        columns = ("n_sequences", "n_tokens", "n_occurrences", "n_pair_occurrences")
        counts = np.array([[getattr(found, name) for name in columns] for found in self.found])
        before = np.cumsum(counts, axis=0) - counts
        arguments = [(share.names, share.pair_attributes, *map(int, row[1:])) for share, row in zip(self.shares, before, strict=True)]
        found = self.engine.map("checksums", arguments)
        values = [(2, 8)] * self.valued
        arrays = [(0, 8), (1, 4), (1, 8), (2, 4), *values, (1, 8), (3, 4)][: len(found[0])]  # what each array counts, and its bytes
        check = 0
        for array, (column, n_bytes) in enumerate(arrays):
            check = checksum(np.zeros(1, np.int64), check) if n_bytes == 8 and column < 2 else check  # pointers begin with 0
            for own, n in zip(found, counts[:, column].tolist(), strict=True):
                check = combined(check, own[array], n_bytes * n)
        return check


def parted(engine, recipes, settings, started=None):
    """Parted of an engine that has a Part for each of the recipes."""
    started = time.perf_counter() if started is None else started
    merging = _Merging(engine, recipes, settings)
    merging.read()
    merging.settle()
    merging.number()
    return merging.place(started)


class _Merging:
    """The steps, and what is known by each."""

    def __init__(self, engine, recipes, settings):
        self.engine, self.recipes, self.settings, self.steps = engine, recipes, settings, []
        self.vocabulary = recipes[0][1].vocabulary()
        engine.prepared = self.prepared

    def prepared(self, k):
        """What part k goes through to be what it is."""
        return [(method, arguments[k]) for method, arguments in self.steps]

    def ask(self, method, arguments):
        found = self.engine.map(method, arguments)
        self.steps.append((method, arguments))
        return found

    def read(self):
        """Names, by first appearance."""
        settings, v, labels = self.settings, self.vocabulary, StringTable()
        self.names = self.ask("read", [(settings.min_freq > 1, settings.rules is not None)] * len(self.recipes))
        self._raise_first()
        self.labels = [labels.add_all(StringTable.from_names([label.encode() for label in own.labels])) for own in self.names]
        v.labels = [name.decode() for name in labels.names()]
        self.numbers = [v.attributes.add_all(own.attributes) for own in self.names]
        self.pair_numbers = [v.pair_attributes.add_all(own.pair_attributes) for own in self.names]
        self.kept: list[Any] = [None] * len(self.names)
        if settings.min_freq > 1:
            self._drop_rare()
        if settings.rules:
            followed = np.zeros((len(v.labels), len(v.labels)), np.int64)
            for numbers, own in zip(self.labels, self.names, strict=True):
                followed[np.ix_(numbers, numbers)] += own.followed
            v.legal = Legal.of(v.labels, **settings.rules, transitions=followed)

    def _raise_first(self):
        """The error that somebody who reads in order meets first."""
        path, n = None, 0
        for (sources, _), own in zip(self.recipes, self.names, strict=True):
            for source, size in zip(sources, [*own.sizes, 0], strict=False):
                if source_name(source) != path and path is not None and n == 0:
                    raise DataError(path, *NO_SENTENCES)
                path, n = source_name(source), size + (n if source_name(source) == path else 0)
            if own.error is not None:
                raise own.error
        if n == 0:
            raise DataError(path, *NO_SENTENCES)

    def _drop_rare(self):
        v, least, marks = self.vocabulary, self.settings.min_freq, []
        for kind, (name, numbers) in enumerate((("attributes", self.numbers), ("pair_attributes", self.pair_numbers))):
            total = np.zeros(len(getattr(v, name)), np.int64)
            for own, part in zip(numbers, self.names, strict=True):
                total[own] += part.counts[kind]
            often = total >= least
            setattr(v, name, getattr(v, name).keep(np.flatnonzero(often)))
            marks.append([often[own] for own in numbers])
            renumbered = np.cumsum(often, dtype=np.int32) - np.int32(1)
            numbers[:] = [renumbered[own[often[own]]] for own in numbers]
        self.kept = list(zip(*marks, strict=True))

    def settle(self):
        """Labels and what goes together with them."""
        settings, v = self.settings, self.vocabulary
        transitions = settings.transitions if has_transitions(v) else "full"
        common = (v.legal, settings.on_illegal, settings.features, transitions)
        self.names = None
        told = [(labels, v.labels, kept, *common) for labels, kept in zip(self.labels, self.kept, strict=True)]
        self.found = self.ask("settle", told)
        for found in self.found:
            if found.error is not None:
                raise found.error
        if v.legal is not None:
            tell([found.odd for found in self.found], settings.on_illegal)
        self.seen = Seen.merged(
            [(found.seen, *own) for found, *own in zip(self.found, self.numbers, self.pair_numbers, strict=True)],
            len(v.labels),
            len(v.attributes),
        )
        self.whole = Whole(
            sum(found.n_sequences for found in self.found), sum(found.n_tokens for found in self.found), self._largest(0), self._largest(1)
        )

    def _largest(self, power):
        """rounding.Whole's bounds: of sums over all parts."""
        v, tokens = self.vocabulary, sum(found.n_tokens for found in self.found)
        nodes, pairs = np.zeros(len(v.attributes)), np.zeros(len(v.pair_attributes))
        for found, numbers, pair_numbers in zip(self.found, self.numbers, self.pair_numbers, strict=True):
            nodes[numbers] += found.sums[power]
            pairs[pair_numbers[: len(found.sums[2])]] += found.sums[2]
        return float(max(nodes.max(initial=tokens), pairs.max(initial=tokens)))

    def number(self):
        """The weights."""
        v, self.dense = self.vocabulary, 0
        if self.settings.features == "observed":
            order, self.dense = self.seen.many_first(len(v.labels))
            self.seen, position = self.seen.in_order(order), places(order)
            v.attributes = v.attributes.keep(order)
            self.numbers = [position[own] for own in self.numbers]
        self.layout = arranged(self.seen, v, self.dense)
        self.seen = None

    def place(self, started):
        """Shards."""
        valued, shares, told = any(found.valued for found in self.found), [], []
        for numbers, pair_numbers in zip(self.numbers, self.pair_numbers, strict=True):
            share = Share(self.layout, np.sort(numbers), np.sort(pair_numbers))
            there = np.flatnonzero(share.names >= 0).astype(np.int32)[_ranks(numbers)]
            told.append((there, _ranks(pair_numbers), share.layout, self.whole, valued, self.settings.threads))
            shares.append(share)
        met = Met(*map(sum, zip(*self.ask("place", told), strict=True)))
        found = [replace(found, seen=None, sums=[]) for found in self.found]  # without what has been merged
        seconds = time.perf_counter() - started
        return Parted(self.engine, self.vocabulary, self.dense, self.layout, seconds, shares, found, met, self.whole, valued)


def _ranks(numbers):
    """int32: the place of each among them all in increasing order."""
    return places(np.argsort(numbers, kind="stable"))
