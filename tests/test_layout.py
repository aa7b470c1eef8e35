"""Every weight stands for one pair of attribute and label, or one label pair: all of them, or those that were seen, and no other."""

import numpy as np
import pytest
from problems import BOTH, KINDS, NONE, PAIRS, PLAIN, instance, kind, vocabulary
from problems import corpus as random_corpus

from crftrain.chain.layout import DENSE, Layout, arrange, number


def seen(corpus):
    """({attribute: labels}, {label pair}, {pair attribute: label pairs}) of a corpus, by looking at it."""
    nodes, transitions, pairs = {}, set(), {}
    for first, end in zip(corpus.seq.tolist(), corpus.seq[1:].tolist(), strict=False):
        for t in range(first, end):
            label = int(corpus.label[t])
            for a in corpus.nodes.attr[corpus.nodes.ptr[t] : corpus.nodes.ptr[t + 1]].tolist():
                nodes.setdefault(a, set()).add(label)
            if t > first:
                pair = int(corpus.label[t - 1]) * corpus.n_labels + label
                transitions.add(pair)
                if corpus.pairs is not None:
                    for a in corpus.pairs.attr[corpus.pairs.ptr[t] : corpus.pairs.ptr[t + 1]].tolist():
                        pairs.setdefault(a, set()).add(pair)
    return nodes, transitions, pairs


def blocks(ptr, members):
    """[[members of a block]]"""
    return [members[a - ptr[0] : b - ptr[0]].tolist() for a, b in zip(ptr.tolist(), ptr[1:].tolist(), strict=False)]


@pytest.mark.parametrize("labels", [1, 3, 63, 64, 65, 130])
def test_observed_is_what_was_seen(labels):
    made = instance(
        labels, template=BOTH, pair_attributes=5, sequences=30, length=(1, 9), labels=labels, attributes=20, transitions="observed"
    )
    nodes, transitions, pairs = seen(made.corpus)
    layout = made.layout
    assert blocks(layout.ptr, layout.label) == [sorted(nodes.get(a, ())) for a in range(20)]
    assert layout.transition.tolist() == sorted(transitions)
    assert blocks(layout.pair_ptr, layout.pair) == [sorted(pairs.get(b, ())) for b in range(5)]
    assert layout.n_features == sum(map(len, nodes.values())) + len(transitions) + sum(map(len, pairs.values()))


def test_full_is_everything():
    made = instance(template=BOTH, pair_attributes=5, features="full", transitions="full")
    layout, square = made.layout, list(range(9))
    assert layout.label is None
    assert blocks(layout.ptr, layout.node_labels()) == [[0, 1, 2]] * 8
    assert layout.transition.tolist() == square
    assert blocks(layout.pair_ptr, layout.pair) == [square] * 5
    assert (layout.n_features, layout.n_blocks) == (8 * 3 + 9 + 5 * 9, 8 + 1 + 5)


@pytest.mark.parametrize("name", KINDS)
def test_blocks_follow_each_other_without_gaps(name):
    layout = kind(name).layout
    assert layout.ptr[0] == 0
    assert layout.transitions == slice(layout.ptr[-1], layout.pair_ptr[0])
    assert layout.pair_ptr[0] == layout.ptr[-1] + len(layout.transition)
    assert layout.n_features == layout.pair_ptr[-1] == layout.pair_ptr[0] + len(layout.pair)
    assert len(layout.node_labels()) == layout.ptr[-1]
    assert (layout.ptr.dtype, layout.pair_ptr.dtype) == (np.int64, np.int64)
    assert (layout.node_labels().dtype, layout.transition.dtype, layout.pair.dtype) == (np.int32,) * 3
    assert layout.n_blocks == layout.n_attributes + 1 + len(layout.pair_ptr) - 1


@pytest.mark.parametrize("template, transitions, pairs", [(PLAIN, 9, 0), (NONE, 0, 0), (PAIRS, 0, 4 * 9), (BOTH, 9, 4 * 9)])
def test_the_template_decides_about_label_pairs(template, transitions, pairs):
    """No B line, no transitions; B lines with macros follow `features`, the plain one follows `transitions`."""
    layout = instance(template=template, pair_attributes=4 if pairs else 0, features="full").layout
    assert (len(layout.transition), len(layout.pair)) == (transitions, pairs)


def test_items_have_transitions():
    made = instance()
    names = made.vocabulary
    names.template = None
    assert len(arrange(made.corpus, names, transitions="full").transition) == 9


def test_sequences_of_length_1_have_no_label_pair_to_see():
    layout = instance(length=(1, 1), template=BOTH, pair_attributes=2, transitions="observed").layout
    assert (len(layout.transition), len(layout.pair)) == (0, 0)


def test_no_pair_of_labels_crosses_the_end_of_a_sequence():
    made = instance(sequences=2, length=(1, 1), labels=2, noise=0.0, transitions="observed")
    assert made.corpus.n_tokens == 2
    assert made.layout.transition.tolist() == []


# ---- the order of attributes


def names_by_token(corpus, names):
    names = names.attributes.names()
    return [sorted(names[a] for a in corpus.nodes.attr[p:q]) for p, q in zip(corpus.nodes.ptr[:-1], corpus.nodes.ptr[1:], strict=True)]


@pytest.mark.parametrize("labels", [2, 9, 40])
def test_numbering_puts_attributes_with_many_labels_first_and_changes_no_token(labels):
    shape = {"sequences": 40, "length": (1, 6), "labels": labels, "attributes": 70, "noise": 0.5}
    corpus, names = random_corpus(np.random.default_rng(labels), **shape), vocabulary(labels, 70)
    before = names_by_token(corpus, names)
    dense = number(corpus, names)
    assert names_by_token(corpus, names) == before
    nodes, _, _ = seen(corpus)
    many = [len(nodes.get(a, ())) >= max(2, DENSE * labels) for a in range(70)]
    assert many == [True] * dense + [False] * (70 - dense)
    assert 0 < dense < 70


def test_numbering_keeps_the_order_among_equals():
    corpus, names = random_corpus(np.random.default_rng(1), sequences=40, attributes=30, labels=20), vocabulary(20, 30)
    dense = number(corpus, names)
    order = [int(name[1:]) for name in names.attributes.names()]
    assert order[:dense] == sorted(order[:dense])
    assert order[dense:] == sorted(order[dense:])


def test_a_layout_cannot_be_changed():
    layout = kind("plain").layout
    assert isinstance(layout, Layout)
    with pytest.raises(AttributeError):
        layout.dense = 3


def test_conll_2000_has_the_weights_that_others_count(conll):
    """CRFsuite and the papers, for the same attributes."""
    assert conll.layout.n_features == 452_755
    assert len(conll.layout.transition) == 145
    assert arrange(conll.corpus, conll.vocabulary, features="full").n_features == 7_385_312
