"""The compiled readers of CoNLL-U and JSON lines say what slow and obvious ones say, whatever the text."""

import codecs
import json
import random

import pytest

from crftrain.errors import DataError
from crftrain.text import jsonlines
from crftrain.text._formats import Lists, run, whole
from crftrain.text.cells import cell, joined
from crftrain.text.forms import Form

NAMES = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
CELLS = ["", "_", "a", "b c", "é", "A=1|B=2", "B=2", "|", "x\r", "B", "0", "w" * 20, "ü|" * 40, "u v" * 9, "\v\x01"]


def random_tree(rng):
    """Lines of a sentence: mostly tokens, and what else a treebank has."""
    lines = []
    for i in range(rng.randint(0, 6)):
        rest = [rng.choice(CELLS) for _ in range(9)]
        kind = rng.random()
        if kind < 0.7:
            lines.append("\t".join([str(i), *rest]))
        else:
            lines.append(rng.choice(["# text = 1\t2", "1-2\t" + "\t".join(rest), "1.1\t_", "#"]))
    return lines


def slow_rows(lines, fields):
    """What the fields of the lines' tokens are."""
    rows = []
    for line in lines:
        cells = line.split("\t")
        if cells[0].isdigit():
            values = []
            for name in fields:
                column, _, key = name.partition(".")
                value = cells[NAMES.index(column)]
                pairs = [item.split("=", 1) for item in value.split("|") if "=" in item]
                values.append(next((v for k, v in pairs if k == key), "_") if key else value)
            rows.append(b"\t".join(cell(value.encode()) for value in values))
    return rows


@pytest.mark.parametrize("fields", [("form", "upos"), ("misc",), ("id", "feats.B", "misc.A"), ("form", "form", "lemma", "deps")])
def test_treebanks_are_read_as_by_splitting_lines(tmp_path, fields):
    rng = random.Random(4)
    trees = [tree for tree in (random_tree(rng) for _ in range(400)) if tree]
    text = "".join("\n".join(tree) + "\n" * rng.randint(2, 3) for tree in trees)
    (tmp_path / "a.conllu").write_text(text, encoding="utf-8", newline="")
    form = Form("conllu", fields)
    for blocks in (form.blocks(str(tmp_path / "a.conllu")), [list(in_pieces(form, text.encode(), rng))]):
        records = [record for block in blocks for record in block]
        lines = text.replace("\r\n", "\n").split("\n")
        for tree, record in zip(trees, records, strict=True):
            tree = [line.rstrip("\r") if line.endswith("\r") else line for line in tree]
            assert record.lines == slow_rows(tree, fields)
            assert [lines[number - 1].split("\t")[0].isdigit() for number in record.numbers] == [True] * len(record.lines)
            assert record.raw.decode() == "\n".join(tree)


def in_pieces(form, text, rng):
    """The records of a text that arrives in pieces of whole lines."""
    reader, found, lines = form.module.Reader(form), [], text.replace(b"\r\n", b"\n").split(b"\n")
    while lines:
        n = rng.randint(1, 5)
        reader.read(b"\n".join(lines[:n]), "a", found)
        del lines[:n]
    reader.end("a", found)
    return found


def test_runs_are_the_lines_between_blank_ones():
    rng = random.Random(5)
    for _ in range(2000):
        text = "".join(rng.choice("ab \t\n\n") for _ in range(rng.randint(0, 12)))
        found, at = [], 0
        while 0 <= at <= len(text):
            end, n_lines, following = run(text.encode(), at)
            found += [text[at:end]] if n_lines else []
            assert n_lines == (text[at:end].count("\n") + 1 if end > at else 0)
            at = following
        runs, lines = [], []
        for line in [*text.split("\n"), ""]:
            if line.strip():
                lines.append(line)
            elif lines:
                runs.append("\n".join(lines))
                lines = []
        assert found == runs, repr(text)


VALUES = ['"x"', '"B-P"', '" "', '""', "1", "-0", "01", "true", "nul", "null", "1.5", '"a\\nb"', '"é"', '"\t"', "{}", "[]", '"', "1 2"]


