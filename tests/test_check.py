"""crftrain check: each planted fault is found, at its line; what is clean is left in peace."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from crftrain.report.check import Data, check
from crftrain.report.check.labels import one_edit
from crftrain.report.check.repeats import context_keys, sequence_keys
from crftrain.text.schemes import parts, rules_of

FOLDER = Path(__file__).parent.parent / "data"


def read(name):
    """Sentences of rows of cells."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [[line.split(" ") for line in block.split("\n")] for block in text.strip().split("\n\n")]


def write(path, sentences, separator=" "):
    path.write_text("\n\n".join("\n".join(separator.join(row) for row in rows) for rows in sentences) + "\n", encoding="utf-8")
    return str(path)


def line_of(sentences, i, t=0):
    return sum(len(rows) + 1 for rows in sentences[:i]) + t + 1


@pytest.fixture
def corpus():
    return read("train")


def find(findings, kind):
    found = [finding for finding in findings if finding.kind == kind]
    assert found, f"no {kind} among {[finding.kind for finding in findings]}"
    return found[0]


def places(finding):
    return [int(example.place.rpartition(":")[2]) for example in finding.examples]


def checked(tmp_path, train, *others, **options):
    paths = [write(tmp_path / f"part{k}.txt", sentences) for k, sentences in enumerate((train, *others))]
    return check(Data(paths[0], paths[1:], **options))


def worth_a_word(findings):
    return [finding for finding in findings if finding.severity != "note"]


# ---- planted faults: corpus -> (kind, line); the corpus changes in place


def place_of(corpus, wanted, start=100):
    """(i, t) of the first token with that label, from a sentence on."""
    return next((i, t) for i in range(start, len(corpus)) for t, row in enumerate(corpus[i]) if row[2] == wanted)


def broken_scheme(corpus):
    i, t = next((i, t) for i, rows in enumerate(corpus) for t in range(1, len(rows)) if rows[t][2] == "B-NP" and rows[t - 1][2] == "B-VP")
    corpus[i][t][2] = "I-NP"
    return "scheme", line_of(corpus, i, t)


def contradiction(corpus):
    copy = [list(row) for row in corpus[200]]
    t = next(t for t, row in enumerate(copy) if row[2].startswith("B-"))
    copy[t][2] = "B-SBAR" if copy[t][2] != "B-SBAR" else "B-NP"
    copy[t + 1][2] = "O" if copy[t + 1][2][0] == "I" else copy[t + 1][2]
    corpus.append(copy)
    return "contradiction", line_of(corpus, len(corpus) - 1, t)


def other_label_in_context(corpus):
    words = [["zero", "NN", "O"], ["one", "NN", "O"], ["two", "NN", "B-NP"], ["three", "NN", "O"], ["four", "NN", "O"]]
    for k in range(6):
        corpus.append([[f"w{k}", "NN", "O"], *[list(row) for row in words], [f"v{k}", "NN", "O"]])
    corpus[-2][3][2] = "B-VP"
    return "context", line_of(corpus, len(corpus) - 2, 3)


def label_of_other_case(corpus):
    i, t = place_of(corpus, "B-PP")
    corpus[i][t][2] = "B-Pp"
    return "label-typo", line_of(corpus, i, t)


def letters_exchanged(corpus):
    i, t = place_of(corpus, "B-SBAR")
    corpus[i][t][2] = "B-SABR"
    return "label-typo", line_of(corpus, i, t)


def other_separator_in_label(corpus):
    i, t = place_of(corpus, "B-NP")
    corpus[i][t][2] = "B_NP"
    return "label-typo", line_of(corpus, i, t)


def label_seen_once(corpus):
    i, t = place_of(corpus, "O")
    corpus[i][t][2] = "B-QUERY"
    return "label-once", line_of(corpus, i, t)


def copy(corpus):
    i = next(i for i, rows in enumerate(corpus) if len(rows) > 8)
    corpus.append([list(row) for row in corpus[i]])
    return "copies", line_of(corpus, len(corpus) - 1)


