"""The counts of a corpus and its weights that an algorithm's memory depends on."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from ..text.rare import occurrences
from ._occurrence_list import listed_bytes
from .memory import fitting


class Met(NamedTuple):
    """What sequences meet of the weights; parts of a corpus add up."""

    n_occurrences: int
    n_touched: int  # weights of these
    listed_bytes: int
    n_tokens_squared: int  # the sum over sequences

    @classmethod
    def of(cls, corpus, layout):
        met, touched = occurrences(corpus.nodes, layout.n_attributes), 0
        for observations, counts, ptr in ((corpus.nodes, met, layout.ptr), (corpus.pairs, None, layout.pair_ptr)):
            if observations is not None and len(observations.attr):
                counts = occurrences(observations, len(ptr) - 1) if counts is None else counts
                touched += int(counts @ np.diff(ptr))
        lengths = np.diff(corpus.seq).astype(np.int64)
        return cls(len(corpus.nodes.attr), touched, listed_bytes(corpus, layout, met), int(lengths @ lengths))


def sizes(corpus, layout):
    return sizes_of(corpus.n_sequences, corpus.n_tokens, Met.of(corpus, layout), layout)


def sizes_of(n_sequences, n_tokens, met, layout):
    return SimpleNamespace(
        n_sequences=n_sequences,
        n_tokens=n_tokens,
        n_labels=layout.n_labels,
        n_features=layout.n_features,
        n_pair_features=len(layout.pair),
        n_pairs=layout.n_pairs,
        n_blocks=layout.n_blocks,
        constrained=layout.legal is not None,
        **met._asdict(),
    )


def padded_row(n_labels):
    """The length of a row of labels, as _kernels.padded_labels has it."""
    return -(-n_labels // 8) * 8


def listed(sizes):
    """What listing the weights will take, where there is room for it."""
    return sizes.listed_bytes * fitting(1, sizes.listed_bytes)
