"""Weights by name -> Model: what every reader of a foreign file ends with.

A reader knows its weights as triples (number of the name, number of the label or of the label pair, weight), in any order. Here they
become the blocks of a Layout: zeros are left out, names without weights too, blocks with many labels come first, members rise.
"""

import numpy as np

from ...chain.layout import DENSE, Layout
from ...errors import ModelError
from ...text.encode import StringTable, Vocabulary
from ..image import MAX_LABELS
from ..model import Model

LARGEST = float(np.finfo(np.float32).max)  # what a weight of ours may be


def assemble(labels, nodes, transitions, pairs, *, template=None, facts, size):
    """The Model of `labels` (bytes), whose weights are nodes: (names, owner, label, weight), transitions: (label pair, weight),
    pairs: (names, owner, label pair, weight). Without a template its data are items. Weights for one place are added.
    """
    n = len(labels)
    if not 1 <= n <= MAX_LABELS:
        raise ModelError("", f"damaged: {n} labels", f"1 to {MAX_LABELS}")
    attributes, ptr, label, dense, w = _blocks(*nodes, width=n, dense=DENSE * n)
    _, _, transition, _, w_transitions = _blocks([b""], np.zeros(len(transitions[0]), np.int64), *transitions, width=n * n)
    pair_attributes, pair_ptr, pair, _, w_pairs = _blocks(*pairs, width=n * n)
    if len(pair_attributes) and not (template is not None and template.bigrams):
        raise ModelError("", f"damaged: {len(pair_attributes)} attributes of label pairs", "none for this template")
    full = len(label) == n * (len(ptr) - 1)
    layout = Layout(n, ptr, None if full else label, dense, transition, pair_ptr + ptr[-1] + len(transition), pair)
    vocabulary = Vocabulary(
        labels=_labels(labels),
        attributes=attributes,
        pair_attributes=pair_attributes,
        template=template,
        format="items" if template is None else "conll",
        n_columns=0,
        label_column=0 if template is None else -1,
    )
    return Model(vocabulary, layout, np.concatenate([w, w_transitions, w_pairs]), facts, size)


def _labels(names):
    try:
        labels = [name.decode() for name in names]
    except UnicodeDecodeError as error:
        raise ModelError("", f"the label {error.object!r}", "text in UTF-8") from None
    if len(set(labels)) != len(labels):
        raise ModelError("", "damaged: a label twice")
    return labels


def _blocks(names, owner, member, weight, *, width, dense=np.inf):
    """(StringTable, ptr, members, how many blocks are dense, weights): blocks with at least `dense` members come first."""
    weight = np.asarray(weight, np.float64)
    if not (np.abs(weight) <= LARGEST).all():  # nan too
        raise ModelError("", "damaged: a weight that is no number, or too large", f"at most {LARGEST:.3g}")
    key, weight = _summed(np.asarray(owner, np.int64) * width + np.asarray(member, np.int64), weight)
    key, weight = key[weight != 0], weight[weight != 0]
    count = np.bincount(key // width, minlength=len(names))
    many = count >= max(2.0, dense)
    if width > 0 and (count == width).all():
        many = count > 0
    order = np.concatenate([np.flatnonzero(many), np.flatnonzero(~many & (count > 0))])
    ptr, first = np.concatenate([[0], np.cumsum(count[order])]), np.cumsum(count) - count
    source = np.repeat(first[order] - ptr[:-1], count[order]) + np.arange(len(key))
    try:
        table = StringTable.from_names([names[a] for a in order.tolist()])
    except ValueError as error:
        raise ModelError("", f"damaged: {error}") from None
    return table, ptr.astype(np.int64), (key % width).astype(np.int32)[source], int(many.sum()), weight[source]


def _summed(key, weight):
    """The keys, rising, each once; the weights of a key added."""
    if (np.diff(key) > 0).all():
        return key, weight
    order = np.argsort(key, kind="stable")
    key, weight = key[order], weight[order]
    start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[start], np.add.reduceat(weight, start)


def plain_lines(template):
    """The sources of the lines that ask for plain transitions; in a template of ours there is one at most."""
    return [source for _, source in template.sources if source[0] in "Bb*" and "%" not in source]
