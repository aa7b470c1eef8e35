"""The compiled way of plain tagging gives the bytes, and the errors, of the way sentence by sentence."""

import io
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from test_read import Dribble, Stdin

from crftrain import optimizers
from crftrain.errors import DataError
from crftrain.model.model import load
from crftrain.tagging.query import Query
from crftrain.tagging.stream import tag_stream
from crftrain.tagging.tag import Output, Tagger
from crftrain.text.read import blocks, runs
from crftrain.training.learn import learn
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength

TEMPLATES = {
    "windows": "U0:%x[-2,0]\nU1:%x[0,0]\nU2:%x[1,0]\nU3:%x[-1,0]/%x[0,0]\nU4:%x[0,0]/%x[1,0]\nU5:%x[-1,1]/%x[0,1]/%x[1,1]\nB\n",
    "functions": 'U0:%l[0,0]\nU1:%s[0,0,1]\nU2:%p[-1,0,1]/%x[0,0]\nU3:%w[0,0,1]/%w[1,0,1]\nU4:%w[0,0]%s[0,0,2]\nU5:%t[0,0,"c"]\nB\n',
    "places": "U0:%x[@1,0]\nU1:%x[@-1,0]/%x[0,0]\nU2:%x[-70,0]\nU3:%x[70,0]/%x[0,1]\nU4:bias\nU5:%x[900000000,0]\nU6:%x[0,0]\nU6:%x[0,0]\n",
    "wapiti": '#dialect wapiti\nu0:%x[-6,0]\nu1:%x[0,0]\nu2:%X[-1,0]/%t[1,0,"^\\u"]\nu3:%m[-1,0,"..$"]/%x[0,0]\nb\n',
    "one line": "U0:%x[0,0]\n",
}


@pytest.fixture(scope="module", params=sorted(TEMPLATES))
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    lines = [f"w{7 * k % 11} c{k % 5} {'ABC'[(k * k + k // 3) % 3]}" + "\n" * (k % 6 == 5) for k in range(240)]
    (folder / "train").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "template").write_text(TEMPLATES[request.param], encoding="utf-8")
    lbfgs = optimizers.get("lbfgs")
    how = {"algorithm": lbfgs, "options": lbfgs.defaults(), "lambdas": (Strength(1.0, True),), "l1s": (Strength(0.0),), "passes": 4}
    learn(Settings(paths=(str(folder / "train"),), template=str(folder / "template"), model=str(folder / "model"), **how))
    return load(folder / "model")


NUMBER = re.compile(rb"(?<=:)[01]\.[0-9]{6}|(?<=^@probability\t)[0-9.e-]+", re.MULTILINE)
SURE = [{}, {"score": True}, {"marginals": "best"}, {"score": True, "marginals": "all"}]


def alike(one, other):
    """Whether (text, errors) are the same but for the last digit of probabilities."""
    texts = [text for text, _ in (one, other)]
    numbers = [np.array([float(number) for number in NUMBER.findall(text)]) for text in texts]
    same = len({NUMBER.sub(b"p", text) for text in texts}) == 1 and one[1] == other[1]
    return same and np.allclose(*numbers, rtol=1.01e-5, atol=1.01e-6)


def through(model, data, *, sizes=(1 << 16,), slow=False, threads=1, on_error="stop", **output):
    """(what is written, the errors)"""
    tagger, out, told = Tagger(model, output=Output(**output)), [], []
    assert tagger.plain
    before, sys.stdin = sys.stdin, Stdin(Dribble(data, list(sizes)))
    read = blocks if slow else runs
    try:
        stream = read("-", checked=on_error == "stop")
        tag_stream(tagger, stream, out.append, threads=threads, on_error=on_error, tell=lambda error: told.append(str(error)))
    except DataError as error:
        told.append(str(error))
    finally:
        sys.stdin = before
    return b"".join(out), told


PIECES = ["w1 c1 A", "w2 c2", "w3\tc4\tB", " w4  c0 ", "w5 \t c1\t", "é漢 c1", "w1 c1 A x", "w", "w10 c3 C", "_B-1 c1 A", "\vw c"]
ENDS = ["\n", "\n", "\n", "\r\n", "\n\n", "\n\n", "\n \t\n", "\r\r\n\n", "\n\v\n", ""]
ODD = [b"\xff", b"\0", b"\xef\xbb\xbf", b"\xe6\xbc", b"\n\n\n", b"\r"]
LINES = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)).map("".join), max_size=12)
TEXTS = st.tuples(LINES, st.lists(st.tuples(st.integers(0, 60), st.sampled_from(ODD)), max_size=2))


