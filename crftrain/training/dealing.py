"""Which sequence is left out with which fold: alike in labels, those of one group together.

Without groups sequences lie in the order of their rarest label and are dealt out one by one, so each fold gets its share of the rare
ones, and of long and short. With groups, the largest first, each goes to the fold where it makes the shares of labels and tokens least
uneven. A seed deals them out another way.
"""

import numpy as np

from ..errors import CrftrainError


def assign(sizes, folds, groups=None, corpus=None, seed=None):
    """int64[n]: the fold of each sequence of so many tokens; without a corpus labels play no part. seed None: the first way of all."""
    n = len(sizes)
    if groups is not None:
        return _by_groups(sizes, folds, groups, corpus, seed)
    if folds > n:
        raise CrftrainError("", f"{folds} folds of {n} sequences", "no more folds than sequences")
    order = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    if corpus is not None:
        rarest = _rarest(corpus)[order]
        order = order[np.lexsort((sizes[order], rarest)) if seed is None else np.argsort(rarest, kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % folds
    return fold


def set_apart(sizes, seed, groups=None):
    """The same with one fold to leave out, a tenth, at random or of whole groups; the others have the number -1."""
    tenth = assign(sizes, 10, groups) if groups is not None else np.random.default_rng(seed).permutation(len(sizes)) % 10
    return np.where(tenth == 0, 0, -1)


def _rarest(corpus):
    """int64[n]: the place of each sequence's rarest label among all labels, the rarest first."""
    count = np.bincount(corpus.label, minlength=corpus.n_labels)
    rank = np.empty(corpus.n_labels, np.int64)
    rank[np.argsort(count, kind="stable")] = np.arange(corpus.n_labels)
    return np.minimum.reduceat(rank[corpus.label], corpus.seq[:-1])


def _by_groups(sizes, folds, groups, corpus, seed):
    names, number = np.unique(groups, return_inverse=True)
    if folds > len(names):
        raise CrftrainError("", f"{folds} folds of {len(names)} groups", "no more folds than groups")
    tokens, fold_of = np.bincount(number, sizes), np.zeros(len(names), np.int64)
    share = _shares(tokens, number, sizes, corpus)
    held = np.zeros((folds, share.shape[1]))
    order = np.argsort(-tokens, kind="stable")
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    for k, group in enumerate(order.tolist()):
        uneven = (2 * held + share[group]) @ share[group]
        if folds - int((held.sum(axis=1) > 0).sum()) >= len(names) - k:  # each fold gets one
            uneven[held.sum(axis=1) > 0] = np.inf
        fold_of[group] = np.argmin(uneven)
        held[fold_of[group]] += share[group]
    return fold_of[number]


def _shares(tokens, number, sizes, corpus):
    """float64[groups, 1 or 1 + L]: what share of all tokens, and of those of each label, a group has."""
    share = tokens[:, None] / tokens.sum()
    if corpus is None:
        return share
    count = np.zeros((len(tokens), corpus.n_labels))
    np.add.at(count, (np.repeat(number, sizes), corpus.label), 1)
    return np.hstack([share, count / np.maximum(count.sum(axis=0), 1) / corpus.n_labels])
