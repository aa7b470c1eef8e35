"""Scores of labellings, as numbers from 0 to 1: seqeval's names and keywords for chunks, sklearn-crfsuite's for tokens and sequences.

    chunks      accuracy_score precision_score recall_score f1_score precision_recall_fscore_support classification_report
                performance_measure get_entities
    tokens      flat_accuracy_score flat_precision_score flat_recall_score flat_f1_score flat_fbeta_score flat_classification_report
    sequences   sequence_accuracy_score

y_true and y_pred are lists of lists of labels. Chunks are those of conlleval (crftrain.tagging.evaluate); with mode="strict" those that
are well formed in a scheme: the runs of one type that match

    IOB1 I+ | B I* after the same type     IOE1 I* E before the same type | I+     BILOU U | B I* L
    IOB2 B I*                              IOE2 I* E                               IOBES S | B I* E

>>> y_true = [["B-PER", "I-PER", "O"], ["B-LOC"]]
>>> f1_score(y_true, [["B-PER", "I-PER", "O"], ["O"]])
0.6666666666666666
>>> sequence_accuracy_score(y_true, [["B-PER", "I-PER", "O"], ["O"]])
0.5
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from .tagging.evaluate import borders, tag_number

Labels = Sequence[Sequence[str]] | np.ndarray  # which CRF.predict gives

SCHEMES = {
    "IOB1": ("IOB", r"^I+|(?<=[IB])BI*"),
    "IOB2": ("IOB", r"BI*"),
    "IOE1": ("IOE", r"I*E(?=[IE])|I+$"),
    "IOE2": ("IOE", r"I*E"),
    "IOBES": ("IOBES", r"S|BI*E"),
    "BILOU": ("BILOU", r"U|BI*L"),
}
DETECTED = ("IOB2", "IOE2", "IOBES", "BILOU")  # in this order, by the letters that occur
KNOWN = frozenset("O.BIESMULW[]")  # tags of one letter that chunks are made of
AVERAGES = (None, "micro", "macro", "weighted")
WARN_FOR = ("precision", "recall", "f-score")


class UndefinedMetricWarning(UserWarning):
    """A share of nothing."""


# ---- chunks


def get_entities(seq: Sequence, suffix: bool = False) -> list[tuple[str, int, int]]:
    """(type, first, last) of each chunk; of lists of labels as if they stood in one, with an O after each.

    >>> get_entities(["O", "B-PER", "I-PER", "B-LOC"])
    [('PER', 1, 2), ('LOC', 3, 3)]
    """
    if any(isinstance(part, list) for part in seq):
        seq = [label for part in seq for label in [*part, "O"]]
    return list(_chunks(list(seq), suffix))


def _chunks(labels, suffix):
    """conlleval's."""
    parted = [_parted(label, suffix) for label in labels]
    for label, (tag, _) in zip(labels, parted, strict=True):
        if tag not in KNOWN:
            warnings.warn(f"{label} seems not to be NE tag.", stacklevel=4)
    kinds = {kind: k for k, kind in enumerate(dict.fromkeys(["", *(kind for _, kind in parted)]))}
    tags = np.array([tag_number(tag) for tag, _ in parted] + [tag_number("O")])
    starts, ends = borders(tags, np.array([kinds[kind] for _, kind in parted] + [0]))
    end_at = np.flatnonzero(ends)
    for first in np.flatnonzero(starts).tolist():
        last = int(end_at[np.searchsorted(end_at, first, "right")]) - 1
        yield parted[first][1] or "_", first, last


def _strict_chunks(labels, suffix, scheme):
    letters, pattern = SCHEMES[scheme]
    parted = [_parted(label, suffix) for label in labels]
    at = 0
    for kind, run in groupby(parted, key=lambda part: part[1] if part[0] in letters and part[0] != "O" else None):
        text = "".join(tag if kind is not None else "O" for tag, _ in run)
        if kind is not None:
            for match in re.finditer(pattern, text):
                yield kind or "_", at + match.start(), at + match.end() - 1
        at += len(text)


def _parted(label, suffix):
    """(tag, type) of a label: B-PER, or PER-B with suffix."""
    if suffix:
        return label[-1:], label[:-1].rpartition("-")[0]
    tag, _, kind = label.partition("-")
    return tag, kind


def _found(y_true, y_pred, suffix, mode, scheme, sample_weight):
    """{type: [correct, predicted, true]}, types by name."""
    if mode not in (None, "strict"):
        raise ValueError(f"mode {mode!r}, expected None or 'strict'")
    if mode == "strict":
        name = _scheme(scheme, y_true, suffix)
        chunks = lambda labels: set(_strict_chunks(labels, suffix, name))  # noqa: E731
    else:
        chunks = lambda labels: set(_chunks(labels, suffix))  # noqa: E731
    weight = [1] * len(y_true) if sample_weight is None else list(sample_weight)
    if len(weight) != len(y_true):
        raise ValueError(f"{len(weight)} weights for {len(y_true)} sequences")
    counts = [Counter(), Counter(), Counter()]
    for gold, predicted, much in zip(y_true, y_pred, weight, strict=True):
        gold, predicted = chunks(gold), chunks(predicted)
        for counted, found in zip(counts, (gold & predicted, predicted, gold), strict=True):
            for kind, _, _ in found:
                counted[kind] += much
    return {kind: [counted[kind] for counted in counts] for kind in sorted(counts[1].keys() | counts[2].keys())}


