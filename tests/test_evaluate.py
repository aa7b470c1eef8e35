"""Chunks are counted as spans would be, in every scheme; conlleval's lines to the character; nothing divides by zero."""

import json
import random
import time
import warnings
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crftrain.errors import CrftrainWarning, DataError
from crftrain.tagging.evaluate import Evaluation, Score, is_chunked
from crftrain.tagging.tagged import read_columns
from crftrain.text.read import Run, Sentence

TYPES = ["NP", "VP", "PP", "A-B"]


def evaluate(*sequences, **options):
    """Evaluation of (gold, predicted) pairs, each a string of labels."""
    evaluation = Evaluation(**options)
    for gold, predicted in sequences:
        evaluation.add(gold.split(), predicted.split())
    return evaluation


def counts(score):
    return score.gold, score.found, score.correct


# -- spans, and every way to write them as labels --


def random_spans(rng, n):
    """Chunks (start, end, type) of a sentence of n tokens, from left to right, end exclusive."""
    spans, t = [], 0
    while t < n:
        length = rng.randint(1, 3)
        if rng.random() < 0.7 and t + length <= n:
            spans.append((t, t + length, rng.choice(TYPES)))
        t += length
    return spans


def disturb(rng, spans, n):
    """Some of the chunks, some with another type, and where there is room some new ones."""
    kept = [(s, e, k if rng.random() < 0.8 else rng.choice(TYPES)) for s, e, k in spans if rng.random() < 0.7]
    for span in random_spans(rng, n):
        if all(span[1] <= s or e <= span[0] for s, e, _ in kept):
            kept.append(span)
    return sorted(kept)


def write(spans, n, scheme):
    """The labels of chunks in one of the representations."""
    labels = ["O"] * n
    for i, (start, end, kind) in enumerate(spans):
        after_same = i > 0 and spans[i - 1][1:] == (start, kind)
        before_same = i + 1 < len(spans) and (spans[i + 1][0], spans[i + 1][2]) == (end, kind)
        inside = "M" if scheme == "BMES" else "I"
        tags = [inside] * (end - start)
        if scheme in ("IOB2", "BIOES", "BILOU", "BMES") or (scheme == "IOB1" and after_same):
            tags[0] = "B"
        if scheme in ("IOE2", "BIOES", "BMES") or (scheme == "IOE1" and before_same):
            tags[-1] = "E"
        if scheme == "BILOU":
            tags[-1] = "L"
        if scheme in ("BIOES", "BILOU", "BMES") and len(tags) == 1:
            tags[0] = "U" if scheme == "BILOU" else "S"
        labels[start:end] = [f"{tag}-{kind}" for tag in tags]
    return labels


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOE1", "IOE2", "BIOES", "BILOU", "BMES"])
def test_chunks_are_the_common_spans_in_every_scheme(scheme):
    rng = random.Random(scheme)
    for _ in range(50):
        evaluation, gold_spans, found_spans, tokens, equal, whole = Evaluation(), set(), set(), 0, 0, 0
        for sentence in range(rng.randint(1, 10)):
            n = rng.randint(1, 15)
            spans = random_spans(rng, n)
            changed = disturb(rng, spans, n)
            gold, predicted = write(spans, n, scheme), write(changed, n, scheme)
            evaluation.add(gold, predicted)
            gold_spans |= {(sentence, *span) for span in spans}
            found_spans |= {(sentence, *span) for span in changed}
            tokens, equal, whole = tokens + n, equal + sum(map(str.__eq__, gold, predicted)), whole + (gold == predicted)
        common = gold_spans & found_spans
        assert counts(evaluation.chunk) == (len(gold_spans), len(found_spans), len(common))
        for kind in TYPES:
            numbers = tuple(sum(span[3] == kind for span in spans) for spans in (gold_spans, found_spans, common))
            assert counts(evaluation.types.get(kind, Score(0, 0, 0))) == numbers
        assert evaluation.accuracy == 100 * equal / tokens
        assert evaluation.sequence_accuracy == 100 * whole / evaluation.n_sequences


