"""An explanation adds up: to what enumeration of all labellings finds, and to what happens when an attribute is taken away."""

import itertools
import json

import numpy as np
import pytest

from crftrain.model.model import load
from crftrain.tagging.explain import Explainer
from crftrain.tagging.tag import Output, Tagger
from crftrain.text.encode import expand
from crftrain.text.read import sentences
from crftrain.text.template import Template
from crftrain.training.learn import learn

PAIRS = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nU2:%s[1,0,1]\nB\nB1:%x[0,1]\nB2:%x[-1,0]\n"


@pytest.fixture
def model(settings, tmp_path):
    """With attributes on labels, on label pairs and plain transitions."""
    (tmp_path / "template.txt").write_text(PAIRS, encoding="utf-8")
    learn(settings(template=str(tmp_path / "template.txt"), passes=8))
    return load(tmp_path / "model.bin")


@pytest.fixture
def test_sentences(tmp_path):
    """Some with words that training has not seen."""
    text = "w0 c0 B-X\nnew c1 I-X\nw2 c9 O\nw3 c0 B-Y\n\nw1 c1 O\n\nw4 c2 B-X\nw0 c0 I-X\nw1 cx O\n"
    (tmp_path / "test.txt").write_text(text, encoding="utf-8")
    return list(sentences(str(tmp_path / "test.txt")))


