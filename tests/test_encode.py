"""Laws of encoding: what the compiled expansion makes equals a naive twin's, every format comes back as it went out, errors have places."""

import io
import itertools
import pickle
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import corpora
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crftrain.errors import DataError, TemplateError
from crftrain.text.encode import Encoder, StringTable, expand, expand_runs, read_corpus
from crftrain.text.read import Run, Sentence, sentences
from crftrain.text.template import Template, builtin

PLAIN = Template.parse("U0:%x[0,0]\nB\n", "t.txt")


def write(tmp_path, text, name="train.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def error(path, **options):
    with pytest.raises(DataError) as caught:
        read_corpus([path], **options)
    return str(caught.value).replace(str(path), "train.txt")


def names_at(observations, table, t):
    """The attributes of token t, as text."""
    return [table.name(a).decode() for a in observations.attr[observations.ptr[t] : observations.ptr[t + 1]]]


# ---- the naive twin

MACRO = re.compile(r'%([A-Za-z])\[ *(@?)([+-]?\d+),(\d+)(?:,(?:"(.*?)"|(\d+)))?\]')


def twin_function(letter, pattern, n):
    def shape(cell):
        out = "".join("X" if c.isupper() else "x" if c.islower() else "0" if c.isdecimal() else "a" if c.isalpha() else c for c in cell)
        return "".join(c for i, c in enumerate(out) if not n or out[max(0, i - n) : i + 1] != c * (n + 1))

    return {
        "x": lambda cell: cell,
        "l": lambda cell: cell.lower(),
        "p": lambda cell: cell[:n],
        "s": lambda cell: cell[max(0, len(cell) - n) :] if n else "",
        "d": lambda cell: "".join("0" if c.isdecimal() else c for c in cell),
        "w": shape,
        "t": lambda cell: "true" if any(c.isupper() for c in cell) else "false",
        "m": lambda cell: next((c for c in cell if c.isupper()), ""),
    }[letter]


def twin_line(line, rows, t):
    """What a template line makes of token t; the only pattern is \\\\u."""

    def cell(macro):
        letter, at, row, column, pattern, n = macro.groups()
        row = int(row)
        r = t + row if not at else len(rows) + row if row < 0 else row - 1
        if not 0 <= r < len(rows):
            return f"_B{r}" if r < 0 else f"_B+{r - len(rows) + 1}"
        text = twin_function(letter.lower(), pattern, int(n or 0))(rows[r][int(column)])
        return text.lower() if letter.isupper() else text

    return MACRO.sub(cell, line)


CELLS = st.text(alphabet="abXÉé漢1٣:\\-_/\u3000😀", min_size=1, max_size=20) | st.sampled_from(["x" * 40, "a:b\\c", "\\", ":"])
ROWS = st.one_of(st.integers(-3, 3).map(str), st.sampled_from(["@1", "@2", "@-1", "@-3", "-100000", "+7"]))
MACROS = st.tuples(st.sampled_from("xXlLdDwWpPsStTmM"), ROWS, st.integers(0, 1), st.integers(1, 4)).map(
    lambda m: f"%{m[0]}[{m[1]},{m[2]}{{}}]".format(',"\\u"' if m[0] in "tTmM" else f",{m[3]}" if m[0] in "pPsSwW" else "")
)
BODIES = st.lists(MACROS | st.text(alphabet="ab:/\\é # =", max_size=20), max_size=4).map(lambda parts: ":" + "".join(parts) + ".")
TEMPLATES = st.lists(st.tuples(st.sampled_from("UuBb*"), BODIES).map("".join), min_size=1, max_size=6)
SEQUENCES = st.lists(
    st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["A", "B:", "\\", "漢"])), min_size=1, max_size=6), min_size=1, max_size=4
)


@given(lines=TEMPLATES, corpus=SEQUENCES)
@settings(max_examples=200, deadline=None)
def test_the_compiled_expansion_equals_the_naive_twin(lines, corpus):
    plain = [i for i, line in enumerate(lines) if line[0] in "Bb*" and "%" not in line]
    lines = [line for i, line in enumerate(lines) if i not in plain[1:]]
    template = Template.parse("\n".join(lines), "t")
    got, vocabulary = read_text(corpus, template=template)
    t = 0
    for rows in corpus:
        for i in range(len(rows)):
            expected = [twin_line(line, rows, i) for line in lines if line[0] in "Uu*"]
            assert names_at(got.nodes, vocabulary.attributes, t) == expected
            assert vocabulary.labels[got.label[t]] == rows[i][2]
            pairs = [twin_line(line, rows, i) for line in lines if line[0] in "Bb*" and "%" in line and i]
            assert (names_at(got.pairs, vocabulary.pair_attributes, t) if got.pairs else []) == pairs
            t += 1
    assert got.n_tokens == t and got.n_sequences == len(corpus) and got.n_labels == len(vocabulary.labels)
    assert list(np.diff(got.seq)) == [len(rows) for rows in corpus]
    assert first_appearance(got.nodes.attr) and first_appearance(got.label)
    assert vocabulary.template is template and got.nodes.value is None


