"""Weights of an old model for a new training: by the names of attributes and labels, so data and features may have changed."""

from dataclasses import replace

import numpy as np


def initial_weights(old, vocabulary, layout):
    """(w, how many weights of the old model were placed): float64[F] for the layout, zero where the model has nothing to say."""
    w = np.zeros(layout.n_features)
    return w, sum(
        _place(w, values, owner, member, *block)
        for (owner, member, values), block in zip(_translated(old, vocabulary), _blocks(layout), strict=True)
    )


def moved(w, of, layout):
    """float64[F]: weights of a layout `of` in another one of the same vocabulary, zero where that has none."""
    new = np.zeros(layout.n_features)
    for (ptr, member, _), block in zip(_blocks(of), _blocks(layout), strict=True):
        _place(new, w[ptr[0] : ptr[-1]], _owners(ptr, np.arange(len(ptr) - 1)), member, *block)
    return new


def widened(layout, old, vocabulary):
    """The layout with the weights of an old model added, whose names the vocabulary has."""
    nodes, transitions, pairs = (
        _union(owner, member, *block) for (owner, member, _), block in zip(_translated(old, vocabulary), _blocks(layout), strict=True)
    )
    ptr, label = (layout.ptr, None) if layout.label is None else nodes
    transition = transitions[1]
    return replace(layout, ptr=ptr, label=label, transition=transition, pair_ptr=pairs[0] + ptr[-1] + len(transition), pair=pairs[1])


def _blocks(layout):
    """(ptr, member, how many members there may be) of node blocks, of the transitions as one block, and of pair blocks."""
    n, transitions = layout.n_labels, layout.transitions
    yield layout.ptr, layout.node_labels(), n
    yield np.array([transitions.start, transitions.stop]), layout.transition, n * n
    yield layout.pair_ptr, layout.pair, n * n


def _translated(old, vocabulary):
    """(owner, member, value) of the weights of a model in the numbers of a vocabulary, -1 for unknown names; kinds as in _blocks."""
    label = _numbers(old.vocabulary.labels, {name: j for j, name in enumerate(vocabulary.labels)}.get)
    n, old_n = len(vocabulary.labels), old.layout.n_labels
    attribute = _numbers(old.vocabulary.attributes.names(), vocabulary.attributes.get)
    pair_attribute = _numbers(old.vocabulary.pair_attributes.names(), vocabulary.pair_attributes.get)

    def pairs(numbers):
        first, second = label[numbers // old_n], label[numbers % old_n]
        return np.where((first < 0) | (second < 0), -1, first * n + second)

    nodes, transitions, of_pairs = np.split(old.w, [old.layout.transitions.start, old.layout.transitions.stop])
    yield _owners(old.layout.ptr, attribute), label[old.layout.node_labels()], nodes
    yield np.zeros(len(transitions), np.int64), pairs(old.layout.transition), transitions
    yield _owners(old.layout.pair_ptr, pair_attribute), pairs(old.layout.pair), of_pairs


def _numbers(names, lookup):
    """int64: the new number of each name, -1 where it has none."""
    return np.array([-1 if (number := lookup(name)) is None else number for name in names], np.int64)


def _owners(ptr, number):
    """The new number of the block that each weight belongs to."""
    return np.repeat(number, np.diff(ptr))


def _place(w, values, owner, member, ptr, members, width):
    """w at (owner, member) = values, where the new layout has that weight; blocks and their members rise."""
    keys = _keys(ptr, members, width)
    wanted = owner * width + member
    at = np.searchsorted(keys, wanted)
    known = (owner >= 0) & (member >= 0) & (at < len(keys))
    known[known] = keys[at[known]] == wanted[known]
    w[ptr[0] + at[known]] = values[known]
    return int(known.sum())


def _union(owner, member, ptr, members, width):
    """(ptr from 0, members) of the blocks with the weights (owner, member) added."""
    keys = np.union1d(_keys(ptr, members, width), owner * width + member)
    return np.searchsorted(keys, np.arange(len(ptr), dtype=np.int64) * width), (keys % width).astype(np.int32)


def _keys(ptr, members, width):
    """int64, rising: a number for each weight of the blocks."""
    return np.repeat(np.arange(len(ptr) - 1, dtype=np.int64), np.diff(ptr)) * width + members
