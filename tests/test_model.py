"""The model file keeps what was learnt, in the same bytes each time, and a file that was changed is told from one that was not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crftrain.chain.layout import Layout
from crftrain.errors import ModelError
from crftrain.model import image
from crftrain.model.model import load, save
from crftrain.text.encode import StringTable, Vocabulary
from crftrain.text.template import Template

GOLDEN = """
8943524654524e0a 01000000 0a000000
53495a45 084fa2ac 5401000000000000 5800000000000000 5800000000000000
4c41424c 80837c34 ac01000000000000 0700000000000000 0700000000000000
544d504c 1fd42271 b301000000000000 3200000000000000 3200000000000000
46414354 b4766ea9 e501000000000000 2000000000000000 2000000000000000
4e414d45 7bcb9cb1 0502000000000000 0a00000000000000 0a00000000000000
53455453 3940010d 0f02000000000000 0800000000000000 0800000000000000
5452414e 53e85ae6 1702000000000000 0300000000000000 0300000000000000
504e414d 50df9c21 1a02000000000000 0500000000000000 0500000000000000
50534554 117c8950 1f02000000000000 0500000000000000 0500000000000000
57475453 6d187415 2402000000000000 2000000000000000 2000000000000000
9a2e32d5
0000000000000000 0200000000000000 0100000000000000 0200000000000000
0200000000000000 0800000000000000 0300000000000000 0300000000000000
0100000000000000 0300000000000000 0200000000000000
01044f422dc3a9
7b226e616d65223a2274696e79222c2274657874223a22553a25785b302c305d5c6e423a25785b302c305d5c6e425c6e227d
7b22616c676f726974686d223a226c62666773222c22676170223a6e756c6c7d
00020501553a61626362
0202010000010001
000100
0003423a62
0102010000
000080bf 00000040 0000003f 0000803e 000000be 00004040 0000c03f 000020c0
"""


def built(labels, nodes, transitions, pairs=None, *, template=None, n_columns=0, label_column=0):
    """(Vocabulary, Layout, w) of {name: {label: weight}}, {pair: weight}, {name: {pair: weight}}."""
    pairs, weights, member, ptr = pairs or {}, [], [], []
    for blocks in (nodes, {b"": transitions}, pairs):
        for block in blocks.values():
            ptr.append(len(weights))
            member += sorted(block)
            weights += [block[key] for key in sorted(block)]
    ptr, member = np.array([*ptr, len(weights)], np.int64), np.array(member, np.int32)
    ptr, pair_ptr = ptr[: len(nodes) + 1], ptr[len(nodes) + 1 :]
    vocabulary = Vocabulary(
        labels=list(labels),
        attributes=StringTable.from_names(list(nodes)),
        pair_attributes=StringTable.from_names(list(pairs)),
        template=template,
        format="items" if template is None else "conll",
        n_columns=n_columns,
        label_column=label_column,
    )
    layout = Layout(len(labels), ptr, member[: ptr[-1]], 0, member[ptr[-1] : pair_ptr[0]], pair_ptr, member[pair_ptr[0] :])
    return vocabulary, layout, np.array(weights, np.float64)


def weights_of(vocabulary, layout, w):
    """({name: {label: weight}}, {pair: weight}, {name: {pair: weight}}) without the weights that are zero as float32."""
    w = w.astype(np.float32).astype(np.float64)

    def block(ids, start, stop):
        return {int(key): float(w[p]) for key, p in zip(ids, range(start, stop), strict=True) if w[p]}

    def blocks(table, ptr, ids):
        bounds, first = ptr.tolist(), int(ptr[0])
        found = {name: block(ids[a - first : b - first], a, b) for name, a, b in zip(table.names(), bounds, bounds[1:], strict=False)}
        return {name: weights for name, weights in found.items() if weights}

    return (
        blocks(vocabulary.attributes, layout.ptr, layout.node_labels()),
        block(layout.transition, layout.transitions.start, layout.transitions.stop),
        blocks(vocabulary.pair_attributes, layout.pair_ptr, layout.pair),
    )


def tiny():
    """Names out of order, a label that is not ASCII, zeros of every kind."""
    return built(
        ["O", "B-é"],
        {b"U:b": {1: 0.5}, b"U:abc": {0: -1, 1: 2}, b"U:ab": {0: 1e-50}, b"U:zero": {1: 0.0}},
        {0: 0.25, 1: 0.0, 2: -0.125, 3: 3},
        {b"B:b": {1: 1.5, 2: -2.5}, b"B:a": {0: -0.0}},
        template=Template.parse("U:%x[0,0]\nB:%x[0,0]\nB\n", "tiny"),
        n_columns=2,
        label_column=1,
    )


FACTS = {"algorithm": "lbfgs", "gap": float("nan")}


@pytest.fixture
def place(tmp_path):
    return tmp_path / "model.bin"


# ---- what is kept


def test_golden_bytes(place):
    assert save(place, *tiny(), FACTS) == len(bytes.fromhex(GOLDEN))
    assert place.read_bytes() == bytes.fromhex(GOLDEN)


def test_load_gives_what_was_saved(place):
    vocabulary, layout, w = tiny()
    size = save(place, vocabulary, layout, w, FACTS)
    found = load(place)
    assert weights_of(found.vocabulary, found.layout, found.w) == weights_of(vocabulary, layout, w)
    assert found.vocabulary.labels == ["O", "B-é"]
    assert found.vocabulary.template == vocabulary.template
    assert found.vocabulary.template.text == "U:%x[0,0]\nB:%x[0,0]\nB\n"
    assert (found.vocabulary.format, found.vocabulary.n_columns, found.vocabulary.label_column) == ("conll", 2, 1)
    assert found.facts == {"algorithm": "lbfgs", "gap": None}
    assert found.size == size == place.stat().st_size
    assert found.active == 8


def test_zero_weights_vanish_with_their_attributes(place):
    save(place, *tiny(), FACTS)
    found = load(place)
    assert found.vocabulary.attributes.names() == [b"U:abc", b"U:b"]
    assert found.vocabulary.pair_attributes.names() == [b"B:b"]
    assert found.layout.transition.tolist() == [0, 2, 3]
    assert found.w.all()


def test_a_model_of_zeros_is_a_model(place):
    vocabulary, layout, w = tiny()
    save(place, vocabulary, layout, 0 * w, {})
    found = load(place)
    assert (found.active, len(found.vocabulary.attributes), found.layout.n_features) == (0, 0, 0)


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
NAMES = st.binary(max_size=12) | st.binary(max_size=3).map(lambda tail: b"w[0]=common" + tail)


@st.composite
def models(draw):
    labels = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=9, unique=True))
    ids, pairs = st.integers(0, len(labels) - 1), st.integers(0, len(labels) ** 2 - 1)
    nodes = draw(st.dictionaries(NAMES, st.dictionaries(ids, NUMBERS), max_size=30))
    transitions = draw(st.dictionaries(pairs, NUMBERS))
    pair_blocks = draw(st.dictionaries(NAMES, st.dictionaries(pairs, NUMBERS), max_size=5))
    of_pairs = {"template": Template.parse("U:%x[0,0]\nB:%x[0,0]\n", "pairs"), "n_columns": 2, "label_column": 1} if pair_blocks else {}
    return built(labels, nodes, transitions, pair_blocks, **of_pairs)


@settings(max_examples=60, deadline=None)
@given(models(), st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)))
def test_round_trip(tmp_path_factory, parts, facts):
    place = tmp_path_factory.mktemp("round") / "model.bin"
    save(place, *parts, facts)
    found, data = load(place), place.read_bytes()
    assert found.vocabulary.labels == parts[0].labels
    assert weights_of(found.vocabulary, found.layout, found.w) == weights_of(*parts)
    assert found.facts == facts
    save(place, found.vocabulary, found.layout, found.w, found.facts)
    assert place.read_bytes() == data


def many(seed=1, n=3000, n_labels=9):
    """A model large enough to be deflated: names of a few kinds, mostly few labels each."""
    rng = np.random.default_rng(seed)
    nodes = {}
    for k in rng.permutation(n).tolist():
        labels = rng.choice(n_labels, size=1 + int(rng.geometric(0.7)) % n_labels, replace=False).tolist()
        nodes[b"w[%d]=word%d" % (k % 3, k)] = dict(zip(labels, rng.standard_normal(len(labels)).tolist(), strict=True))
    return built("ABCDEFGHI"[:n_labels], nodes, dict(enumerate(rng.standard_normal(n_labels**2).tolist())))


def test_deflated_sections_round_trip(place, tmp_path):
    vocabulary, layout, w = many()
    size = save(place, vocabulary, layout, w, {})
    found = load(place)
    assert weights_of(found.vocabulary, found.layout, found.w) == weights_of(vocabulary, layout, w)
    assert size < 4 * len(w) + 4 * len(vocabulary.attributes)
    save(tmp_path / "again.bin", found.vocabulary, found.layout, found.w, found.facts)
    assert (tmp_path / "again.bin").read_bytes() == place.read_bytes()


def test_the_same_model_in_another_order_has_the_same_bytes(place, tmp_path):
    nodes = {b"x%d" % k: {k % 3: 1.0 + k} for k in range(50)}
    save(place, *built("ABC", nodes, {}), {})
    save(tmp_path / "other.bin", *built("ABC", dict(reversed(nodes.items())), {}), {})
    assert (tmp_path / "other.bin").read_bytes() == place.read_bytes()


def test_attributes_with_many_labels_come_first(place):
    nodes = {b"a": {0: 1.0}, b"b": {0: 1.0, 1: 2.0}, b"c": {2: 1.0}, b"d": {1: 1.0, 2: 1.0}}
    save(place, *built("ABC", nodes, {}), {})
    found = load(place)
    assert found.vocabulary.attributes.names() == [b"b", b"d", b"a", b"c"]
    assert found.layout.dense == 2
    assert found.layout.label.tolist() == [0, 1, 1, 2, 0, 2]


def test_full_blocks_need_no_labels(place):
    vocabulary, layout, w = built("AB", {b"b": {0: 1.0, 1: 2.0}, b"a": {0: 3.0, 1: 4.0}}, {})
    save(place, vocabulary, Layout(2, layout.ptr, None, 2, layout.transition, layout.pair_ptr, layout.pair), w, {})
    found = load(place)
    assert found.layout.label is None
    assert found.layout.dense == 2
    assert weights_of(found.vocabulary, found.layout, found.w) == weights_of(vocabulary, layout, w)


def test_numpy_facts_and_unknown_numbers(place):
    facts = {"n": np.int64(3), "f": np.float32("nan"), "list": [np.inf, (1, -np.inf)], "a": np.arange(2), "path": place, 5: True}
    save(place, *tiny(), facts)
    assert load(place).facts == {"n": 3, "f": None, "list": [None, [1, None]], "a": [0, 1], "path": str(place), "5": True}


def test_a_weight_beyond_float32_is_an_error(place):
    vocabulary, layout, w = tiny()
    for weight in (1e39, -np.inf, np.nan):
        w[0] = weight
        with pytest.raises(ModelError, match="float32"):
            save(place, vocabulary, layout, w, {})
    assert not place.exists()


@pytest.mark.parametrize("length", [400, 3000])
def test_a_model_that_would_unpack_to_too_much_is_written_as_it_is(place, length):
    """Long names that share all but their end: front-coded they would break the reader's bound."""
    nodes = {b"x" * length + b"%05d" % k: {0: 1.0} for k in range(2000)}
    size = save(place, *built("AB", nodes, {}), {})
    assert load(place).vocabulary.attributes.names() == list(nodes)
    assert size > 2000 * length / image.NAMES


