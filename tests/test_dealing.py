"""Folds that are alike in labels and tear no group apart."""

import numpy as np
import problems
import pytest

from crftrain.training.dealing import assign


def skewed(seed):
    """A corpus of 200 sequences where a rare label stands in 20 of them, all at the beginning."""
    made = problems.instance(seed, labels=4, length=(2, 9), sequences=200)
    corpus = made.corpus
    corpus.label[:] = np.random.default_rng(seed).integers(0, 3, corpus.n_tokens)
    for i in range(20):
        corpus.label[corpus.seq[i]] = 3
    return corpus, np.diff(corpus.seq)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_fold_gets_its_share_of_a_rare_label(seed):
    corpus, sizes = skewed(1)
    fold = assign(sizes, 5, corpus=corpus, seed=seed)
    assert np.bincount(fold).tolist() == [40] * 5
    assert np.bincount(fold[:20]).tolist() == [4] * 5


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_groups_stay_whole_and_rare_labels_are_spread(seed):
    corpus, sizes = skewed(2)
    groups = [f"g{i // 4}" for i in range(200)]
    fold = assign(sizes, 5, groups, corpus, seed)
    assert all(len(set(fold[first : first + 4].tolist())) == 1 for first in range(0, 200, 4))
    assert np.bincount(fold[:20], minlength=5).tolist() == [4] * 5
    tokens = np.bincount(fold, sizes)
    assert tokens.max() < 1.3 * tokens.min()


def test_another_seed_deals_another_way():
    corpus, sizes = skewed(3)
    ways = [assign(sizes, 5, corpus=corpus, seed=seed).tolist() for seed in (None, 1, 1, 2)]
    assert ways[1] == ways[2] and ways[0] != ways[1] != ways[3]


def test_each_fold_gets_a_group_when_there_are_no_more():
    corpus, sizes = skewed(4)
    groups = ["a"] * 180 + [f"b{i}" for i in range(20)]
    assert set(assign(sizes, 10, groups, corpus).tolist()) == set(range(10))