def first_appearance(ids):
    """Whether numbers are given in order of first appearance, without gaps."""
    seen = list(dict.fromkeys(ids.tolist()))
    return seen == list(range(len(seen)))


class Stdin:
    def __init__(self, data):
        self.buffer = io.BytesIO(data)


def read_text(corpus, *, reader=read_corpus, **options):
    """read_corpus of rows, or of a text, by way of standard input."""
    text = corpus if isinstance(corpus, str) else "\n".join("".join("\t".join(row) + "\n" for row in rows) for rows in corpus)
    before, sys.stdin = sys.stdin, Stdin(text.encode())
    try:
        return reader(["-"], **options)
    finally:
        sys.stdin = before


@given(corpus=SEQUENCES, lines=st.lists(BODIES.map("U".__add__), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_what_expand_prints_reads_back_to_the_same_corpus(corpus, lines):
    template = Template.parse("\n".join([*lines, "B"]), "t")
    direct, vocabulary = read_text(corpus, template=template)
    items = read_text(corpus, reader=lambda paths: list(expand(sentences(paths[0]), template)))
    text = b"\n\n".join(b"\n".join(lines) for lines in items)
    before, sys.stdin = sys.stdin, Stdin(text)
    try:
        back, names = read_corpus(["-"], format="items")
    finally:
        sys.stdin = before
    assert names.attributes.names() == vocabulary.attributes.names() and names.labels == vocabulary.labels
    for a, b in [
        (back.seq, direct.seq),
        (back.label, direct.label),
        (back.nodes.ptr, direct.nodes.ptr),
        (back.nodes.attr, direct.nodes.attr),
    ]:
        assert np.array_equal(a, b) and a.dtype == b.dtype
    assert back.nodes.value is None and names.template is None and (names.format, names.n_columns) == ("items", 0)


def test_an_attribute_is_just_what_crfpp_makes_of_it(tmp_path):
    path = write(tmp_path, "in IN B-PP\nthe DT B-NP\nbox NN I-NP\n")
    template = Template.parse("U05:%x[-1,0]/%x[0,0]\nU00:%x[-2,1]\nU9:%x[2,0]\nU\nB", "t")
    corpus, vocabulary = read_corpus([path], template=template)
    assert names_at(corpus.nodes, vocabulary.attributes, 0) == ["U05:_B-1/in", "U00:_B-2", "U9:box", "U"]
    assert names_at(corpus.nodes, vocabulary.attributes, 1) == ["U05:in/the", "U00:_B-1", "U9:_B+1", "U"]
    assert names_at(corpus.nodes, vocabulary.attributes, 2) == ["U05:the/box", "U00:IN", "U9:_B+2", "U"]


def test_shapes_of_arrays(tmp_path):
    path = write(tmp_path, "a X\nb Y\n\na X\n")
    corpus, _ = read_corpus([path], template=Template.parse("U:%x[0,0]\nB:%x[0,0]", "t"))
    assert [array.dtype for array in (corpus.seq, corpus.label, corpus.nodes.ptr, corpus.nodes.attr)] == [np.int64, np.int32] * 2
    assert corpus.seq.tolist() == [0, 2, 3] and corpus.label.tolist() == [0, 1, 0]
    assert corpus.nodes.ptr.tolist() == [0, 1, 2, 3] and corpus.nodes.attr.tolist() == [0, 1, 0]
    assert corpus.pairs.ptr.tolist() == [0, 0, 1, 1] and corpus.pairs.attr.tolist() == [0] and corpus.pairs.value is None
    corpus.nodes.attr[0] = 1  # numbers may be changed in place
    only_pairs, _ = read_corpus([path], template=Template.parse("B", "t"))
    assert only_pairs.nodes.attr.tolist() == [] and only_pairs.nodes.ptr.tolist() == [0, 0, 0, 0] and only_pairs.pairs is None


# ---- columns


@pytest.mark.parametrize(("column", "place"), [(0, 0), (1, 1), (2, 2), (-1, 2), (-3, 0)])
def test_any_column_may_be_the_label_and_the_others_keep_their_numbers(tmp_path, column, place):
    path = write(tmp_path, "a b c\n")
    others = [c for c in range(3) if c != place]
    template = Template.parse("\n".join(f"U:%x[0,{c}]" for c in others), "t.txt")
    corpus, vocabulary = read_corpus([path], template=template, label_column=column)
    assert vocabulary.labels == ["abc"[place]] and vocabulary.label_column == place and vocabulary.n_columns == 3
    assert names_at(corpus.nodes, vocabulary.attributes, 0) == [f"U:{'abc'[c]}" for c in others]
    with pytest.raises(TemplateError) as caught:
        read_corpus([path], template=Template.parse(f"B\nU:%x[0,{place}]", "t.txt"), label_column=column)
    assert str(caught.value) == f"t.txt:2: column {place}, which is the label, expected a column that is not"
    with pytest.raises(TemplateError) as caught:
        read_corpus([path], template=Template.parse("U:%x[0,3]", "t.txt"), label_column=column)
    assert str(caught.value) == "t.txt:1: column 3, expected 0 to 2 as the data have"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a N X\n\nb N X\nc N\n", "train.txt:4: 2 columns, expected 3 as on line 1"),
        ("\n\na N X\n\nb N X y\n", "train.txt:5: 4 columns, expected 3 as on line 3"),
        ("a N X\nb\n", "train.txt:2: 1 column, expected 3 as on line 1"),
        ("a\nb\n", "train.txt:1: 1 column, expected at least 2, one of them the label"),
        ("", "train.txt: no sentences, expected one token a line and a blank line after each sentence"),
        (" \n\t\n\r\n", "train.txt: no sentences, expected one token a line and a blank line after each sentence"),
        (b"a X\n\nb\xff X\n", "train.txt:3: byte 0xff is not utf-8, expected text in utf-8 (--encoding names another)"),
    ],
)
def test_columns_that_are_not_right(tmp_path, text, message):
    assert error(write(tmp_path, text)) == message
    assert error(write(tmp_path, "a N X\n"), label_column=3) == "train.txt:1: no column 3 for the label, expected -3 to 2"
    assert error(write(tmp_path, "a N X\n"), label_column=-4) == "train.txt:1: no column -4 for the label, expected -3 to 2"


