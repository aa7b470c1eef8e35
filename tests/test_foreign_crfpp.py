"""CRF++'s model files, binary and text: what is written is what crf_test reads, and what crf_learn writes is read."""

import shutil
import struct
import subprocess

import numpy as np
import problems
import pytest
from foreign_models import by_name, made, mutated
from test_foreign_wapiti import text

from crftrain.errors import ModelError
from crftrain.model import foreign
from crftrain.model.foreign import crfpp
from crftrain.model.foreign._doublearray import build
from crftrain.model.model import load

TEMPLATE = "# names\nU1:%x[0,0]\nU2:%x[-1,0]/%x[+1,0]\nU3:%x[-8,1]%x[-2,1]%x[4,0]\nU5\nB\nB6:%x[-2,0]/%x[1,1]\n"
TINY = """version: 100
cost-factor: 1
maxid: 8
xsize: 1

B-\u00e9
O

U:%x[0,0]
B

4 B
0 U:a
2 U:b c

1.5000000000000000
-2.0000000000000000
0.0000000000000000
0.0000000000000000
0.2500000000000000
0.0000000000000000
0.5000000000000000
0.0000000000000000
"""
WEIGHTS = {("U", b"U:a", "B-\u00e9"): 1.5, ("U", b"U:a", "O"): -2, ("T", "B-\u00e9", "B-\u00e9"): 0.25, ("T", "O", "B-\u00e9"): 0.5}


def walk(base, check, key):
    """The number of a key, by the walk that the format promises; None if it is not there."""
    b = base[0]
    for byte in key:
        p = b + byte + 1
        if p >= len(base) or check[p] != b:
            return None
        b = base[p]
    return -base[b] - 1 if check[b] == b and base[b] < 0 else None


@pytest.mark.parametrize("n", [1, 2, 500])
def test_a_trie_holds_its_keys_and_no_others(n):
    rng = np.random.default_rng(n)
    keys = sorted({bytes(rng.integers(1, 256 if k % 2 else 4, rng.integers(1, 9)).tolist()) for k in range(n)})
    numbers = rng.permutation(len(keys))
    base, check = (array.tolist() for array in build(keys, numbers))
    assert [walk(base, check, key) for key in keys] == numbers.tolist()
    known = set(keys)
    for key in keys[:100]:
        for other in (key[:-1], key + b"\1", key[:-1] + bytes([key[-1] ^ 1])):
            assert (walk(base, check, other) is not None) == (other in known)
    trie = np.empty(len(base), crfpp.UNIT)
    trie["base"], trie["check"] = base, check
    found, number = crfpp._leaves(trie, 1 << 20)
    assert dict(zip(found, number.tolist(), strict=True)) == dict(zip(keys, numbers.tolist(), strict=True))


@pytest.mark.parametrize("kind", problems.KINDS)
def test_what_is_written_reads_back(kind):
    model = made(**problems.KINDS[kind])
    again = foreign.read("crfpp", b"".join(crfpp.image(model)))
    assert by_name(again) == by_name(model) and again.vocabulary.labels == model.vocabulary.labels


def test_the_text_form_by_hand_and_the_binary_one_of_it():
    model = foreign.read("crfpp", TINY.encode())
    assert by_name(model) == WEIGHTS
    binary = b"".join(crfpp.image(model))
    assert struct.unpack_from("<IidII", binary) == (100, 0, 1.0, 2 + 4, 1)
    labels = "B-\u00e9\0O\0".encode()
    templates = b"U:%x[0,0]\0B\0" + bytes(1)
    assert binary[28:].startswith(struct.pack("<I", len(labels)) + labels + struct.pack("<I", len(templates)) + templates)
    assert binary.endswith(struct.pack("<6f", 1.5, -2, 0.25, 0, 0.5, 0))
    assert by_name(foreign.read("crfpp", binary)) == WEIGHTS


def test_plain_transitions_asked_for_twice_count_twice():
    twice = TINY.replace("U:%x[0,0]\nB\n", "U:%x[0,0]\nB\nB\nB1\n")
    model = foreign.read("crfpp", twice.encode())
    assert by_name(model) == {key: w * (2 if key[0] == "T" else 1) for key, w in WEIGHTS.items()}


@pytest.mark.parametrize(
    "change, message",
    [
        (("version: 100", "version: 200"), "of version 200, expected 100"),
        (("maxid: 8", "maxid: 9"), "8 weights, expected as many as the line maxid says"),
        (("4 B", "5 B"), "the keys' numbers, expected weights of their own, of 8"),
        (("2 U:b c", "1 U:b c"), "the keys' numbers"),
        (("2 U:b c", "2 X:b c"), "a key, expected one that begins with U or B"),
        (("-2.0000000000000000", "-x"), "a number, expected"),
        (("-2.0000000000000000", "nan"), "a weight that is no number"),
        (("U:%x[0,0]", "U:%x[0,0"), "its template: CRF++:2:"),
        (("U:%x[0,0]", "V:%x[0,0]"), "the template line"),
    ],
)
def test_damage_is_named(change, message):
    damaged = TINY.replace(*change)
    assert damaged != TINY
    with pytest.raises(ModelError) as caught:
        foreign.read("crfpp", damaged.encode())
    assert message in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bits", [0x7F800001, 0x7FC00000, 0x7F800000, 0xFF800001])
