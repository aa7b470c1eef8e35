"""Which weights there are, and where they live.

The weight vector is a row of blocks, L labels and A attributes:

    node blocks       attribute a owns w[ptr[a]:ptr[a+1]], one weight for each of its labels
    transitions       one weight for each label pair (i, j) of the plain B line
    pair blocks       attribute b of a B line with macros owns w[pair_ptr[b]:pair_ptr[b+1]], one for each of its label pairs

`observed` makes a weight for what was seen together in training, `full` for everything; `auto`, for transitions, is full up
to MANY labels. A label pair is kept as the number i * L + j, the previous label first.

Attributes are numbered so that those with many labels come first: `dense` of them are seen with at least DENSE of the
labels, and the objective spreads their blocks to whole rows of L, which vector instructions add several at a time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..text.legal import Legal
from ._blocks import ArcList
from ._layout import observed_labels, renumber

MANY = 64  # labels above which `auto` makes weights for the label pairs seen in training, not for all
SPARSE = 1 / 12  # share of the label pairs up to which a list of them is quicker than all
DENSE = 1 / 7  # share of the labels from which a block is worth a whole row


@dataclass(frozen=True)
class Layout:
    """The blocks of a weight vector; see the module's docstring."""

    n_labels: int
    ptr: np.ndarray  # int64[A+1]
    label: np.ndarray | None  # int32[ptr[A]]; None: every node block has all L labels, in order
    dense: int  # attributes 0 .. dense-1 are worth a whole row
    transition: np.ndarray  # int32[K], K = L*L (all), observed pairs, or 0 without a plain B line
    pair_ptr: np.ndarray  # int64[P+1], counted from the start of the vector
    pair: np.ndarray  # int32[pair_ptr[P] - pair_ptr[0]]
    lattice: str = "auto"  # what sequences are summed over: "arcs", "dense" (all label pairs), or auto: what is quicker
    legal: Legal | None = None  # the labellings that there are; None: all

    @cached_property
    def arcs(self):
        """The label pairs as a list for the lattice, where they are few; None: it takes all L x L."""
        return ArcList(self.transition, self.n_labels) if self.sparse else None

    @property
    def n_attributes(self):
        return len(self.ptr) - 1

    @property
    def sparse(self):
        """Whether the lattice goes by arcs. Attributes on label pairs give every position a matrix of its own, and legal is a matrix."""
        if self.legal is not None:
            return False
        if self.lattice != "auto":
            return self.lattice == "arcs"
        return len(self.pair) == 0 and len(self.transition) < SPARSE * self.n_labels**2

    @property
    def n_pairs(self):
        """Label pairs that a lattice sums over one by one."""
        return len(self.transition) if self.sparse else self.n_labels**2

    @property
    def n_blocks(self):
        """Node blocks, the transitions as one, pair blocks."""
        return self.n_attributes + 1 + len(self.pair_ptr) - 1

    @property
    def n_features(self):
        return int(self.pair_ptr[-1])

    @property
    def transitions(self):
        """The slice of w that holds the plain transitions."""
        return slice(int(self.ptr[-1]), int(self.pair_ptr[0]))

    def part(self, attributes, pair_attributes, *, transitions=False):
        """The blocks of these alone, in increasing order and numbered anew; without transitions, or with them."""
        ptr, node = _gathered(self.ptr, attributes)
        pair_ptr, pair = _gathered(self.pair_ptr, pair_attributes)
        transition = self.transition if transitions else np.empty(0, np.int32)
        return Layout(
            self.n_labels,
            ptr,
            None if self.label is None else self.label[node],
            len(attributes) if self.label is None else int(np.searchsorted(attributes, self.dense)),
            transition,
            pair_ptr + ptr[-1] + len(transition),
            self.pair[pair - self.pair_ptr[0]],
            "arcs" if self.sparse and transitions else "dense",
            self.legal if transitions else None,
        )

    def node_labels(self):
        """int32[ptr[A]], the label of every node weight."""
        if self.label is not None:
            return self.label
        return np.tile(np.arange(self.n_labels, dtype=np.int32), self.n_attributes)


def _gathered(ptr, blocks):
    """(ptr of these blocks one behind the other, where each of their numbers was)"""
    sizes = np.diff(ptr)[blocks]
    new = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return new, np.repeat(ptr[:-1][blocks] - new[:-1], sizes) + np.arange(new[-1])


def number(corpus, vocabulary):
    """Renumber the attributes, those seen with many labels first; how many they are. The corpus changes in place."""
    ptr, _ = observed_labels(corpus.nodes.ptr, corpus.nodes.attr, corpus.label, len(vocabulary.attributes), len(vocabulary.labels))
    many = np.diff(ptr) >= max(2.0, DENSE * len(vocabulary.labels))
    order = np.concatenate([np.flatnonzero(many), np.flatnonzero(~many)])
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    renumber(corpus.nodes.attr, position)
    vocabulary.attributes = vocabulary.attributes.keep(order)
    return int(many.sum())