def test_nothing_on_standard_input_is_an_error():
    """CRFsuite says that it has read 0 instances, writes an empty model and is content."""
    for options in ({}, {"format": "items"}, {"template": PLAIN}):
        with pytest.raises(DataError, match="^<stdin>: no sentences"):
            read_text([], **options)


def test_several_files_are_one_corpus(tmp_path):
    one, two = write(tmp_path, "a X\n\nb Y", "1.txt"), write(tmp_path, "b Y\nc X\n", "2.txt")
    corpus, vocabulary = read_corpus([one, two], template=PLAIN)
    assert corpus.seq.tolist() == [0, 1, 2, 4] and vocabulary.attributes.names() == [b"U0:a", b"U0:b", b"U0:c"]
    three, empty = write(tmp_path, "\nx N Y\n", "3.txt"), write(tmp_path, "\n", "4.txt")
    with pytest.raises(DataError) as caught:
        read_corpus([one, three], template=PLAIN)
    assert str(caught.value) == f"{three}:2: 3 columns, expected 2 as on {one}:1"
    with pytest.raises(DataError) as caught:
        read_corpus([one, empty], template=PLAIN)
    assert caught.value.place == empty


def test_encodings_and_line_ends_change_nothing(tmp_path):
    """CRLF gave CRFsuite one sequence of 200 with a label of the carriage return, and CRF++ columns that are not there."""
    text = "é N X\nb N Y\n\nc N X\n"
    plain = read_corpus([write(tmp_path, text)])
    others = [
        (text.replace("\n", "\r\n").encode(), "utf-8"),
        (text.encode("utf-8-sig"), "utf-8"),
        (text.encode("latin-1"), "latin-1"),
        (text.encode("utf-16"), "utf-16"),
        (text.rstrip("\n").encode(), "utf-8"),
    ]
    for data, encoding in others:
        corpus, vocabulary = read_corpus([write(tmp_path, data, "other.txt")], encoding=encoding)
        assert vocabulary.attributes.names() == plain[1].attributes.names() and vocabulary.labels == plain[1].labels
        assert np.array_equal(corpus.nodes.attr, plain[0].nodes.attr) and np.array_equal(corpus.seq, plain[0].seq)


