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

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..text._occurrences import observed_labels, renumber
from ._blocks import ArcList

TYPE_CHECKING = False  # as typing has it, which is not worth its loading

if TYPE_CHECKING:
    from ..text.legal import Legal

MANY = 64  # labels above which `auto` makes weights for the label pairs seen in training, not for all
SPARSE = 1 / 5  # share of the label pairs up to which a list of them is quicker than all in sums
PATHS = 1 / 18  # in best paths: vectors do more for all pairs there
TURNS = 10  # at most, until what rules say is nearly a product
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
        return ArcList(self.arc_pairs, self.n_labels, *self.open) if self.sparse else None

    @property
    def open(self):
        """(leaves, enters): label pairs that are no arcs score 0 where leaves[i] enters[j], and are not legal elsewhere."""
        return self._open[:2]

    @property
    def arc_pairs(self):
        """int32[]: the pairs i * L + j that are arcs, for a lattice that goes by them: with weights, or other than `open` says."""
        return self._open[2]

    @cached_property
    def _open(self):
        if self.legal is None:
            ones = np.ones(self.n_labels)
            return ones, ones, self.transition
        leaves, enters = nearest_product(self.legal.pairs)
        odd = np.flatnonzero(self.legal.pairs != np.outer(leaves, enters))
        return leaves.astype(float), enters.astype(float), np.union1d(self.transition, odd).astype(np.int32)

    @property
    def n_attributes(self):
        return len(self.ptr) - 1

    @property
    def sparse(self):
        """Whether the lattice goes by arcs. Attributes on label pairs give every position a matrix of its own."""
        if self.lattice != "auto":
            return self.lattice == "arcs"
        return len(self.pair) == 0 and len(self.transition) < SPARSE * self.n_labels**2 > len(self.arc_pairs)

    def for_paths(self):
        """The same for best paths."""
        few = self.sparse and len(self.arc_pairs) < PATHS * self.n_labels**2
        return self if self.lattice != "auto" else replace(self, lattice="arcs" if few else "dense")

    @property
    def n_pairs(self):
        """Label pairs that a lattice sums over one by one."""
        return len(self.arc_pairs) if self.sparse else self.n_labels**2

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

    def arrays(self):
        """The same with numpy's arrays where it has bare memory."""
        names = {"ptr": np.int64, "label": np.int32, "transition": np.int32, "pair_ptr": np.int64, "pair": np.int32}
        return replace(self, **{name: as_array(getattr(self, name), dtype) for name, dtype in names.items()})

    def node_labels(self):
        """int32[ptr[A]], the label of every node weight."""
        if self.label is not None:
            return self.label
        return np.tile(np.arange(self.n_labels, dtype=np.int32), self.n_attributes)


def nearest_product(legal):
    """(leaves, enters): bool[L] whose product differs from legal[i, j] in few places.

    Rules of tag schemes are nearly products: what goes on with a chunk is entered from two labels alone, and what has to go on is
    left for as few. In turns each label takes the side that more of the other ones' want.
    """
    found = [_by_turns(legal, np.ones(len(legal), bool)), _by_turns(legal.T, np.ones(len(legal), bool))[::-1]]
    return min(found, key=lambda sides: np.count_nonzero(legal != np.outer(*sides)))


def _by_turns(legal, leaves):
    for _ in range(TURNS):
        enters = 2 * legal[leaves].sum(axis=0) >= max(1, leaves.sum())
        before, leaves = leaves, 2 * legal[:, enters].sum(axis=1) >= max(1, enters.sum())
        if (before == leaves).all():
            break
    return leaves, enters


def as_array(memory, dtype):
    """numpy's array over bare memory; None, and arrays, as they are."""
    return np.frombuffer(memory, dtype) if isinstance(memory, memoryview) else memory


def _gathered(ptr, blocks):
    """(ptr of these blocks one behind the other, where each of their numbers was)"""
    sizes = np.diff(ptr)[blocks]
    new = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return new, np.repeat(ptr[:-1][blocks] - new[:-1], sizes) + np.arange(new[-1])


