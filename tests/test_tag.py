"""What comes out is what went in with a label to each line, in order, sentence by sentence, whatever the input looks like."""

import threading
import time

import numpy as np
import problems
import pytest

from crftrain.errors import DataError
from crftrain.model.model import load
from crftrain.tagging import stream as tagging
from crftrain.tagging.stream import tag_stream
from crftrain.tagging.tag import Output, Tagger
from crftrain.text.read import Sentence, sentences
from crftrain.training.heldout import HeldOutData
from crftrain.training.learn import learn


@pytest.fixture
def model(settings, tmp_path):
    learn(settings())
    return load(tmp_path / "model.bin")


@pytest.fixture
def items_model(settings, tmp_path):
    """Of `label TAB word TAB value` items."""
    lines = ["X\tw1\tsize:0.5", "Y\tw2\tsize:-1", "", "Y\tw2", "X\tw1\tsize:2", "Y\tw2", ""]
    (tmp_path / "items").write_text("\n".join(lines * 5), encoding="utf-8")
    learn(settings(paths=(str(tmp_path / "items"),), format="items"))
    return load(tmp_path / "model.bin")


def sentence(text, source="test"):
    return Sentence([line.encode() for line in text.split("\n")], source, 1)


def tagged(model, text, **options):
    """The lines of the output for one sentence."""
    output = Output(**{key: options.pop(key) for key in list(options) if key in Output.__dataclass_fields__})
    out = Tagger(model, output=output, **options).tag(sentence(text)).decode()
    assert out.endswith("\n\n")
    return out[:-2].split("\n")


# ---- lines


@pytest.mark.parametrize(
    "text, separator",
    [("w0 c0\nw1 c1", " "), ("w0\tc0\nw1\tc1", "\t"), ("w0  c0\nw1   c1", " "), ("w0\tc0 \nw1 \tc1", "\t"), ("w0 c0 \nw1 c1\t", " ")],
)
def test_the_label_is_appended_by_the_lines_own_separator(model, text, separator):
    lines = tagged(model, text)
    for line, before in zip(lines, text.split("\n"), strict=True):
        start = before.rstrip(" \t") + separator
        assert line.startswith(start)
        assert line[len(start) :] in model.vocabulary.labels


def test_gold_labels_stay_where_they_are_and_change_nothing(model):
    bare = tagged(model, "w0 c0\nw1 c1\nw2 c2")
    gold = tagged(model, "w0 c0 B-X\nw1 c1 NEVER-SEEN\nw2 c2 O")
    assert [line.split()[-1] for line in bare] == [line.split()[-1] for line in gold]
    assert [line.split()[:3] for line in gold] == [["w0", "c0", "B-X"], ["w1", "c1", "NEVER-SEEN"], ["w2", "c2", "O"]]


def test_one_column_beside_the_label_has_no_separator_of_its_own(settings, tmp_path):
    (tmp_path / "chars.txt").write_text("a B\nb E\n\na S\n\n" * 4, encoding="utf-8")
    learn(settings(paths=(str(tmp_path / "chars.txt"),)))
    lines = tagged(load(tmp_path / "model.bin"), "a\nb")
    assert [line.split("\t")[0] for line in lines] == ["a", "b"]


def test_the_wrong_number_of_columns_is_an_error_with_its_place(model):
    for text, finding in (("w0", "1 column"), ("w0 c0 O more", "4 columns")):
        with pytest.raises(DataError, match=rf"test:1: {finding}, expected 3 with the label, or 2 without it"):
            tagged(model, text)
    with pytest.raises(DataError, match="test:2"):
        tagged(model, "w0 c0 O\nw0 c0")


def test_labels_only(model):
    whole = [line.split()[-1] for line in tagged(model, "w0 c0\nw1 c1\nw2 c2")]
    assert tagged(model, "w0 c0\nw1 c1\nw2 c2", labels_only=True) == whole


def test_what_was_never_seen_is_tagged_too(model):
    assert len(tagged(model, "never seen")) == 1


def test_other_encodings_come_out_as_they_went_in(settings, tmp_path):
    text = "café x ROUGE-É\nthé x O\n\n" * 3
    (tmp_path / "latin.txt").write_bytes(text.encode("latin-1"))
    learn(settings(paths=(str(tmp_path / "latin.txt"),), encoding="latin-1"))
    tagger = Tagger(load(tmp_path / "model.bin"), encoding="latin-1")
    out = b"".join(tagger.tag(one) for one in sentences(str(tmp_path / "latin.txt"), encoding="latin-1"))
    assert out.decode("latin-1") == "café x ROUGE-É ROUGE-É\nthé x O O\n\n" * 3


# ---- items