def test_a_long_line_is_a_line_like_others(tmp_path):
    """CRF++ ended reading at a line of 8,192 bytes: 21 sentences became 10."""
    long = "x" * 100_000
    corpus, vocabulary = read_corpus([write(tmp_path, f"a X\n\n{long} Y\nb X\n\n" * 21)], template=PLAIN)
    assert corpus.n_sequences == 42 and vocabulary.attributes.get(f"U0:{long}".encode()) == 1


def test_a_sentence_of_200000_tokens(tmp_path):
    corpus, _ = read_corpus([write(tmp_path, "".join(f"w{i % 1000} T X\n" for i in range(200_000)))], template=builtin("chunk"))
    assert corpus.n_sequences == 1 and corpus.n_tokens == 200_000 and len(corpus.nodes.attr) == 19 * 200_000


def test_more_cells_than_a_memo_keeps(tmp_path):
    text = "".join(f"W{i} X\nV{i % 9} Y\n\n" for i in range(70_000)) + "W0 X\nW1 X\n"
    corpus, vocabulary = read_corpus([write(tmp_path, text)], template=Template.parse("U:%l[0,0]", "t"))
    assert names_at(corpus.nodes, vocabulary.attributes, corpus.n_tokens - 2) == ["U:w0"]
    assert len(vocabulary.attributes) == 70_000 + 9


# ---- items


def items(tmp_path, text, **options):
    return read_corpus([write(tmp_path, text)], format="items", **options)


def test_items(tmp_path):
    corpus, vocabulary = items(tmp_path, "a:b\tx\ty:2\tz:-0.5e1\t\nc\\\\\\:\\d\tx\\:1\\\\:1\t\tx:1\n\nO\n")
    assert vocabulary.labels == ["a:b", "c\\:\\d", "O"]
    assert vocabulary.attributes.names() == [b"x", b"y", b"z", b"x:1\\"]
    assert corpus.nodes.attr.tolist() == [0, 1, 2, 3, 0] and corpus.nodes.value.tolist() == [1, 2, -5, 1, 1]
    assert corpus.nodes.ptr.tolist() == [0, 3, 5, 5] and corpus.seq.tolist() == [0, 2, 3] and corpus.pairs is None


def test_values_that_are_all_1_are_not_stored(tmp_path):
    assert items(tmp_path, "X\ta:1\tb\tc:1.0\td:1e0\n")[0].nodes.value is None
    assert items(tmp_path, "X\ta\nX\tb:0\n")[0].nodes.value.tolist() == [1, 0]


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_a_value_is_read_exactly(values):
    """A negative one counts like any other; CRFsuite drops an attribute whose values add up to less than nothing."""
    before, sys.stdin = sys.stdin, Stdin(("X\tb\n" + "\n".join(f"X\ta:{value!r}" for value in values)).encode())
    try:
        corpus, vocabulary = read_corpus(["-"], format="items", min_freq=1)
    finally:
        sys.stdin = before
    stored = corpus.nodes.value if corpus.nodes.value is not None else np.ones(len(values) + 1)
    assert stored.tolist() == [1, *values] and len(vocabulary.attributes) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X\ta:b\n", "train.txt:1: value 'b' of attribute 'a', expected a finite number"),
        ("X\ta\nX\tb\tc:nan\n", "train.txt:2: value 'nan' of attribute 'c', expected a finite number"),
        ("X\ta:inf\tb\n", "train.txt:1: value 'inf' of attribute 'a', expected a finite number"),
        ("X\ta:1e999\n", "train.txt:1: value '1e999' of attribute 'a', expected a finite number"),
        ("X\ta:\n", "train.txt:1: value '' of attribute 'a', expected a finite number"),
        ("X\ta:1:2\n", "train.txt:1: value '1:2' of attribute 'a', expected a finite number"),
        ("X\ta:1 \n", "train.txt:1: value '1 ' of attribute 'a', expected a finite number"),
        ("X\ta:1_0\n", "train.txt:1: value '1_0' of attribute 'a', expected a finite number"),
        ("X\té\\::0x1\n", "train.txt:1: value '0x1' of attribute 'é:', expected a finite number"),
        ("X\t:2\n", "train.txt:1: a value without an attribute before it, expected attribute:value, or attribute\\:"),
        ("X\ta\n\n\ta\n", "train.txt:3: no label before the first tab, expected label TAB attribute TAB ..."),
        ("@weight:2\nX\ta\n", "train.txt:1: sequence weights (@weight) are not supported, expected label TAB attribute TAB ..."),
        ("", "train.txt: no sentences, expected one token a line and a blank line after each sentence"),
        ("X\ta\0\n", "train.txt:1: NUL byte, expected text in utf-8 (--encoding names another)"),
    ],
)
def test_items_that_are_not_right(tmp_path, text, message):
    assert error(write(tmp_path, text), format="items") == message


