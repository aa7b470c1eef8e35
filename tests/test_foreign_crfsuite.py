"""CRFsuite's model files: what is written is what CRFsuite reads, and what CRFsuite writes is read; damage is told, whatever it is."""

import hashlib
import re
import struct
from pathlib import Path

import numpy as np
import problems
import pytest
from foreign_models import by_name, made, mutate_all

from crftrain.errors import ModelError
from crftrain.model import foreign
from crftrain.model.foreign import crfsuite
from crftrain.model.foreign.assemble import assemble
from crftrain.model.model import load, save
from crftrain.tagging.tag import Output, Tagger
from crftrain.text.read import Sentence

ITEMS = [
    ["U\tw=a:2\tlast", "V\tw=b\tw=a", "W\tw=\\:", ""],
    ["V\tw=b\tß\\\\", "U\tw=a\tlong=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "V\tw=c:0.5\tlast", ""],
    ["W\tw=a", ""],
]


@pytest.fixture
def learnt(crftrain, tmp_path):
    """The path of a small model for items."""
    (tmp_path / "items.txt").write_text("\n".join("\n".join(lines) for lines in ITEMS) + "\n", encoding="utf-8")
    ended = crftrain("learn", "-q", "--format", "items", "-m", "model.bin", "items.txt")
    assert ended.status == 0, ended.err
    return tmp_path / "model.bin"


def rotated(x, k):
    return (x << k | x >> 32 - k) & 0xFFFFFFFF


def lookup3(key):
    """The hash of one string, step by step."""
    a = b = c = (0xDEADBEEF + len(key)) & 0xFFFFFFFF
    while True:
        words = struct.unpack("<III", key[:12].ljust(12, b"\0"))
        a, b, c = ((x + word) & 0xFFFFFFFF for x, word in zip((a, b, c), words, strict=True))
        if len(key) <= 12:
            break
        key = key[12:]
        for k in (4, 6, 8, 16, 19, 4):
            a = ((a - c) ^ rotated(c, k)) & 0xFFFFFFFF
            c = (c + b) & 0xFFFFFFFF
            a, b, c = b, c, a
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotated(b, k)) & 0xFFFFFFFF
        a, b, c = b, c, a
    return b


def found(cqdb, name):
    """The number of a name by the walk through its table, or None."""
    key = name + b"\0"
    h = lookup3(key)
    offset, slots = struct.unpack_from("<II", cqdb, 24 + 8 * (h % 256))
    for step in range(slots):
        entry, at = struct.unpack_from("<II", cqdb, offset + 8 * (((h >> 8) + step) % slots))
        if at == 0:
            return None
        number, length = struct.unpack_from("<II", cqdb, at)
        if entry == h and cqdb[at + 8 : at + 8 + length] == key:
            return number
    return None


@pytest.mark.parametrize("kind", [kind for kind in problems.KINDS if "pair" not in str(problems.KINDS[kind])])
def test_what_is_written_reads_back(kind):
    model = made(**problems.KINDS[kind])
    if list(crfsuite.refusals(model)):
        pytest.skip("attributes of label pairs")
    again = crfsuite.read(b"".join(crfsuite.image(model)))
    assert by_name(again) == by_name(model)
    assert again.vocabulary.labels == model.vocabulary.labels


def test_the_same_model_gives_the_same_bytes():
    nodes = [b"a", b"a longer name", "ß".encode()], [0, 1, 1, 2], [0, 0, 1, 1], [1.5, -2, 0.25, 3]
    model = assemble([b"O", b"B-X"], nodes, ([1, 2], [-1, 0.5]), ([], [], [], []), facts={}, size=0)
    data = b"".join(crfsuite.image(model))
    assert hashlib.sha256(data).hexdigest() == GOLDEN
    assert len(data) == struct.unpack_from("<I", data, 4)[0]


GOLDEN = "359d1c3a6766767f1a362b5baced9a91774e64509003b3b3985d1ccf28a59f7c"