def wrong_columns(corpus):
    corpus[120][2] = corpus[120][2][:2]
    return "columns", line_of(corpus, 120, 2)


def zero_width(corpus):
    corpus[130][1][0] = "kit\u200bten"
    return "zero-width", line_of(corpus, 130, 1)


def direction_mark(corpus):
    corpus[131][1][0] = "\u200ekitten"
    return "direction", line_of(corpus, 131, 1)


def other_normal_form(corpus):
    corpus[132][1][0] = "café"
    corpus[133][1][0] = "cafe\u0301"
    return "normal-form", line_of(corpus, 133, 1)


def twice_encoded(corpus):
    corpus[134][0][0] = "cafÃ©"
    return "twice-encoded", line_of(corpus, 134)


def two_scripts(corpus):
    corpus[135][0][0] = "\u0420aris"
    return "mixed-scripts", line_of(corpus, 135)


def hard_space(corpus):
    corpus[136][0][0] = "a\u00a0b"
    return "odd-space", line_of(corpus, 136)


def label_with_unseen(corpus):
    i, t = place_of(corpus, "B-NP")
    corpus[i][t][2] = "B-NP\u200b"
    return "zero-width", line_of(corpus, i, t)


def missing_empty_line(corpus):
    rows = [list(row) for sentence in corpus[300:330] for row in sentence]
    corpus[300:330] = [rows]
    return "long", line_of(corpus, 300)


def document_mark(corpus):
    corpus.insert(40, [["-DOCSTART-", "-X-", "O"]])
    return "docstart", line_of(corpus, 40)


FAULTS = [
    broken_scheme,
    contradiction,
    other_label_in_context,
    label_of_other_case,
    letters_exchanged,
    other_separator_in_label,
    label_seen_once,
    copy,
    wrong_columns,
    zero_width,
    direction_mark,
    other_normal_form,
    twice_encoded,
    two_scripts,
    hard_space,
    label_with_unseen,
    missing_empty_line,
    document_mark,
]


def test_a_clean_file_is_left_in_peace(tmp_path, corpus):
    assert not worth_a_word(checked(tmp_path, corpus, read("dev"), read("test")))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found_at_its_line(tmp_path, corpus, fault):
    kind, line = fault(corpus)
    findings = checked(tmp_path, corpus)
    finding = find(findings, kind)
    assert line in places(finding)
    assert finding.severity in ("error", "warning")
    assert len(worth_a_word(findings)) <= 4  # and nothing else, but what follows from it


def test_all_faults_at_once_are_found_too(tmp_path, corpus):
    kinds = {fault(corpus)[0] for fault in FAULTS}
    assert kinds <= {finding.kind for finding in checked(tmp_path, corpus)}


# ---- columns


@pytest.mark.parametrize(
    "kind, cell",
    [
        ("constant", lambda k, row: "same"),
        ("unique", lambda k, row: str(k)),
        ("label-copied", lambda k, row: row[2]),
        ("label-told", lambda k, row: f"tag{hash_of(row[2])}"),
    ],
)
def test_a_column_that_says_nothing_or_too_much(tmp_path, corpus, kind, cell):
    k = iter(range(10**6))
    wide = [[[row[0], row[1], cell(next(k), row), row[2]] for row in rows] for rows in corpus]
    findings = worth_a_word(checked(tmp_path, wide))
    assert [finding.kind for finding in findings] == [kind]
    assert "column 2" in findings[0].message
    assert (findings[0].severity == "error") == kind.startswith("label")


def hash_of(label):
    return sum(label.encode()) * 31 % 1009


def test_mixed_separators(tmp_path, corpus):
    lines = "\n\n".join("\n".join(" ".join(row) for row in rows) for rows in corpus).split("\n")
    lines[72] = lines[72].replace(" ", "\t")
    assert lines[72]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (finding,) = worth_a_word(check(Data(str(tmp_path / "train.txt"))))
    assert (finding.kind, places(finding)) == ("separators", [73])


