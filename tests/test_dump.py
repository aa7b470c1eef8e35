"""Dump says every fact and weight once, in one order, and no name breaks its line."""

import itertools

import numpy as np
import pytest
from test_model import FACTS, built, many, tiny

from crftrain.model.dump import dump
from crftrain.model.model import Model, load, save


@pytest.fixture
def model(tmp_path):
    save(tmp_path / "model.bin", *tiny(), FACTS | {"options": {"memory": 6}, "lambda": 0.1})
    return load(tmp_path / "model.bin")


def unsaved(vocabulary, layout, w, facts=None):
    return Model(vocabulary, layout, w, facts or {}, 0)


def test_the_whole(model):
    assert "\n".join(dump(model)) == (
        "# algorithm\tlbfgs\n"
        "# gap\tnull\n"
        '# options\t{"memory": 6}\n'
        "# lambda\t0.1\n"
        "T\tB-é\tB-é\t3\n"
        "T\tB-é\tO\t-0.125\n"
        "T\tO\tO\t0.25\n"
        "B\tB:b\tB-é\tO\t-2.5\n"
        "B\tB:b\tO\tB-é\t1.5\n"
        "U\tU:abc\tB-é\t2\n"
        "U\tU:abc\tO\t-1\n"
        "U\tU:b\tB-é\t0.5"
    )


def test_the_heaviest(model):
    lines = [line for line in dump(model, top=1) if line[0] != "#"]
    assert lines == ["T\tB-é\tB-é\t3", "B\tB:b\tB-é\tO\t-2.5", "U\tU:abc\tB-é\t2"]
    assert [line for line in dump(model, top=0) if line[0] != "#"] == []
    assert sorted(dump(model, top=100)) == sorted(dump(model))


def test_the_heaviest_are_those_of_the_whole_dump():
    model = unsaved(*many())
    lines = [line for line in dump(model) if line[0] == "U"]
    for top in (1, 7, 500):
        by_weight = sorted(lines, key=lambda line: -abs(float(line.rsplit("\t", 1)[1])))[:top]
        assert [line for line in dump(model, top=top) if line[0] == "U"] == by_weight


def test_equal_weights_in_order_of_names():
    nodes = {b"b": {0: 1.0, 1: -1.0}, b"a": {1: 1.0}, b"c": {0: 2.0}}
    lines = list(dump(unsaved(*built("YX", nodes, {})), top=3))
    assert lines == ["U\tc\tY\t2", "U\ta\tX\t1", "U\tb\tX\t-1"]


def test_full_blocks():
    vocabulary, layout, w = built("BA", {b"x": {0: 1.0, 1: 2.0}, b"w": {0: 3.0, 1: 4.0}}, {})
    model = unsaved(vocabulary, type(layout)(2, layout.ptr, None, 2, layout.transition, layout.pair_ptr, layout.pair), w)
    assert list(dump(model)) == ["U\tw\tA\t4", "U\tw\tB\t3", "U\tx\tA\t2", "U\tx\tB\t1"]
    assert list(dump(model, top=2)) == ["U\tw\tA\t4", "U\tw\tB\t3"]


def test_nine_digits_are_all_of_a_float32():
    weights = np.random.default_rng(1).standard_normal(200).astype(np.float32)
    lines = list(dump(unsaved(*built("A", {b"%03d" % k: {0: float(v)} for k, v in enumerate(weights)}, {}))))
    assert (np.array([line.split("\t")[3] for line in lines], np.float32) == weights).all()


@pytest.mark.parametrize(
    "name, shown",
    [
        (b"a\tb", r"a\tb"),
        (b"a\nb\r", r"a\nb\r"),
        (b"a\\tb", r"a\\tb"),
        (b"\x00\x1b[31m\x7f", r"\x00\x1b[31m\x7f"),
        (b"\xff\xc3\xa9", "\\xffé"),
        (b"", ""),
    ],
)
def test_names_stay_in_their_field(name, shown):
    assert list(dump(unsaved(*built("A", {name: {0: 1.0}}, {})))) == [f"U\t{shown}\tA\t1"]


def test_labels_and_facts_stay_in_their_field():
    model = unsaved(*built(["a\tb"], {}, {0: 1.0}), facts={"file\n": "one\ttwo \udcff", "list": ["\t"]})
    lines = list(dump(model))
    assert lines == ["# file\\n\tone\\ttwo \\xed\\xb3\\xbf", '# list\t["\\t"]', "T\ta\\tb\ta\\tb\t1"]
    "\n".join(lines).encode()


def test_lines_come_before_the_end_is_known():
    lines = dump(unsaved(*many()))
    assert len(list(itertools.islice(lines, 3))) == 3
