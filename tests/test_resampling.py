"""Intervals and tests: those of brute force, within what chance allows; counts by sequence are those of the whole, apart."""

import itertools
import json
import math

import numpy as np
import pytest

from crftrain.report import intervals, resampling
from crftrain.report.resampling import accuracy, bootstrap, compare, f1, interval, mcnemar
from crftrain.report.worst import worst
from crftrain.tagging.evaluate import Evaluation
from crftrain.tagging.mistakes import counts, mistakes

LABELS = ["B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "O", "."]


def evaluations(seed, n=40, labels=LABELS, models=1, noise=0.3):
    """(sequences, Evaluations of so many taggings with random mistakes)."""
    rng = np.random.default_rng(seed)
    found = [Evaluation(chunks=True) for _ in range(models)]
    sequences = []
    for _ in range(n):
        gold = rng.choice(labels, rng.integers(1, 9)).tolist()
        tagged = [[label if rng.random() > noise else rng.choice(labels) for label in gold] for _ in found]
        for evaluation, predicted in zip(found, tagged, strict=True):
            evaluation.add(gold, predicted)
        sequences.append((gold, tagged))
    return sequences, found


# ---- counts


@pytest.mark.parametrize("seed", range(8))
def test_counts_by_sequence_are_those_of_the_sequences_alone(seed):
    sequences, (evaluation,) = evaluations(seed)
    by = evaluation.by_sequence()
    alone = []
    for gold, (predicted,) in sequences:
        one = Evaluation(chunks=True)
        one.add(gold, predicted)
        alone.append(one)
    row = lambda score: [score.gold, score.found, score.correct]  # noqa: E731
    assert by.chunks().tolist() == [row(one.chunk) for one in alone]
    assert by.tokens[:, 0].tolist() == [one.n_tokens for one in alone]
    assert (100 * by.tokens[:, 1] / by.tokens[:, 0]).tolist() == pytest.approx([one.accuracy for one in alone])
    for kind, score in evaluation.types.items():
        assert by.chunks(by.kinds.index(kind)).sum(axis=0).tolist() == row(score)
    for label, score in evaluation.labels.items():
        assert by.label(by.names.index(label)).sum(axis=0).tolist() == row(score)


@pytest.mark.parametrize("seed", range(8))
def test_mistakes_account_for_every_wrong_chunk(seed):
    _, (evaluation,) = evaluations(seed)
    found = mistakes(evaluation)
    chunk = evaluation.chunk
    assert sum(m.gold is not None for m in found) == chunk.gold - chunk.correct
    assert sum(m.found is not None for m in found) == chunk.found - chunk.correct
    for m in found:
        if m.kind == "type":
            assert m.gold[:2] == m.found[:2] and m.gold[2] != m.found[2]
        elif m.kind == "boundary":
            assert m.gold[:2] != m.found[:2] and m.gold[2] == m.found[2]
        elif m.kind == "type and boundary":
            assert m.gold[:2] != m.found[:2] and m.gold[2] != m.found[2]
        if m.gold and m.found:
            assert min(m.gold[1], m.found[1]) > max(m.gold[0], m.found[0])


def test_a_chunk_ends_with_its_sequence_whatever_its_tags():
    evaluation = Evaluation(chunks=True)
    for gold in (["B-X", "odd"], ["odd", "B-X", "["], ["B-X", "[NP"]):
        evaluation.add(gold, ["O"] * len(gold))
    by = evaluation.by_sequence()
    assert (by.gold_spans[1] <= np.repeat([2, 6, 9], [2, 2, 2])).all()
    assert all(m.kind == "missed" for m in mistakes(evaluation))


def test_kinds_of_mistakes_one_by_one():
    evaluation = Evaluation()
    evaluation.add(["B-X", "I-X", "O", "B-Y", "B-X", "O", "B-Z", "I-Z"], ["B-Y", "I-Y", "B-X", "B-Y", "I-Y", "O", "O", "B-W"])
    assert [(m.kind, m.gold, m.found) for m in mistakes(evaluation)] == [
        ("type", (0, 2, "X"), (0, 2, "Y")),
        ("spurious", None, (2, 3, "X")),
        ("boundary", (3, 4, "Y"), (3, 5, "Y")),
        ("missed", (4, 5, "X"), None),
        ("type and boundary", (6, 8, "Z"), (7, 8, "W")),
    ]
    assert counts(mistakes(evaluation)) == {"missed": 1, "spurious": 1, "type": 1, "boundary": 1, "type and boundary": 1}
    tokens = Evaluation()
    tokens.add(["NN", "VB"], ["NN", "NNP"])
    assert [(m.kind, m.gold, m.found) for m in mistakes(tokens)] == [("label", (1, 2, "VB"), (1, 2, "NNP"))]


# ---- bootstrap


def test_samples_have_the_mean_and_the_spread_of_drawing_one_by_one():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (60, 3))
    fast = bootstrap(rows, samples=20_000, seed=1)
    slow = np.array([rows[rng.integers(0, 60, 60)].sum(axis=0) for _ in range(20_000)])
    assert fast.mean(axis=0) == pytest.approx(60 * rows.mean(axis=0), rel=0.01)
    assert np.cov(fast.T) == pytest.approx(np.cov(slow.T), rel=0.06, abs=1.5)


