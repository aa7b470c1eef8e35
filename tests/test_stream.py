"""Streams: one pass in order, whatever the chunks and however names arrive; models on the way and when interrupted; flat memory."""

import gzip
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import problems
import pytest
from test_warmstart import MACROS, by_name

from crftrain import optimizers
from crftrain.chain import layout
from crftrain.chain._problem import Problem
from crftrain.chain.layout import Resizing, complete
from crftrain.errors import DataError
from crftrain.model import model
from crftrain.text.encode import read_corpus
from crftrain.text.template import Template
from crftrain.training import stream
from crftrain.training.strength import Strength

STREAMS = [name for name in optimizers.names() if optimizers.get(name).streams]
ALL_LABELS = "w1 c1 I-X\nw2 c2 O\nw0 c0 B-X\n\n"
OWN = {"psa": [{"gamma": "2"}], "sgd": [{"average_from": 1}]}
CASES = [(name, options) for name in STREAMS for options in ({}, {"batch": 4}, *OWN.get(name, []))]


class InOrder:
    """A generator that permutes nothing."""

    permutation = staticmethod(np.arange)


def options_of(name, **changes):
    return {**optimizers.get(name).defaults(), "eta": 0.1, **changes}


@pytest.fixture
def run(settings, tmp_path):
    """run(name, text, ...) -> the Model of a stream."""

    def learn(name, text, *, save_every=1000, n_hint=None, options=None, **changes):
        (tmp_path / "stream.txt").write_text(text)
        paths = changes.pop("paths", (str(tmp_path / "stream.txt"),))
        asked = settings(name, paths=paths, options=options_of(name, **(options or {})), **{"lambdas": (Strength(0.01),), **changes})
        stream.learn_stream(replace(asked, stream=True, save_every=save_every, n_hint=n_hint))
        return model.load(tmp_path / "model.bin")

    return learn


@pytest.mark.parametrize("name, options", CASES, ids=str)
@pytest.mark.parametrize("template", ["U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n", MACROS, "U:%x[0,1]\n"])
@pytest.mark.parametrize("chunk, room", [(100, 4096), (3, 2)], ids=["one chunk", "many chunks"])
def test_a_stream_is_one_pass_in_order_in_memory(run, tmp_path, monkeypatch, name, options, template, chunk, room):
    """With weights for all pairs, and the labels known from the first sentence on."""
    monkeypatch.setattr(stream, "CHUNK", chunk)
    monkeypatch.setattr(stream, "ROOM", room)
    (tmp_path / "template.txt").write_text(template)
    found = run(name, ALL_LABELS + problems.text(3, sentences=59), template=str(tmp_path / "template.txt"), options=options)
    corpus, vocabulary = read_corpus([str(tmp_path / "stream.txt")], template=Template.parse(template, "t"))
    full = layout.arrange(corpus, vocabulary, features="full")
    opt = optimizers.get(name).make(Problem(corpus, full, l2=0.01), np.zeros(full.n_features), InOrder(), **options_of(name, **options))
    opt.step()
    w = opt.solution()
    assert found.vocabulary.labels == vocabulary.labels
    assert found.facts["n_sequences"] == corpus.n_sequences == 60
    assert found.facts["n_tokens"] == corpus.n_tokens
    expected, got = by_name(vocabulary, full, w), by_name(found.vocabulary, found.layout, found.w)
    assert got.keys() <= expected.keys()
    assert max(abs(got.get(key, 0) - value) for key, value in expected.items()) < 1e-6 * np.abs(w).max()


@pytest.mark.parametrize("name", STREAMS)
def test_labels_and_attributes_may_come_at_any_time(run, monkeypatch, name):
    monkeypatch.setattr(stream, "CHUNK", 5)
    monkeypatch.setattr(stream, "ROOM", 3)
    later = problems.text(2, words=40, labels=tuple("ABCDEFGHIJ"))
    found = run(name, problems.text(1) + later, template="chunk")
    assert found.vocabulary.labels[-3:] == list(dict.fromkeys(line.split()[2] for line in later.split("\n") if line))[-3:]
    assert len(found.vocabulary.labels) == 13
    assert np.isfinite(found.w).all()
    again = run(name, problems.text(1) + later, template="chunk")
    assert again.w.tobytes() == found.w.tobytes()