# -- any labels whatever: conlleval's machine, a token at a time --


def parse(label):
    tag, _, kind = label.partition("-")
    return {"M": "I", "L": "E", "U": "S", "W": "S"}.get(tag, tag), kind


def starts(last, now):
    (before, kind), (tag, new_kind) = last, now
    if tag in ("[", "]", "S") or before == "S" and tag in ("B", "I", "E"):
        return True
    if tag == "B" and before in ("B", "I", "O", "E") or tag in ("I", "E") and before == "O" or before == "E" and tag in ("E", "I"):
        return True
    return tag not in ("O", ".") and kind != new_kind


def ends(last, now):
    (before, kind), (tag, new_kind) = last, now
    if before in ("[", "]", "S") or before in ("B", "I") and tag in ("B", "O", "S"):
        return True
    if before == "E" and tag in ("E", "I", "O", "B", "S"):
        return True
    return before not in ("O", ".") and kind != new_kind


def machine(sequences):
    """{type or None for all: [gold, found, correct]} by walking over the tokens with one flag, as the script does."""
    table = {None: [0, 0, 0]}

    def count(kind, column):
        table[None][column] += 1
        table.setdefault(kind, [0, 0, 0])[column] += 1

    gold_last = found_last = ("O", "")
    right = False
    rows = [row for sequence in sequences for row in [*zip(*sequence, strict=True), ("O", "O")]]
    for gold, found in rows:
        gold, found = parse(gold), parse(found)
        gold_ends, found_ends = ends(gold_last, gold), ends(found_last, found)
        if right and gold_ends and found_ends and gold_last[1] == found_last[1]:
            count(gold_last[1], 2)
            right = False
        elif gold_ends != found_ends or gold[1] != found[1]:
            right = False
        if starts(gold_last, gold):
            count(gold[1], 0)
        if starts(found_last, found):
            count(found[1], 1)
        if starts(gold_last, gold) and starts(found_last, found) and gold[1] == found[1]:
            right = True
        gold_last, found_last = gold, found
    if right:
        count(gold_last[1], 2)
    return table


TAG_SETS = ["BIO", "IEO", "BIESO", "BILUO", "BMES", "[.", "].", "[].", "BIO.", "BIEO", "XBIO", "BIESLUMWO.[]X"]


@pytest.mark.parametrize("tags", TAG_SETS)
def test_any_label_sequence_is_counted_as_the_script_counts_it(tags):
    rng = random.Random(tags)
    for _ in range(60):
        kinds = rng.choice([[""], ["NP"], ["NP", "VP"], ["", "NP", "A-B"]])
        labels = [f"{tag}-{kind}" if kind and (tag not in "O." or rng.random() < 0.05) else tag for tag in tags for kind in kinds]
        sequences = []
        for _ in range(rng.choice([1, 2, 8])):
            gold = [rng.choice(labels) for _ in range(rng.randint(1, 12))]
            sequences.append((gold, [label if rng.random() < 0.8 else rng.choice(labels) for label in gold]))
        evaluation = Evaluation()
        for gold, predicted in sequences:
            evaluation.add(gold, predicted)
        table = machine(sequences)
        assert list(counts(evaluation.chunk)) == table.pop(None)
        assert {kind: list(counts(score)) for kind, score in evaluation.types.items()} == {
            kind: row for kind, row in table.items() if row[0] or row[1]
        }


