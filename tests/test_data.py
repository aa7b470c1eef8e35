"""The corpus in data/ is what its generator writes, and is fit for a demonstration."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

from crftrain.tagging.evaluate import is_chunked

DATA = Path(__file__).parent.parent / "data"
LABELS = {"O", "B-SBAR", "B-PRT", "B-INTJ", *(f"{tag}-{kind}" for kind in ("NP", "VP", "PP", "ADVP", "ADJP", "CONJP") for tag in "BI")}


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DATA / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def parts():
    """{part: sentences of (word, POS, chunk)}"""
    texts = {part: (DATA / f"{part}.txt").read_text(encoding="utf-8") for part in ("train", "dev", "test")}
    assert all(text.endswith("\n\n") for text in texts.values())
    blocks = {part: text[:-2].split("\n\n") for part, text in texts.items()}
    return {part: [[tuple(line.split(" ")) for line in block.split("\n")] for block in own] for part, own in blocks.items()}


def test_the_files_are_what_the_generator_writes(generate, tmp_path):
    generate.main(tmp_path)
    for part in generate.SIZES:
        assert (tmp_path / f"{part}.txt").read_bytes() == (DATA / f"{part}.txt").read_bytes()


def test_sizes(parts):
    assert {part: len(sentences) for part, sentences in parts.items()} == {"train": 1000, "dev": 250, "test": 250}
    assert all(len(token) == 3 and all(token) for sentences in parts.values() for sentence in sentences for token in sentence)
    assert sum(path.stat().st_size for path in DATA.iterdir() if path.is_file()) < 700_000


def test_no_sentence_comes_twice(parts):
    words = [tuple(word for word, _, _ in sentence) for sentences in parts.values() for sentence in sentences]
    assert len(set(words)) == len(words)


def test_labels_are_chunks_in_iob2_and_all_occur_in_training(parts):
    for part, sentences in parts.items():
        labels = {label for sentence in sentences for _, _, label in sentence}
        assert labels <= LABELS
        assert is_chunked(labels)
        if part == "train":
            assert labels == LABELS
        for sentence in sentences:
            last = "O"
            for _, _, label in sentence:
                assert label[0] != "I" or last[1:] == label[1:]
                last = label


def test_neither_word_nor_tag_decides_alone_and_new_words_appear(parts):
    labels = [{}, {}]
    for sentence in parts["train"]:
        for *columns, label in sentence:
            for seen, value in zip(labels, columns, strict=True):
                seen.setdefault(value, set()).add(label)
    words, tags = labels
    assert sum(len(own) > 1 for own in words.values()) > 200
    assert sum(len(own) > 2 for own in tags.values()) > 10
    assert len({word for sentence in parts["test"] for word, _, _ in sentence} - set(words)) > 100


def test_every_symbol_of_the_grammar_means_something(generate):
    town = generate.Town(0)
    used = {"TEXT"}
    for rules in town.rules.values():
        for _, weights, alternatives in rules:
            assert len(weights) == len(alternatives) > 0
            assert min(weights) > 0
            for symbol in (symbol for body in alternatives for symbol in body):
                if "^" not in symbol and symbol[0] not in "[]" and symbol != "NIL":
                    name = symbol.split("/")[0]
                    used.add(name)
                    assert name in town.rules or name in {key.split("/")[0] for key in town.words}
    assert set(town.rules) <= used


def test_verbs_and_nouns_are_inflected(generate):
    def words(entry):
        return " ".join(form for form, _ in generate.verb_forms(entry).values())

    assert words("plan+") == "plan plan plans planned planned planning"
    assert words("carry") == "carry carry carries carried carried carrying"
    assert words("take:took:taken") == "take take takes took taken taking"
    assert words("see:saw:seen") == "see see sees saw seen seeing"
    assert words("tie") == "tie tie ties tied tied tying"
    assert words("sell:sold") == "sell sell sells sold sold selling"
    assert generate.noun_forms("watch")["p"] == ("watches", "NNS")


def test_the_demo_is_a_shell_script():
    subprocess.run(["sh", "-n", str(DATA / "demo.sh")], check=True)