def test_bits_that_are_no_number_are_refused_without_a_warning(bits):
    binary = b"".join(crfpp.image(foreign.read("crfpp", TINY.encode())))
    with pytest.raises(ModelError, match="a weight that is no number"):
        foreign.read("crfpp", binary[:-4] + struct.pack("<I", bits))


def test_mutations_and_cuts_are_errors_and_never_crashes():
    data, rng = b"".join(crfpp.image(made(2))), np.random.default_rng(1)
    for k in range(400):
        mutant = bytes(mutated(data, rng)) if k % 4 else data[: int(rng.integers(8, len(data)))]
        try:
            model = foreign.read("crfpp", mutant)
        except ModelError as error:
            assert error.finding
        else:
            assert np.isfinite(model.w).all() and model.layout.n_features == len(model.w)


def test_a_trie_that_goes_round_in_a_circle_ends():
    base, check = build([b"Uab", b"Uabcdef"], np.array([0, 2]))
    for victim in np.flatnonzero(check)[:-1]:
        for source in np.flatnonzero(check):
            trie = np.empty(len(base), crfpp.UNIT)
            trie["base"], trie["check"] = base, check
            trie["check"][victim] = check[source]
            try:
                keys, _ = crfpp._leaves(trie, 1000)
            except ModelError:
                continue
            assert all(len(key) < len(trie) for key in keys)


@pytest.mark.parametrize(
    "template, message",
    [
        ("U:%l[0,0]\nB\n", "t.txt:1: %l"),
        ("U:%x[-9,0]\n", "t.txt:1: row -9"),
        ("U:%x[@1,0]\n", "t.txt:1: row @1"),
        ("*:%x[0,0]\n", "t.txt:1: a line with *"),
        ("#dialect wapiti\nU:%x[-1,0]\n", "in the dialect wapiti"),
        ("U:%x[0,0]\nu:%x[0,0]\n", "lines that differ in the size of their first letter only"),
    ],
)
def test_what_crfpp_has_not_is_refused(crftrain, tmp_path, template, message):
    (tmp_path / "train.txt").write_text(text(10))
    (tmp_path / "t.txt").write_text(template)
    assert crftrain("learn", "-q", "-t", "t.txt", "-m", "model.bin", "train.txt").status == 0
    ended = crftrain("export", "model.bin", "model.crfpp", "--to", "crfpp")
    assert ended.status == 1 and message in ended.err
    assert not (tmp_path / "model.crfpp").exists()


@pytest.fixture
def learnt(crftrain, tmp_path):
    (tmp_path / "train.txt").write_text(text(60))
    (tmp_path / "test.txt").write_text(text(80, 6))
    (tmp_path / "t.txt").write_text(TEMPLATE)
    assert crftrain("learn", "-q", "-t", "t.txt", "-m", "model.bin", "--lambda", "0.1/n", "train.txt").status == 0
    return tmp_path


def test_the_exported_model_tags_as_ours_does(crftrain, learnt):
    assert crftrain("export", "model.bin", "model.crfpp", "--to", "crfpp").status == 0
    for options in ((), ("--marginals=all", "--score")):
        ours, theirs = (crftrain("tag", *options, model, "test.txt") for model in ("model.bin", "model.crfpp"))
        assert theirs.status == 0 and (ours.out == theirs.out or options)
    assert by_name(load(learnt / "model.crfpp")) == by_name(load(learnt / "model.bin"))


@pytest.mark.skipif(not shutil.which("crf_learn"), reason="CRF++ is not installed")
def test_crfpp_and_we_tag_alike_with_both_programs_models(crftrain, learnt):
    assert crftrain("export", "model.bin", "model.crfpp", "--to", "crfpp").status == 0
    (learnt / "theirs.txt").write_text(TEMPLATE.replace("+1", "1"))
    subprocess.run(["crf_learn", "-t", "theirs.txt", "train.txt", "theirs.crfpp"], cwd=learnt, check=True, capture_output=True)
    for path in ("model.crfpp", "theirs.crfpp"):
        theirs = subprocess.run(["crf_test", "-m", path, "test.txt"], cwd=learnt, check=True, capture_output=True).stdout.decode()
        ours = crftrain("tag", "--labels-only", path, "test.txt").lines
        assert [line.rpartition("\t")[2] for line in theirs.split("\n")][: len(ours)] == ours
    written, read = load(learnt / "theirs.crfpp"), load(learnt / "theirs.crfpp.txt")
    assert by_name(written).keys() == by_name(read).keys()