# -- examples by hand --


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("O I-NP I-NP O", "O B-NP I-NP O", (1, 1, 1)),  # I- after O begins a chunk
        ("I-NP I-VP I-VP", "B-NP B-VP I-VP", (2, 2, 2)),  # so does another type
        ("B-NP I-NP I-NP", "B-NP B-NP I-NP", (1, 2, 0)),  # B- in the middle cuts
        ("B-NP I-NP I-VP", "B-NP I-NP I-NP", (2, 1, 0)),  # the longer one is wrong
        ("B-NP I-NP", "B-VP I-VP", (1, 1, 0)),  # right borders, wrong type
        ("E-NP E-NP", "E-NP I-NP", (2, 2, 2)),  # E- at the start; I- after E- begins again
        ("E-NP O", "S-NP O", (1, 1, 1)),
        ("B-NP E-NP B-NP E-NP", "B-NP E-NP B-NP E-NP", (2, 2, 2)),
        ("S-NP S-NP", "B-NP I-NP", (2, 1, 0)),
        ("B-NP I-NP L-NP U-NP", "B-NP I-NP L-NP O", (2, 1, 1)),
        ("B E S B M E", "B E S B E S", (3, 4, 2)),
        ("B M E S S", "B M E B E", (3, 2, 1)),  # untyped words
        ("B I I B I", "B I B B I", (2, 3, 1)),
        ("[-NP . . [-NP", "[-NP . [-NP [-NP", (2, 3, 2)),
        ("B-a-b I-a-b", "B-a-b I-a-c", (1, 2, 0)),  # a type may have hyphens
        ("O O", "O O", (0, 0, 0)),
        ("B-NP", "O", (1, 0, 0)),
        ("O", "B-NP", (0, 1, 0)),
    ],
)
def test_small_examples(gold, predicted, expected):
    assert counts(evaluate((gold, predicted)).chunk) == expected


def test_a_chunk_does_not_reach_over_the_end_of_a_sequence():
    assert counts(evaluate(("B-NP I-NP", "B-NP I-NP"), ("I-NP", "I-NP")).chunk) == (2, 2, 2)
    assert counts(evaluate(("B-NP I-NP I-NP", "B-NP I-NP I-NP")).chunk) == (1, 1, 1)


# 9 tokens, 7 equal. Gold NP[0,2) VP[2,3) NP[4,5) | PP[0,1) NP[1,4); found NP[0,2) VP[2,3) NP[3,5) | PP[0,1) NP[1,3) O.
EXAMPLE = (("B-NP I-NP B-VP O B-NP", "B-NP I-NP B-VP B-NP I-NP"), ("B-PP B-NP I-NP I-NP", "B-PP B-NP I-NP I-NP"))
REPORT = """\
processed 9 tokens with 5 phrases; found: 5 phrases; correct: 4.
accuracy:  77.78%; precision:  80.00%; recall:  80.00%; FB1:  80.00
               NP: precision:  66.67%; recall:  66.67%; FB1:  66.67  3
               PP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1

sequence accuracy:  50.00% (1 of 2)

label  precision   recall       F1  support
B-NP       66.67    66.67    66.67        3
B-PP      100.00   100.00   100.00        1
B-VP      100.00   100.00   100.00        1
I-NP       75.00   100.00    85.71        3
O           0.00     0.00     0.00        1
"""


def test_report_begins_with_the_lines_of_conlleval():
    assert evaluate(*EXAMPLE).report() == REPORT


def test_json_has_the_same_numbers_in_full():
    result = evaluate(*EXAMPLE).as_json()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert list(result) == ["accuracy", "sequence_accuracy", "chunk", "types", "labels"]
    assert result["accuracy"] == 700 / 9
    assert result["chunk"] == {"precision": 80.0, "recall": 80.0, "f1": 80.0}
    assert result["types"]["NP"]["recall"] == 200 / 3
    assert result["labels"]["I-NP"] == {"precision": 75.0, "recall": 100.0, "f1": 2 * 75 * 100 / 175, "support": 3}
    assert evaluate(("NN VB", "NN NN")).as_json()["chunk"] is None


def test_asking_between_sequences_changes_nothing():
    evaluation = evaluate(EXAMPLE[0])
    assert evaluation.accuracy == 60.0
    evaluation.add(*(labels.split() for labels in EXAMPLE[1]))
    assert evaluation.report() == REPORT