def test_empty_sequences_are_noted_by_line(tmp_path, corpus):
    text = "\n\n".join("\n".join(" ".join(row) for row in rows) for rows in corpus)
    blocks = text.split("\n\n", 3)
    (tmp_path / "train.txt").write_text("\n\n".join(blocks[:3]) + "\n\n\n" + blocks[3] + "\n", encoding="utf-8")
    findings = check(Data(str(tmp_path / "train.txt")))
    assert places(find(findings, "empty")) == [line_of(corpus, 3)]
    assert not worth_a_word(findings)


# ---- between files


def test_a_test_sentence_that_training_has(tmp_path, corpus):
    test = read("test")
    i = next(i for i, rows in enumerate(corpus) if len(rows) > 8)
    test.insert(30, [list(row) for row in corpus[i]])
    finding = find(checked(tmp_path, corpus, test), "leak")
    assert (finding.count, places(finding)) == (1, [line_of(test, 30)])
    assert f":{line_of(corpus, i)}" in finding.examples[0].text


def test_labels_and_values_that_training_has_not(tmp_path, corpus):
    test = read("test")
    test[5][0][2], test[9][1][1] = "B-NEW", "NNX"
    findings = checked(tmp_path, corpus, read("dev"), test)
    assert places(find(findings, "label-unseen")) == [line_of(test, 5)]
    assert places(find(findings, "value-unseen")) == [line_of(test, 9, 1)]


def test_shares_of_the_unknown_are_those_that_are_counted_by_hand(tmp_path, corpus):
    dev = read("dev")
    findings = checked(tmp_path, corpus, dev)
    words = {row[0] for rows in corpus for row in rows}
    assert find(findings, "unknown-tokens").count == sum(row[0] not in words for rows in dev for row in rows)

    def attributes(rows):
        """Of the template U:%x[0,0] and U:%x[-1,1]/%x[1,1]."""
        at = lambda t: "_B-1" if t < 0 else "_B+1" if t >= len(rows) else rows[t][1]  # noqa: E731
        return [name for t, row in enumerate(rows) for name in (row[0], f"{at(t - 1)}/{at(t + 1)}")]

    from crftrain.text.template import Template

    known = {name for rows in corpus for name in attributes(rows)}
    template = Template.parse("U:%x[0,0]\nU:%x[-1,1]/%x[1,1]\nB", "two")
    finding = find(checked(tmp_path, corpus, dev, template=template), "unknown-attributes")
    every = [name for rows in dev for name in attributes(rows)]
    assert finding.count == sum(name not in known for name in every)
    assert f"of {len(every):,} attributes" in finding.message


# ---- what cannot be learnt from


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "train.txt").write_bytes(b"a B\nb I\n\nc\xff B\n\nd B\n")
    finding = find(check(Data(str(tmp_path / "train.txt"))), "unreadable")
    assert (finding.severity, places(finding)) == ("error", [4])


@pytest.mark.parametrize("text, kind", [("", "no-sentences"), ("one\n\ntwo\n", "columns"), ("a X\nb X\n\nc X\n", "one-label")])
def test_files_of_which_nothing_can_be_learnt(tmp_path, text, kind):
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    assert find(check(Data(str(tmp_path / "train.txt"))), kind).severity == "error"


# ---- schemes


@pytest.mark.parametrize(
    "labels, name",
    [
        ("B-X I-X O B-Y | B-X B-X I-X", "IOB2"),
        ("I-X I-X O I-Y | I-X B-X I-X", "IOB1"),
        ("I-X E-X O E-Y | I-X E-X E-X", "IOE2"),
        ("B-X E-X O S-Y | B-X I-X E-X", "BIOES"),
        ("B-X L-X O U-Y | B-X I-X L-X", "BILOU"),
        ("B E S S B M M E | S", "BMES"),
        ("I-X I-X O I-Y", "IO"),
        ("DT NN VB", None),
    ],
)
def test_the_scheme_of_labels(tmp_path, labels, name):
    text = "\n\n".join("\n".join(f"w{k} {label}" for k, label in enumerate(part.split())) for part in labels.split("|"))
    (tmp_path / "train.txt").write_text(text + "\n", encoding="utf-8")
    data = Data(str(tmp_path / "train.txt"))
    assert (data.scheme and data.scheme.shown) == name
    assert not [finding for finding in check(data) if finding.kind == "scheme"]


