"""Corpora unlike those at hand, made by a seeded generator: for what nobody tuned for.

Labels are a Markov chain, words hang on the label. `make(name, folder)` gives (path, template or None for items).
"""

import sys
from pathlib import Path

import numpy as np

from .tasks import replacing


def chain(rng, n_labels, *, spread=0.3, dwell=0.0):
    """P(next label | label), cumulated: few likely successors where spread is small; dwell: how likely it stays."""
    rows = rng.dirichlet(np.full(n_labels, spread), n_labels)
    return ((1 - dwell) * rows + dwell * np.eye(n_labels)).cumsum(1)


def successors(rng, n_labels, each):
    """P(next label | label), cumulated: so many labels may follow each one."""
    rows = np.zeros((n_labels, n_labels))
    for row in rows:
        row[rng.choice(n_labels, min(each, n_labels), replace=False)] = rng.dirichlet(np.ones(min(each, n_labels)))
    return rows.cumsum(1)


def zipf(rng, n_labels, n_words, *, each, noise):
    """P(word | label), cumulated: frequent words first; `each` label prefers a few, and has all with the share `noise`."""
    share = 1 / np.arange(1, n_words + 1)
    share /= share.sum()
    rows = np.tile(noise * share, (n_labels, 1))
    owner = rng.integers(n_labels, size=(n_words, each))
    for k in range(each):
        rows[owner[:, k], np.arange(n_words)] += share * (1 - noise)
    return (rows / rows.sum(1, keepdims=True)).cumsum(1)


def letters(rng, n_labels, n_letters, *, spread):
    return rng.dirichlet(np.full(n_letters, spread), n_labels).cumsum(1)


def walk(rng, lengths, steps, words):
    """Of each sequence: its labels, its words."""
    most = len(steps) - 1
    for length in lengths:
        u, label = rng.random((length, 2)), int(rng.integers(len(steps)))
        labels = np.empty(length, np.int64)
        for t in range(length):
            label = labels[t] = min(most, int(np.searchsorted(steps[label], u[t, 0])))
        seen = [min(words.shape[1] - 1, int(np.searchsorted(words[label], x))) for label, x in zip(labels, u[:, 1], strict=True)]
        yield labels, seen


def many_labels(rng, n_labels, n_tokens=40_000):
    """At first a sequence of all labels, then such as successors() allows."""
    steps, words = successors(rng, n_labels, 9), zipf(rng, n_labels, 10_000, each=2, noise=0.1)
    yield range(n_labels), range(n_labels)
    yield from walk(rng, poisson(rng, n_tokens // 20, 20), steps, words)


def columns(out, sequences):
    for labels, words in sequences:
        out.write("".join(f"w{word:x}\ty{label}\n" for label, word in zip(labels, words, strict=True)) + "\n")


def valued(out, sequences, rng, scale, n_values=12):
    """Items: the word, and real values that hang on the label, all times scale."""
    centre = rng.standard_normal((64, n_values))
    for labels, words in sequences:
        for label, word in zip(labels, words, strict=True):
            values = "".join(f"\tv{k}:{scale * x:.6g}" for k, x in enumerate(centre[label] + rng.standard_normal(n_values)))
            out.write(f"y{label}\tw{word % 50}:{scale:g}{values}\n")
        out.write("\n")


def poisson(rng, n, mean):
    return np.maximum(1, rng.poisson(mean, n))


def uneven(rng, n, mean, deviation):
    """Lengths of a gamma distribution."""
    return np.maximum(2, rng.gamma((mean / deviation) ** 2, deviation**2 / mean, n)).astype(int)


def skewed(rng, n_labels, share):
    """One label nearly always, the others now and then for a token."""
    rows = np.full((n_labels, n_labels), (1 - share) / (n_labels - 1))
    rows[:, 0] = share
    return rows.cumsum(1)


def many_words(rng):
    return zipf(rng, 128, 60_000, each=2, noise=0.05)


# name: template, what writes it
MADE = {
    "letters": ("seg", lambda r: walk(r, uneven(r, 346, 248, 150), chain(r, 8, spread=1, dwell=0.75), letters(r, 8, 20, spread=6))),
    "letters-plain": ("seg", lambda r: walk(r, poisson(r, 346, 248), chain(r, 8), letters(r, 8, 20, spread=0.15))),
    "one-token": ("seg", lambda r: walk(r, [1] * 20_000, chain(r, 10), zipf(r, 10, 2000, each=2, noise=0.3))),
    "thousand-tokens": ("seg", lambda r: walk(r, [1000] * 100, chain(r, 8), letters(r, 8, 300, spread=0.15))),
    "thousand-words": ("pos", lambda r: walk(r, [1000] * 100, chain(r, 20), zipf(r, 20, 8000, each=2, noise=0.2))),
    "fifty": ("seg", lambda r: walk(r, poisson(r, 50, 20), chain(r, 6), letters(r, 6, 300, spread=0.15))),
    "short-many": ("seg", lambda r: walk(r, poisson(r, 200_000, 5), chain(r, 5), zipf(r, 5, 3000, each=2, noise=0.2))),
    "one-label": ("seg", lambda r: walk(r, poisson(r, 4000, 20), skewed(r, 10, 0.999), zipf(r, 10, 1000, each=2, noise=0.2))),
    "labels-128": ("pos", lambda r: walk(r, poisson(r, 8000, 20), chain(r, 128, spread=0.05), zipf(r, 128, 20_000, each=2, noise=0.05))),
    "labels-300": ("seg", lambda r: walk(r, poisson(r, 1500, 20), chain(r, 300), letters(r, 300, 3000, spread=0.15))),
    "two-labels": ("seg", lambda r: walk(r, [5000] * 20, chain(r, 2, spread=1, dwell=0.99), letters(r, 2, 4, spread=20))),
    "values": (None, lambda r: walk(r, poisson(r, 2000, 15), chain(r, 12), zipf(r, 12, 50, each=2, noise=0.5))),
}
SCALES = {"values": 1.0, "values-thousandth": 1e-3, "values-thousand": 1e3}
MADE |= dict.fromkeys(SCALES, MADE["values"])
LARGE = {"labels-128-large": ("pos", lambda r: walk(r, poisson(r, 80_000, 21), chain(r, 128, spread=0.05), many_words(r)))}
LABELS = {f"successors-{n}": ("seg", lambda r, n=n: many_labels(r, n)) for n in (2, 9, 22, 50, 163, 437, 1000, 2000)}


def make(name, folder):
    """The corpus of that name, made if it is not there."""
    template, sequences = (MADE | LARGE | LABELS)[name]
    path = Path(folder) / "made" / f"{name}.txt"
    if not path.exists():
        rng = np.random.default_rng(1)
        with replacing(path, "w") as out:
            if name in SCALES:
                valued(out, sequences(rng), np.random.default_rng(2), SCALES[name])
            else:
                columns(out, sequences(rng))
    return path, template


if __name__ == "__main__":
    print(*make(*sys.argv[1:3]))
