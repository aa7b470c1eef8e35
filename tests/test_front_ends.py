"""`crftrain as PROGRAM`: other programs' command lines, with models and output in their form."""

import re

import numpy as np
import problems
import pytest
from test_foreign_wapiti import text

from crftrain.chain._sequences import Sequences
from crftrain.model.model import Model, load
from crftrain.tagging._decoder import Decoder
from crftrain.tagging.query import Query
from crftrain.tagging.scores import Scores

TEMPLATE = "U1:%x[0,0]\nU2:%x[-1,0]/%x[1,0]\nB\nB2:%x[0,1]\n"


@pytest.mark.parametrize("kind", problems.KINDS)
def test_what_tokens_add_makes_the_score_of_a_labelling(kind):
    made = problems.instance(3, **problems.KINDS[kind])
    model = Model(made.vocabulary, made.layout, made.weights(1), {}, 0)
    for i in range(made.corpus.n_sequences):
        corpus = made.corpus.take(np.array([i]))
        decoded = Decoder(model.layout, model.w).decode(Sequences(corpus, model.layout), Query(n=3))
        for score, path in zip(*decoded.ranked[0], strict=True):
            assert np.isclose(sum(Scores(model, corpus).of_tokens(path.tolist())), score)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "train.txt").write_text(text(60))
    (tmp_path / "test.txt").write_text(text(20, 6))
    (tmp_path / "template").write_text(TEMPLATE)
    return tmp_path


def test_crf_learn_and_crf_test(crftrain, files):
    ended = crftrain("as", "crf_learn", "-c", "2", "-f", "1", "template", "train.txt", "model")
    assert ended.status == 0 and ended.out == b"", ended.err
    model = load(files / "model")
    assert model.facts["kind"] == "CRF++ model" and model.vocabulary.template.plain_transitions
    plain = crftrain("as", "crf_test", "-m", "model", "test.txt").lines
    assert [line.rpartition("\t")[2] for line in plain][:-1] == crftrain("tag", "--labels-only", "model", "test.txt").lines[:-1]
    assert plain[0].count("\t") == 3
    said = crftrain("as", "crf_test", "-v2", "-n", "3", "-m", "model", "-o", "out.txt", "test.txt")
    assert said.status == 0 and said.out == b""
    blocks = (files / "out.txt").read_text().split("\n\n")
    assert blocks[0].startswith("# 0 0.") and [block[:3] for block in blocks[:3]] == ["# 0", "# 1", "# 2"]
    row = blocks[0].split("\n")[1].split("\t")
    assert len(row) == 3 + 1 + len(model.vocabulary.labels) and abs(sum(float(cell.rpartition("/")[2]) for cell in row[4:]) - 1) < 1e-4
    assert crftrain("as", "crf_learn", "-a", "MIRA", "-H", "10", "-m", "3", "template", "train.txt", "mira").status == 0


def test_the_cost_of_crf_learn_is_the_strength(crftrain, files):
    assert crftrain("as", "crf_learn", "-c", "4", "-e", "1e-12", "template", "train.txt", "model").status == 0
    ours = ("-a", "lbfgs", "--tol", "1e-12", "--features", "full", "--lambda", "0.25/n", "-t", "template", "-m", "m.bin", "train.txt")
    assert crftrain("learn", "-q", *ours).status == 0
    assert np.allclose(np.sort(load(files / "model").w), np.sort(load(files / "m.bin").w), atol=1e-3)


def test_wapiti_train_label_and_dump(crftrain, files):
    words = "-p template -a bcd -1 0.1 -2 0.01 -t 1 -w 6 -e 1e-4 -i 50 train.txt model.wapiti"
    ended = crftrain("as", "wapiti", "train", *words.split())
    assert ended.status == 0 and "-a bcd: another method" in ended.err, ended.err
    assert (files / "model.wapiti").read_bytes().startswith(b"#mdl#2#")
    labels = crftrain("as", "wapiti", "label", "-l", "-m", "model.wapiti", "test.txt").lines
    assert labels[:-1] == crftrain("tag", "--labels-only", "model.wapiti", "test.txt").lines[:-1]
    posterior = crftrain("as", "wapiti", "label", "-s", "-p", "-m", "model.wapiti", "test.txt").lines
    assert re.fullmatch(r"# 0 0\.\d{6}|# 0 1\.000000", posterior[0])
    assert re.fullmatch(r"w\d [ABC] L\d\tL\d\tL\d/[01]\.\d{6}", posterior[1])
    assert crftrain("as", "wapiti", "label", "-n", "2", "-m", "model.wapiti", "test.txt", "out").status == 0
    assert (files / "out").read_text().count("\n") == 2 * len(labels)
    dump = crftrain("as", "wapiti", "dump", "-p", "2", "model.wapiti").lines
    assert any(re.fullmatch(r"u1:w\d\t#\tL\d\t-?\d+\.\d\d", line) for line in dump)
    assert any(re.fullmatch(r"b\tL\d\tL\d\t-?\d+\.\d\d", line) for line in dump)


def test_wapiti_s_dump_has_as_many_decimals_as_it_was_asked_for(crftrain, files):
    assert crftrain("as", "wapiti", "train", "-p", "template", "-i", "9", "train.txt", "model.wapiti").status == 0
    told = [line.split("\t") for line in crftrain("as", "wapiti", "dump", "-p", "17", "model.wapiti").lines if line]
    assert sorted(float(weight) for *_, weight in told) == pytest.approx(np.sort(load(files / "model.wapiti").w), rel=0, abs=1e-17)