def test_items_take_no_template(tmp_path):
    with pytest.raises(TemplateError, match="a template for items"):
        items(tmp_path, "X\ta\n", template=PLAIN)


def test_items_without_a_last_line_end(tmp_path):
    """CRFsuite's learn and tag read on for ever."""
    a, b = items(tmp_path, "X\ta\nY\tb:2")[0], items(tmp_path, "X\ta\nY\tb:2\n")[0]
    assert a.nodes.attr.tolist() == b.nodes.attr.tolist() == [0, 1] and a.nodes.value.tolist() == [1, 2]


def test_a_line_of_one_space_is_no_item(tmp_path):
    """CRFsuite makes a token of it, with the label ' '."""
    corpus, vocabulary = items(tmp_path, "X\ta\r\n \r\nY\tb\r\n")
    assert corpus.n_sequences == 2 and vocabulary.labels == ["X", "Y"] and vocabulary.attributes.names() == [b"a", b"b"]


def test_sequences_are_counted_once(tmp_path):
    """CRFsuite says 201 for 200."""
    assert items(tmp_path, "X\ta\n\n" * 200)[0].n_sequences == 200


# ---- rare attributes


@given(rows=st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=20), least=st.integers(0, 5), valued=st.booleans())
@settings(max_examples=100, deadline=None)
def test_rare_attributes_are_dropped(rows, least, valued):
    text = "\n".join("X" + "".join(f"\ta{i}" + f":-{i + 2}" * valued for i in row) for row in rows)
    count = Counter(i for row in rows for i in row)
    before, sys.stdin = sys.stdin, Stdin(text.encode())
    try:
        corpus, vocabulary = read_corpus(["-"], format="items", min_freq=least)
    finally:
        sys.stdin = before
    for t, row in enumerate(rows):
        assert names_at(corpus.nodes, vocabulary.attributes, t) == [f"a{i}" for i in row if count[i] >= least]
    assert len(corpus.nodes.attr) == corpus.nodes.ptr[-1] and first_appearance(corpus.nodes.attr)
    assert len(vocabulary.attributes) == len({i for i in count if count[i] >= least})
    if corpus.nodes.value is not None:
        assert corpus.nodes.value.tolist() == [-i - 2 for row in rows for i in row if count[i] >= least]


def test_rare_attributes_of_label_pairs(tmp_path):
    path = write(tmp_path, "a X\nb X\nc X\nb Y\n")
    corpus, vocabulary = read_corpus([path], template=Template.parse("U:%x[0,0]\nB:%x[0,0]", "t"), min_freq=2)
    assert vocabulary.attributes.names() == [b"U:b"] and vocabulary.pair_attributes.names() == [b"B:b"]
    assert corpus.nodes.ptr.tolist() == corpus.pairs.ptr.tolist() == [0, 0, 1, 1, 2]


# ---- data to tag


def test_the_encoder_finds_in_training_data_what_training_found(tmp_path):
    path = write(tmp_path, "in IN B\nthe DT I\n\nbox NN B\nin IN O\n")
    template = Template.parse("U0:%x[0,0]\nU1:%s[0,0,2]/%x[1,1]\n*2:%x[-1,0]", "t")
    corpus, vocabulary = read_corpus([path], template=template)
    again = Encoder(vocabulary).encode(sentences(path))
    for a, b in zip(arrays(corpus), arrays(again), strict=True):
        assert np.array_equal(a, b)
    encoder = Encoder(vocabulary)
    one_by_one = [encoder.sentence(sentence) for sentence in sentences(path)]
    assert np.concatenate([one.nodes.attr for one in one_by_one]).tolist() == corpus.nodes.attr.tolist()
    assert [one.n_sequences for one in one_by_one] == [1, 1]


def arrays(corpus):
    pairs = [corpus.pairs.ptr, corpus.pairs.attr] if corpus.pairs else []
    return [corpus.seq, corpus.label, corpus.nodes.ptr, corpus.nodes.attr, *pairs]


