"""What is there more than once: the same sequence or the same words in the same surroundings with other labels, copies, leaks.

Sequences and surroundings are compared by 64-bit sums of products with odd random numbers, on whole arrays.
"""

import numpy as np

from .findings import Example, Finding, counted, shown

REACH = 2  # neighbours on each side that make surroundings
LONG = 6  # tokens from which two equal sentences are hardly chance
_SEED = 29


def _numbers(n):
    return np.random.default_rng(_SEED).integers(1, 2**63, n, np.uint64) * 2 + 1


def _mixed(ids, multiplier):
    """uint64: numbers spread over all 64 bits."""
    x = (ids.astype(np.uint64) + np.uint64(1)) * multiplier
    x ^= x >> np.uint64(29)
    return x * np.uint64(0xBF58476D1CE4E5B9)


def sequence_keys(part, ids):
    """uint64[n]: equal for equal sequences."""
    if not part.n_sequences:
        return np.zeros(0, np.uint64)
    at = np.arange(part.n_tokens) - np.repeat(part.seq[:-1], part.lengths)
    powers = _mixed(np.arange(int(part.lengths.max())), _numbers(1)[0]) | np.uint64(1)
    return np.add.reduceat(_mixed(ids, _numbers(2)[1]) * powers[at], part.seq[:-1]) + part.lengths.astype(np.uint64)


def context_keys(part, ids, reach=REACH):
    """uint64[T]: equal where a token and its neighbours are; outside of the sentence is a neighbour too."""
    key = np.zeros(part.n_tokens, np.uint64)
    room = np.zeros(part.n_tokens + 2 * reach, np.uint64)
    position = np.arange(part.n_tokens) - np.repeat(part.seq[:-1], part.lengths)
    rest = np.repeat(part.lengths, part.lengths) - 1 - position
    for k, multiplier in zip(range(-reach, reach + 1), _numbers(2 * reach + 1), strict=True):
        room[reach : reach + part.n_tokens] = _mixed(ids, multiplier)
        inside = (position + k >= 0) & (rest - k >= 0)
        key += np.where(inside, room[reach + k : reach + k + part.n_tokens], multiplier)
    return key


def check_repeats(data):
    train = data.train
    if not train.n_sequences:
        return
    observed = data.observed(train)
    same = sequence_keys(train, observed)
    labelled = sequence_keys(train, data.joined(train))
    contradicted = yield from _contradictions(data, same, labelled)
    yield from _contexts(data, observed, contradicted)
    yield from _copies(data, sequence_keys(train, train.line))
    for k, part in enumerate(data.parts[1:], 1):
        yield from _leaks(data, part, data.parts[:k])


def _contradictions(data, same, labelled):
    """Sequences that are alike in everything but their labels; bool[n]."""
    train = data.train
    _, group, size = np.unique(same, return_inverse=True, return_counts=True)
    first_label = np.zeros(len(size), np.uint64)
    first = np.full(len(size), -1)
    first[group[::-1]] = np.arange(train.n_sequences)[::-1]
    first_label = labelled[first]
    mixed = np.zeros(len(size), bool)
    mixed[group[labelled != first_label[group]]] = True
    count = int(mixed.sum())
    if count:
        groups = sorted(np.flatnonzero(mixed).tolist(), key=lambda g: (-size[g], first[g]))
        examples = [_pair(data, np.flatnonzero(group == g), labelled) for g in groups[: data.most]]
        yield Finding(
            "contradiction",
            "warning",
            count,
            f"{counted(count, 'sentence')} of {train.name} with other labels at another place",
            "no model can tell such copies apart: make their labels agree",
            examples,
        )
    return mixed[group]


def _pair(data, members, labelled):
    """The first copy that differs from the commonest labelling, and where that is."""
    train = data.train
    _, where, size = np.unique(labelled[members], return_inverse=True, return_counts=True)
    usual = members[np.argmax(size[where])]  # of labellings as common as each other the first
    other = members[where != where[members == usual]][0]
    a, b = int(train.seq[usual]), int(train.seq[other])
    k = next(k for k in range(int(train.lengths[other])) if train.label[a + k] != train.label[b + k])
    mine, theirs = (shown(data.labels[train.label[first + k]]) for first in (b, a))
    return Example(train.place(b + k), f"{mine}, but {theirs} at {train.place(a + k)}: {train.around(b + k)}")


