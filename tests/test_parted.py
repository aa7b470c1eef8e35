"""Files read in parts: cuts at any byte give the same sentences, and what is merged is what one process makes of them in order."""

import gzip
import pickle
import zlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import problems
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crftrain import optimizers
from crftrain.chain.checksum import checksum, combined
from crftrain.chain.sharded import Inline
from crftrain.errors import CrftrainWarning, DataError
from crftrain.text.cuts import dealt
from crftrain.text.encode import StringTable
from crftrain.text.forms import Form
from crftrain.text.pieces import Piece, shipped
from crftrain.text.read import sentences
from crftrain.training.events import SILENT, fingerprint
from crftrain.training.learn import learn, prepare
from crftrain.training.part import Part
from crftrain.training.parted import parted, recipes
from crftrain.training.settings import Settings
from crftrain.training.train import train_numbered

CONLLU = "# text = a b\n1\ta\t_\tDT\t_\t_\t0\t_\t_\t_\n2\tb\t_\tNN\t_\t_\t0\t_\t_\tx\n\n1\tc\t_\tVB\t_\t_\t0\t_\t_\t_\n\n"
FORMS = {
    "columns": (None, "a DT O\r\nb NN O\r\n \r\n\t\nc VB O\n\n\nd VB O\n\n \n"),
    "no end": (None, "\n \na DT O\nb NN O\n\nc VB O"),
    "comments": (Form(comments=("#",)), "# one\na O\n# two\nb O\n\n# three\n\nc O\n"),
    "conllu": (Form("conllu"), CONLLU + CONLLU),
    "jsonl": (
        Form("jsonl"),
        '{"tokens": ["a", "b"], "tags": ["O", "X"]}\n\n{"text": "c d", "spans": []}\r\n{"tokens": ["e"], "tags": ["O"]}',
    ),
    "pipes": (Form("pipes"), "a|O b|O\n\n \nc|X\nd|O e|O\n"),
}


def told(path, form=None, encoding="utf-8"):
    return [(sentence.number, sentence.lines) for sentence in sentences(path, form=form, encoding=encoding)]


@pytest.mark.parametrize("name", FORMS)
def test_a_cut_at_any_byte_gives_the_same_sentences(name, tmp_path):
    form, text = FORMS[name]
    path, blank = tmp_path / "data", form is None or form.format in ("columns", "conllu")
    path.write_bytes(text.encode())
    whole, n = told(str(path), form), len(text.encode())
    assert len(whole) > 1
    for a in range(n + 1):
        for b in range(a, n + 1, 7):
            pieces = [Piece(str(path), first, last, blank) for first, last in ((0, a), (a, b), (b, None))]
            assert sum((told(piece.numbered(), form) for piece in pieces), []) == whole
            assert sum((told(piece, form) for piece in shipped(pieces)), []) == whole


LINE = st.sampled_from(["a X", "b\tY", "ü Z", "", " ", "\t\r", "\x0b", "a X\r"])


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINE, max_size=12), end=st.sampled_from(["", "\n", "\r\n"]), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_random_lines_are_read_once_and_in_order(lines, end, cuts, tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "data"
    path.write_bytes(("\n".join(lines) + end).encode())
    ends = [0, *sorted(min(cut, path.stat().st_size) for cut in cuts), None]
    assert sum((told(Piece(str(path), *ends).numbered()) for ends in pairwise(ends)), []) == told(str(path))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "shift_jis"])
def test_what_is_dealt_is_all_in_order(encoding, tmp_path):
    """Several files, a compressed one among them; where bytes do not tell of line ends a file is one unit."""
    text, paths = problems.text(3, sentences=12), []
    for k, pack in enumerate((bytes, gzip.compress, bytes)):
        paths.append(str(tmp_path / str(k)))
        (tmp_path / str(k)).write_bytes(pack(text.encode(encoding)))
    whole = sum((told(path, encoding=encoding) for path in paths), [])
    for n in (1, 2, 3, 8, 50):
        hands = dealt(paths, n, encoding=encoding)
        assert len(hands) == n
        assert sum((told(piece.numbered(), encoding=encoding) for hand in hands for piece in hand), []) == whole
        if encoding in ("utf-8", "latin-1"):
            assert n < 8 or any(piece.stop for hand in hands for piece in hand)
        else:
            assert all(piece.start == 0 and piece.stop is None for hand in hands for piece in hand)