def test_violations_are_those_of_the_definition():
    """IOB2 by hand: I-X follows B-X or I-X."""
    scheme = rules_of("iob2")
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    for left in labels:
        for right in labels:
            legal = right[0] != "I" or left in ("B" + right[1:], right)
            assert scheme.legal(parts(left), parts(right)) == legal


def test_one_edit_is_one_edit():
    def by_hand(a, b):
        letters = "abcd"
        near = {a[:k] + c + a[k:] for k in range(len(a) + 1) for c in letters} | {a[:k] + a[k + 1 :] for k in range(len(a))}
        near |= {a[:k] + c + a[k + 1 :] for k in range(len(a)) for c in letters}
        near |= {a[:k] + a[k + 1] + a[k] + a[k + 2 :] for k in range(len(a) - 1)}
        return b in near - {a}

    rng = random.Random(3)
    for _ in range(3000):
        a, b = ("".join(rng.choices("abcd", k=rng.randrange(5))) for _ in range(2))
        assert one_edit(a, b) == by_hand(a, b), (a, b)


# ---- keys


def test_keys_are_equal_where_sequences_and_surroundings_are(tmp_path):
    rng = random.Random(5)
    blocks = [[f"{rng.choice('ab')} {rng.choice('ab')} X" for _ in range(rng.randrange(1, 7))] for _ in range(300)]
    (tmp_path / "train.txt").write_text("\n\n".join("\n".join(block) for block in blocks) + "\n", encoding="utf-8")
    data = Data(str(tmp_path / "train.txt"))
    ids = data.observed(data.train)
    keys = sequence_keys(data.train, ids).tolist()
    assert len(set(keys)) == len({tuple(block) for block in blocks})
    assert len(set(zip(keys, map(tuple, blocks), strict=True))) == len(set(keys))
    around = [tuple(block[s] if 0 <= s < len(block) else "" for s in range(t - 2, t + 3)) for block in blocks for t in range(len(block))]
    keys = context_keys(data.train, ids).tolist()
    assert len(set(keys)) == len(set(around)) == len(set(zip(keys, around, strict=True)))


# ---- noise


def test_gold_labels_that_other_models_doubt(crftrain, tmp_path, corpus):
    """Labels exchanged by hand are found at the head of the list by a model of other sentences."""
    rng, wrong = random.Random(1), set()
    for i in rng.sample(range(len(corpus)), 40):
        t = rng.randrange(len(corpus[i]))
        corpus[i][t][2] = "O" if corpus[i][t][2] != "O" else "B-NP"
        wrong.add(line_of(corpus, i, t))
    write(tmp_path / "train.txt", corpus)
    write(tmp_path / "rest.txt", read("dev") + read("test"))
    assert crftrain("learn", "-q", "--passes", "8", "rest.txt").status == 0
    for marginals in ("all", "best"):
        (tmp_path / "tagged.txt").write_bytes(crftrain("tag", "--score", "--marginals", marginals, "model.bin", "train.txt").out)
        ended = crftrain("check", "--json", "--noise", "tagged.txt", "--examples", "40", "train.txt")
        (finding,) = [finding for finding in json.loads(ended.out)["findings"] if finding["kind"] == "noise"]
        found = [example["line"] for example in finding["examples"]]
        assert len(wrong & set(found)) >= (24 if marginals == "all" else 15)  # the data have such mistakes of their own
        assert finding["examples"][0]["file"] == "train.txt"
    assert crftrain("check", "--noise", "train.txt", "train.txt").err.startswith("crftrain: error: train.txt:1: no label with its prob")


# ---- the command