def _scheme(scheme, y_true, suffix):
    """The name of a scheme, given as one or as a class of that name, or found by the letters in use."""
    if scheme is not None:
        name = scheme if isinstance(scheme, str) else getattr(scheme, "__name__", repr(scheme))
        if name not in SCHEMES:
            raise ValueError(f"scheme {name!r}, expected one of {', '.join(SCHEMES)}")
        return name
    letters = {_parted(label, suffix)[0] for labels in y_true for label in labels}
    found = next((name for name in DETECTED if letters <= set(SCHEMES[name][0])), None)
    if found is None:
        raise ValueError(f"no scheme has the tags {', '.join(sorted(letters))}, expected those of {', '.join(DETECTED)}")
    return found


def check_consistent_length(y_true: Labels, y_pred: Labels) -> None:
    """TypeError for what are no lists of lists, ValueError for lists of other lengths."""
    if not all(isinstance(labels, list) for labels in chain(y_true, y_pred)):
        raise TypeError("labels that are no list of lists")
    if [len(labels) for labels in y_true] != [len(labels) for labels in y_pred]:
        raise ValueError("y_true and y_pred are of different lengths")


def unique_labels(y_true: Labels, y_pred: Labels, scheme: Any = None, suffix: bool = False) -> list[str]:
    """The types of the well-formed chunks of both."""
    name = _scheme(scheme, y_true, suffix)
    return sorted({kind for labels in chain(y_true, y_pred) for kind, _, _ in _strict_chunks(labels, suffix, name)})


def precision_recall_fscore_support(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = None,
    warn_for: Sequence[str] = WARN_FOR,
    beta: float = 1.0,
    sample_weight: Iterable | None = None,
    zero_division: Any = "warn",
    suffix: bool = False,
    mode: str | None = None,
    scheme: Any = None,
):
    """(precision, recall, F, number of true chunks): of all types together, averaged over them, or arrays by type.

    >>> precision_recall_fscore_support([["B-A", "O", "B-B"]], [["B-A", "B-A", "O"]], average="micro")
    (0.5, 0.5, 0.5, 2)
    """
    check_consistent_length(_lists(y_true), _lists(y_pred))
    found = _found(y_true, y_pred, suffix, mode, scheme, sample_weight)
    return _averaged(np.array(list(found.values())).reshape(-1, 3), average, beta, warn_for, zero_division)


def precision_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options):
    """The share of found chunks that are right."""
    return precision_recall_fscore_support(y_true, y_pred, average=average, warn_for=("precision",), **options)[0]


def recall_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options):
    """The share of true chunks that are found."""
    return precision_recall_fscore_support(y_true, y_pred, average=average, warn_for=("recall",), **options)[1]


def f1_score(y_true: Labels, y_pred: Labels, *, average: str | None = "micro", **options):
    """The harmonic mean of the two."""
    return precision_recall_fscore_support(y_true, y_pred, average=average, warn_for=("f-score",), **options)[2]


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    *,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: Any = "warn",
    suffix: bool = False,
    mode: str | None = None,
    scheme: Any = None,
    sample_weight: Iterable | None = None,
):
    """A table of the types and their averages, as text or as a dict."""
    check_consistent_length(_lists(y_true), _lists(y_pred))
    return _report(_found(y_true, y_pred, suffix, mode, scheme, sample_weight), digits, output_dict, zero_division, AVERAGES[1:])


def performance_measure(y_true: Labels, y_pred: Labels) -> dict[str, int]:
    """Tokens: TP alike and not both O, FP different and predicted not O, FN not O and predicted O, TN both O."""
    pairs = list(zip(_flat(y_true), _flat(y_pred), strict=True))
    return {
        "TP": sum(gold == found != "O" for gold, found in pairs),
        "FP": sum(gold != found != "O" for gold, found in pairs),
        "FN": sum(gold != found == "O" for gold, found in pairs),
        "TN": sum(gold == found == "O" for gold, found in pairs),
    }


# ---- tokens


def flat_accuracy_score(y_true: Iterable, y_pred: Iterable) -> float:
    """The share of tokens with the right label; labels may stand in lists or not."""
    gold, found = _flat(y_true), _flat(y_pred)
    if len(gold) != len(found):
        raise ValueError(f"{len(gold)} true labels and {len(found)} predicted ones")
    return sum(a == b for a, b in zip(gold, found, strict=True)) / len(gold) if gold else 0.0


accuracy_score = flat_accuracy_score


def _token_counts(y_true, y_pred, labels):
    gold, found = _flat(y_true), _flat(y_pred)
    pairs = list(zip(gold, found, strict=True))
    hits, predicted, true = Counter(a for a, b in pairs if a == b), Counter(found), Counter(gold)
    names = sorted(true.keys() | predicted.keys()) if labels is None else list(labels)
    return {name: [hits[name], predicted[name], true[name]] for name in names}