def test_items_with_gold_labels(items_model):
    assert tagged(items_model, "X\tw1\nY\tw2") == ["X\tX", "Y\tY"]
    assert tagged(items_model, "X\tw1\nNEW\tw2") == ["X\tX", "NEW\tY"]  # the first line decides


def test_unlabelled_items_keep_their_first_attribute(items_model):
    """CRFsuite takes it for the label (peers, 6)."""
    assert tagged(items_model, "w1\tsize:0.5\nw2") == ["X", "Y"]
    assert tagged(items_model, "w2\tother\nw1") == tagged(items_model, "Y\tw2\tother\nX\tw1", labels_only=True)


def test_gold_can_be_said_where_it_cannot_be_told(items_model):
    assert tagged(items_model, "X\tw2", gold="auto") == ["X\tY"]
    assert tagged(items_model, "X\tw2", gold="no") == ["Y"]  # X is an attribute, an unknown one
    assert tagged(items_model, "NEW\tw2", gold="yes") == ["NEW\tY"]


def test_items_that_are_empty_have_a_label_too(items_model):
    assert tagged(items_model, "X\nY\tw2", gold="yes")[0].startswith("X\t")


# ---- probabilities


def test_marginals_of_the_best_label(model):
    plain = tagged(model, "w0 c0\nw1 c1\nw2 c2")
    for line, other in zip(tagged(model, "w0 c0\nw1 c1\nw2 c2", marginals="best"), plain, strict=True):
        label, probability = line.rsplit(" ", 1)[1].rsplit(":", 1)
        assert label == other.split()[-1]
        assert 0 <= float(probability) <= 1
        assert len(probability) == 8


def test_marginals_of_all_labels_sum_to_one(model):
    for line in tagged(model, "w0 c0\nw1 c1\nw2 c2", marginals="all"):
        first, *others = line.rsplit(" ", 1)[1].split("\t")
        all_of_them = dict(one.rsplit(":", 1) for one in others)
        assert list(all_of_them) == model.vocabulary.labels
        assert sum(map(float, all_of_them.values())) == pytest.approx(1, abs=2e-6)
        label, probability = first.rsplit(":", 1)
        assert all_of_them[label] == probability


def test_the_score_is_the_probability_of_the_labelling(model):
    """For one token it is the marginal of the best label, up to its digits."""
    first, line = tagged(model, "w0 c0", score=True, marginals="best")
    name, probability = first.split("\t")
    assert name == "@probability"
    assert float(probability) == pytest.approx(float(line.rsplit(":", 1)[1]), abs=1e-6)
    longer = tagged(model, "w0 c0\nw1 c1\nw2 c2", score=True)
    assert len(longer) == 4
    assert 0 < float(longer[0].split("\t")[1]) <= 1
    assert tagged(model, "w0 c0\nw1 c1\nw2 c2") == longer[1:]


def test_marginals_and_score_agree_with_the_decoder(model):
    text = "w0 c0\nw7 c2\nw2 c2\nw11 c1"
    tagger = Tagger(model)
    corpus = tagger.encoder.sentence(sentence(text))
    made = problems.Instance(corpus, model.vocabulary, model.layout)
    best, log_p, p = made.decode(model.w, probabilities=True, marginals=True)
    lines = tagged(model, text, score=True, marginals="best")
    assert float(lines[0].split("\t")[1]) == pytest.approx(np.exp(log_p[0]), rel=1e-5)
    for line, label, own in zip(lines[1:], best, p, strict=True):
        assert line.endswith(f"{model.vocabulary.labels[label]}:{own[label]:.6f}")


# ---- streams


def numbered(count):
    """Sentences of different lengths, whose first words say their numbers."""
    for k in range(count):
        yield Sentence([b"n%d c0" % k] + [b"w%d c%d" % (j, j % 5) for j in range(k * 7 % 23)], "test", 1)


def one_by_one(stream):
    """As if each sentence had arrived alone."""
    return ([one] for one in stream)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_order_is_kept(model, threads):
    out = []
    tag_stream(Tagger(model), one_by_one(numbered(500)), out.append, threads=threads)
    assert [text.split(b" ")[0] for text in out] == [b"n%d" % k for k in range(500)]
    alone = Tagger(model)
    assert out == [alone.tag(one) for one in numbered(500)]


@pytest.mark.parametrize("threads", [1, 3])
def test_each_sentence_comes_out_before_the_next_one_goes_in(model, threads):
    out, arrived = [], threading.Event()

    def write(text):
        out.append(text)
        arrived.set()

    def stream():
        for k, one in enumerate(numbered(5)):
            yield one
            assert arrived.wait(5), "no output while the input waits"
            arrived.clear()
            assert len(out) == k + 1

    tag_stream(Tagger(model), one_by_one(stream()), write, threads=threads)
    assert len(out) == 5


