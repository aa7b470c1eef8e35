"""The numbers of an Evaluation with intervals, and two evaluations held against each other; the resampling is in resampling.py."""

import numpy as np

from . import resampling
from .resampling import accuracy, f1, precision, recall

THREE = {"precision": precision, "recall": recall, "f1": f1}


def intervals(evaluation, *, samples=resampling.SAMPLES):
    """{"accuracy": Interval, "sequence_accuracy", "chunk": {"precision", ...} or None, "types": {type: ...}, "labels": {label: ...}}."""
    by = evaluation.by_sequence()
    of = lambda counts, score: resampling.interval(counts, score, samples=samples)  # noqa: E731
    three = lambda counts: resampling.intervals(counts, THREE, samples=samples)  # noqa: E731
    number = {name: k for k, name in enumerate(by.names) if isinstance(name, str)}
    return {
        "accuracy": of(by.tokens, accuracy),
        "sequence_accuracy": of(whole(by), accuracy),
        "chunk": three(by.chunks()) if evaluation.chunked else None,
        "types": {kind: three(by.chunks(by.kinds.index(kind))) for kind in evaluation.types} if evaluation.chunked else {},
        "labels": {label: three(by.label(number[label])) for label in evaluation.labels},
    }


def whole(by):
    """int[n, 2]: one for each sequence, and whether all of it is right."""
    right = by.tokens[:, 0] == by.tokens[:, 1]
    return np.stack([np.ones(len(right), np.int64), right.astype(np.int64)], axis=1)


def as_json(found):
    """The same as plain dictionaries."""
    if isinstance(found, resampling.Interval):
        return found.as_json()
    return None if found is None else {name: as_json(part) for name, part in found.items()}


def lines(found):
    """The same as text."""
    yield f"in brackets what holds {resampling.LEVEL:.0%} of {resampling.SAMPLES:,} samples of the sequences"
    yield f"accuracy: {found['accuracy']}; sequences: {found['sequence_accuracy']}"
    if found["chunk"]:
        yield "; ".join(f"{name}: {found['chunk'][name]}" for name in ("precision", "recall")) + f"; F1: {found['chunk']['f1']}"
    parts = found["types"] or found["labels"]
    width = max(map(len, parts), default=0)
    for name, scores in parts.items():
        yield f"  {name:<{width}}  F1 {scores['f1']}"


def compare(first, second, *, samples=resampling.SAMPLES):
    """Two evaluations of the same gold labels: what differs, and whether it may be luck.

    {"score": Comparison (of F1 if the labels are chunk labels, else of accuracy), "accuracy": Comparison, "types": {type: Comparison},
    "tokens" and "sequences": {"only_first", "only_second", "p"} with the p of McNemar's test}.
    """
    a, b = first.by_sequence(), second.by_sequence()
    of = lambda one, other, score: resampling.compare(one, other, score, samples=samples)  # noqa: E731
    found = {"accuracy": of(a.tokens, b.tokens, accuracy)}
    found["score"] = of(a.chunks(), b.chunks(), f1) if first.chunked else found["accuracy"]
    kinds = sorted(set(first.types) | set(second.types)) if first.chunked else []
    found["types"] = {kind: of(_chunks(a, kind), _chunks(b, kind), f1) for kind in kinds}
    found["tokens"] = _mcnemar(*((by.gold == by.predicted) & (by.gold > 1) for by in (a, b)))
    found["sequences"] = _mcnemar(*(whole(by)[:, 1].astype(bool) for by in (a, b)))
    return found


def _chunks(by, kind):
    return by.chunks(by.kinds.index(kind)) if kind in by.kinds else np.zeros((len(by.first), 3), np.int64)


def _mcnemar(first, second):
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return {"only_first": only_first, "only_second": only_second, "p": resampling.mcnemar(only_first, only_second)}
