"""One sequence at a time: the labels that whole corpora get, in buffers that are used again and again."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from crftrain import CRF, Tagger
from crftrain.errors import DataError, TrainingError


def sequences(rng, n, *, labels=4, values=False):
    """Sequences of attributes as lists, sets or dicts, and labels that depend on them."""
    X, y = [], []
    for _ in range(n):
        x = [[f"a{rng.randrange(30)}" for _ in range(rng.randint(0, 5))] + [f"b{rng.randrange(3)}"] for _ in range(rng.randint(1, 9))]
        y.append([f"L{(len(names) + int(names[-1][1:]) * 3) % labels}" for names in x])
        if values:
            x = [{name: rng.choice([1.0, 0.5, 2, True, "t"]) for name in names} for names in x]
        X.append([rng.choice([list, set])(names) if not values else names for names in x])
    return X, y


@pytest.mark.parametrize("kind", [{}, {"values": True}, {"labels": 40}])
def test_a_sequence_alone_gets_the_labels_that_it_gets_among_others(kind):
    rng = random.Random(7)
    X, y = sequences(rng, 120, **kind)
    tagger = CRF(max_iter=5, features="full" if not kind else "observed").fit(X, y).tagger_
    again = [*X, [[]], [["a1"], [], ["no"]], []]
    assert [tagger.tag(x) for x in again] == list(tagger.tag_all(again))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tagger.tag, again * 5)) == list(tagger.tag_all(again)) * 5


def test_what_is_wrong_with_a_sequence_leaves_nothing_of_it_behind():
    X, y = sequences(random.Random(8), 50)
    tagger = CRF(max_iter=5).fit(X, y).tagger_
    expected = tagger.tag(X[0])
    for wrong in (["text"], [["a1"], 3], [{"a1": float("nan")}], [{"a1": 2.5}, {"a2": object()}]):
        with pytest.raises((DataError, TypeError), match=r"X\[\d\]"):
            tagger.tag(wrong)
        assert tagger.tag(X[0]) == expected
    assert tagger.tag([{"a1": 2.5}]) == next(tagger.tag_all([[{"a1": 2.5}]]))
    assert tagger.tag(X[0]) == expected
    broken = replace(tagger.model, w=np.full_like(tagger.model.w, np.inf))
    with pytest.raises(TrainingError):
        Tagger(broken).tag(X[0])