def made(text):
    """Lines with odd bytes put into them."""
    lines, odd = text
    data = "".join(lines).encode()
    for at, what in odd:
        data = data[:at] + what + data[at:]
    return data


@given(
    text=TEXTS,
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    on_error=st.sampled_from(["stop", "skip", "keep"]),
    labels=st.booleans(),
    sure=st.sampled_from(SURE),
)
@examples(max_examples=100, deadline=None)
def test_odd_input_gives_the_bytes_and_the_errors_of_the_slow_way(model, text, sizes, on_error, labels, sure):
    data, how = made(text), {"on_error": on_error, "labels_only": labels and on_error != "keep", **sure}
    found = through(model, data, **how)
    assert alike(found, through(model, data, slow=True, **how))
    assert through(model, data, sizes=sizes, **how) == found


GOOD = "".join(f"w{k * k % 13} c{k % 5} A\n" + "\n" * (k * k % 7 == 4) for k in range(3000)).encode()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [7, 1000, 1 << 20])
def test_neither_threads_nor_cuts_change_anything(model, threads, size):
    assert through(model, GOOD, sizes=[size], threads=threads) == through(model, GOOD, slow=True)


@pytest.mark.parametrize("sure", SURE)
@pytest.mark.parametrize("size", [70, 1 << 20])
def test_a_sentence_that_is_odd_changes_nothing_of_those_around_it(model, sure, size):
    data, how = GOOD[:3000] + b"\nw\n\n" + GOOD, {"on_error": "skip", **sure}
    text, errors = through(model, data, sizes=[size], **how)
    assert text == through(model, GOOD[:3000], **how)[0] + through(model, GOOD, **how)[0] and len(errors) == 1


@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("sure", SURE)
def test_probabilities_are_those_of_the_slow_way(model, sure, temperature):
    calibrated = replace(model, extras={"temp": {"temperature": temperature}})
    for sharp in (1, 1e3, 1e6):  # the last in the log domain
        wild = replace(calibrated, w=model.w * sharp)
        found = through(wild, GOOD, sizes=[1000], **sure)
        assert alike(found, through(wild, GOOD, slow=True, **sure)) and not found[1]
        assert through(wild, GOOD, threads=3, **sure) == found


def test_the_probabilities_of_a_tokens_labels_add_up_to_one(model):
    text, _ = through(model, GOOD, labels_only=True, marginals="all")
    rows = [[float(number) for number in NUMBER.findall(line)] for line in text.split(b"\n") if line]
    assert all(row[0] in row[1:] for row in rows)
    assert np.allclose([sum(row[1:]) for row in rows], 1, atol=3e-6)


def test_tables_that_start_anew_change_nothing(model):
    many = "".join(f"v{k} c{k % 5} A\n" + "\n" * (k % 11 == 10) for k in range(11 * 13_636)).encode() + GOOD
    (text, errors), (again, _) = through(model, many), through(model, GOOD)
    assert text.endswith(again) and not errors


def test_only_what_is_plain_goes_the_compiled_way(model):
    queries = {"query": Query(n=2)}, {"query": Query(posterior=True)}
    for asked in (*queries, {"known": True}, {"confidence": 0.5}, {"writer": lambda *_: b""}):
        assert not Tagger(model, output=Output(**asked)).plain
    assert not Tagger(model, encoding="latin-1").plain


@pytest.mark.parametrize("sure", SURE)
def test_scores_beyond_floating_point_are_told_as_before(model, sure):
    wild = replace(model, w=np.sign(model.w) * 1e308)
    text, errors = through(wild, GOOD, **sure)
    assert (text, errors) == through(wild, GOOD, slow=True, **sure) and len(errors) == 1


def test_a_sentence_is_written_before_the_next_one_arrives(model):
    out, seen = [], []

    class Waiting(io.RawIOBase):
        lines = [b"w1 c1\n", b"w2 c2\n", b"\n", b"w3 c1\n", b"\n"]

        def read1(self, size=-1):
            seen.append(len(out))
            return self.lines.pop(0)[: size if size > 1 else None] if self.lines else b""

    before, sys.stdin = sys.stdin, Stdin(Waiting())
    try:
        tag_stream(Tagger(model), runs("-"), out.append)
    finally:
        sys.stdin = before
    assert seen[-3:] == [1, 1, 2]