def test_standard_input_is_not_dealt():
    with pytest.raises(DataError, match="<stdin>: no regular file"):
        dealt(["-"], 2)


@given(st.lists(st.lists(st.binary(max_size=3), unique=True, max_size=8), max_size=4), st.integers(0, 4))
def test_names_are_merged_in_any_grouping_as_in_order(parts, cut):
    def merged(tables):
        out = StringTable()
        numbers = [out.add_all(table) for table in tables]
        for table, own in zip(tables, numbers, strict=True):
            assert [out.name(i) for i in own] == table.names()
        return out

    tables = [StringTable.from_names(names) for names in parts]
    in_order = StringTable()
    for names in parts:
        for name in names:
            in_order.add(name)
    grouped = merged([merged(tables[:cut]), merged(tables[cut:])])
    assert merged(tables).names() == grouped.names() == in_order.names()


@given(st.lists(st.binary(max_size=40), max_size=4))
def test_checksums_are_combined(pieces):
    check = 0
    for piece in pieces:
        check = combined(check, checksum(np.frombuffer(piece, np.uint8)), len(piece))
    assert check == zlib.crc32(b"".join(pieces))


BIGRAMS = "U:%x[0,0]\nU:%x[-1,1]\nB:%x[0,1]\nB\n"
WAYS = {
    "observed": {},
    "full": {"features": "full"},
    "rare ones dropped": {"min_freq": 3},
    "label pairs that were seen": {"transitions": "observed"},
    "attributes of label pairs": {"template": BIGRAMS, "min_freq": 2},
    "illegal ones fixed": {"constrain": "iob2", "on_illegal": "fix"},
    "illegal ones dropped": {"constrain": "auto", "on_illegal": "drop", "template": BIGRAMS},
    "another scheme": {"scheme": "bioes"},
}


def asked(paths, options=None):
    options = dict(options or {})
    if "template" in options:
        template = paths[0].parent / "template"
        template.write_text(options["template"])
        options["template"] = str(template)
    return Settings(paths=tuple(map(str, paths)), algorithm="lbfgs", model=str(paths[0].parent / "model.bin"), **options)


def in_parts(wanted, n, engine=Inline):
    """The data in n parts; recipes go where a process could be."""
    made = recipes(wanted, n)
    return parted(engine([Part(*pickle.loads(pickle.dumps(recipe))) for recipe in made]), made, wanted)


def same(parts, one, wanted):
    assert parts.facts == one.facts
    assert vars(parts.sizes) == vars(one.sizes)
    assert parts.n_bytes >= one.n_bytes - 64
    assert parts.vocabulary.labels == one.vocabulary.labels
    for name in ("attributes", "pair_attributes"):
        assert getattr(parts.vocabulary, name).names() == getattr(one.vocabulary, name).names()
    assert fingerprint(parts) == fingerprint(one)  # of the layout too
    found = []
    for data in (one, parts):
        problem = data.objective(wanted, 1e-3, 0)
        w, g = np.random.default_rng(3).normal(0, 0.3, problem.n_features), np.empty(problem.n_features)
        found.append((problem.value_and_gradient(w, g, keep=None), g, problem.gold_counts()))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore::crftrain.errors.CrftrainWarning")
@pytest.mark.parametrize("way", WAYS)
def test_parts_are_merged_to_what_one_process_reads(way, tmp_path):
    paths = [tmp_path / "a", tmp_path / "b.gz", tmp_path / "c"]
    for k, path in enumerate(paths):
        text = problems.text(k, sentences=(25, 3, 1)[k], labels=(("B-X", "I-X", "O"), ("B-X", "I-X", "O", "B-Z"), ("O", "I-Z", "B-X"))[k])
        path.write_bytes(gzip.compress(text.encode()) if path.suffix else text.encode().rstrip() if k == 2 else text.encode())
    wanted = asked(paths, WAYS[way])
    one = prepare(wanted)
    for n in (1, 2, 5, 60):  # of which many have nothing
        same(in_parts(wanted, n), one, wanted)