@dataclass(frozen=True)
class Seen:
    """What was met together in a corpus, or in the parts of one; None: nobody asked."""

    ptr: np.ndarray | None  # attribute a with label[ptr[a]:ptr[a+1]], in increasing order
    label: np.ndarray | None
    transition: np.ndarray | None  # i * L + j in increasing order
    pair: np.ndarray | None  # b L^2 + i L + j of attributes b of label pairs, in increasing order

    @classmethod
    def of(cls, corpus, n_attributes, *, features="observed", transitions="full"):
        n, ptr, label, transition, pair = corpus.n_labels, None, None, None, None
        if features == "observed":
            ptr, label = observed_labels(corpus.nodes.ptr, corpus.nodes.attr, corpus.label, n_attributes, n)
            pair = np.empty(0, np.int64) if corpus.pairs is None else _seen_pairs(corpus, n)
        if not all_transitions(n, transitions):
            key = _label_pairs(corpus, n)
            transition = np.unique(key[key >= 0])
        return cls(ptr, label, transition, pair)

    @classmethod
    def merged(cls, parts, n_labels, n_attributes):
        """Of (Seen, numbers of its attributes, of its attributes of label pairs) of the parts."""
        square, ptr, label = n_labels * n_labels, None, None
        if parts[0][0].ptr is not None:
            attr = np.concatenate([np.repeat(numbers, np.diff(seen.ptr)) for seen, numbers, _ in parts]).astype(np.int32)
            labels = np.concatenate([seen.label for seen, _, _ in parts])
            ptr, label = observed_labels(np.arange(len(attr) + 1), attr, labels, n_attributes, n_labels)
        pairs = [(seen.pair, numbers.astype(np.int64)) for seen, _, numbers in parts if seen.pair is not None]
        pair = _union(numbers[key // square] * square + key % square for key, numbers in pairs)
        return cls(ptr, label, _union(seen.transition for seen, _, _ in parts if seen.transition is not None), pair)

    def many_first(self, n_labels):
        """(the order of the attributes in which those with many labels come first, how many these are)."""
        many = np.diff(self.ptr) >= max(2.0, DENSE * n_labels)
        return np.concatenate([np.flatnonzero(many), np.flatnonzero(~many)]), int(many.sum())

    def in_order(self, order):
        """With the attributes in another order."""
        ptr, label = _gathered(self.ptr, order)
        return replace(self, ptr=ptr, label=self.label[label])


def _union(keys):
    """Those that some have, in increasing order; None: nobody asked."""
    keys = list(keys)
    return np.unique(np.concatenate(keys)) if keys else None


def number(corpus, vocabulary):
    """Renumber the attributes, those seen with many labels first; how many they are. The corpus changes in place."""
    order, many = Seen.of(replace(corpus, pairs=None), len(vocabulary.attributes)).many_first(len(vocabulary.labels))
    renumber(corpus.nodes.attr, places(order))
    vocabulary.attributes = vocabulary.attributes.keep(order)
    return many


def places(order):
    """int32: where each stands in an order."""
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return position


def arrange(corpus, vocabulary, *, features="observed", transitions="full", dense=0):
    """The layout for a corpus; `dense` comes from number(), of this corpus or of one that holds it."""
    transitions = transitions if has_transitions(vocabulary) else "full"
    seen = Seen.of(corpus, len(vocabulary.attributes), features=features, transitions=transitions)
    return arranged(seen, vocabulary, dense)


def arranged(seen, vocabulary, dense):
    """The layout for what was seen."""
    n_labels, n_attributes, legal = len(vocabulary.labels), len(vocabulary.attributes), vocabulary.legal
    ptr, label, transition = seen.ptr, seen.label, np.empty(0, np.int32)
    if ptr is None:
        ptr, dense = np.arange(n_attributes + 1, dtype=np.int64) * n_labels, n_attributes
    if has_transitions(vocabulary):
        transition = np.arange(n_labels * n_labels, dtype=np.int32) if seen.transition is None else seen.transition.astype(np.int32)
    if legal is not None:  # a weight of what never is would stay 0
        transition = transition[legal.pairs.ravel()[transition]]
    pair_ptr, pair = _pair_blocks(seen, len(vocabulary.pair_attributes), n_labels)
    return Layout(n_labels, ptr, label, dense, transition, pair_ptr + ptr[-1] + len(transition), pair, legal=legal)


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


def _seen_pairs(corpus, n_labels):
    occurrences = np.repeat(_label_pairs(corpus, n_labels), np.diff(corpus.pairs.ptr))
    return np.unique(corpus.pairs.attr.astype(np.int64) * (n_labels * n_labels) + occurrences)


def all_transitions(n_labels, transitions):
    """Whether all label pairs have weights."""
    return transitions == "full" or (transitions == "auto" and n_labels <= MANY)


def _pair_blocks(seen, n_attributes, n_labels):
    square = n_labels * n_labels
    if seen.pair is not None:
        ptr = np.searchsorted(seen.pair // square, np.arange(n_attributes + 1)).astype(np.int64)
        return ptr, (seen.pair % square).astype(np.int32)
    ptr = np.arange(n_attributes + 1, dtype=np.int64) * square
    return ptr, np.tile(np.arange(square, dtype=np.int32), n_attributes)