def arrange(corpus, vocabulary, *, features="observed", transitions="full", dense=0):
    """The layout for a corpus; `dense` comes from number(), of this corpus or of one that holds it."""
    n_labels, n_attributes = len(vocabulary.labels), len(vocabulary.attributes)
    if features == "full":
        ptr, label, dense = np.arange(n_attributes + 1, dtype=np.int64) * n_labels, None, n_attributes
    else:
        ptr, label = observed_labels(corpus.nodes.ptr, corpus.nodes.attr, corpus.label, n_attributes, n_labels)
    transition = _transitions(corpus, n_labels, transitions) if has_transitions(vocabulary) else np.empty(0, np.int32)
    if vocabulary.legal is not None:  # a weight of what never is would stay 0
        transition = transition[vocabulary.legal.pairs.ravel()[transition]]
    pair_ptr, pair = _pair_blocks(corpus, len(vocabulary.pair_attributes), n_labels, features)
    return Layout(n_labels, ptr, label, dense, transition, pair_ptr + ptr[-1] + len(transition), pair, legal=vocabulary.legal)


def complete(n_labels, n_attributes, n_pair_attributes=0, *, transitions=True):
    """The layout of so many labels and attributes with every weight that there can be."""
    square = n_labels * n_labels
    ptr, transition = np.arange(n_attributes + 1, dtype=np.int64) * n_labels, np.arange(square * transitions, dtype=np.int32)
    pair_ptr = np.arange(n_pair_attributes + 1, dtype=np.int64) * square + ptr[-1] + len(transition)
    return Layout(n_labels, ptr, None, n_attributes, transition, pair_ptr, np.tile(np.arange(square, dtype=np.int32), n_pair_attributes))


class Resizing:
    """What is known of the weights and blocks of one complete layout, for another: what only the other has gets `fill`."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def weights(self, x, fill=0.0):
        """float64[F] for the new layout."""
        y = np.full(self.new.n_features, fill)
        for mine, theirs in zip(_cubes(self.new, y), _cubes(self.old, x), strict=True):
            common = tuple(slice(min(a, b)) for a, b in zip(mine.shape, theirs.shape, strict=True))
            mine[common] = theirs[common]
        return y

    def blocks(self, x, fill):
        """An array with a number for each block: attributes, pair attributes, transitions."""
        y = np.full(self.new.n_blocks, fill, x.dtype)
        y[self.ids(np.arange(len(x)))] = x
        return y

    def ids(self, blocks):
        """The new numbers of blocks; there may not be fewer of them."""
        later = self.new.n_attributes - self.old.n_attributes
        last = self.new.n_blocks - self.old.n_blocks
        return blocks + np.where(blocks == self.old.n_blocks - 1, last, np.where(blocks >= self.old.n_attributes, later, 0))


def _cubes(layout, w):
    """Views of a complete layout's weights: [attribute][label], [label][label], [pair attribute][label][label]."""
    n = layout.n_labels
    edges = w[layout.transitions]
    yield w[: layout.ptr[-1]].reshape(-1, n)
    yield edges.reshape(n, n) if len(edges) else edges.reshape(0, 0)
    yield w[layout.pair_ptr[0] :].reshape(-1, n, n)


def has_transitions(vocabulary):
    return vocabulary.template is None or vocabulary.template.plain_transitions


def _label_pairs(corpus, n_labels):
    """int64[T]: y_{t-1} * L + y_t; -1 on the first token of a sequence."""
    key = np.full(len(corpus.label), -1, np.int64)
    key[1:] = corpus.label[:-1].astype(np.int64) * n_labels + corpus.label[1:]
    key[corpus.seq[:-1][corpus.seq[:-1] < len(key)]] = -1
    return key


def _transitions(corpus, n_labels, transitions):
    if transitions == "full" or (transitions == "auto" and n_labels <= MANY):
        return np.arange(n_labels * n_labels, dtype=np.int32)
    key = _label_pairs(corpus, n_labels)
    return np.unique(key[key >= 0]).astype(np.int32)


def _pair_blocks(corpus, n_attributes, n_labels, features):
    if corpus.pairs is None or n_attributes == 0:
        return np.zeros(1, np.int64), np.empty(0, np.int32)
    square = n_labels * n_labels
    if features == "full":
        ptr = np.arange(n_attributes + 1, dtype=np.int64) * square
        return ptr, np.tile(np.arange(square, dtype=np.int32), n_attributes)
    occurrences = np.repeat(_label_pairs(corpus, n_labels), np.diff(corpus.pairs.ptr))
    seen = np.unique(corpus.pairs.attr.astype(np.int64) * square + occurrences)
    ptr = np.searchsorted(seen // square, np.arange(n_attributes + 1)).astype(np.int64)
    return ptr, (seen % square).astype(np.int32)