def test_the_command_prints_findings_and_ends_with_a_status(crftrain, tmp_path, corpus):
    write(tmp_path / "clean.txt", corpus)
    assert crftrain("check", "clean.txt").status == 0
    once = read("train")
    label_seen_once(once)
    write(tmp_path / "warned.txt", once)
    ended = crftrain("check", "warned.txt")
    assert ended.status == 0 and any(line.startswith("warning: 1 label seen once") for line in ended.lines)
    _, line = wrong_columns(once)
    write(tmp_path / "broken.txt", once)
    ended = crftrain("check", "--dev", "clean.txt", "broken.txt")
    assert ended.status == 1 and ended.err == ""
    assert f"    broken.txt:{line}  2 columns:" in ended.out.decode()
    assert ended.lines[3].startswith("error")  # after the two files and an empty line


def test_json_says_the_same(crftrain, tmp_path, corpus):
    _, line = wrong_columns(corpus)
    write(tmp_path / "train.txt", corpus)
    ended = crftrain("check", "--json", "train.txt")
    told = json.loads(ended.out)
    assert (ended.status, told["error"]) == (1, 1)
    assert told["findings"][0]["examples"][0] == {"file": "train.txt", "line": line, "text": told["findings"][0]["examples"][0]["text"]}
    assert told["scheme"] == "IOB2"


def test_items_and_several_files(crftrain, tmp_path):
    (tmp_path / "a").write_text("X\tw1\nY\tw2\n\nX\tw1\n", encoding="utf-8")
    (tmp_path / "b").write_text("Y\tw3:0.5\nX\tw1\n\nZ\tw4\n", encoding="utf-8")
    told = json.loads(crftrain("check", "--json", "--format", "items", "a", "b", "--test", "a").out)
    assert told["files"][0] == {"file": "a, b", "sentences": 4, "tokens": 6}
    once = next(finding for finding in told["findings"] if finding["kind"] == "label-once")
    assert once["examples"] == [{"file": "b", "line": 4, "text": "Z: [w4]"}]
    assert crftrain("check", "--format", "items", "-t", "pos", "a").status == 2
    assert crftrain("check", "missing.txt").err.startswith("crftrain: error: missing.txt: cannot be read")


def test_a_million_tokens_are_held_as_numbers(tmp_path, corpus):
    """The arrays of a part stay those of its tokens, whatever was asked of it."""
    data = Data(write(tmp_path / "train.txt", corpus))
    check(data)
    assert data.train.line.dtype == np.int32 and len(data.train.line) == sum(map(len, corpus))


# ---- data of other forms


CONLLU = """# text = vamos al mar
1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2-3\tal\t_\t_\t_\t_\t_\t_\t_\t_
2\ta\ta\tADP\t_\t_\t4\tcase\t_\t_
3\tel\tel\tDET\t_\t_\t4\tdet\t_\t_
4\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

"""


def test_lines_of_other_forms_are_those_of_the_file(crftrain, tmp_path):
    text = CONLLU * 30
    (tmp_path / "train.conllu").write_text(text + CONLLU.replace("\tDET\t", "\tONCE\t"), encoding="utf-8")
    ended = crftrain("check", "--json", "train.conllu")
    once = next(finding for finding in json.loads(ended.out)["findings"] if finding["kind"] == "label-once")
    assert once["examples"] == [{"file": "train.conllu", "line": 30 * 7 + 5, "text": "ONCE: vamos a [el] mar"}]
    assert ended.err == "train.conllu: read as --format conllu\n"
    assert crftrain("learn", "-q", "-m", "m.bin", "train.conllu").status == 0
    assert crftrain("explain", "--line", "5", "m.bin", "train.conllu").lines[0] == "train.conllu:5  vamos a [el] mar"
    assert crftrain("report", "m.bin", "train.conllu").status == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"apart":{"0":[2,4,5,6],' in page


def test_options_of_data_that_do_not_go_together(crftrain, tmp_path, corpus):
    write(tmp_path / "train.txt", corpus)
    assert crftrain("check", "--format", "items", "--tabs", "train.txt").status == 2
    assert crftrain("check", "--format", "jsonl", "--comments", "#", "train.txt").status == 2
    assert crftrain("check", "--comments", "#", "train.txt").status == 0