# -- nothing to divide by, labels that are not known --


def test_nothing_evaluated_is_zero_and_not_an_error():
    for evaluation in (Evaluation(), evaluate(("", ""))):
        assert (evaluation.n_tokens, evaluation.n_sequences) == (0, 0)
        assert (evaluation.accuracy, evaluation.sequence_accuracy, evaluation.score, evaluation.chunk.f1) == (0, 0, 0, 0)
        assert evaluation.report().startswith("processed 0 tokens; correct: 0.\n\n")
        assert evaluation.as_json()["labels"] == {}
        assert "gold" in evaluation.confusion()


def test_no_chunk_predicted_and_no_chunk_right():
    assert evaluate(("B-NP I-NP", "O O")).score == 0
    assert evaluate(("O O", "B-NP O")).chunk.precision == 0
    assert evaluate(("B-NP", "B-VP")).chunk.f1 == 0


def test_an_unknown_label_is_wrong_and_outside_of_chunks():
    evaluation = Evaluation()
    evaluation.add(["B-NP", None, "B-VP"], ["B-NP", None, None])
    assert evaluation.accuracy == pytest.approx(100 / 3)
    assert evaluation.sequence_accuracy == 0
    assert counts(evaluation.chunk) == (2, 1, 1)
    assert list(evaluation.labels) == ["B-NP", "B-VP"]
    assert "B-VP -> <none>" in evaluation.confusion()


def test_a_gold_label_never_predicted_counts_as_an_error():
    evaluation = evaluate(("B-NEW O O O", "O O O O"))
    assert evaluation.accuracy == 75
    assert counts(evaluation.types["NEW"]) == (1, 0, 0)


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="2 gold labels, 1 predicted"):
        Evaluation().add(["O", "O"], ["O"])


# -- which measure --


@pytest.mark.parametrize(
    "labels",
    [
        "B-NP I-NP O",
        "I-NP I-VP O",
        "E-NP I-NP O",
        "B-X",
        "B-X I-X L-X U-X O",
        "B-X M-X E-X S-X O",
        "B-PER I-PER B-LOC I_LOC O",
        "B I O",
        "B I",
        "I O",
        "B M E S",
        "B I L U O",
        "B M E W",
        "[ ] .",
    ],
)
def test_chunk_labels_are_recognised(labels):
    assert is_chunked(labels.split())
    assert is_chunked([None, *labels.split()])


@pytest.mark.parametrize(
    "labels",
    ["", "O", "NN VB DT .", "a b e i o", "A B C D E I", "N V", "S M L", "0 1", "NN-X VB-X", "-LRB- NN", "B-X NN VB DT", "B", "PRP-S B O"],
)
def test_other_labels_are_not(labels):
    assert not is_chunked(labels.split())


def test_score_is_chunk_f1_or_accuracy():
    assert evaluate(*EXAMPLE).score == 80.0
    assert evaluate(("NN VB DT", "NN NN DT")).score == pytest.approx(200 / 3)
    assert evaluate(("O O", "O O")).score == 100.0
    assert evaluate(("O O", "O O"), labels=["O", "B-NP", "I-NP"]).score == 0.0
    assert evaluate(("B M E", "B E S")).chunked


# -- confusion --


def test_confusion_lists_pairs_and_folds_at_80_columns():
    rng = random.Random(3)
    labels = [f"{tag}-{kind}" for kind in ("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP") for tag in "BI"]
    gold = [rng.choice(labels) for _ in range(50_000)]
    predicted = [label if rng.random() < 0.5 else rng.choice(labels) for label in gold]
    evaluation = Evaluation()
    evaluation.add(gold, predicted)
    text = evaluation.confusion()
    assert max(map(len, text.splitlines())) <= 80
    blocks = text.split("\n\n")
    matrix = {}
    for block in blocks[1:-1]:
        header, *rows = block.splitlines()
        assert len(rows) == 22
        for row in rows:
            _, name, *cells = row.split()
            matrix.setdefault(name, []).extend(0 if cell == "." else int(cell) for cell in cells)
    names = list(matrix)
    expected = {}
    for pair in zip(gold, predicted, strict=True):
        expected[pair] = expected.get(pair, 0) + 1
    assert {(a, b): n for a in names for b, n in zip(names, matrix[a], strict=True) if n} == expected
    assert len(blocks[-1].splitlines()) == 11


