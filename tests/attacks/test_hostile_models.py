"""Whatever a model file holds, load gives a Model or a ModelError, in time and memory that follow the file's size."""

import random
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace

import hostile_models as hostile
import numpy as np
import pytest
from mutate import mutated

from crftrain.errors import ModelError
from crftrain.model import sections
from crftrain.model.model import load, save

BYTES_PER_BYTE = 256  # of memory for a byte of file, at most
BASE = 300_000  # bytes that any load may take


@pytest.fixture
def place(tmp_path):
    return tmp_path / "model.bin"


def test_the_unspoilt_file_is_a_model_and_saves_to_the_same_bytes(place, tmp_path):
    place.write_bytes(hostile.forge(hostile.GOOD))
    model = load(place)
    save(tmp_path / "again.bin", model.vocabulary, model.layout, model.w, model.facts)
    assert (tmp_path / "again.bin").read_bytes() == place.read_bytes()


@pytest.mark.parametrize("tag", hostile.TAGS)
def test_any_section_may_be_deflated(place, tag):
    place.write_bytes(hostile.forge(hostile.GOOD | {b"FACT": b'{"a":"' + b"x" * 100 + b'"}'}, deflate=(tag,)))
    assert load(place).active == 8


@pytest.mark.parametrize("name, data", hostile.attacks().items())
def test_attack(place, name, data):
    place.write_bytes(hostile.forge(hostile.GOOD))
    load(place)  # the modules that reading and refusing take are no part of what the attack takes
    place.write_bytes(b"none")
    with pytest.raises(ModelError):
        load(place)
    place.write_bytes(data)
    start = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(ModelError) as caught:
            load(place)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.place == str(place)
    assert caught.value.finding
    assert len(str(caught.value)) < len(str(place)) + 300
    assert peak < BYTES_PER_BYTE * len(data) + BASE
    assert time.perf_counter() - start < 2


def test_the_costliest_model_stays_within_the_bound(place):
    """Measured from outside, so that what C allocates counts."""
    resource = pytest.importorskip("resource")
    data = hostile.densest(60_000)
    place.write_bytes(data)
    unit = 1 if sys.platform == "darwin" else 1024
    program = (
        "import resource, sys; from crftrain.model.model import load\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert load(sys.argv[1]).active == 60005\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    grown = int(subprocess.run([sys.executable, "-c", program, place], check=True, capture_output=True, text=True).stdout) * unit
    assert resource
    assert grown < BYTES_PER_BYTE * len(data) + BASE


def check_consistent(model):
    layout, vocabulary, n_labels = model.layout, model.vocabulary, len(model.vocabulary.labels)
    names, pair_names = vocabulary.attributes.names(), vocabulary.pair_attributes.names()
    assert len(layout.ptr) == len(names) + 1
    assert len(layout.pair_ptr) == len(pair_names) + 1
    assert layout.ptr[0] == 0
    assert layout.pair_ptr[-1] == len(model.w) == layout.n_features
    assert layout.pair_ptr[0] == layout.ptr[-1] + len(layout.transition)
    assert (np.diff(layout.ptr) > 0).all()
    assert (np.diff(layout.pair_ptr) > 0).all()
    assert 0 <= layout.dense <= len(names)
    for ids, limit in ((layout.node_labels(), n_labels), (layout.transition, n_labels**2), (layout.pair, n_labels**2)):
        assert ids.dtype == np.int32
        assert ((ids >= 0) & (ids < limit)).all()
    assert np.isfinite(model.w).all()
    assert model.w.all()
    for table, all_names in ((vocabulary.attributes, names), (vocabulary.pair_attributes, pair_names)):
        assert [table.get(name) for name in all_names] == list(range(len(all_names)))


@pytest.mark.parametrize("seed", range(4))
def test_fuzz(place, tmp_path, seed):
    """Spoilt contents under right checksums: a ModelError, or a model that holds together and saves."""
    rng, models = random.Random(seed), 0
    for _ in range(1500):
        tag = rng.choice(hostile.TAGS)
        contents = hostile.GOOD | {tag: mutated(rng, hostile.GOOD[tag])}
        if rng.random() < 0.2:
            other = rng.choice(hostile.TAGS)
            contents[other] = mutated(rng, contents[other])
        place.write_bytes(hostile.forge(contents))
        try:
            model = load(place)
        except ModelError:
            continue
        models += 1
        check_consistent(model)
        save(tmp_path / "again.bin", model.vocabulary, model.layout, model.w, model.facts)
        again = load(tmp_path / "again.bin")
        check_consistent(again)
        assert (again.w == model.w).all()
    assert models > 50


def test_fuzz_of_the_header(place):
    rng, good = random.Random(5), hostile.forge(hostile.GOOD)
    start = hostile.HEADER
    for _ in range(1000):
        header = mutated(rng, good[: start - 4])[: start - 4]
        if header != good[: start - 4]:
            place.write_bytes(header + hostile.zlib.crc32(header).to_bytes(4, "little") + good[start:])
            with pytest.raises(ModelError):
                load(place)


def test_a_section_that_need_not_be_known_is_left_out(place):
    place.write_bytes(hostile.forge(hostile.GOOD | {b"more": b"\xff" * 100, b"some": b""}, version=2))
    model = load(place)
    assert model.active == 8 and model.extras == {}


def test_known_sections_come_back_and_make_a_file_of_format_2(place, monkeypatch):
    monkeypatch.setitem(sections.KNOWN, "LGAL", sections.JSON)
    monkeypatch.setitem(sections.KNOWN, "temp", sections.JSON)
    place.write_bytes(hostile.forge(hostile.GOOD))
    model = load(place)
    extras = {"temp": 1.5, "LGAL": {"O": ["B", "é"]}}
    replace(model, extras=extras).save(place)
    assert place.read_bytes()[8] == 2
    again = load(place)
    assert again.extras == extras
    assert (again.w == model.w).all()
    monkeypatch.delitem(sections.KNOWN, "temp")
    assert load(place).extras == {"LGAL": extras["LGAL"]}
    monkeypatch.delitem(sections.KNOWN, "LGAL")
    with pytest.raises(ModelError, match="section LGAL, without which the model means something else, expected a newer crftrain"):
        load(place)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'"\\ud800'])
def test_a_known_section_that_is_damaged(place, monkeypatch, content):
    monkeypatch.setitem(sections.KNOWN, "temp", sections.JSON)
    place.write_bytes(hostile.forge(hostile.GOOD | {b"temp": content}, version=2))
    with pytest.raises(ModelError, match="damaged: section temp: "):
        load(place)
