"""Wapiti's model files: what is written is what Wapiti reads, right to the last border, and what Wapiti writes is read."""

import re

import numpy as np
import problems
import pytest
from foreign_models import by_name, made

from crftrain.errors import ModelError
from crftrain.model import foreign
from crftrain.model.foreign import wapiti
from crftrain.model.model import load
from crftrain.tagging.tag import Output, Tagger
from crftrain.text.read import sentences

TEMPLATE = "# names\nU1:%x[0,0]\nU2:%x[-1,0]/%x[1,0]\nu3:%x[-3,1]%x[-2,1]%x[4,0]\n*4:%x[0,1]\nU5\nB\nB6:%x[-2,0]/%x[1,1]\n"
TINY = """#mdl#2#6
#rdr#2/0/0
9:u:%x[0,0],
1:b,
#qrk#2
1:O,
4:B-\u00e9,
#qrk#3
3:u:a,
1:b,
6:u:_x-1,
0=0x1.8p+0
1=-0x1.0p+1
2=0x1.0p-2
4=0x1.0p-1
6=1e-1
7=2,5e+0
"""


def text(n, seed=5):
    """n sentences of one to six tokens with two columns and a label that depends on both neighbours."""
    rng, out = np.random.default_rng(seed), []
    for _ in range(n):
        rows = [[f"w{rng.integers(6)}", f"{'ABC'[rng.integers(3)]}"] for _ in range(rng.integers(1, 7))]
        labels = [f"L{(int(row[0][1]) + (rows[t - 1][1] == 'A' if t else 2)) % 4}" for t, row in enumerate(rows)]
        out += [" ".join([*row, label]) for row, label in zip(rows, labels, strict=True)] + [""]
    return "\n".join(out) + "\n"


@pytest.fixture
def learnt(crftrain, tmp_path):
    """learnt(template) -> the path of a model; train.txt and test.txt lie beside it."""
    (tmp_path / "train.txt").write_text(text(60))
    (tmp_path / "test.txt").write_text(text(80, 6))

    def learn(template):
        (tmp_path / "t.txt").write_text(template)
        ended = crftrain("learn", "-q", "-t", "t.txt", "-m", "model.bin", "--lambda", "0.1/n", "train.txt")
        assert ended.status == 0, ended.err
        return tmp_path / "model.bin"

    return learn


@pytest.mark.parametrize("template", [TEMPLATE, "#dialect wapiti\n" + TEMPLATE + 'U7:%t[-1,0,"3"]%X[6,0]\n'])
def test_the_exported_model_tags_as_ours_does_also_at_the_borders(crftrain, learnt, template):
    learnt(template)
    ended = crftrain("export", "model.bin", "model.wapiti", "--to", "wapiti")
    assert ended.status == 0, ended.err
    ours, theirs = (crftrain("tag", "--marginals=all", "--score", model, "test.txt") for model in ("model.bin", "model.wapiti"))
    assert theirs.status == 0, theirs.err
    for first, second in zip(ours.lines, theirs.lines, strict=True):
        assert re.sub(r"[0-9.]+", "", first) == re.sub(r"[0-9.]+", "", second)
        numbers = [[float(x) for x in re.findall(r":([0-9.]+)", line)] for line in (first, second)]
        assert np.allclose(*numbers, atol=2e-6)


def test_border_names_are_translated_where_the_macro_stands(learnt):
    model = load(learnt("U1:%x[-1,0]/%x[0,0]/_B-1\nB:%x[-2,0]%x[2,0]\n"))
    names = foreign.read("wapiti", b"".join(wapiti.image(model))).vocabulary
    assert {name for name in names.attributes.names() if b"x-1" in name} == {b"u1:_x-1/w%d/_B-1" % k for k in range(6)}
    assert b"b:_x-1_x+1" in names.pair_attributes.names()  # at the second of two tokens


@pytest.mark.parametrize("kind", problems.KINDS)
def test_what_is_written_reads_back(kind):
    model = made(**problems.KINDS[kind])
    again = foreign.read("wapiti", b"".join(wapiti.image(model)))
    lowered = {(key[0], key[1].lower() if isinstance(key[1], bytes) else key[1], *key[2:]): w for key, w in by_name(model).items()}
    assert by_name(again) == lowered and again.vocabulary.labels == model.vocabulary.labels