def test_confusion_by_hand():
    expected = """\
gold labels are rows, predicted labels are columns

       1 2 3 4 5
1 B-NP 2 1 . . .
2 I-NP . 3 . . .
3 B-PP . . 1 . .
4 B-VP . . . 1 .
5 O    1 . . . .

most frequent confusions (share of the gold label)
       1   33.33%  B-NP -> I-NP
       1  100.00%  O -> B-NP
"""
    assert evaluate(*EXAMPLE).confusion() == expected


# -- columns --


def lines(text, number=1):
    return Sentence(text.encode().split(b"\n"), "out.txt", number)


def test_columns_are_the_last_two_or_those_asked_for():
    sentences = [lines("Tom NN B-NP B-NP\nran  VB\tB-VP O"), lines("\u00e9t\u00e9 NN B-N\u00c9 B-N\u00c9", 4)]
    evaluation = read_columns(Evaluation(), sentences)
    assert counts(evaluation.chunk) == (3, 2, 2)
    assert "N\u00c9" in evaluation.types
    assert read_columns(Evaluation(), sentences, gold=1, predicted=1).accuracy == 100
    assert read_columns(Evaluation(), sentences, gold=-1, predicted=2).accuracy == pytest.approx(200 / 3)


def test_the_line_of_a_probability_is_skipped():
    sentences = [lines("@probability\t0.25\na O O"), lines("@probability\t1e-09\nb O B-X\nc O O", 4)]
    assert read_columns(Evaluation(), sentences).n_tokens == 3
    for other in ("@probability 0.25", "@probability\t", "@probability\tmany", "x\t0.5"):
        with pytest.raises(DataError):
            read_columns(Evaluation(), [lines(other + "\na O O")])
    with pytest.raises(DataError):  # only before a sequence
        read_columns(Evaluation(), [lines("a O O\n@probability\t0.5")])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a b O O\nc O O"], "out.txt:2: 3 columns, expected 4 as at out.txt:1"),
        (["a O O", "b O O\nc"], "out.txt:12: 1 column, expected 3 as at out.txt:1"),
        (["O"], "out.txt:1: 1 column, expected at least 2: a gold and a predicted label"),
        (["@probability\t0.5\nO"], "out.txt:2: 1 column, expected at least 2: a gold and a predicted label"),
    ],
)
def test_ragged_or_short_lines_are_named(texts, message):
    with pytest.raises(DataError) as error:
        read_columns(Evaluation(), [lines(text, 1 + 10 * i) for i, text in enumerate(texts)])
    assert str(error.value) == message


def test_a_column_too_far_is_named():
    with pytest.raises(DataError, match="expected at least 5"):
        read_columns(Evaluation(), [lines("a O O")], gold=4)


MARGINALS = "a N N:0.900000{}\nb V V:0.700000{}\nc N V:0.500000{}"


