"""Data of other forms than plain columns: what is read of them, and what is written back with nothing lost."""

import json
import random
import shlex
from pathlib import Path

import pytest

from crftrain.errors import DataError
from crftrain.tagging.evaluate import Evaluation
from crftrain.text.cuts import dealt
from crftrain.text.forms import Form, hint, looks_like
from crftrain.text.schemes import SCHEMES, converted, labelled, spans

CONLLU = """# newdoc id = a
# sent_id = 1
# text = We can't say 10 000
1\tWe\twe\tPRON\tPRP\tCase=Nom|Number=Plur\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\tNER=B-X|Lang=en
3.1\tever\t_\t_\t_\t_\t_\t_\t3:x\t_
4\tsay\tsay\tVERB\tVB\tVerbForm=Inf\t0\troot\t_\t_
5\t10 000\t10 000\tNUM\tCD\t_\t4\tobj\t_\tNER=B-X

# sent_id = 2
1\tWe\twe\tPRON\tPRP\t_\t0\troot\t_\t_

"""


def read(text, tmp_path, form, name="data.txt"):
    """The records, and what is written of them with the labels that they had."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    records = list(form.sentences(str(tmp_path / name)))
    return records, b"".join(form.written(record, [line.rpartition(b"\t")[2] for line in record.lines]) for record in records).decode()


# ---- tag schemes


def random_chunks(rng, n):
    chunks, at = [], 0
    while at < n:
        end = min(n, at + rng.randint(1, 4))
        if rng.random() < 0.6:
            chunks.append((rng.choice("XY"), at, end))
        at = end
    return chunks


@pytest.mark.parametrize("scheme", SCHEMES)
def test_chunks_survive_every_scheme_but_what_it_cannot_tell(scheme):
    rng = random.Random(1)
    for _ in range(300):
        chunks = random_chunks(rng, rng.randint(0, 12))
        n = max([end for _, _, end in chunks], default=0) + 1
        labels = labelled(chunks, n, scheme)
        read = [(kind.strip("<>").upper(), first, end) for kind, first, end in spans([label.replace("<other>", "O") for label in labels])]
        assert read == chunks, (scheme, labels)
        for other in SCHEMES[:-1]:
            assert converted(labelled(chunks, n, "iob2"), other) == labelled(chunks, n, other)


def test_labels_of_any_mixture_are_read_as_eval_counts_them():
    rng = random.Random(2)
    for _ in range(500):
        labels = [rng.choice(["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "B-Y", "E-Y"]) for _ in range(rng.randint(1, 9))]
        evaluation = Evaluation(chunks=True)
        evaluation.add(labels, labels)
        assert len(spans(labels)) == evaluation.chunk.gold, labels


def test_schemes_by_hand():
    labels = ["I-P", "I-P", "B-P", "O", "I-Q"]
    assert converted(labels, "iob2") == ["B-P", "I-P", "B-P", "O", "B-Q"]
    assert converted(labels, "bioes") == ["B-P", "E-P", "S-P", "O", "S-Q"]
    assert converted(labels, "bilou") == ["B-P", "L-P", "U-P", "O", "U-Q"]
    assert converted(labels, "ioe1") == ["I-P", "E-P", "I-P", "O", "I-Q"]
    assert converted(["I-<p>", "<p>", "I-<p>", "<other>", "<q>"], "iob2") == ["B-<p>", "I-<p>", "B-<p>", "O", "B-<q>"]
    assert converted(["I-<p>", "I-<other>", "<q>"], "iob2") == ["B-<p>", "O", "B-<q>"] and spans(["I-<other>", "<other>"]) == []
    assert converted(["B", "M", "E", "S"], "iob2") == ["B", "I", "I", "B"]


# ---- CoNLL-U


def test_conllu_is_written_back_byte_for_byte(tmp_path):
    for fields in ((), ("form", "xpos", "upos"), ("form", "feats.Number", "misc.NER"), ("form", "misc")):
        _, written = read(CONLLU, tmp_path, Form("conllu", fields))
        assert written == CONLLU, fields


def test_a_conllu_label_goes_to_its_field_alone(tmp_path):
    (first, second), _ = read(CONLLU, tmp_path, Form("conllu", ("form", "upos")))
    assert first.lines == [b"We\tPRON", b"ca\tAUX", b"n't\tPART", b"say\tVERB", b"10\xc2\xa0000\tNUM"]
    assert first.place(2).endswith(":7") and second.place().endswith(":13")
    form = Form("conllu", ("form", "misc.NER"))
    lines = form.written(first, [b"O", b"B-Z", b"_", b"_", b"I-X"]).decode().split("\n")
    assert [line.split("\t")[-1] for line in lines if "\t" in line] == ["NER=O", "SpaceAfter=No", "NER=B-Z", "Lang=en", "_", "_", "NER=I-X"]


@pytest.mark.parametrize(
    "line, finding", [("1\tWe\tx", "3 columns with tabs between, expected the 10"), ("We\tPRON", "a line that begins with 'We")]
)
def test_a_conllu_line_that_is_none_is_an_error_with_its_place(tmp_path, line, finding):
    with pytest.raises(DataError) as caught:
        read("# c\n" + line + "\n", tmp_path, Form("conllu"))
    assert "data.txt:2: " in str(caught.value) and finding in str(caught.value)


def test_learn_and_tag_take_a_treebank_and_leave_what_they_do_not_know(crftrain, tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU * 3, encoding="utf-8")
    ended = crftrain("learn", "--fields", "form,xpos,upos", "--format", "conllu", "-m", "m.bin", "a.conllu")
    assert ended.status == 0, ended.err
    tagged = crftrain("tag", "m.bin", "a.conllu")
    assert tagged.status == 0 and tagged.out.decode() == CONLLU * 3
    assert "a.conllu: read as --format conllu" in crftrain("learn", "-m", "n.bin", "--dev", "a.conllu", "a.conllu").err
    assert crftrain("update", "--replay", "a.conllu", "-m", "o.bin", "n.bin", "a.conllu").status == 0
    assert crftrain("tag", "o.bin", input=CONLLU.encode()).out.decode() == CONLLU


# ---- JSON lines


@pytest.mark.parametrize(
    "found, rows, predicted",
    [
        ({"tokens": ["Ada", "wrote"], "ner_tags": ["B-P", "O"], "id": 7}, [b"Ada\tB-P", b"wrote\tO"], None),
        ({"words": ["a b", ""], "tags": ["X", "Y"]}, [b"a\xc2\xa0b\tX", b"_\tY"], None),
        ({"text": "Ada L. X", "spans": [{"start": 0, "end": 6, "label": "P"}]}, [b"Ada\tB-P", b"L\tI-P", b".\tI-P", b"X\tO"], (0, 6)),
        ({"text": "Ada wrote", "entities": [[0, 3, "P"]]}, [b"Ada\tB-P", b"wrote\tO"], (0, 3)),
        ({"text": "Ada wrote", "label": [[0, 3, "P"]]}, [b"Ada\tB-P", b"wrote\tO"], (0, 3)),
        (
            {"data": {"text": "Ada"}, "annotations": [{"result": [{"value": {"start": 0, "end": 3, "labels": ["P"]}}]}]},
            [b"Ada\tB-P"],
            (0, 3),
        ),
        (
            {
                "text": "Ada's",
                "tokens": [{"text": "Ada", "start": 0, "end": 3, "id": 0}, {"text": "'s", "start": 3, "end": 5, "id": 1}],
                "spans": [{"start": 0, "end": 3, "token_start": 0, "token_end": 0, "label": "P"}],
            },
            [b"Ada\tB-P", b"'s\tO"],
            (0, 3),
        ),
        ({"text": "Ada", "entities": [{"id": 3, "label": "P", "start_offset": 0, "end_offset": 3}]}, [b"Ada\tB-P"], (0, 3)),
        ({"text": "Ada", "label": [{"start": 0, "end": 3, "text": "Ada", "labels": ["P"]}]}, [b"Ada\tB-P"], (0, 3)),
        ({"text": "Ada wrote"}, [b"Ada", b"wrote"], (0, 3)),
    ],
)
def test_objects_of_all_kinds(tmp_path, found, rows, predicted):
    form = Form("jsonl")
    (tmp_path / "a.jsonl").write_text(json.dumps(found) + "\n\n")
    (record,) = form.sentences(str(tmp_path / "a.jsonl"))
    assert record.lines == rows
    labels = [row.rpartition(b"\t")[2] if b"\t" in row else b"B-P" if row == b"Ada" else b"O" for row in rows]
    written = json.loads(form.written(record, labels))
    assert {key: written[key] for key in found} == found and written["predicted"] == [label.decode() for label in labels]
    if predicted:
        assert written["predicted_spans"] == [{"start": predicted[0], "end": predicted[1], "label": "P"}]


@pytest.mark.parametrize(
    "line, finding",
    [
        ("[1]", "JSON that is no object"),
        ('["a", 3]', "JSON that is no object"),
        ("[", "jq -c '.[]'"),
        ('[{"tokens": ["a"]}]', "jq -c '.[]'"),
        ("{", "a line that is no JSON"),
        ('{"a": 1}', "neither tokens nor a text"),
        ('{"tokens": ["a"], "tags": ["X", "Y"]}', "lists of 1 and 2 items"),
        ('{"tokens": ["a"], "tags": [3]}', "tags that are numbers"),
        ('{"text": "a", "spans": [{"start": 0}]}', "end"),
        ('{"tokens": [["a"]]}', "['a'] among the texts"),
    ],
)
def test_json_that_is_no_sentence_is_an_error_with_its_place(tmp_path, line, finding):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "tags": ["X"]}\n' + line + "\n")
    with pytest.raises(DataError) as caught:
        list(Form("jsonl").sentences(str(tmp_path / "a.jsonl")))
    assert "a.jsonl:2: " in str(caught.value) and finding in str(caught.value)


# ---- word|TAG, comments, tabs


def test_words_with_bars(tmp_path):
    (record,), _ = read("a|X ||Y b|c|Z\n", tmp_path, Form("pipes"))
    assert record.lines == [b"a\tX", b"|\tY", b"b\tc\tZ"]
    (record,), _ = read("a|X b|Y\n\n", tmp_path, Form("pipes"))
    assert record.lines == [b"a\tX", b"b\tY"]
    assert Form("pipes").written(record, [b"Z", b"W"]) == b"a|X|Z b|Y|W\n"


def test_comments_are_skipped_and_written_back(crftrain, tmp_path):
    text = "-DOCSTART- -X- O\n\n# one\nUnited B\n# between\nNations I\n\nhere O\n# end\n\n"
    (tmp_path / "a.txt").write_text(text)
    ended = crftrain("learn", "-q", "--comments", "#", "--comments", "-DOCSTART-", "-t", "pos", "-m", "m.bin", "a.txt")
    assert ended.status == 0, ended.err
    tagged = crftrain("tag", "m.bin", "a.txt")
    assert tagged.status == 0
    out = tagged.out.decode().split("\n")
    assert [line for line in out if line.startswith(("#", "-"))] == ["-DOCSTART- -X- O", "# one", "# between", "# end"]
    assert [line.rpartition(" ")[0] for line in out if line and line[0] not in "#-"] == ["United B", "Nations I", "here O"]


def test_with_tabs_cells_may_hold_spaces_or_nothing(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("New York\tx\tB\n\t\tO\n\nNew York\tx\tB\n")
    assert crftrain("learn", "-q", "--tabs", "-t", "chunk", "-m", "m.bin", "a.txt").status == 0
    assert crftrain("tag", "m.bin", "a.txt").out.decode() == "New York\tx\tB\tB\n\t\tO\tO\n\nNew York\tx\tB\tB\n\n"


# ---- what is told, and the commands


def test_lines_of_other_formats_name_the_option(crftrain, tmp_path):
    (tmp_path / "train.txt").write_text("a x X\nb y Y\n\n")
    assert crftrain("learn", "-q", "-t", "chunk", "-m", "m.bin", "train.txt").status == 0
    for text, told in (
        ("# c\na x X\n", "--comments '#'"),
        ('{"tokens": ["a", "b", "c"]}\n', "--format jsonl"),
        ("a|X b|Y c|Z d|W\n", "--format pipes"),
        (CONLLU.partition("\n1\t")[2].join(["1\t", ""]), "--format conllu"),
        ("a x X\n# c d e\n", "--comments '#'"),
    ):
        (tmp_path / "other.txt").write_text(text)
        for command in (("learn", "--format", "conll", "-m", "x.bin", "other.txt"), ("tag", "--format", "conll", "m.bin", "other.txt")):
            ended = crftrain(*command)
            assert ended.status == 0 or told in ended.err, (text, command, ended.err)
        assert told in ended.err, (text, ended.err)


@pytest.mark.parametrize("text", ['{"tokens": ["a", "b"]}\n', CONLLU])
def test_words_with_bars_are_told_from_other_formats(crftrain, tmp_path, text):
    (tmp_path / "train.txt").write_text("a|X b|Y\n")
    (tmp_path / "other.txt").write_text(text.partition("\n1\t")[2].join(["1\t", ""]) if text is CONLLU else text)
    assert crftrain("learn", "-q", "--format", "pipes", "-m", "m.bin", "train.txt").status == 0
    ended = crftrain("tag", "m.bin", "other.txt")
    assert ended.status == 1 and "other.txt:1: a line of another format" in ended.err and "--format " in ended.err, ended.err


# ---- lists of JSON, spaCy's pairs, what nobody meant

OBJECTS = [
    {"text": "Ada \n wröte", "label": [[0, 3, "P"]]},
    ["Ada L.", {"entities": [[0, 6, "P"]]}],
    {"tokens": ["[{", "]"], "tags": ["X", "O"]},
]
ROWS = [[b"Ada\tB-P", "wröte\tO".encode()], [b"Ada\tB-P", b"L\tI-P", b".\tI-P"], [b"[{\tX", b"]\tO"]]


@pytest.mark.parametrize(
    "text, numbers",
    [
        (json.dumps(OBJECTS), [1, 1, 1]),
        ("\n" + json.dumps(OBJECTS, ensure_ascii=False) + "\n\n", [2, 2, 2]),
        ("[" + ",\n".join(map(json.dumps, OBJECTS)) + "]\n", [1, 2, 3]),
        (json.dumps(OBJECTS, indent=2), [2, 12, 24]),
        ("\n".join(map(json.dumps, OBJECTS[:1] + OBJECTS[:0:-1])), [1, 2, 3]),
        ("\n".join(map(json.dumps, [OBJECTS[1], OBJECTS[0]])), [1, 2]),
    ],
)
def test_a_list_of_objects_is_read_as_its_objects_on_lines(tmp_path, text, numbers):
    form = Form("jsonl")
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    records = list(form.sentences(str(tmp_path / "a.json")))
    assert sorted(record.lines for record in records) == sorted(ROWS[: len(numbers)])
    assert [record.place() for record in records] == [f"{tmp_path}/a.json:{number}" for number in numbers]
    for record in records:
        written = form.written(record, [b"X"] * len(record.lines))
        assert written.count(b"\n") == 1 and json.loads(written)["predicted"] == ["X"] * len(record.lines)
    reader, found, rng = form.module.Reader(form), [], random.Random(3)
    lines = text.encode().split(b"\n")
    while lines:  # the same in pieces of whole lines
        n = rng.randint(1, 3)
        reader.read(b"\n".join(lines[:n]), "a", found)
        del lines[:n]
    reader.end("a", found)
    assert [(record.lines, record.number) for record in found] == [(record.lines, record.number) for record in records]


@pytest.mark.parametrize(
    "text, place, finding",
    [
        ('[{"tokens": ["a"], "tags": ["X"]},\n', "a.json:2", "does not end"),
        ('[{"tokens": ["a"], "tags": ["X"]}\n,\n{"tokens": ["a"', "a.json:3", "does not end"),
        ('[{"tokens": ["a"], "tags": ["X"]}\n{"tokens": ["a"]}]', "a.json:2", "'{' in a list of JSON"),
        ('[{"tokens": ["a"], "tags": ["X"]},\n{"tokens"\n ["a"]}]', "a.json:3", "JSON that is wrong: Expecting ':'"),
        ('[{"tokens": ["a"], "tags": ["X"]},\n{"tokens: 3},\n{}]', "a.json:2", "JSON that is wrong: Invalid control character"),
        ('[{"tokens": ["a"], "tags": ["X"]},\n3]', "a.json:2", "JSON that is no object"),
        ('[{"tokens": ["a"], "tags": ["X"]}]\n]', "a.json:2", "']' in a list of JSON"),
        ('[{"tokens": ["a"], "tags": ["X"]},]', "a.json:1", "JSON that is wrong: Expecting value"),
        ('[{"tokens": ["a"], "tags": ["X"]},\n{"annotations": [3]}]', "a.json:2", "neither tokens nor a text"),
        ('[{"tokens": ["a"], "tags": ["X"]},\n' + "[" * 100000, "a.json:2", "JSON that is too deep"),
    ],
)
def test_a_list_that_is_none_is_an_error_with_its_place_after_what_came_before(tmp_path, text, place, finding):
    (tmp_path / "a.json").write_text(text)
    found = []
    with pytest.raises(DataError) as caught:
        found.extend(record.lines for block in Form("jsonl").blocks(str(tmp_path / "a.json")) for record in block)
    assert place + ": " in str(caught.value) and finding in str(caught.value), caught.value
    assert found == [[b"a\tX"]]


@pytest.mark.parametrize("indent", [None, 2])
def test_exports_are_learnt_tagged_and_dealt_to_processes_whole(crftrain, tmp_path, indent):
    value = {"start": 0, "end": 3, "text": "Ada", "labels": ["P"]}
    given = {"was_cancelled": False, "result": [{"value": value, "type": "labels"}]}
    task = {"id": 1, "data": {"text": "Ada wrote"}, "annotations": [given]}
    (tmp_path / "export.json").write_text(json.dumps([task] * 8, indent=indent))
    for words in ((), ("--shards", "2", "--algorithm", "lbfgs")):
        ended = crftrain("learn", "-t", "pos", *words, "-m", "m.bin", "export.json")
        assert ended.status == 0 and "read as --format jsonl" in ended.err, ended.err
        assert [json.loads(line)["predicted"] for line in crftrain("tag", "m.bin", "export.json").lines] == [["B-P", "O"]] * 8
    assert crftrain("convert", "export.json").lines[:3] == ["Ada\tB-P", "wrote\tO", ""]
    assert len(dealt([tmp_path / "export.json"], 3, form=Form("jsonl"))) == 3
    assert sum(len(hand) for hand in dealt([tmp_path / "export.json"], 3, form=Form("jsonl"))) == 1


def test_what_was_rejected_is_tagged_and_not_learnt(crftrain, tmp_path):
    given = {"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "P"}]}
    wrong = {"text": "Ada wrote", "spans": [{"start": 4, "end": 9, "label": "Q"}]}
    tasks = [{"data": {"text": "Ada"}, "annotations": some} for some in ([], [{"was_cancelled": True, "result": []}])]
    lines = [{**given, "answer": "accept"}, {**wrong, "answer": "reject"}, {**wrong, "answer": "ignore"}, *tasks]
    lines.append({"tokens": ["Ada"], "tags": ["Q"], "answer": "reject"})
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines * 3))
    assert crftrain("learn", "-q", "-t", "pos", "-m", "m.bin", "a.jsonl").status == 0
    found = [json.loads(line)["predicted"] for line in crftrain("tag", "m.bin", "a.jsonl").lines]
    assert len(found) == 18 and found[1] == ["B-P", "O"] and found[3] == ["B-P"]
    assert crftrain("convert", "a.jsonl").out == b"Ada\tB-P\nwrote\tO\n\n" * 3


def test_nothing_that_reads_as_columns_is_taken_for_something_else():
    assert looks_like([b"a b c"]) is None and looks_like([b"{ x X"]) is None and looks_like([]) is None
    assert looks_like([b"# c", b"a\tb"]) is None and hint(b"a b") == ""


def test_tags_are_written_in_another_scheme_as_objects_and_inline(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("Ada B-P\nLovelace I-P\nwrote O\n\n" * 5)
    assert crftrain("learn", "-q", "-m", "m.bin", "-t", "pos", "a.txt").status == 0
    line = crftrain("tag", "--json", "--marginals", "--score", "m.bin", "a.txt").lines[0]
    found = json.loads(line)
    assert found["labels"] == ["B-P", "I-P", "O"] and found["spans"][0].pop("probability", 1) <= 1
    assert found["spans"] == [{"type": "P", "start": 0, "end": 2, "text": "Ada Lovelace"}]
    assert len(found["probabilities"]) == 3 and 0 < found["probability"] <= 1
    assert crftrain("tag", "--inline", "m.bin", "a.txt").lines[0] == "<P>Ada Lovelace</P> wrote"
    assert crftrain("tag", "--scheme", "bilou", "m.bin", "a.txt").lines[:3] == ["Ada B-P B-P", "Lovelace I-P L-P", "wrote O O"]
    assert crftrain("tag", "--labels-only", "--scheme", "bilou", "m.bin", "a.txt").lines[:3] == ["B-P", "L-P", "O"]
    assert crftrain("tag", "--inline", "--json", "m.bin", "a.txt").status == 2


def test_words_of_a_segmentation_stand_together(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("我 S\n们 B\n好 E\n\n" * 4, encoding="utf-8")
    assert crftrain("learn", "-q", "-m", "m.bin", "-t", "seg", "a.txt").status == 0
    assert crftrain("tag", "--inline", "m.bin", "a.txt").lines[0] == "我 们好"


def test_convert_goes_from_each_format_to_each(crftrain, tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU, encoding="utf-8")
    columns = crftrain("convert", "--fields", "form,xpos,upos", "a.conllu").out
    assert columns.decode().startswith("We\tPRP\tPRON\nca\tMD\tAUX\n")
    (tmp_path / "a.txt").write_bytes(columns)
    for target in ("jsonl", "pipes"):
        (tmp_path / "b").write_bytes(crftrain("convert", "--to", target, "a.txt").out)
        fields = ("--fields", "tokens,column1,tags") if target == "jsonl" else ()
        again = crftrain("convert", "--from", target, *fields, "b").out
        assert again.decode().replace("\u00a0", " ") == columns.decode().replace("\u00a0", " ")
    made = crftrain("convert", "--to", "conllu", "--fields", "form,xpos,upos", "a.txt").out
    assert made.decode().startswith("1\tWe\t_\tPRON\tPRP\t_\t_\t_\t_\t_\n2\tca\t_\tAUX\tMD\t")
    assert b"\n5\t10 000\t_\tNUM\t" in made
    (tmp_path / "b").write_bytes(made)
    assert crftrain("convert", "--from", "conllu", "--fields", "form,xpos,upos", "b").out == columns
    (tmp_path / "c.txt").write_text("a I-X\nb I-X\nc B-X\n\n")
    assert crftrain("convert", "--scheme", "bioes", "c.txt").lines[:3] == ["a B-X", "b E-X", "c S-X"]
    assert crftrain("convert", "--fields", "nonsense", "a.conllu").status == 2
    assert crftrain("learn", "--format", "conllu", "--fields", "form,nonsense", "a.conllu").status == 2
    assert crftrain("learn", "--format", "jsonl", "--tabs", "a.conllu").status == 2


def test_what_conllu_is_made_of_has_a_field_for_each_column(crftrain, tmp_path):
    (tmp_path / "a.txt").write_text("Ada x N B-P\nL. y _ I-P\n\n")
    made = crftrain("convert", "--to", "conllu", "--scheme", "bioes", "--fields", "form,feats.A,feats.B,misc.NER", "a.txt").out.decode()
    assert made == "1\tAda\t_\t_\t_\tA=x|B=N\t_\t_\t_\tNER=B-P\n2\tL.\t_\t_\t_\tA=y\t_\t_\t_\tNER=E-P\n\n"
    (tmp_path / "c.txt").write_text("Ada P\n#c\n\n")
    ended = crftrain("convert", "c.txt")
    assert ended.status == 1 and "c.txt:2: a token without a label" in ended.err and "--comments '#'" in ended.err
    ended = crftrain("convert", "--to", "conllu", "a.txt")
    assert ended.status == 1 and "a.txt:1: 4 columns, expected 2: form upos" in ended.err
    for fields in ("form,id,upos,misc.NER", "form,form,upos,misc.NER", "form,zzz,upos,misc.NER"):
        assert crftrain("convert", "--to", "conllu", "--fields", fields, "a.txt").status == 2
    (tmp_path / "a.jsonl").write_text('{"form": ["Ada"], "xpos": ["NNP"], "upos": ["PROPN"]}\n')
    (tmp_path / "b.jsonl").write_text('{"tokens": ["Ada"], "tags": ["PROPN"]}\n')
    for name, fields in (("a.jsonl", "form,xpos,upos"), ("b.jsonl", "tokens,tags"), ("b.jsonl", "")):
        made = crftrain("convert", "--to", "conllu", *(("--fields", fields) if fields else ()), name).out.decode()
        assert made == f"1\tAda\t_\tPROPN\t{'NNP' if name[0] == 'a' else '_'}\t_\t_\t_\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(CONLLU, encoding="utf-8")
    words = ("convert", "--to", "conllu", "--fields", "form,misc.NER")
    assert crftrain(*words, "a.conllu").out.decode() == CONLLU
    assert "\tNER=S-X|Lang=en\n3.1\tever\t" in crftrain(*words, "--scheme", "bioes", "a.conllu").out.decode()


# ---- how sure the labels are


@pytest.fixture
def tagging(crftrain, tmp_path):
    """A function of words for `tag` -> its output as text, of data in a format; the model is learnt from columns."""
    (tmp_path / "a.txt").write_text("Ada B-P\nLovelace I-P\nwrote O\n\n" * 5)
    assert crftrain("learn", "-q", "-m", "m.bin", "-t", "pos", "a.txt").status == 0
    rows = [("1", "Ada"), ("1-2", "x"), ("2", "Lovelace"), ("3", "wrote")]
    (tmp_path / "a.conllu").write_text("# c\n" + "".join(f"{i}\t{word}" + "\t_" * 7 + "\tX=1\n" for i, word in rows) + "\n")
    (tmp_path / "a.jsonl").write_text('{"id": 7, "tokens": ["Ada", "wrote"]}\n')
    return lambda *words: crftrain("tag", *words)


def test_a_model_of_columns_writes_into_misc(tagging):
    text = tagging("--format", "conllu", "--fields", "form,misc.NER", "--marginals", "best", "--score", "m.bin", "a.conllu").out.decode()
    lines = text.split("\n")
    assert lines[0].startswith("# probability = 0.") and lines[1] == "# c" and lines[3].endswith("\tX=1")
    misc = [line.split("\t")[-1].split("|") for line in lines if line[:2] in ("1\t", "2\t", "3\t")]
    assert [values[:2] for values in misc] == [["X=1", "NER=B-P"], ["X=1", "NER=I-P"], ["X=1", "NER=O"]]
    assert all(0 < float(values[2].removeprefix("Probability=")) <= 1 for values in misc)
    plain = tagging("--format", "conllu", "--fields", "form,misc.NER", "m.bin", "a.conllu").out.decode()
    assert "Probability" not in plain and plain.startswith("# c\n1\tAda\t")


def test_objects_say_how_sure_their_labels_are(tagging):
    found = json.loads(tagging("--score", "--marginals", "best", "m.bin", "a.jsonl").out)
    assert found["id"] == 7 and found["predicted"] == ["B-P", "O"]
    assert len(found["probabilities"]) == 2 and 0 < found["probability"] <= 1
    found = json.loads(tagging("--json", "--marginals", "all", "m.bin", "a.jsonl").out)
    assert set(found["marginals"]) == {"B-P", "I-P", "O"}
    assert all(abs(sum(p) - 1) < 1e-5 for p in zip(*found["marginals"].values(), strict=True))
    assert [max(p) for p in zip(*found["marginals"].values(), strict=True)] == found["probabilities"]


def test_columns_in_another_scheme_and_with_tabs_have_probabilities_too(tagging):
    for words in (("--scheme", "bioes"), ("--tabs",), ("--scheme", "bioes", "--labels-only")):
        lines = tagging(*words, "--score", "--marginals", "best", "m.bin", "a.txt").lines
        assert lines[0].startswith("@probability\t0.")
        label = "E-P" if "--scheme" in words else "I-P"
        assert lines[2].replace("\t", " ").split(" ")[-1].startswith(f"{label}:0.") and len(lines[2].rpartition(".")[2]) == 6


@pytest.mark.parametrize("words", ["--inline --score", "--format pipes --score", "--tabs --marginals all", "--scheme ioe1 --marginals all"])
def test_what_has_no_place_in_an_output_is_refused(tagging, words):
    assert tagging(*words.split(), "m.bin", "a.txt").status == 2


def test_the_commands_of_the_page_on_data_run(crftrain, tmp_path):
    columns = "Ada B-P\nLovelace I-P\nwrote O\n\n" * 5
    for name, text in (("train.txt", columns), ("test.txt", columns), ("train.conllu", CONLLU * 3), ("test.conllu", CONLLU)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert crftrain("learn", "-q", "-t", "pos", "-m", "model.bin", "train.txt").status == 0
    assert crftrain("learn", "-q", "-t", "pos", "-m", "ner.bin", "train.txt").status == 0
    (tmp_path / "tagged.txt").write_bytes(crftrain("tag", "model.bin", "test.txt").out)
    page = (Path(__file__).parent.parent / "docs" / "data.md").read_text(encoding="utf-8")
    commands = [line.strip() for line in page.splitlines() if line.startswith("    crftrain ")]
    assert len(commands) > 10
    for command in commands:
        line, _, target = command.partition(" > ")
        out = None
        for part in line.split(" | "):
            words = shlex.split(part)[1:]
            if words[:1] == ["convert"] and "pipes" in words:
                (tmp_path / words[-1]).write_text("Ada|B-P wrote|O\n")
            ended = crftrain(*words, **({"input": out} if out is not None else {}))
            assert ended.status == 0, (command, ended.err)
            out = ended.out
        if target:
            (tmp_path / target).write_bytes(out)
