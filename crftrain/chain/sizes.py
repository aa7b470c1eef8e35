"""The counts of a corpus and its weights that an algorithm's memory depends on."""

from types import SimpleNamespace

import numpy as np

from ._occurrence_list import listed_bytes
from .memory import fitting


def sizes(corpus, layout):
    nodes, pairs = corpus.nodes, corpus.pairs
    touched = int(np.diff(layout.ptr)[nodes.attr].sum())
    if pairs is not None and len(pairs.attr):
        touched += int(np.diff(layout.pair_ptr)[pairs.attr].sum())
    return SimpleNamespace(
        n_sequences=corpus.n_sequences,
        n_tokens=corpus.n_tokens,
        n_labels=layout.n_labels,
        n_features=layout.n_features,
        n_pair_features=len(layout.pair),
        n_pairs=layout.n_pairs,
        n_blocks=layout.n_blocks,
        n_occurrences=len(nodes.attr),
        n_touched=touched,
        listed_bytes=listed_bytes(corpus, layout),
    )


def listed(sizes):
    """What listing the weights will take, where there is room for it."""
    return sizes.listed_bytes * fitting(1, sizes.listed_bytes)