def random_object(rng):
    """Something like an object of JSON, not always one."""
    entries = []
    for _ in range(rng.randint(0, 3)):
        key = rng.choice(["tokens", "words", "tags", "ner_tags", "id", "labels", "x"])
        n = rng.choice([2, 2, 2, 0, 1])
        items = [rng.choice(VALUES[:4] if rng.random() < 0.7 else VALUES) for _ in range(n)]
        value = rng.choice([f"[{', '.join(items)}]"] * 5 + [rng.choice(VALUES)])
        entries.append(rng.choice(['"{}": {}', '"{}":{}', ' "{}" : {} ']).format(key, value))
    text = "{" + rng.choice([", ", ",", ",,"] if rng.random() < 0.1 else [", "]).join(entries) + "}"
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", "}", "]", '"', "\0", "\\"]) + text[at + 1 :]
    return text


@pytest.mark.parametrize("fields", [(), ("tokens", "tags"), ("words", "labels", "tags")])
def test_plain_objects_are_read_as_the_whole_language_reads_them(fields):
    rng, form, plain = random.Random(6), Form("jsonl", fields), 0
    for _ in range(20000):
        line = random_object(rng).encode()
        rows = jsonlines.compiled(form).rows(line)
        if rows is None:
            continue
        plain += 1
        lists, offsets = jsonlines._lists(json.loads(line), form)
        assert offsets is None and rows == joined([[text.encode() for text in row] for row in zip(*lists, strict=True)]), line
    assert plain > 40


def test_an_ordinary_line_is_plain():
    for found in ({"tokens": ["a", "b c", ""], "tags": ["X", "Y", "é"]}, {"id": "7", "n": [1, 2], "words": ["a"], "ok": None}):
        for separators in ((",", ":"), (", ", ": ")):
            line = json.dumps(found, ensure_ascii=False, separators=separators).encode()
            assert Lists([["tokens", "words"], ["tags"]], only_lists=True).rows(line) is not None


def test_an_object_keeps_its_own_bytes(tmp_path):
    text = '{"id":1.50,  "tokens": ["a"], "tags":["X"] } \n'
    (tmp_path / "a.jsonl").write_text(text)
    form = Form("jsonl")
    (record,) = form.sentences(str(tmp_path / "a.jsonl"))
    assert form.written(record, [b"Y"]) == b'{"id":1.50,  "tokens": ["a"], "tags":["X"], "predicted": ["Y"]}\n'
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "predicted": ["old"]}')
    (record,) = form.sentences(str(tmp_path / "a.jsonl"))
    assert json.loads(form.written(record, [b"Y"])) == {"tokens": ["a"], "predicted": ["Y"]}


def test_what_comes_before_a_fault_is_handed_on(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"]}\n\n{"tokens": 1}\n')
    blocks = Form("jsonl").blocks(str(tmp_path / "a.jsonl"))
    assert [record.lines for record in next(blocks)] == [[b"a"]]
    with pytest.raises(DataError, match="a.jsonl:3: "):
        next(blocks)


def test_utf_8_is_what_python_takes_for_it():
    rng = random.Random(9)
    good = [b"a", b"plain text", *(text.encode() for text in ("é", "€", "😀", "\u07ff", "\ud7ff", "\U0010ffff"))]
    bad = [b"\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x8f\x80\x80", b"\xf4\x90\x80\x80", b"\xf8", b"\xff", b"\xe2\x82"]
    for _ in range(20000):
        text = b"".join(rng.choice(good + bad if rng.random() < 0.1 else good) for _ in range(rng.randint(0, 9)))
        text = text[: rng.randint(0, len(text))]
        try:
            decoded = codecs.getincrementaldecoder("utf-8")().decode(text)
        except UnicodeDecodeError:
            assert whole(text) == -1, text
            continue
        cut_off = len(text) > len(decoded.encode())
        assert whole(text) == len(decoded.encode()) or (cut_off and whole(text) == -1), text  # \xed\xa0: nothing can go on so