def test_a_small_file_by_hand():
    model = foreign.read("wapiti", TINY.encode())
    assert by_name(model) == {
        ("U", b"u:a", "O"): 1.5,
        ("U", b"u:a", "B-\u00e9"): -2,
        ("T", "O", "O"): 0.25,
        ("T", "B-\u00e9", "O"): 0.5,
        ("U", b"u:_x-1", "O"): 0.1,
        ("U", b"u:_x-1", "B-\u00e9"): 2.5,
    }
    written = b"".join(wapiti.image(model)).decode()
    assert written.startswith("#mdl#2#6\n#rdr#2/0/0\n9:u:%x[0,0],\n1:b,\n#qrk#2\n1:O,\n4:B-\u00e9,\n#qrk#3\n")
    assert by_name(foreign.read("wapiti", written.encode())) == by_name(model)


def test_patterns_that_are_there_twice_count_twice():
    """As in a model that was trained on with -m and -p."""
    twice = TINY.replace("#rdr#2/0/0\n9:u:%x[0,0],\n1:b,\n", "#rdr#4/0/0\n9:u:%x[0,0],\n1:b,\n9:u:%x[0,0],\n1:b,\n")
    once, model = by_name(foreign.read("wapiti", TINY.encode())), foreign.read("wapiti", twice.encode())
    assert by_name(model) == {key: w * (2 if key[0] == "T" else 1) for key, w in once.items()}
    assert len(model.vocabulary.template.unigrams) == 2


def test_old_files_without_a_type_are_read():
    old = TINY.replace("#mdl#2#6", "#mdl#6").replace("/0/0\n", "/0\n")
    assert by_name(foreign.read("wapiti", old.encode())) == by_name(foreign.read("wapiti", TINY.encode()))


@pytest.mark.parametrize(
    "change, message",
    [
        (("#mdl#2#", "#mdl#0#"), "of type 0, expected 2, a CRF"),
        (("#mdl#2#6", "#mdl#2#7"), "6 lines of weights, expected 7"),
        (("#rdr#2/", "#rdr#0/"), "without patterns"),
        (("#qrk#2", "#qrk#999999999"), "999999999 labels in"),
        (("7=2,5e+0", "8=1"), "a weight, expected one of an observation"),
        (("7=2,5e+0", "7=nan"), "a weight that is no number"),
        (("7=2,5e+0", "7"), "a line of weights"),
        (("3:u:a,", "3:x:a,"), "one that begins with u, b or *"),
        (("3:u:a,", "4:u:a,"), "observations: byte"),
        (("6:u:_x-1,", "3:u:a,"), "twice"),
        (("9:u:%x[0,0],", "9:u:%q[0,0],"), "its template: Wapiti:2: unknown macro '%q'"),
        (("9:u:%x[0,0],", "9:u:%x#0,0],"), "the pattern"),
    ],
)
def test_damage_is_named(change, message):
    damaged = TINY.replace(*change)
    assert damaged != TINY
    with pytest.raises(ModelError) as caught:
        foreign.read("wapiti", damaged.encode())
    assert message in str(caught.value)


def test_mutations_are_errors_and_never_crashes():
    data, rng = b"".join(wapiti.image(made(2))), np.random.default_rng(1)
    for _ in range(400):
        mutant = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            at, n = int(rng.integers(len(mutant) - 60)), int(rng.integers(1, 50))
            change = [bytes([rng.integers(256)]), b"9" * n, b"", mutant[at : at + n] * 2][rng.integers(4)]
            mutant[at : at + int(rng.integers(n))] = change
        try:
            model = foreign.read("wapiti", bytes(mutant))
        except ModelError as error:
            assert error.finding
        else:
            assert np.isfinite(model.w).all() and model.layout.n_features == len(model.w)