def test_the_encoder_drops_what_it_does_not_know(tmp_path):
    _, vocabulary = read_corpus([write(tmp_path, "a X\nb Y\n")], template=PLAIN)
    path = write(tmp_path, "b Z\nc Y\na X\n", "test.txt")
    encoder = Encoder(vocabulary)
    (sentence,) = sentences(path)
    corpus = encoder.sentence(sentence)
    assert corpus.nodes.ptr.tolist() == [0, 1, 1, 2] and corpus.nodes.attr.tolist() == [1, 0]
    assert corpus.label.tolist() == [-1, 1, 0] and corpus.n_labels == 2
    assert encoder.gold_labels(sentence) == ["Z", "Y", "X"] and vocabulary.labels == ["X", "Y"]
    assert encoder.encode([]).n_sequences == 0


@pytest.mark.parametrize("label_column", [0, 1, 2])
def test_the_gold_column_may_be_missing(tmp_path, label_column):
    train = write(tmp_path, "a b c\nb a b\n")
    others = [c for c in range(3) if c != label_column]
    template = Template.parse(f"U0:%x[0,{others[0]}]\nU1:%l[-1,{others[1]}]", "t")
    corpus, vocabulary = read_corpus([train], template=template, label_column=label_column)
    rows = [[row.split()[c] for c in others] for row in ("a b c", "b a b")]
    without = Sentence([" ".join(row).encode() for row in rows], "test.txt", 1)
    encoder = Encoder(vocabulary)
    bare = encoder.sentence(without)
    assert bare.nodes.attr.tolist() == corpus.nodes.attr.tolist() and bare.label.tolist() == [-1, -1]
    assert not encoder.has_gold(without) and encoder.gold_labels(without) is None
    with_gold = next(iter(sentences(train)))
    assert encoder.sentence(with_gold).label.tolist() == corpus.label.tolist() and encoder.has_gold(with_gold)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "test.txt:1: 4 columns, expected 3 with the label, or 2 without it"),
        ("\n\na\n", "test.txt:3: 1 column, expected 3 with the label, or 2 without it"),
        ("a b c\n\na b\n", "test.txt:3: 2 columns, expected 3 as on line 1"),
        ("a b\na b c\n", "test.txt:2: 3 columns, expected 2 as on line 1"),
    ],
)
def test_data_to_tag_that_are_not_right(tmp_path, text, message):
    _, vocabulary = read_corpus([write(tmp_path, "a b c\n")])
    path = write(tmp_path, text, "test.txt")
    encoder = Encoder(vocabulary)
    with pytest.raises(DataError) as caught:
        for sentence in sentences(path):
            encoder.sentence(sentence)
    assert str(caught.value).replace(path, "test.txt") == message
    good = Sentence([b"a b c"], "good.txt", 1)
    assert encoder.sentence(good).n_tokens == 1  # nothing of the bad sentence is left behind


def test_gold_labels_of_items(tmp_path):
    _, vocabulary = items(tmp_path, "X:\ta\nY\tb:2\n")
    with_gold, bare = Sentence([b"X\\:\ta", b"Z\tb:3"], "1", 1), Sentence([b"a", b"b:3\ta"], "2", 1)
    encoder = Encoder(vocabulary)
    assert [encoder.has_gold(sentence) for sentence in (with_gold, bare, with_gold)] == [True, False, True]
    assert encoder.gold_labels(with_gold) == ["X:", "Z"] and encoder.gold_labels(bare) is None
    corpus = encoder.sentence(with_gold)
    assert corpus.label.tolist() == [0, -1] and corpus.nodes.attr.tolist() == [0, 1] and corpus.nodes.value.tolist() == [1, 3]
    corpus = encoder.sentence(bare)
    assert corpus.label.tolist() == [-1, -1] and corpus.nodes.attr.tolist() == [0, 1, 0] and corpus.nodes.value.tolist() == [1, 3, 1]
    assert Encoder(vocabulary, gold="yes").gold_labels(bare) == ["a", "b:3"] and not Encoder(vocabulary, gold="no").has_gold(with_gold)


def test_sources_may_take_turns(tmp_path):
    """As they do when threads tag the end of one file and the beginning of the next."""
    _, vocabulary = read_corpus([write(tmp_path, "a b X\n")])
    encoder = Encoder(vocabulary)
    lines = {"with": b"a b X", "without": b"a b"}
    for number in range(1, 4):
        for source, line in lines.items():
            sentence = Sentence([line], source, number)
            assert encoder.sentence(sentence).label.tolist() == [0 if source == "with" else -1]
    with pytest.raises(DataError, match=r"^with:9: 2 columns, expected 3 as on line 1$"):
        encoder.sentence(Sentence([b"a b"], "with", 9))