@pytest.mark.parametrize("values", [False, True])
def test_items_with_values_in_some_parts_alone(values, tmp_path):
    path = tmp_path / "items"
    rows = [f"{'XY'[k % 2]}\ta{k % 7}\tb{k % 3}" + (f":{k / 8 + 0.3}" if values and k > 60 else "") for k in range(80)]
    path.write_text("".join(row + "\n" * (1 + (k % 4 == 3)) for k, row in enumerate(rows)))
    wanted = asked([path], {"format": "items"})
    same(in_parts(wanted, 4), prepare(wanted), wanted)


@pytest.mark.parametrize("way", ["observed", "attributes of label pairs"])
def test_the_model_is_the_same_file_and_a_checkpoint_goes_on_in_parts(way, train_file, tmp_path):
    wanted = replace(
        asked([train_file], WAYS[way]),
        algorithm=optimizers.get("newton-cg"),
        options={},
        passes=8,
        tol=0.0,
        checkpoint=str(tmp_path / "state"),
    )
    learn(wanted)
    whole = (tmp_path / "model.bin").read_bytes()
    model, _ = train_numbered(in_parts(wanted, 3), wanted)
    model.save(str(tmp_path / "parts.bin"))
    assert (tmp_path / "parts.bin").read_bytes() == whole
    learn(replace(wanted, passes=4))
    model, _ = train_numbered(in_parts(wanted, 4), replace(wanted, resume=wanted.checkpoint, checkpoint=None))
    model.save(str(tmp_path / "rest.bin"))
    assert (tmp_path / "rest.bin").read_bytes() == whole


BAD = {
    "a short line": "a X\nb\n\n",
    "bytes that are no text": b"a X\nb \xff X\n\n",
    "a NUL byte": b"a X\nb\0 X\n\n",
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("where", [0, 10, 29])
def test_an_error_is_the_same_wherever_it_is_met(fault, where, tmp_path):
    path, bad = tmp_path / "data", BAD[fault] if isinstance(BAD[fault], bytes) else BAD[fault].encode()
    path.write_bytes(b"".join(bad if k in (where, where + 5) else b"w%d X\nv Y\n\n" % k for k in range(40)))
    wanted = asked([path])
    with pytest.raises(DataError) as whole:
        prepare(wanted)
    for n in (1, 3, 7):
        with pytest.raises(DataError) as parts:
            in_parts(wanted, n)
        assert str(parts.value) == str(whole.value)


def test_a_file_without_sentences_is_the_same_error(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for path, text in zip(paths, ("x X\n\ny Y\n", "\n \n", "x X\n"), strict=True):
        path.write_text(text)
    for order in (paths, paths[1:], paths[:2]):
        for n in (1, 2, 9):
            with pytest.raises(DataError, match="b: no sentences"):
                in_parts(asked(order), n)


@pytest.mark.parametrize("on_illegal", ["error", "fix", "drop"])
def test_illegal_labels_are_told_with_their_line(on_illegal, train_file):
    wanted = asked([train_file], {"constrain": "iob2", "on_illegal": on_illegal})
    found = []
    for read in (prepare, lambda wanted: in_parts(wanted, 3)):
        if on_illegal == "error":
            with pytest.raises(DataError) as error:
                read(wanted)
            found.append(str(error.value))
        else:
            with pytest.warns(CrftrainWarning) as warned:
                read(wanted)
            found.append([str(one.message) for one in warned])
    assert found[0] == found[1]


class Forgetful(Inline):
    """Makes one part anew before each question, and lets it go through what it went through."""

    asked = 0

    def map(self, method, arguments):
        if self.asked > 3:
            k = self.asked % len(self.shards)
            self.shards[k] = Part(self.shards[k].sources, self.shards[k].reading)
            for told, own in (*self.prepared(k), *(self.recalled(k) if hasattr(self, "recalled") else ())):
                getattr(self.shards[k], told)(*own)
        self.asked += 1
        return super().map(method, arguments)


def test_a_part_that_is_made_anew_is_the_same(train_file):
    wanted = asked([train_file], WAYS["rare ones dropped"])
    same(in_parts(wanted, 3, Forgetful), prepare(wanted), wanted)


def test_the_template_that_suits_the_data_is_told_once(train_file):
    said = []
    observer = type(SILENT)()
    observer.say = said.append
    recipes(asked([train_file]), 3, observer)
    assert len(said) == 1 and "chosen for" in said[0]