def flat_precision_recall_fscore_support(
    y_true, y_pred, *, labels=None, average="weighted", beta=1.0, warn_for=WARN_FOR, zero_division: Any = "warn"
):
    """As precision_recall_fscore_support, of the labels of single tokens; `labels` are those that count."""
    counts = np.array(list(_token_counts(y_true, y_pred, labels).values())).reshape(-1, 3)
    return _averaged(counts, average, beta, warn_for, zero_division)


def flat_precision_score(y_true, y_pred, **options):
    """The share of tokens labelled so that are so."""
    return flat_precision_recall_fscore_support(y_true, y_pred, warn_for=("precision",), **options)[0]


def flat_recall_score(y_true, y_pred, **options):
    """The share of tokens that are so that are labelled so."""
    return flat_precision_recall_fscore_support(y_true, y_pred, warn_for=("recall",), **options)[1]


def flat_f1_score(y_true, y_pred, **options):
    """The harmonic mean of the two; by default the mean over labels, weighted by how often they are true."""
    return flat_fbeta_score(y_true, y_pred, 1.0, **options)


def flat_fbeta_score(y_true, y_pred, beta, **options):
    """The same with recall beta times as important as precision."""
    return flat_precision_recall_fscore_support(y_true, y_pred, beta=beta, warn_for=("f-score",), **options)[2]


def flat_classification_report(y_true, y_pred, labels=None, *, digits: int = 2, output_dict: bool = False, zero_division: Any = "warn"):
    """A table of the labels and their averages."""
    return _report(_token_counts(y_true, y_pred, labels), digits, output_dict, zero_division, AVERAGES[1:])


# ---- sequences


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences all of whose labels are right; 0 of none."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} true sequences and {len(y_pred)} predicted ones")
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)) / len(y_true) if len(y_true) else 0.0


# ---- numbers


def _lists(y):
    """Predictions as CRF.predict gives them are as good as lists."""
    return list(y) if isinstance(y, np.ndarray) and y.dtype == object else y


def _flat(y):
    return [label for part in y for label in (part if isinstance(part, list | tuple | np.ndarray) else [part])]


def _averaged(counts, average, beta, warn_for, zero_division):
    """(precision, recall, F, support) from rows of (correct, predicted, true)."""
    if beta < 0:
        raise ValueError("beta should be >=0 in the F-beta score")
    if average not in AVERAGES:
        raise ValueError(f"average has to be one of {AVERAGES}")
    correct, predicted, true = (counts.sum(axis=0, keepdims=True) if average == "micro" else counts).T
    precision = _share(correct, predicted, "precision", "predicted", warn_for, zero_division)
    recall = _share(correct, true, "recall", "true", warn_for, zero_division)
    if np.isposinf(beta):
        score = recall
    else:
        below = beta**2 * precision + recall
        score = (1 + beta**2) * precision * recall / np.where(below == 0, 1, below)
        if "f-score" in warn_for and zero_division == "warn" and ((predicted == 0) & (true == 0)).any():
            _warn("F-score", "true nor predicted")
    if average is None:
        return precision, recall, score, true
    support = true.sum().item()
    if average == "weighted" and not support:
        nothing = 1.0 if zero_division == 1 else 0.0
        return (nothing if not predicted.sum() else 0.0), nothing, (nothing if not predicted.sum() else 0.0), support
    weights = true if average == "weighted" else None
    precision, recall, score = (float(np.average(x, weights=weights)) for x in (precision, recall, score))
    return precision, recall, score, support


def _share(part, whole, name, kind, warn_for, zero_division):
    missing = whole == 0
    if missing.any() and zero_division == "warn" and name in warn_for:
        _warn(name.title(), kind)
    return np.where(missing, 1.0 if zero_division == 1 else 0.0, part / np.where(missing, 1, whole))


def _warn(name, kind):
    known = sys.modules.get("sklearn.exceptions")
    text = f"{name} is ill-defined and being set to 0.0 where nothing is {kind}. Use `zero_division` parameter to control this behavior."
    warnings.warn(text, known.UndefinedMetricWarning if known else UndefinedMetricWarning, stacklevel=5)


def _report(found, digits, output_dict, zero_division, averages):
    counts = np.array(list(found.values())).reshape(-1, 3)
    each = _averaged(counts, None, 1.0, WARN_FOR, zero_division)
    rows = {name: tuple(column[k].item() for column in each) for k, name in enumerate(found)}
    rows |= {f"{average} avg": _averaged(counts, average, 1.0, WARN_FOR, zero_division) for average in averages}
    names = ("precision", "recall", "f1-score", "support")
    if output_dict:
        return {name: dict(zip(names, row, strict=True)) for name, row in rows.items()}
    width = max([len("weighted avg"), digits, *map(len, found)])
    lines = [" " * width + " " + "".join(f" {name:>9}" for name in names), ""]
    for name, (*shares, support) in rows.items():
        if name == "micro avg" and found:
            lines.append("")
        lines.append(f"{name:>{width}} " + "".join(f" {share:>9.{digits}f}" for share in shares) + f" {support:>9}")
    return "\n".join(lines) + "\n"