def weights(model):
    """(node, plain, pair): {(attribute, label): w}, [i][j], {(attribute, i, j): w}, out of the model's own arrays."""
    v, layout, w, n = model.vocabulary, model.layout, model.w, model.layout.n_labels
    labels = layout.node_labels()
    node = {(name, labels[p]): w[p] for k, name in enumerate(v.attributes.names()) for p in range(layout.ptr[k], layout.ptr[k + 1])}
    plain = np.zeros((n, n))
    for k, pair in enumerate(layout.transition):
        plain[pair // n, pair % n] = w[layout.transitions][k]
    start, pairs = layout.pair_ptr[0], {}
    for k, name in enumerate(v.pair_attributes.names()):
        for p in range(layout.pair_ptr[k], layout.pair_ptr[k + 1]):
            pairs[name, layout.pair[p - start] // n, layout.pair[p - start] % n] = w[p]
    return node, plain, pairs


def by_hand(rows, line, t):
    """The text of a line of PAIRS at token t."""
    cell = lambda k, c: f"_B{k}" if k < 0 else f"_B+{k - len(rows) + 1}" if k >= len(rows) else rows[k][c]  # noqa: E731
    texts = {
        "U0": f"U0:{cell(t, 0)}",
        "U1": f"U1:{cell(t - 1, 0)}/{cell(t, 1)}",
        "U2": f"U2:{cell(t + 1, 0) if t + 1 >= len(rows) else cell(t + 1, 0)[-1:]}",
        "B1": f"B1:{cell(t, 1)}",
        "B2": f"B2:{cell(t - 1, 0)}",
    }
    return texts[line].encode()


def enumerate_scores(model, sentence):
    """{labelling: score} for all labellings, from text alone."""
    node, plain, pairs = weights(model)
    rows = [line.decode().split() for line in sentence.lines]
    scores = {}
    for y in itertools.product(range(model.layout.n_labels), repeat=len(rows)):
        score = sum(node.get((by_hand(rows, line, t), y[t]), 0.0) for t in range(len(rows)) for line in ("U0", "U1", "U2"))
        for t in range(1, len(rows)):
            score += plain[y[t - 1], y[t]]
            score += sum(pairs.get((by_hand(rows, line, t), y[t - 1], y[t]), 0.0) for line in ("B1", "B2"))
        scores[y] = score
    return scores


def test_the_parts_add_up_to_the_margin_that_enumeration_finds(model, test_sentences):
    explainer = Explainer(model)
    looked = explainer.look(test_sentences)
    for s, sentence in enumerate(test_sentences):
        scores = enumerate_scores(model, sentence)
        best = max(scores, key=scores.get)
        for position in range(len(sentence.lines)):
            t = int(looked.seq[s]) + position
            assert looked.labels[t] == best[position]
            for other in range(model.layout.n_labels):
                if other == best[position]:
                    continue
                margin = scores[best] - max(score for y, score in scores.items() if y[position] == other)
                explanation = looked.explain(t, other)
                assert explanation.margin == pytest.approx(margin, abs=1e-9)
                assert sum(explanation.parts) == pytest.approx(margin, abs=1e-9)
                told = explanation.as_json(1)
                shown = sum(a["difference"] for a in told["attributes"]) + told["rest"]
                assert shown + told["other_tokens"] + told["transitions"] + told["pair_attributes"] == pytest.approx(margin, abs=1e-9)


def test_it_is_against_the_gold_label_of_a_wrong_token_else_the_runner_up(model, test_sentences):
    looked = Explainer(model).look(test_sentences)
    gold = [line.split()[2].decode() for sentence in test_sentences for line in sentence.lines]
    wrong = looked.wrong()
    assert wrong == [t for t, label in enumerate(gold) if label != model.vocabulary.labels[looked.labels[t]]]
    for t, label in enumerate(gold):
        explanation = looked.explain(t)
        assert explanation.gold == label
        if t in wrong and label in model.vocabulary.labels:
            assert explanation.against == label
        else:
            others = [other for other in range(model.layout.n_labels) if other != looked.labels[t]]
            margins = {other: looked.explain(t, other).margin for other in others}
            assert explanation.margin == min(margins.values())


def test_attributes_are_those_of_features_and_their_weights_those_of_dump(model, test_sentences, tmp_path):
    node, _, _ = weights(model)
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nU2:%s[1,0,1]\nB", "plain")
    expanded = [line.split(b"\t")[1:] for lines in expand(test_sentences, template) for line in lines]
    looked, labels = Explainer(model).look(test_sentences), model.vocabulary.labels
    for t, names in enumerate(expanded):
        explanation = looked.explain(t)
        assert sorted(a.name for a in explanation.attributes) == sorted(name.decode().replace("\\:", ":") for name in names)
        for a in explanation.attributes:
            assert a.weight == node.get((a.name.encode(), labels.index(explanation.label)), 0.0)
            assert a.against == node.get((a.name.encode(), labels.index(explanation.against)), 0.0)
            assert a.known == any(name == a.name.encode() for name, _ in node)
    assert "U0:new" in looked.explain(1).as_json()["unknown"]


def test_without_an_attribute_the_label_is_the_one_foretold(settings, tmp_path):
    rng = np.random.default_rng(4)
    truth = rng.normal(size=(30, 3))
    blocks = []
    for _ in range(60):
        lines = []
        for _ in range(rng.integers(1, 6)):
            k, values = rng.choice(30, 4, replace=False), rng.choice([1, 1, 0.5, -2], 4)
            y = int(np.argmax(values @ truth[k] + rng.normal(size=3)))
            lines.append("\t".join([f"L{y}", *(f"a{i}" if v == 1 else f"a{i}:{v}" for i, v in zip(k, values, strict=True))]))
        blocks.append(lines)
    path = tmp_path / "items.txt"
    path.write_text("\n\n".join("\n".join(lines) for lines in blocks[:40]) + "\n", encoding="utf-8")
    learn(settings(paths=(str(path),), format="items"))
    model = load(tmp_path / "model.bin")
    path.write_text("\n\n".join("\n".join(lines) for lines in blocks[40:]) + "\n", encoding="utf-8")
    tagger, read, changed = Tagger(model, output=Output(labels_only=True)), list(sentences(str(path))), 0
    looked = Explainer(model).look(read)
    for t in range(len(looked.labels)):
        explanation = looked.explain(t)
        sentence = read[explanation.sequence]
        for attribute in explanation.attributes:
            lines = list(sentence.lines)
            fields = lines[explanation.position].split(b"\t")
            kept = [field for field in fields if field.split(b":")[0] != attribute.name.encode()]
            assert len(kept) == len(fields) - 1
            sentence_without = type(sentence)(
                [*lines[: explanation.position], b"\t".join(kept), *lines[explanation.position + 1 :]], "x", 1
            )
            label = tagger.tag(sentence_without).decode().split("\n")[explanation.position]
            assert label == attribute.without
            changed += label != explanation.label
    assert changed > 10


# ---- the command


@pytest.fixture
def learnt(crftrain, train_file):
    lines = train_file.read_text(encoding="utf-8").replace("w1", "w1'").split("\n")
    (train_file.parent / "test.txt").write_text("\n".join(lines), encoding="utf-8")
    assert crftrain("learn", "-q", "--passes", "2", "train.txt").status == 0
    return crftrain


def test_the_command_explains_all_wrong_tokens(learnt, tmp_path):
    tagged = [line.split() for line in learnt("tag", "model.bin", "test.txt").lines]
    wrong = [k for k, row in enumerate(tagged, 1) if row and row[-1] != row[-2]]
    ended = learnt("explain", "--json", "model.bin", "test.txt")
    told = [json.loads(line) for line in ended.lines]
    assert ended.status == 0 and wrong
    assert [e["place"] for e in told] == [f"test.txt:{k}" for k in wrong]
    assert [(e["gold"], e["label"]) for e in told] == [tuple(tagged[k - 1][-2:]) for k in wrong]
    text = learnt("explain", "model.bin", "test.txt")
    assert sum(line.startswith("test.txt:") for line in text.lines) == len(wrong)


def test_the_command_explains_lines_and_words(learnt):
    (told,) = [json.loads(line) for line in learnt("explain", "--json", "--line", "2", "--top", "0", "model.bin", "test.txt").lines]
    assert told["place"] == "test.txt:2" and told["rest"] == 0
    label = "O" if told["label"] != "O" else "B-X"
    ended = learnt("explain", "--line", "2", "--against", label, "model.bin", "test.txt")
    assert ended.lines[0].startswith("test.txt:2") and f"over {label} by" in ended.lines[1]
    margin = float(ended.lines[1].split(" by ")[1].split(",")[0])
    shown = sum(float(line.split()[0]) for line in ended.lines[2:] if line.startswith("    "))
    assert shown == pytest.approx(margin, abs=2e-3)
    assert learnt("explain", "--word", "w1'", "model.bin", "test.txt").lines
    nothing = learnt("explain", "--line", "100000", "model.bin", "test.txt")
    assert (nothing.status, nothing.out, nothing.err) == (0, b"", "nothing to explain: no such token\n")


def test_what_cannot_be_explained(learnt, tmp_path):
    assert learnt("explain", "--against", "NONE", "model.bin", "test.txt").status == 2
    lines = (tmp_path / "test.txt").read_text(encoding="utf-8").split("\n")
    (tmp_path / "bare.txt").write_text("\n".join(" ".join(line.split()[:2]) for line in lines), encoding="utf-8")
    ended = learnt("explain", "model.bin", "bare.txt")
    assert ended.status == 1 and ended.err.startswith("crftrain: error: bare.txt:1: no gold label")
    assert learnt("explain", "--line", "1", "model.bin", "bare.txt").status == 0


# ---- from Python


def test_from_python_it_says_what_the_command_says(learnt, tmp_path):
    from crftrain import CRF

    crf = CRF.load(tmp_path / "model.bin")
    rows = [line.split() for line in (tmp_path / "test.txt").read_text(encoding="utf-8").split("\n\n")[0].split("\n")]
    told = [json.loads(line) for line in learnt("explain", "--json", "--top", "0", "--line", "1", "model.bin", "test.txt").lines][0]
    found = crf.explain([row[:2] for row in rows], 0, gold=rows[0][2])
    mine = found.as_json()
    for key in ("label", "against", "gold", "margin", "attributes", "unknown", "transitions", "other_tokens"):
        assert mine[key] == told[key], key
    assert mine["place"] == "X[0][0]"


def test_from_python_with_attributes_that_have_values():
    from crftrain import CRF

    rng = np.random.default_rng(3)
    X = [
        [{f"a{k}": float(v) for k, v in zip(rng.choice(9, 3, replace=False), rng.normal(size=3), strict=True)} for _ in range(4)]
        for _ in range(40)
    ]
    y = [["P" if sum(token.values()) > 0 else "N" for token in xseq] for xseq in X]
    crf = CRF().fit(X, y)
    xseq = [*X[0], {"a1": 2.0, "new": 1.0}]
    labels = crf.predict_single(xseq)
    for position in range(len(xseq)):
        found = crf.explain(xseq, position)
        assert found.label == labels[position]
        assert sum(found.parts) == pytest.approx(found.margin, abs=1e-9)
        for attribute in found.attributes:
            without = [dict(token) for token in xseq]
            del without[position][attribute.name]
            assert crf.predict_single(without)[position] == attribute.without
    assert [a.name for a in crf.explain(xseq, -1).attributes if not a.known] == ["new"]
    with pytest.raises(IndexError):
        crf.explain(xseq, 5)
    with pytest.raises(ValueError, match="the label 'Z'"):
        crf.explain(xseq, 0, against="Z")