@pytest.mark.parametrize("n", [0, 1, 2, 300, 20000])
def test_every_name_is_found_where_its_hash_leads_and_no_other(n):
    names = [b"%d" % k * (1 + k % 7) for k in range(n)]
    cqdb = crfsuite._strings(names)
    chosen = range(0, n, max(1, n // 500))
    assert [found(cqdb, names[k]) for k in chosen] == list(chosen)
    assert found(cqdb, b"absent") is None


def test_a_table_that_is_driven_over_its_end_begins_anew():
    table, home = np.zeros(4, np.int64), np.array([7, 7, 6, 7])
    slots = np.zeros(256, np.int64)
    slots[0] = 8
    assert sorted(crfsuite._slots(table, home, slots)) == [0, 1, 6, 7]


def test_names_of_every_length_have_the_hash_of_the_plain_loop():
    names = [b"x" * k for k in range(1, 60)] + ["é".encode(), b"\xff\xfe"]
    assert crfsuite._hashes(names).tolist() == [lookup3(name + b"\0") for name in names]


def test_lines_for_label_pairs_are_refused_by_their_places(crftrain, tmp_path, train_file):
    (tmp_path / "t.txt").write_text("U:%x[0,0]\nB\nB:%x[0,0]\nB1:%x[-1,0]\n")
    assert crftrain("learn", "-q", "-t", "t.txt", "-m", "model.bin", "train.txt").status == 0
    ended = crftrain("export", "model.bin", "out", "--to", "crfsuite")
    assert ended.status == 1 and "t.txt:3: attributes of label pairs; t.txt:4:" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_model_is_not_exported_onto_itself(crftrain, learnt):
    before = learnt.read_bytes()
    assert crftrain("export", "model.bin", "./model.bin", "--to", "crfsuite").status == 2
    assert learnt.read_bytes() == before


def test_tag_dump_info_and_init_take_the_exported_model(crftrain, learnt):
    assert crftrain("export", "model.bin", "model.crfsuite", "--to", "crfsuite").status == 0
    for arguments in (("tag", "--marginals=all", "--score"), ("dump", "--top", "5")):
        ours, theirs = (crftrain(*arguments, path, *["items.txt"] * (arguments[0] == "tag")) for path in ("model.bin", "model.crfsuite"))
        assert theirs.status == 0, theirs.err
        kept = [[line for line in ended.lines if not line.startswith("#")] for ended in (ours, theirs)]
        assert kept[0] == kept[1]
    assert "CRFsuite model" in crftrain("info", "model.crfsuite").out.decode()
    ended = crftrain("learn", "--format", "items", "--init", "model.crfsuite", "-m", "next.bin", "items.txt")
    assert ended.status == 0 and f"{load(learnt).active} of its weights are the start" in ended.err, ended.err
    assert crftrain("export", "model.crfsuite", "back.bin", "--to", "crftrain").status == 0
    assert by_name(load(learnt.parent / "back.bin")) == by_name(load(learnt))


def test_update_goes_on_with_another_program_s_model_and_leaves_its_file(crftrain, learnt):
    assert crftrain("export", "model.bin", "model.crfsuite", "--to", "crfsuite").status == 0
    before = (learnt.parent / "model.crfsuite").read_bytes()
    ended = crftrain("update", "model.crfsuite", "items.txt")
    assert ended.status == 1 and "a CRFsuite model, which is not replaced by one of ours, expected -m" in ended.err
    assert (learnt.parent / "model.crfsuite").read_bytes() == before
    for options in ((), ("-a", "lbfgs", "--replay", "items.txt")):
        ended = crftrain("update", *options, "-m", "next.bin", "model.crfsuite", "items.txt")
        assert ended.status == 0, ended.err
        assert load(learnt.parent / "next.bin").vocabulary.labels == load(learnt).vocabulary.labels


def test_doubles_are_not_rounded():
    model = made(1)
    object.__setattr__(model, "w", np.where(model.w, model.w + 1e-12, 0))
    again = crfsuite.read(b"".join(crfsuite.image(model)))
    assert by_name(again) == by_name(model)


# ---- damage


def test_a_damaged_file_is_an_error_and_never_a_crash(tmp_path):
    data, rng = bytearray(b"".join(crfsuite.image(made(2)))), np.random.default_rng(1)
    read = mutate_all(data, rng, 400, "crfsuite")
    assert read < 400


def test_a_file_cut_anywhere_is_an_error():
    data = b"".join(crfsuite.image(made(2)))
    for end in range(4, len(data), 97):
        with pytest.raises(ModelError):
            foreign.read("crfsuite", data[:end])


# ---- CRFsuite itself


@pytest.fixture
def pycrfsuite():
    return pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")


def tokens(lines):
    """What python-crfsuite takes for lines in item format."""
    out = []
    for line in lines:
        fields = [re.split(r"(?<!\\):", field) for field in line.split("\t")[1:]]
        out.append({re.sub(r"\\(.)", r"\1", name): float(value[0]) if value else 1.0 for name, *value in fields})
    return out


def agrees(tagger, model, sentences):
    """Whether a pycrfsuite.Tagger and ours give the same labels, and marginals within 1e-5."""
    ours = Tagger(model, output=Output(labels_only=True, marginals="all"))
    for lines in sentences:
        tagger.set(tokens(lines))
        best = tagger.tag()
        shown = ours.tag(Sentence([line.encode() for line in lines], "test", 1)).decode().rstrip("\n").split("\n")
        for t, (label, line) in enumerate(zip(best, shown, strict=True)):
            first, *marginals = (cell.rpartition(":") for cell in line.split("\t"))
            assert first[0] == label
            assert all(abs(tagger.marginal(name, t) - float(p)) < 1e-5 for name, _, p in marginals)


def test_crfsuite_tags_with_our_model_as_we_do(pycrfsuite, crftrain, learnt):
    assert crftrain("export", "model.bin", "model.crfsuite", "--to", "crfsuite").status == 0
    tagger = pycrfsuite.Tagger()
    tagger.open(str(learnt.parent / "model.crfsuite"))
    assert tagger.labels() == load(learnt).vocabulary.labels
    agrees(tagger, load(learnt), [lines[:-1] for lines in ITEMS])


def test_we_tag_with_a_model_that_crfsuite_learnt_as_it_does(pycrfsuite, tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 0.01, "c2": 0.1})
    for lines in ITEMS:
        trainer.append(tokens(lines[:-1]), [line.split("\t")[0] for line in lines[:-1]])
    trainer.train(str(tmp_path / "theirs.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "theirs.crfsuite"))
    model = load(tmp_path / "theirs.crfsuite")
    agrees(tagger, model, [lines[:-1] for lines in ITEMS])
    information = tagger.info()
    theirs = {("U", name.encode(), label): w for (name, label), w in information.state_features.items()}
    theirs |= {("T", first, second): w for (first, second), w in information.transitions.items()}
    ours = by_name(model)
    assert ours.keys() == theirs.keys() and all(abs(ours[key] - theirs[key]) < 1e-6 for key in ours)  # their dump has six decimals


def test_a_saved_model_keeps_what_was_imported(tmp_path):
    model = crfsuite.read(b"".join(crfsuite.image(made(4))))
    save(tmp_path / "model.bin", model.vocabulary, model.layout, model.w, model.facts)
    assert by_name(load(tmp_path / "model.bin")) == by_name(model)


@pytest.mark.parametrize("package", ["usaddress", "probablepeople"])
def test_models_that_packages_ship_tag_as_their_own_tagger_does(pycrfsuite, package):
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    words = ["123", "P.O.", "Box", "Main", "St.", "Apt", "4B", "Springfield,", "IL", "60601", "Dr.", "Ada", "O'Neil", "Ltd", "Jr"]
    rng, path = np.random.default_rng(1), next(Path(module.__file__).parent.glob("*.crfsuite"))
    tagger, model = pycrfsuite.Tagger(), load(path)
    tagger.open(str(path))
    ours = Tagger(model, gold="no", output=Output(labels_only=True))
    for _ in range(1000):
        tokens = module.tokenize(" ".join(rng.choice(words, rng.integers(1, 9))))
        items = pycrfsuite.ItemSequence(module.tokens2features(tokens)).items()
        lines = ["\t".join(f"{escaped(name)}:{value!r}" for name, value in item.items()).encode() for item in items]
        theirs = tagger.tag(pycrfsuite.ItemSequence(items))
        assert ours.tag(Sentence(lines, "test", 1)).decode().split() == theirs


def escaped(name):
    return name.replace("\\", "\\\\").replace(":", "\\:")
