"""Weights of an old model for a new training: by the names of attributes and labels, so data and features may have changed."""

import numpy as np

from .model import load


def initial_weights(path, vocabulary, layout):
    """(w, how many weights of the model were placed): float64[F] for the layout, zero where the model has nothing to say."""
    old = load(path)
    w = np.zeros(layout.n_features)
    new_label = _numbers(old.vocabulary.labels, {label: j for j, label in enumerate(vocabulary.labels)}.get)
    table, pair_table = vocabulary.attributes, vocabulary.pair_attributes
    new_attribute = _numbers(old.vocabulary.attributes.names(), lambda name: table.get(name))
    new_pair_attribute = _numbers(old.vocabulary.pair_attributes.names(), lambda name: pair_table.get(name))
    n, old_n = layout.n_labels, old.layout.n_labels

    def pairs(numbers):
        first, second = new_label[numbers // old_n], new_label[numbers % old_n]
        return np.where((first < 0) | (second < 0), -1, first * n + second)

    transitions = np.array([layout.transitions.start, layout.transitions.stop])
    w_old = np.split(old.w, [old.layout.transitions.start, old.layout.transitions.stop])
    return w, (
        _place(
            w, w_old[0], _owners(old.layout.ptr, new_attribute), new_label[old.layout.node_labels()], layout.ptr, layout.node_labels(), n
        )
        + _place(w, w_old[1], np.zeros(len(w_old[1]), np.int64), pairs(old.layout.transition), transitions, layout.transition, n * n)
        + _place(w, w_old[2], _owners(old.layout.pair_ptr, new_pair_attribute), pairs(old.layout.pair), layout.pair_ptr, layout.pair, n * n)
    )


def _numbers(names, lookup):
    """int64: the new number of each name, -1 where it has none."""
    return np.array([-1 if (number := lookup(name)) is None else number for name in names], np.int64)


def _owners(ptr, number):
    """The new number of the block that each weight belongs to."""
    return np.repeat(number, np.diff(ptr))


def _place(w, values, owner, member, ptr, members, width):
    """w at (owner, member) = values, where the new layout has that weight; blocks and their members rise."""
    keys = np.repeat(np.arange(len(ptr) - 1, dtype=np.int64), np.diff(ptr)) * width + members
    wanted = owner * width + member
    at = np.searchsorted(keys, wanted)
    known = (owner >= 0) & (member >= 0) & (at < len(keys))
    known[known] = keys[at[known]] == wanted[known]
    w[ptr[0] + at[known]] = values[known]
    return int(known.sum())