def test_threads_may_share_an_encoder(tmp_path):
    path = write(tmp_path, "".join(f"word{i} tag{i % 7} X\n" + "\n" * (i % 5 == 0) for i in range(2000)))
    template = Template.parse("U0:%p[0,0,5]/%s[1,0,3]\nU1:%w[0,0]\nU2:%l[-1,1]", "t")
    _, vocabulary = read_corpus([path], template=template)
    read, encoder = list(sentences(path)), Encoder(vocabulary)
    alone = [encoder.sentence(sentence).nodes.attr.tolist() for sentence in read]
    encoder = Encoder(vocabulary)
    encoder.has_gold(read[0])
    with ThreadPoolExecutor(4) as pool:
        assert [corpus.nodes.attr.tolist() for corpus in pool.map(encoder.sentence, read)] == alone


def test_a_vocabulary_that_does_not_fit_is_refused(tmp_path):
    """Such as a hostile model file may hold."""
    _, vocabulary = read_corpus([write(tmp_path, "a b c\n")], template=builtin("chunk"))
    for n_columns, label_column in [(2, 1), (3, 0), (1, 0)]:
        vocabulary.n_columns, vocabulary.label_column = n_columns, label_column
        with pytest.raises(TemplateError):
            Encoder(vocabulary)
    for n_columns, label_column in [(3, 7), (3, -1)]:
        vocabulary.n_columns, vocabulary.label_column = n_columns, label_column
        with pytest.raises(ValueError, match="label column"):
            Encoder(vocabulary)
    vocabulary.n_columns, vocabulary.label_column = 2**40, 2**39
    with pytest.raises(DataError):
        Encoder(vocabulary).sentence(Sentence([b"a b c"], "x", 1))


# ---- what features prints


def test_expand(tmp_path):
    path = write(tmp_path, "a:b\\ X\nc Y:\n\nd \\\n")
    template = Template.parse("U0:%x[0,0]\nU0:%x[0,0]\nu=%x[1,0]\nB", "t")
    assert list(expand(sentences(path), template)) == [
        [b"X\tU0\\:a\\:b\\\\\tU0\\:a\\:b\\\\\tu=c", b"Y\\:\tU0\\:c\tU0\\:c\tu=_B+1"],
        [b"\\\\\tU0\\:d\tU0\\:d\tu=_B+1"],
    ]
    assert list(expand(sentences(path), Template.parse("U:%x[0,1]", "t"), label_column=0))[1] == [b"d\tU\\:\\\\"]


def test_expand_holds_several_files_to_the_columns_of_the_first(tmp_path):
    one, two = write(tmp_path, "a X\n", "1.txt"), write(tmp_path, "\na N X\n", "2.txt")
    with pytest.raises(DataError) as caught:
        list(expand(itertools.chain(sentences(one), sentences(two)), PLAIN))
    assert str(caught.value) == f"{two}:2: 3 columns, expected 2 as on {one}:1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U\nB:%x[0,0]\n", "t.txt:2: a line for label pairs with macros, which items cannot express, expected a plain B line"),
        ("U\n*:%x[0,0]\n", "t.txt:2: a line for label pairs with macros, which items cannot express, expected a plain B line"),
        ("U\tx:%x[0,0]\n", "t.txt:1: a tab, which ends an attribute in items, expected a space"),
        ("U:%x[0,1]\n", "t.txt:1: column 1, which is the label, expected a column that is not"),
    ],
)
def test_templates_that_items_cannot_express(tmp_path, text, message):
    with pytest.raises(TemplateError) as caught:
        list(expand(sentences(write(tmp_path, "a X\n")), Template.parse(text, "t.txt")))
    assert str(caught.value) == message


# ---- names