def test_the_input_is_not_held_in_memory(model):
    """Where nobody reads, what waits is bounded."""
    taken = []

    def stream():
        for one in numbered(3000):
            taken.append(one)
            yield one

    gate = threading.Event()

    def write(text):
        gate.wait(5)

    worker = threading.Thread(target=tag_stream, args=(Tagger(model), one_by_one(stream()), write), kwargs={"threads": 2})
    worker.start()
    deadline = time.monotonic() + 5
    while len(taken) < 2 * tagging.WAITING and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    assert len(taken) <= 2 * tagging.WAITING + 4
    gate.set()
    worker.join(20)
    assert len(taken) == 3000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_sentence_ends_the_stream_after_those_before_it(model, threads):
    def stream():
        yield from numbered(30)
        yield sentence("one two three four", "bad")
        yield from numbered(1000)

    out = []
    with pytest.raises(DataError, match="bad:1"):
        tag_stream(Tagger(model), one_by_one(stream()), out.append, threads=threads)
    assert len(out) == 30


@pytest.mark.parametrize("threads", [1, 2])
def test_an_input_that_breaks_off_is_an_error_after_what_came(model, threads):
    def stream():
        yield from numbered(30)
        raise DataError("input:7", "broken")

    out = []
    with pytest.raises(DataError, match="input:7: broken"):
        tag_stream(Tagger(model), one_by_one(stream()), out.append, threads=threads)
    assert len(out) == 30


@pytest.mark.parametrize("threads", [1, 2])
def test_an_output_that_is_closed_ends_the_stream(model, threads):
    out = []

    def write(text):
        if len(out) == 10:
            raise BrokenPipeError
        out.append(text)

    def endless():
        while True:
            yield from numbered(100)

    with pytest.raises(BrokenPipeError):
        tag_stream(Tagger(model), one_by_one(endless()), write, threads=threads)
    assert len(out) == 10


OUTPUTS = [Output(), Output(score=True), Output(labels_only=True, score=True), Output(marginals="all")]


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_however_sentences_arrive_the_output_is_that_of_each_alone(model, monkeypatch, output, threads):
    monkeypatch.setattr(tagging, "PIECE", 40)
    many, alone, out = list(numbered(300)), Tagger(model, output=output), []
    blocks = [many[:1], many[1:200], [], many[200:]]
    assert tag_stream(Tagger(model, output=output), blocks, out.append, threads=threads) == 0
    assert b"".join(out) == b"".join(alone.tag(one) for one in many)
    assert len(out) > 50


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad", ["one two three four", "n\udcff c1", "n\0 c1"])
def test_a_bad_sentence_may_be_skipped_or_kept(model, threads, bad):
    bad = Sentence([b"good c1", *bad.encode(errors="surrogateescape").split(b"\n")], "bad", 1)
    many = list(numbered(20))
    blocks, tagger = [[bad], [*many[:5], bad, *many[5:10], bad], many[10:]], Tagger(model)
    tagged = [tagger.tag(one) for one in many]
    as_it_came = b"\n".join([*bad.lines, b"", b""])
    expected = {"skip": tagged, "keep": [as_it_came, *tagged[:5], as_it_came, *tagged[5:10], as_it_came, *tagged[10:]]}
    for on_error, output in expected.items():
        out, told = [], []
        assert tag_stream(tagger, blocks, out.append, threads=threads, on_error=on_error, tell=told.append) == 3
        assert b"".join(out) == b"".join(output)
        assert [error.place for error in told] == ["bad:2"] * 3


def test_an_empty_stream(model):
    out = []
    for threads in (1, 2):
        tag_stream(Tagger(model), iter(()), out.append, threads=threads)
    assert out == []


# ---- scores during training


@pytest.mark.parametrize("threads", [1, 2, 40])
def test_held_out_data_are_scored_by_right_labels(threads):
    """Also with more threads than sequences."""
    made = problems.larger(sequences=15)
    w, labels = made.weights(1), made.vocabulary.labels
    right = (made.decode(w)[0] == made.corpus.label).mean()
    heldout = HeldOutData(made.corpus, [labels[j] for j in made.corpus.label], labels)
    score = heldout.scorer(made.layout, threads=threads)
    assert score(w)[1] == pytest.approx({"accuracy": 100 * right, "likelihood": -made.problem().value(w)})
    assert score(w) == heldout.scorer(made.layout)(w)


def test_held_out_data_are_scored_as_tag_and_eval_would(model, train_file):
    heldout = HeldOutData.read(str(train_file), model.vocabulary)
    score, shown = heldout.scorer(model.layout)(model.w)
    tagger = Tagger(model)
    rows = [line.split() for one in sentences(str(train_file)) for line in tagger.tag(one).decode().split("\n")[:-2]]
    assert shown["accuracy"] == pytest.approx(100 * np.mean([row[-1] == row[-2] for row in rows]))
    assert score == shown["f1"]