def test_crfsuite_learn_and_tag(crftrain, files):
    (files / "template").write_text(TEMPLATE.partition("B2")[0])
    (files / "items").write_bytes(crftrain("features", "-t", "template", "train.txt").out)
    words = "-p c1=0.1 -p c2=0.01 -p feature.possible_transitions=1 -p max_iterations=40 -m model.crfsuite items"
    ended = crftrain("as", "crfsuite", "learn", *words.split())
    assert ended.status == 0 and (files / "model.crfsuite").read_bytes()[:4] == b"lCRF", ended.err
    lines = crftrain("as", "crfsuite", "tag", "-p", "-r", "-i", "-m", "model.crfsuite", "items").lines
    assert re.fullmatch(r"@probability\t[01]\.\d{6}", lines[0]) and re.fullmatch(r"L\d\tL\d:[01]\.\d{6}", lines[1])
    assert crftrain("as", "crfsuite", "tag", "-q", "-m", "model.crfsuite", "items").out == b""
    for algorithm, words in (("ap", ()), ("pa", ("-p", "type=2", "-p", "averaging=0")), ("arow", ("-p", "variance=0.5")), ("l2sgd", ())):
        model = ("-m", "m", "-p", "max_iterations=3", "items")
        assert crftrain("as", "crfsuite", "learn", "-a", algorithm, *words, *model).status == 0


def test_a_text_model_of_crf_learn_is_converted(crftrain, files):
    assert crftrain("as", "crf_learn", "-t", "template", "train.txt", "model").status == 0
    assert crftrain("as", "crf_learn", "-C", "model.txt", "again").status == 0
    assert (files / "model").read_bytes() == (files / "again").read_bytes()
    assert crftrain("export", "model", "text", "--to", "crfpp-text").status == 0
    assert (files / "text").read_bytes().split(b"\n\n")[:4] == (files / "model.txt").read_bytes().split(b"\n\n")[:4]


def test_the_cost_factor_of_crf_test_multiplies_the_weights(crftrain, files):
    assert crftrain("as", "crf_learn", "template", "train.txt", "model").status == 0
    sure = [float(line.rpartition("/")[2]) for line in crftrain("as", "crf_test", "-v1", "-m", "model", "test.txt").lines if "/" in line]
    surer = crftrain("as", "crf_test", "-v1", "-c", "9", "-m", "model", "test.txt").lines
    assert sum(sure) < sum(float(line.rpartition("/")[2]) for line in surer if "/" in line)


def test_wapiti_checks_and_takes_what_is_known(crftrain, files):
    assert crftrain("as", "wapiti", "train", "-p", "template", "-i", "3", "train.txt", "model").status == 0
    ended = crftrain("as", "wapiti", "label", "-c", "-l", "-m", "model", "test.txt")
    gold = [line.split()[-1] if line else "" for line in (files / "test.txt").read_text().split("\n")]
    wrong = [a != b for a, b in zip(gold, ended.lines, strict=False) if a]
    assert f"    Token error   : {100 * sum(wrong) / len(wrong):5.2f}%" in ended.err and "* Per label statistics" in ended.err
    forced = crftrain("as", "wapiti", "label", "-l", "--force", "-m", "model", "test.txt").lines
    assert [label for label in forced if label] == [label for label in gold if label]
    (files / "open.txt").write_text((files / "test.txt").read_text().replace(" L0\n", " ?\n"))
    free = crftrain("as", "wapiti", "label", "-l", "--force", "-m", "model", "open.txt").lines
    assert all(a == b for a, b in zip(gold, free, strict=False) if a not in ("", "L0"))
    (files / "bare.txt").write_text("w1 A\n\n")
    assert crftrain("as", "wapiti", "label", "-c", "-m", "model", "bare.txt").status == 1


def test_crfsuite_dumps_and_holds_files_out(crftrain, files):
    (files / "template").write_text(TEMPLATE.partition("B2")[0])
    for name in ("train", "test"):
        (files / f"{name}.items").write_bytes(crftrain("features", "-t", "template", f"{name}.txt").out)
    assert crftrain("as", "crfsuite", "learn", "-m", "one", "train.items").status == 0
    ended = crftrain("as", "crfsuite", "learn", "-e", "2", "-m", "two", "train.items", "test.items")
    assert ended.status == 0 and (files / "one").read_bytes() == (files / "two").read_bytes(), ended.err
    lines = crftrain("as", "crfsuite", "dump", "one").lines
    assert lines[0] == "FILEHEADER = {" and any(re.fullmatch(r"  \(1\) L\d --> L\d: -?\d+\.\d{6}", line) for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        "crf_test test.txt",
        "crf_test -m model --unknown test.txt",
        "crf_learn template train.txt",
        "crf_learn -C template train.txt model",
        "crf_learn -e -1 template train.txt model",
        "wapiti train -a bcd --histsz 3 -p template train.txt model",
        "wapiti label -c --force -m model test.txt",
        "crfsuite learn -e 2 -m model items",
        "crf_learn -H 3 template train.txt model",
        "wapiti",
        "wapiti train train.txt model",
        "wapiti train --me -p template train.txt model",
        "wapiti label -p -n 2 -m model test.txt",
        "crfsuite learn items",
        "crfsuite learn -x -m model items",
        "crfsuite learn -p linesearch=Backtracking -m model items",
        "crfsuite tag -t -m model items",
        "svm_learn a",
    ],
)
def test_a_word_that_cannot_be_kept_to_is_an_error_of_usage(crftrain, files, words):
    assert crftrain("as", *words.split()).status == 2
    assert not (files / "model").exists()


def test_files_that_are_not_there_are_an_error_with_their_name(crftrain, files):
    for words in ("crf_learn nothing train.txt model", "crf_test -m nothing test.txt", "wapiti train -p nothing train.txt model"):
        ended = crftrain("as", *words.split())
        assert ended.status == 1 and "nothing" in ended.err
