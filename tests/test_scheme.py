"""Labels learnt and scored in another tag scheme than the data's."""

import json
import random

import pytest
from test_formats import random_chunks

from crftrain.model.model import load
from crftrain.text.forms import Form
from crftrain.text.rescheme import tags
from crftrain.text.schemes import SCHEMES, converted, labelled

IOB2 = "Ada B-P\nLovelace I-P\nwrote O\nto O\nBabbage B-P\n\nLondon B-L\nslept O\n\n"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_three_labels_say_what_a_tag_is_in_another_scheme(scheme):
    rng = random.Random(3)
    for _ in range(400):
        n = rng.randint(1, 9)
        labels = [rng.choice(["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "B-Y", "M-Y", "L", "x"]) for _ in range(n)]
        if rng.random() < 0.5:
            labels = labelled([chunk for chunk in random_chunks(rng, n) if chunk[2] <= n], n, rng.choice(SCHEMES))
        assert [label.decode() for label in tags(scheme).of([label.encode() for label in labels])] == converted(labels, scheme), labels


def test_grobids_outside_is_the_outside_in_every_sentence(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("x I-<p>\ny I-<other>\n\nz I-<other>\nz <other>\n\n")
    assert crftrain("convert", "--scheme", "bioes", "a.txt").lines[:5] == ["x S-<p>", "y O", "", "z O", "z O"]
    assert crftrain("learn", "-q", "-t", "pos", "-m", "m.bin", "a.txt").status == 0
    assert crftrain("tag", "--inline", "m.bin", "a.txt").lines[:2] == ["<p>x</p> y", "z z"]


def test_a_model_is_learnt_in_a_scheme_and_written_back_in_the_other(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text(IOB2 * 5)
    ended = crftrain("learn", "--scheme", "bioes", "-t", "pos", "-m", "m.bin", "--dev", "a.txt", "a.txt")
    assert ended.status == 0 and "labels that training has not" not in ended.err, ended.err
    model = load(str(tmp_path / "m.bin"))
    assert set(model.vocabulary.labels) == {"B-P", "E-P", "S-P", "S-L", "O"}
    assert model.vocabulary.form == Form(scheme="bioes")
    tagged = crftrain("tag", "m.bin", "a.txt")
    assert tagged.lines[:5] == ["Ada B-P B-P", "Lovelace I-P E-P", "wrote O O", "to O O", "Babbage B-P S-P"]
    assert crftrain("tag", "--scheme", "iob2", "m.bin", "a.txt").out.decode() == "".join(
        f"{line} {line.split()[1]}\n" if line else "\n" for line in (IOB2 * 5).split("\n")[:-1]
    )
    (tmp_path / "tagged.txt").write_bytes(tagged.out)
    found = json.loads(crftrain("eval", "--json", "--scheme", "iob2", "tagged.txt").out)
    assert found["accuracy"] == 100
    assert json.loads(crftrain("eval", "--json", "tagged.txt").out)["accuracy"] < 100
    assert crftrain("update", "-m", "n.bin", "m.bin", "a.txt").status == 0
    assert set(load(str(tmp_path / "n.bin")).vocabulary.labels) == set(model.vocabulary.labels)
    assert crftrain("report", "m.bin", "a.txt", "-o", "r.html").status == 0


@pytest.mark.parametrize("format, fields", [("conllu", "form,misc.NER"), ("jsonl", None), ("pipes", None)])
def test_every_format_of_data_has_schemes(crftrain, tmp_path, format, fields):
    (tmp_path / "a.txt").write_text(IOB2 * 3)
    if format == "conllu":
        rows = [line.split() for line in IOB2.split("\n")]
        lines = ["\t".join([str(i), row[0], *"_" * 7, f"NER={row[1]}"]) if row else "" for i, row in enumerate(rows, 1)]
        (tmp_path / "a").write_text("\n".join(lines) + "\n")
    else:
        (tmp_path / "a").write_bytes(crftrain("convert", "--to", format, "a.txt").out)
    more = ["--fields", fields] if fields else []
    ended = crftrain("learn", "-q", "--format", format, *more, "--scheme", "bioes", "-t", "pos", "-m", "m.bin", "a")
    assert ended.status == 0, ended.err
    assert set(load(str(tmp_path / "m.bin")).vocabulary.labels) == {"B-P", "E-P", "S-P", "S-L", "O"}
    assert b"S-P" in crftrain("tag", "m.bin", "a").out and b"S-P" not in crftrain("tag", "--scheme", "iob2", "m.bin", "a").out


def test_labels_may_stand_in_any_column(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("".join(" ".join(line.split()[::-1]) + "\n" for line in IOB2.split("\n")) * 3)
    (tmp_path / "t.txt").write_text("U:%x[0,1]\nB\n")
    ended = crftrain("learn", "-q", "--label-column", "0", "--scheme", "bilou", "-t", "t.txt", "-m", "m.bin", "a.txt")
    assert ended.status == 0, ended.err
    assert set(load(str(tmp_path / "m.bin")).vocabulary.labels) == {"B-P", "L-P", "U-P", "U-L", "O"}
    assert crftrain("learn", "--format", "items", "--scheme", "bilou", "a.txt").status == 2