def test_intervals_are_those_of_an_independent_bootstrap():
    _, (evaluation,) = evaluations(3, n=150)
    found, rows = intervals.intervals(evaluation), evaluation.by_sequence().chunks()
    rng = np.random.default_rng(9)
    values = [float(f1(rows[rng.integers(0, len(rows), len(rows))].sum(axis=0))) for _ in range(4000)]
    mine = found["chunk"]["f1"]
    assert mine.value == pytest.approx(evaluation.chunk.f1, rel=1e-12)
    assert [mine.low, mine.high] == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.5)
    assert found["accuracy"].value == pytest.approx(evaluation.accuracy, rel=1e-12)
    assert found["sequence_accuracy"].value == pytest.approx(evaluation.sequence_accuracy, rel=1e-12)
    for part, scores in (("types", evaluation.types), ("labels", evaluation.labels)):
        for name in ("precision", "recall", "f1"):
            told = {k: one[name].value for k, one in found[part].items()}
            assert told == pytest.approx({k: getattr(score, name) for k, score in scores.items()}, rel=1e-12)


def test_an_interval_holds_the_truth_about_as_often_as_it_says():
    rng, held = np.random.default_rng(2), 0
    for k in range(300):
        rows = np.stack([np.full(80, 10), rng.binomial(10, 0.8, 80)], axis=1)
        found = interval(rows, accuracy, samples=300, seed=k)
        held += found.low <= 80 <= found.high
    assert 0.9 < held / 300 < 0.985


def test_what_occurs_in_few_sequences_is_not_0_where_it_was_not_drawn():
    rows = np.zeros((50, 3), int)
    rows[7] = 1
    found = interval(rows, f1)
    assert (found.value, found.low, found.high) == (100, 100, 100)
    nothing = interval(np.zeros((50, 3), int), f1)
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)


def test_the_paired_bootstrap_sees_a_difference_that_two_intervals_do_not():
    rng = np.random.default_rng(5)
    gold, hits = np.full(400, 20), rng.binomial(20, 0.7, 400)
    better = np.minimum(hits + rng.binomial(1, 0.15, 400), 20)
    first, second = np.stack([gold, hits], axis=1), np.stack([gold, better], axis=1)
    found = compare(first, second, accuracy)
    assert found.first.high > found.second.low  # they overlap
    assert found.difference.low > 0 and found.p < 0.01
    again = compare(second, first, accuracy)
    assert again.difference.value == -found.difference.value and again.p == pytest.approx(found.p, abs=0.01)
    same = compare(first, first, accuracy)
    assert (same.difference.value, same.p) == (0, 1)


def test_the_p_of_the_paired_bootstrap_is_that_of_drawing_pairs():
    rng = np.random.default_rng(6)
    first = np.stack([np.full(100, 5), rng.binomial(5, 0.6, 100)], axis=1)
    second = np.stack([np.full(100, 5), rng.binomial(5, 0.62, 100)], axis=1)
    drawn = [rng.integers(0, 100, 100) for _ in range(5000)]
    differences = np.array([accuracy(second[k].sum(axis=0)) - accuracy(first[k].sum(axis=0)) for k in drawn])
    assert compare(first, second, accuracy, samples=5000).p == pytest.approx(resampling.two_sided(differences), abs=0.05)


def test_only_the_same_sequences_can_be_compared():
    with pytest.raises(ValueError, match="same ones"):
        compare(np.ones((3, 2)), np.ones((4, 2)), accuracy)


@pytest.mark.parametrize("b, c", [(0, 0), (0, 5), (3, 9), (9, 3), (20, 20), (40, 70)])
def test_mcnemar_is_the_exact_binomial_test(b, c):
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1)) / 2**n
    assert mcnemar(b, c) == pytest.approx(min(1, 2 * tail))


def test_mcnemar_of_many_is_near_the_exact_one(monkeypatch):
    exact = mcnemar(4800, 5100)
    monkeypatch.setattr(resampling, "EXACT", 10)
    assert mcnemar(4800, 5100) == pytest.approx(exact, rel=0.02)


