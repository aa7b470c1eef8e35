"""A template is chosen by what columns hold and what the labels are, not by how many columns there are."""

import random
import re
from pathlib import Path

import pytest

from crftrain.errors import DataError
from crftrain.text.choose import choose, kind, look_like_items
from crftrain.text.encode import read_corpus
from crftrain.text.template import builtin

DATA = Path(__file__).parent.parent / "data" / "train.txt"
CLASSES = ["DT", "NN", "VBD", "IN", "JJ", "."]
rng = random.Random(3)
WORDS = ["".join(rng.choices("abcdefghij", k=5)) for _ in range(2000)]
CHARACTERS = [chr(0x4E00 + k) for k in range(500)]
TAGS = {
    "entities": ["B-PER", "I-PER"] + ["O"] * 18,
    "phrases": ["B-NP", "I-NP", "B-VP", "O"],
    "boundaries": ["B", "M", "E", "S"],
    "classes": ["NOUN", "VERB", "ADP", "DET"],
}
COLUMNS = {
    "words": lambda: rng.choice(WORDS),
    "classes": lambda: rng.choice(CLASSES),
    "characters": lambda: rng.choice(CHARACTERS),
    "pixels": lambda: rng.choice("01"),
    "numbers": lambda: str(rng.randint(1, 30)),
}


def tokens(columns, labels, n=1000):
    cells = [COLUMNS[name] for name in columns.split()] + [lambda: rng.choice(TAGS[labels])]
    return [[make().encode() for make in cells] for _ in range(n)]


@pytest.mark.parametrize("name", ["words", "classes", "characters"])
@pytest.mark.parametrize("n", [300, 3000])
def test_the_kind_of_a_column(name, n):
    assert kind([COLUMNS[name]().encode() for _ in range(n)]) == name


@pytest.mark.parametrize(
    ("columns", "labels", "name"),
    [
        ("words", "classes", "pos"),
        ("words", "entities", "pos"),
        ("words classes", "entities", "ner"),
        ("words classes", "phrases", "chunk"),
        ("words classes", "classes", "ner"),
        ("characters", "boundaries", "seg"),
        ("characters", "entities", "seg"),
        ("words words classes", "entities", "ner of columns 0, 2, 1"),
        ("numbers words words classes", "entities", "ner of columns 1, 3, 0, 2"),
        ("words classes classes", "entities", "ner of columns 0, 1, 2"),
        ("pixels pixels", "classes", "pos of columns 0, 1"),
        ("words pixels", "entities", "pos of columns 0, 1"),
        ("words numbers", "entities", "pos of columns 0, 1"),
        ("words numbers classes", "entities", "ner of columns 0, 2, 1"),
        (" ".join(["pixels"] * 20), "classes", "columns"),
    ],
)
def test_columns_and_labels_decide(columns, labels, name):
    template = choose(tokens(columns, labels), -1 % (len(columns.split()) + 1))
    assert template.name == name
    assert template.why
    n = len(columns.split())
    template.check(n + 1, n)
    assert n <= 2 or {macro.column for _, macro in template.macros} == set(range(n))  # none is left out


def test_a_column_that_says_nothing_is_left_out():
    rows = [[word, b"_", label] for word, label in tokens("words", "entities")]
    assert choose(rows, 2).name == "pos"


def test_the_label_may_stand_first():
    rows = [[row[-1], *row[:-1]] for row in tokens("words classes", "entities")]
    template = choose(rows, 0)
    assert template.name == "ner of columns 1, 2"
    assert "U42:%x[0,2]" in template.text
    assert template.text.count("%") == builtin("ner").text.count("%")


def test_moved_columns_are_those_of_macros_alone():
    text = choose(tokens("words words classes", "entities"), 3).text
    assert re.findall(r"U36.*", text) == ["U36:%w[-1,0,1]/%w[0,0,1]/%w[1,0,1]"]
    assert re.findall(r"U45.*", text) == ["U45:%x[-1,2]/%x[0,2]"]


def test_the_data_of_the_demonstration_have_phrases():
    vocabulary = read_corpus([str(DATA)])[1]
    assert vocabulary.template.name == "chunk"
    assert "13% of the tokens outside" in vocabulary.template.why


def test_the_choice_changes_nothing_else(tmp_path):
    """What waits for the choice is learnt from as if the template had been named."""
    _, named = read_corpus([str(DATA)], template=builtin("chunk"))
    _, chosen = read_corpus([str(DATA)])
    assert chosen.attributes.names() == named.attributes.names()
    assert chosen.labels == named.labels
    text = DATA.read_text(encoding="utf-8")
    (tmp_path / "small").write_text(text[: text.index("\n\n") + 2], encoding="utf-8")
    corpus, vocabulary = read_corpus([str(tmp_path / "small")] * 2)
    assert (corpus.n_sequences, vocabulary.template.name) == (2, "chunk")


VALUES = "y1\tv0:0.5\tv1:-1e3\ny0\tv0:1\tv1:.25"


@pytest.mark.parametrize("text", ["B-X\tw[0]=the\tw[1]=cat\nO\tw[0]=cat\tw[-1]=the", "a\tp1\tp2\nb\tp1\tp2\tp3\nc\tp1\tp3\tp4\tp9", VALUES])
def test_items_are_told_from_columns(tmp_path, text):
    assert look_like_items(text.encode().split(b"\n"))
    (tmp_path / "items").write_text(text + "\n", encoding="utf-8")
    for template in (None, builtin("chunk")):
        with pytest.raises(DataError, match="items:1: lines of CRFsuite's items, .* .--format items reads items"):
            read_corpus([str(tmp_path / "items")], template=template)


ROWS = ["the DT B-NP", "the\tDT\tB-NP", "a\tb\tO\nc\td", "a=b\tc=d\te=f", "12:30\t7:45\t1:2", "a:b\tc:d\tO", "1\tthe\tCase=Nom\tO"]


@pytest.mark.parametrize("text", ROWS)
def test_columns_are_not_taken_for_items(text):
    assert not look_like_items(text.encode().split(b"\n"))


@pytest.mark.parametrize("place", [2, 999, 1500])
def test_an_error_in_the_sample_names_its_line(tmp_path, place):
    path = tmp_path / "t"
    path.write_text("".join("a b O\n\n" if k != place else "a O\n\n" for k in range(2000)), encoding="utf-8")
    with pytest.raises(DataError, match=f"t:{2 * place + 1}: 2 columns, expected 3 as on line 1"):
        read_corpus([str(path)])