@pytest.mark.parametrize("all_of_them", ["", " N:0.900000 V:0.100000"])
def test_probabilities_beside_the_labels_are_taken_off(all_of_them):
    evaluation = read_columns(Evaluation(), [lines(MARGINALS.format(*[all_of_them] * 3))])
    assert evaluation.accuracy == pytest.approx(200 / 3)
    assert set(evaluation.labels) == {"N", "V"}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a N N:0.900000\nb V V", "0 cells LABEL:PROBABILITY, expected 1 as at out.txt:1"),
        ("a N N\nb V V:0.700000", "1 cells LABEL:PROBABILITY, expected 0 as at out.txt:1"),
        ("a N N N:0.900000\nb N N:0.900000 N:0.900000", "2 cells LABEL:PROBABILITY, expected 1"),
        ("N:0.900000\nV:0.700000", "1 column, expected at least 2"),
        ("N:0.900000 N:0.900000 V:0.100000", "3 columns, 3 of them LABEL:PROBABILITY, expected at least 2"),
        ('{"tokens": ["a"], "labels": ["O"]}', "out.txt:1: JSON, expected columns"),
        ("the DT B-NP\ncat NN I-NP", "no label of column -2 (DT, NN) is ever predicted (B-NP, I-NP), expected gold labels there"),
    ],
)
def test_what_cannot_be_scored_is_refused(text, finding):
    with pytest.raises(DataError) as error:
        read_columns(Evaluation(), [lines(text)])
    assert finding in str(error.value)


def test_labels_of_two_schemes_are_told():
    told = "gold labels have the tags B I O, predicted ones B E O S: phrases can be compared, accuracy cannot"
    with pytest.warns(CrftrainWarning, match=told):
        evaluation = read_columns(Evaluation(), [lines("a B-X B-X\nb I-X E-X\nc O O\nd B-X S-X")])
    assert (evaluation.chunk.f1, evaluation.accuracy) == (100, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_columns(Evaluation(), [lines("a B-X B-X\nb I-X O\nc S-NP S-NP\nd O O")])
        read_columns(Evaluation(), [lines("a SYM SYM\nb N N\nc S N")])


def test_gold_labels_that_are_never_predicted_are_believed_where_their_column_is_named():
    assert read_columns(Evaluation(), [lines("a DT B-NP")], sure=True).accuracy == 0


def test_without_chunks_there_are_no_phrases_in_the_report():
    tags = [("-LRB- NN -RRB-", "-LRB- NN NN")]
    report = evaluate(*tags).report()
    assert report.startswith("processed 3 tokens; correct: 2.\naccuracy:  66.67%\n")
    assert "phrases" not in report
    assert "FB1" in evaluate(*tags, chunks=True).report()
    assert "phrases" not in evaluate(("B-X I-X O", "B-X O O"), chunks=False).report()
    assert evaluate(("B-X I-X O", "B-X O O"), chunks=False).as_json()["chunk"] is None


# -- speed --


def test_a_corpus_is_counted_at_once():
    """47,377 tokens take about 10 ms; the bound leaves room for a busy machine."""
    rng = random.Random(5)
    labels = [f"{tag}-{kind}" for kind in "abcdefghijk" for tag in "BI"]
    sequences = [([rng.choice(labels) for _ in range(23)], [rng.choice(labels) for _ in range(23)]) for _ in range(2060)]
    best = 1.0
    for _ in range(5):
        start = time.perf_counter()
        evaluation = Evaluation()
        for gold, predicted in sequences:
            evaluation.add(gold, predicted)
        assert evaluation.score < 100
        best = min(best, time.perf_counter() - start)
    assert best < 0.1


ROWS = [
    "a O O",
    "b B-X I-X",
    "c\tI-X\tI-X",
    " d  O B-X ",
    "e O",
    "f O O:0.500000",
    "g O O:0.50000",
    "@probability\t0.5",
    "h ü é",
    "i O O\r",
]


@given(
    text=st.lists(st.tuples(st.sampled_from(ROWS), st.sampled_from(["\n", "\n", "\n\n", "\r\n \n"])).map("".join), max_size=10).map("".join)
)
def test_bytes_and_sentences_are_scored_alike(text):
    def scored(some):
        try:
            evaluation = read_columns(Evaluation(), some, sure=True)
            return evaluation.as_json(), evaluation.n_sequences, evaluation.confusions()
        except DataError as error:
            return str(error)

    run, before = Run(text.encode(), "t", 1), Run(b"x O B-X\n\n", "s", 1)
    for runs in ([run], [before, run, run]):
        assert scored(runs) == scored(chain.from_iterable(one.sentences() for one in runs))