def _contexts(data, ids, contradicted):
    """Tokens that have one label almost always in their surroundings, and another one here."""
    train, n_labels = data.train, len(data.labels)
    key = context_keys(train, ids)
    _, group = np.unique(key, return_inverse=True)
    pair = group.astype(np.int64) * n_labels + train.label
    kinds, kind, times = np.unique(pair, return_inverse=True, return_counts=True)
    owner = kinds // n_labels
    most = np.zeros(int(group.max()) + 1, np.int64)
    np.maximum.at(most, owner, times)
    suspect = (times * 3 <= most[owner]) & (most[owner] >= 3)
    tokens = np.flatnonzero(suspect[kind] & ~np.repeat(contradicted, train.lengths))
    if not len(tokens):
        return
    order = np.argsort(-most[group[tokens]] / times[kind[tokens]], kind="stable")
    usual = {int(g): int(kinds[i] % n_labels) for i, g in enumerate(owner.tolist()) if times[i] == most[g]}

    def text(t):
        often = most[group[t]]
        return f"{shown(data.labels[train.label[t]])}, but {shown(data.labels[usual[int(group[t])]])} {often:,} times: {train.around(t)}"

    yield Finding(
        "context",
        "warning",
        len(tokens),
        f"{counted(len(tokens), 'token')} of {train.name} labelled otherwise than the same words in the same surroundings",
        "look at them, the first ones first: often the rarer label is a mistake",
        train.examples(tokens[order], text, data.most),
    )


def _copies(data, keys):
    """Sentences that stand in a file twice, labels and all."""
    train = data.train
    _, first, group, size = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    again = np.flatnonzero((first[group] != np.arange(len(group))) & (train.lengths >= LONG))
    short = int((size - 1).sum()) - len(again)
    if short:
        share = short / train.n_sequences
        yield Finding("copies-short", "note", short, f"{counted(short, 'short sentence')} of {train.name} ({share:.1%}) repeated")
    if len(again):
        examples = [_as_at(train, i, train, first[group[i]]) for i in again[: data.most].tolist()]
        yield Finding(
            "copies",
            "warning",
            len(again),
            f"{counted(len(again), 'sentence')} of {train.name} ({len(again) / train.n_sequences:.1%}) there before, word for word",
            f"delete them, unless they are there on purpose (sentences of fewer than {LONG} tokens are not counted)",
            examples,
        )


def _leaks(data, part, before):
    """Sentences of a test file that training has seen."""
    seen, keys = {}, sequence_keys(part, data.observed(part))
    for other in before:
        for i, key in enumerate(sequence_keys(other, data.observed(other)).tolist()):
            seen.setdefault(key, (other, i))
    known = [(i, *seen[key]) for i, key in enumerate(keys.tolist()) if key in seen]
    long = [(i, other, j) for i, other, j in known if part.lengths[i] >= LONG]
    names = " or ".join(other.name for other in before)
    if long:
        examples = [_as_at(part, i, other, j) for i, other, j in long[: data.most]]
        yield Finding(
            "leak",
            "warning",
            len(long),
            f"{counted(len(long), 'sentence')} of {part.name} ({len(long) / part.n_sequences:.1%}) also in {names}",
            "scores on them say nothing: delete them there",
            examples,
        )
    if len(known) > len(long):
        short = len(known) - len(long)
        message = f"{counted(short, 'short sentence')} of {part.name} ({short / part.n_sequences:.1%}) also in {names}"
        yield Finding("leak-short", "note", short, message)


def _as_at(part, i, other, j):
    return Example(part.place(int(part.seq[i])), f"as at {other.place(int(other.seq[j]))}: {part.text(i)}")