# ---- what is noticed


def test_every_changed_byte_is_noticed(place):
    save(place, *tiny(), FACTS)
    good = place.read_bytes()
    for k in range(len(good)):
        for change in (0x01, 0x80, 0xFF):
            place.write_bytes(good[:k] + bytes([good[k] ^ change]) + good[k + 1 :])
            with pytest.raises(ModelError):
                load(place)


def test_every_cut_is_noticed(place):
    save(place, *tiny(), FACTS)
    good = place.read_bytes()
    for k in range(len(good)):
        place.write_bytes(good[:k])
        with pytest.raises(ModelError):
            load(place)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "an empty file, expected a model"),
        (b"xCRF" + bytes(1000), "not a model, expected a file that crftrain learn, CRFsuite"),
        (b"\x89CRFTRN\n\2\0\0\0", "cut off after 12 bytes"),
        (b"\x89CRFTRN\n\3\0\0\0" + bytes(1000), "model format 3, expected 2 or below, those that this crftrain reads"),
    ],
)
def test_messages(place, data, message):
    place.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        load(place)
    assert str(caught.value).startswith(f"{place}: {message}")


def test_messages_of_the_system(tmp_path):
    for path, message in ((tmp_path / "none.bin", "No such file"), (tmp_path, "Is a directory"), (tmp_path / "a" / "b", "No such file")):
        with pytest.raises(ModelError, match=f"cannot be read: {message}"):
            load(path)
