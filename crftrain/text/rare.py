"""Attributes that occur too seldom are dropped."""

import numpy as np

from ._occurrences import counted
from ._strings import keep_numbered


def without_rare(corpus, vocabulary, least):
    """Attributes that occur less often are dropped, and the others renumbered without gaps."""
    if least > 1:
        vocabulary.attributes = _frequent(corpus.nodes, vocabulary.attributes, least)
        if corpus.pairs is not None:
            vocabulary.pair_attributes = _frequent(corpus.pairs, vocabulary.pair_attributes, least)
    return corpus


def _frequent(observations, names, least):
    """The names that are left."""
    return names.keep(drop(observations, occurrences(observations, len(names)) >= least))


def occurrences(observations, n=0):
    """int64[n], or as many as there are: how often each attribute occurs."""
    return counted(observations.attr, max(n, int(observations.attr.max(initial=-1)) + 1))


def drop(observations, kept):
    """Of all attributes only those that are marked stay, renumbered without gaps: what these were called before."""
    left = np.flatnonzero(kept)
    new = np.full(len(kept), -1, np.int32)
    new[left] = np.arange(len(left), dtype=np.int32)
    n = keep_numbered(observations.ptr, observations.attr, observations.value, new)
    observations.attr = observations.attr[:n].copy()
    if observations.value is not None:
        observations.value = observations.value[:n].copy()
    return left