@given(names=st.lists(st.binary(max_size=40), max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_string_table_is_a_dictionary(names):
    table, twin = StringTable(), {}
    for name in names:
        assert table.add(name) == twin.setdefault(name, len(twin))
    assert len(table) == len(twin) and table.names() == list(twin)
    for name in [*names, b"", b"other", b"\0" * 9]:
        assert table.get(name) == twin.get(name, -1)
    blob, offsets = table.arrays()
    assert blob == b"".join(twin) and offsets.tolist() == np.cumsum([0, *map(len, twin)]).tolist()
    for copy in (StringTable.from_names(table.names()), StringTable.from_names((blob, offsets)), pickle.loads(pickle.dumps(table))):
        assert copy.names() == list(twin) and all(copy.get(name) == i for name, i in twin.items())
    order = np.arange(len(twin))[::-2]
    kept = table.keep(order)
    assert kept.names() == [list(twin)[i] for i in order] and all(kept.get(name) == i for i, name in enumerate(kept.names()))


def test_a_string_table_of_many_and_long_names():
    names = [str(i).encode() * (1 + i % 3) for i in range(100_000)] + [b"x" * 10**6, b"x" * (10**6 - 1)]
    names = list(dict.fromkeys(names))
    table = StringTable.from_names(names)
    assert table.names() == names and all(table.get(name) == i for i, name in enumerate(names)) and table.get(b"x" * 999_998) == -1


def test_a_string_table_trusts_nothing():
    table = StringTable.from_names([b"a", b"b"])
    for bad in ([b"a", b"a"], (b"ab", np.array([0, 2, 1])), (b"ab", np.array([0, 3])), (b"ab", np.array([1, 2])), (b"", np.array([], int))):
        with pytest.raises(ValueError, match="twice|offsets"):
            StringTable.from_names(bad)
    with pytest.raises(ValueError, match="twice"):
        table.keep([1, 1])
    for bad in (-1, 2):
        with pytest.raises(IndexError):
            table.name(bad)
        with pytest.raises(IndexError):
            table.keep([bad])


# ---- figures that others have published


def test_conll_2000_with_crfpp_s_template():
    corpus, vocabulary = read_corpus([corpora.path("conll2000", "train.txt")], template=builtin("chunk"))
    assert (corpus.n_sequences, corpus.n_tokens, corpus.n_labels) == (8936, 211_727, 22)
    assert len(vocabulary.attributes) * 22 + 22**2 == 7_448_606
    assert len(corpus.nodes.attr) == 19 * 211_727


def test_conll_2000_as_crfsuite_expands_it():
    corpus, vocabulary = read_corpus([corpora.crfsuite_items()], format="items")
    assert (corpus.n_sequences, corpus.n_tokens, corpus.n_labels) == (8936, 211_727, 22)
    assert (len(vocabulary.attributes), len(corpus.nodes.attr), corpus.nodes.value) == (335_674, 3_808_439, None)
    assert len(vocabulary.attributes) * 22 + 22**2 == 7_385_312
    label = np.repeat(corpus.label, np.diff(corpus.nodes.ptr))
    assert len(np.unique(corpus.nodes.attr.astype(np.int64) * 22 + label)) == 452_610


def test_ocr_items():
    corpus, vocabulary = read_corpus([corpora.path("ocr", "train.txt")], format="items")
    assert (corpus.n_sequences, corpus.n_tokens, corpus.n_labels, len(vocabulary.attributes)) == (6251, 47_535, 26, 128)
    assert len(vocabulary.attributes) * 26 + 26**2 == 4004


LINE = st.sampled_from(["a T X", "b  T\tY", " c U X ", "d U", "\v", "é T Y\r", "a T X Y"])


@given(
    text=st.lists(st.tuples(LINE, st.sampled_from(["\n", "\n", "\n\n", "\r\n\r\n"])).map("".join), max_size=12).map("".join),
    chosen=st.booleans(),
)
@settings(deadline=None)
def test_runs_of_bytes_and_single_sentences_make_the_same_corpus(text, chosen):
    def read(**options):
        try:
            corpus, vocabulary = read_text(text, template=None if chosen else builtin("chunk"), **options)
        except (DataError, TemplateError) as error:
            return str(error)
        return [array.tolist() for array in corpus.arrays()], vocabulary.attributes.names(), vocabulary.labels

    assert read() == read(look=lambda sentence: None)


@given(text=st.lists(st.tuples(LINE, st.sampled_from(["\n", "\n", "\n\n", "\r\n\r\n"])).map("".join), max_size=12).map("".join))
@settings(deadline=None)
def test_items_of_runs_and_of_single_sentences_are_the_same(text):
    def items(expanded, some):
        out = []
        try:
            out.extend(b"\n".join([*lines, b"", b""]) if isinstance(lines, list) else lines for lines in expanded(some, PLAIN))
        except DataError as error:
            return b"".join(out), str(error)
        return b"".join(out), None

    run = Run(text.encode(), "t", 1)
    assert items(expand_runs, [run, run]) == items(expand, itertools.chain(run.sentences(), run.sentences()))