def test_two_models_on_the_same_sentences():
    sequences, (first, second) = evaluations(8, n=60, models=2)
    found = intervals.compare(first, second)
    values = found["score"].first.value, found["score"].second.value
    assert values == pytest.approx((first.chunk.f1, second.chunk.f1), rel=1e-12)
    tokens = [(g, a, b) for gold, (one, other) in sequences for g, a, b in zip(gold, one, other, strict=True)]
    assert found["tokens"]["only_first"] == sum(a == g != b for g, a, b in tokens)
    assert found["tokens"]["only_second"] == sum(b == g != a for g, a, b in tokens)
    whole = [(one == gold, other == gold) for gold, (one, other) in sequences]
    assert found["sequences"]["only_first"] == sum(a and not b for a, b in whole)
    assert set(found["types"]) == set(first.types) | set(second.types)


# ---- eval


@pytest.fixture
def tagged(tmp_path):
    """A file with two sentences in error, one with a line of its probability."""
    text = "the DT B-NP B-NP\ncat NN I-NP B-VP\nsat VB B-VP I-VP\n\nyes UH O O\n\nno UH O B-NP\n"
    (tmp_path / "tagged.txt").write_text(text, encoding="utf-8")
    return "tagged.txt"


def test_eval_prints_intervals_and_the_worst_sentences(crftrain, tagged):
    ended = crftrain("eval", "--interval", "--errors", "5", tagged)
    text = ended.out.decode()
    assert ended.status == 0 and "in brackets what holds 95%" in text and "F1: 0.00 [0.00, 0.00]" in text
    after = text[text.index("2 of 3 sentences") :].split("\n")
    assert after[0] == "2 of 3 sentences with mistakes: 1 spurious, 2 boundary"
    assert after[2:5] == [
        "tagged.txt:1  2 boundary",
        "  gold        [NP! the cat] [VP! sat]",
        "  predicted   [NP! the] [VP! cat sat]",
    ]
    assert after[6] == "tagged.txt:7  1 spurious"
    assert "\x1b" not in text


def test_intervals_are_in_the_json_too(crftrain, tagged):
    told = json.loads(crftrain("eval", "--json", "--interval", tagged).out)
    assert told["intervals"]["accuracy"]["value"] == told["accuracy"]
    assert told["intervals"]["types"]["NP"]["f1"]["high"] <= 100
    assert "intervals" not in json.loads(crftrain("eval", "--json", tagged).out)
    worst = json.loads(crftrain("eval", "--json", "--errors", "1", tagged).out)["worst"]
    assert [(one["place"], one["words"]) for one in worst] == [("tagged.txt:1", ["the", "cat", "sat"])]
    gold, predicted = {"first": 0, "end": 2, "type": "NP"}, {"first": 0, "end": 1, "type": "NP"}
    assert worst[0]["mistakes"][0] == {"kind": "boundary", "gold": gold, "predicted": predicted}


def test_errors_of_tokens_and_after_a_line_with_the_probability(crftrain, tmp_path):
    (tmp_path / "t").write_text("@probability\t0.5\na NN NN\nb VB NN\n\n@probability\t0.5\nc NN NN\n", encoding="utf-8")
    lines = crftrain("eval", "--errors", "1", "t").lines
    assert lines[-3:] == ["t:2  1 label", "  gold        a [VB! b]", "  predicted   a [NN! b]"]


@pytest.mark.parametrize(
    "environment, coloured",
    [
        ({}, False),  # a pipe
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colour_is_written_where_it_is_wanted(crftrain, tagged, monkeypatch, environment, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (b"\x1b[31;1m" in crftrain("eval", "--errors", "1", tagged).out) == coloured


@pytest.mark.parametrize("term, coloured", [("xterm", True), ("dumb", False)])
def test_a_terminal_has_colour_unless_it_is_dumb(monkeypatch, term, coloured):
    from types import SimpleNamespace

    from crftrain.cli import colour

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    assert colour.wanted(SimpleNamespace(isatty=lambda: True)) == coloured


def test_what_would_move_the_cursor_is_shown_as_its_number():
    evaluation = Evaluation()
    evaluation.add(["B-X"], ["O"])
    text = "\n".join(worst(evaluation, [("f:1", ["\x1b[2Jboo"])], 1))
    assert "\x1b" not in text and "<U+001B>[2Jboo" in text


def test_long_sentences_are_wrapped():
    evaluation = Evaluation()
    evaluation.add(["O"] * 99 + ["B-X"], ["O"] * 100)
    lines = list(worst(evaluation, [("f:1", ["word"] * 100)], 1, width=60))
    assert max(map(len, lines[1:])) <= 60
    assert sum(line.count("word") for line in lines) == 200
    assert list(itertools.islice(worst(Evaluation(), [], 3), 2)) == ["0 of 0 sentences with mistakes: none"]