@pytest.mark.parametrize(
    "template, message",
    [
        ("U:%l[0,0]\nB\n", "t.txt:1: %l without the line #dialect wapiti"),
        ("U:%x[-5,0]\n", "t.txt:1: row -5"),
        ("U:%x[@1,0]\n", "t.txt:1: row @1"),
        ("U:%X[0,0]\n", "t.txt:1: %X"),
        ("U:%x[0,0]\nu:%x[0,0]\n", "lines that differ in the size of their first letter only"),
    ],
)
def test_what_wapiti_has_not_is_refused(crftrain, learnt, template, message):
    learnt(template)
    ended = crftrain("export", "model.bin", "model.wapiti", "--to", "wapiti")
    assert ended.status == 1 and message in ended.err
    assert crftrain("export", "model.bin", "model.bin.wapiti", "--to", "wapiti").status == 1


def test_data_may_have_more_columns_than_the_template_names(crftrain, learnt, tmp_path):
    learnt(TEMPLATE)
    assert crftrain("export", "model.bin", "model.wapiti", "--to", "wapiti").status == 0
    (tmp_path / "more.txt").write_text((tmp_path / "test.txt").read_text().replace(" L", " x y L"))
    (tmp_path / "less.txt").write_text("w1\n")
    labels = [crftrain("tag", "--labels-only", "model.wapiti", name).lines for name in ("test.txt", "more.txt")]
    assert labels[0] == labels[1] and labels[0]
    ended = crftrain("tag", "model.wapiti", "less.txt")
    assert ended.status == 1 and "less.txt:1: 1 column, expected the 2 of the model's template, or more" in ended.err


def test_an_imported_model_is_kept_as_ours(crftrain, learnt):
    learnt(TEMPLATE)
    for step in ("export model.bin model.wapiti --to wapiti", "export model.wapiti again.bin --to crftrain"):
        assert crftrain(*step.split()).status == 0
    tagged = [crftrain("tag", model, "test.txt") for model in ("model.wapiti", "again.bin")]
    assert tagged[0].status == 0 and tagged[0].out == tagged[1].out
    assert crftrain("learn", "-q", "--init", "model.wapiti", "-t", "t.txt", "-m", "next.bin", "train.txt").status == 0


# ---- Wapiti itself


@pytest.fixture
def peer():
    return pytest.importorskip("wapiti", reason="libwapiti is not installed")


def test_wapiti_labels_with_our_model_as_we_do(peer, crftrain, learnt):
    path = learnt(TEMPLATE)
    assert crftrain("export", "model.bin", "model.wapiti", "--to", "wapiti").status == 0
    assert labelled(peer, path.parent) == crftrain("tag", "--labels-only", "model.bin", "test.txt").lines[:-1]


def test_we_label_with_a_model_that_wapiti_learnt_as_it_does(peer, crftrain, learnt):
    folder = learnt("#dialect wapiti\n" + TEMPLATE).parent
    patterns = TEMPLATE.replace("# names\n", "") + 'U7:%t[-1,0,"\\d"]%X[6,0]%m[1,0,"^."]\n'
    model = peer.Model(patterns=patterns, nthread=1, maxiter=20, rho1=0.01, rho2=0.01)
    model.train((folder / "train.txt").read_text().strip().split("\n\n"))
    model.save(str(folder / "model.wapiti"))
    assert labelled(peer, folder) == crftrain("tag", "--labels-only", "model.wapiti", "test.txt").lines[:-1]


def labelled(peer, folder):
    """The labels of test.txt by libwapiti and model.wapiti, an empty one after each sentence."""
    model, out = peer.Model(model=str(folder / "model.wapiti"), nthread=1), []
    for sentence in sentences(str(folder / "test.txt")):
        lines = b"\n".join(line.rpartition(b" ")[0] for line in sentence.lines)
        labels = model.label_sequence(lines)
        out += [*(labels.decode() if isinstance(labels, bytes) else labels).strip("\n").split("\n"), ""]
    return out[:-1]


def test_tagger_is_the_same_for_both_programs_models(learnt, tmp_path):
    ours = load(learnt(TEMPLATE))
    theirs = foreign.read("wapiti", b"".join(wapiti.image(ours)))
    output = Output(labels_only=True)
    for sentence in sentences(str(tmp_path / "test.txt")):
        assert Tagger(ours, output=output).tag(sentence) == Tagger(theirs, output=output).tag(sentence)