@pytest.mark.parametrize("transitions", [True, False])
def test_resizing_keeps_what_belongs_to_a_name(transitions):
    """Weights by (attribute, label) and (label, label), blocks by attribute; the rest is filled."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        before = rng.integers(1, 5, 3)
        after = before + rng.integers(0, 3, 3)
        old, new = (complete(*map(int, sizes), transitions=transitions) for sizes in (before, after))
        for first, second in ((old, new), (new, old)):
            x = rng.normal(size=first.n_features)
            y = Resizing(first, second).weights(x, fill=7.0)
            known = places(first, x)
            assert places(second, y) == {place: known.get(place, 7.0) for place in places(second, y)}
        blocks = rng.normal(size=old.n_blocks)
        moved = Resizing(old, new).blocks(blocks, fill=7.0)
        (a, p), (a2, p2) = ((made.n_attributes, len(made.pair_ptr) - 1) for made in (old, new))
        assert moved.tolist() == [*blocks[:a], *[7.0] * (a2 - a), *blocks[a : a + p], *[7.0] * (p2 - p), blocks[-1]]
        assert (moved[Resizing(old, new).ids(np.arange(old.n_blocks))] == blocks).all()


def places(made, w):
    """{where a weight is in terms of names: the weight}."""
    n = made.n_labels
    nodes = {(p // n, p % n): w[p] for p in range(made.ptr[-1])}
    edges = {("edge", pair // n, pair % n): w[made.transitions][k] for k, pair in enumerate(made.transition.tolist())}
    pairs = enumerate(made.pair.tolist())
    return nodes | edges | {("pair", k // (n * n), pair // n, pair % n): w[made.pair_ptr[0] + k] for k, pair in pairs}


@pytest.mark.parametrize("chunk", [10, 100])
def test_a_broken_stream_leaves_the_model_of_what_came_before(run, settings, tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(stream, "CHUNK", chunk)
    text = problems.text(1, sentences=40)
    with pytest.raises(DataError, match=rf"stream.txt:{text.count(chr(10)) + 2}: 2 columns, expected 3 as on line 1"):
        run(STREAMS[0], text + "w1 c1 O\nw1 c1\n\n")
    broken = model.load(tmp_path / "model.bin")
    assert broken.facts["n_sequences"] == 40
    assert broken.w.tobytes() == run(STREAMS[0], text).w.tobytes()


def test_of_a_broken_sentence_nothing_is_learnt(run, tmp_path):
    """Items are added line by line: those before the fault are forgotten."""
    text = "A\tx\ty\nB\tx:2\n\n" * 7
    with pytest.raises(DataError, match=r"stream.txt:23: value 'no' of attribute 'y', expected a finite number"):
        run(STREAMS[0], text + "A\ty\nB\tx:3\ty:no\n", format="items")
    broken = model.load(tmp_path / "model.bin")
    assert (broken.facts["n_sequences"], broken.facts["n_tokens"]) == (7, 14)
    assert broken.w.tobytes() == run(STREAMS[0], text, format="items").w.tobytes()


def test_a_compressed_stream_that_breaks_off_keeps_what_came(crftrain, tmp_path):
    packed = gzip.compress(problems.text(1, sentences=400).encode())
    args = ("learn", "-a", STREAMS[0], "--stream", "--lambda", "0.01", "-")
    assert crftrain(*args, input=packed).status == 0
    assert model.load(tmp_path / "model.bin").facts["n_sequences"] == 400
    broken = crftrain(*args, input=packed[:-9])
    assert broken.status == 1 and "<stdin>: truncated gzip data, expected a whole archive" in broken.err
    assert model.load(tmp_path / "model.bin").facts["n_sequences"] > 300
    assert "<stdin>: no sentences" in crftrain(*args, input=b"\n\n").err


def test_the_command(crftrain, tmp_path):
    name, text = STREAMS[0], problems.text(1)
    for args, said in (
        (("-a", name, "--stream"), "--lambda 1/n of a stream needs --n-hint N"),
        (("-a", "lbfgs", "--stream"), f"lbfgs cannot learn from a stream; these can: {', '.join(STREAMS)}"),
        (("-a", name, "--stream", "--lambda", "1", "--dev", "x"), "--dev is not for a stream"),
        (("-a", name, "--stream", "--lambda", "1,2"), "a stream takes one strength"),
        (("--save-every", "9"), "--save-every needs --stream"),
        (("--n-hint", "9"), "--n-hint needs --stream"),
    ):
        refused = crftrain("learn", *args, "-", input=text.encode())
        assert refused.status == 2 and said in refused.err
    assert crftrain("learn", "-a", name, "--stream", "--lambda", "0", "-").status == 1
    assert not (tmp_path / "model.bin").exists()
    done = crftrain("learn", "-a", name, "--stream", "--n-hint", 50, "--log", "log.jsonl", "-", input=text.encode())
    assert done.status == 0 and "end of the stream: 40 sequences" in done.err
    facts = model.load(tmp_path / "model.bin").facts
    assert (facts["lambda"], facts["n_sequences"], facts["reason"]) == (0.02, 40, "end of the stream")
    assert [line.split('"')[3] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == ["start", "step", "end"]
    assert crftrain("update", "-q", "-a", name, "model.bin", "-", input=text.encode()).status == 0
    assert model.load(tmp_path / "model.bin").facts["n_learnt"] == 80


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_stream_that_waits_and_all_that_came_is_learnt(process, crftrain, tmp_path, number):
    """Models are written on the way, too."""
    text = problems.text(1, sentences=37)
    run = process("learn", "-a", STREAMS[0], "--stream", "--lambda", "0.01", "--save-every", "20", "-")
    run.stdin.write(text.encode())
    run.stdin.flush()
    waited = time.monotonic() + 20
    while not (tmp_path / "model.bin").exists() and time.monotonic() < waited:
        time.sleep(0.02)
    assert model.load(tmp_path / "model.bin").facts["n_sequences"] == 20
    time.sleep(0.2)
    run.send_signal(number)
    assert run.wait(20) == 128 + number
    found = model.load(tmp_path / "model.bin")
    assert (found.facts["n_sequences"], found.facts["reason"]) == (37, "interrupted")
    assert crftrain("tag", "model.bin", "-", input=text.encode()).status == 0


def test_a_signal_before_the_first_sentence_writes_nothing(process, tmp_path):
    run = process("learn", "-a", STREAMS[0], "--stream", "--lambda", "0.01", "-")
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    assert run.wait(20) == 130
    assert not (tmp_path / "model.bin").exists()


def test_memory_does_not_grow_with_the_sentences(tmp_path):
    """The peak of a stream that is twenty times as long, with the same attributes."""
    code = (
        "import sys, resource; from crftrain.cli import main as cli\n"
        "try: cli.main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    text, peaks = problems.text(1, sentences=1000, words=200), []
    for repeated in (1, 20):
        args = ["learn", "-a", STREAMS[0], "--stream", "--lambda", "0.01", "-q", "-m", str(tmp_path / "m.bin"), "-"]
        done = subprocess.run([sys.executable, "-c", code, *args], input=(text * repeated).encode(), capture_output=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 2000  # of about 60,000 kB
