"""Better, or luck? Intervals and tests by resampling whole sequences, which are what is drawn independently.

    interval            percentiles of a score over bootstrap samples: n sequences drawn with replacement        Efron 1979
    paired bootstrap    both models on the same samples: how often does the difference change its sign           Koehn 2004
    McNemar             of the items that one of two models has right, is it more than half for one of them       McNemar 1947

A score is a function of counts that add up over sequences (gold, found and correct chunks; tokens and hits). So a sample needs only
to know how often it draws each *distinct* row of counts, which is one multinomial draw: thousands of samples in a moment, and
the same distribution as if sequences had been drawn one by one.
"""

import math
from dataclasses import dataclass

import numpy as np

SAMPLES = 2000
LEVEL = 0.95
SEED = 1
EXACT = 20_000  # discordant pairs up to which McNemar's test adds up the binomial distribution
_BLOCK = 1 << 22  # numbers drawn at a time


@dataclass(frozen=True)
class Interval:
    """A score in percent and the bounds that hold it in so many of a hundred samples."""

    value: float
    low: float
    high: float
    level: float = LEVEL

    def __str__(self):
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    def as_json(self):
        return {"value": self.value, "low": self.low, "high": self.high, "level": self.level}


@dataclass(frozen=True)
class Comparison:
    """Two models on the same sequences; the difference is the second's score less the first's, in points."""

    first: Interval
    second: Interval
    difference: Interval
    p: float  # two-sided: of a difference as far from 0 as this one, were there none

    def as_json(self):
        parts = {"first": self.first, "second": self.second, "difference": self.difference}
        return {**{name: part.as_json() for name, part in parts.items()}, "p": self.p}


def f1(counts):
    """Of summed rows gold, found, correct, in percent; nan where nothing can be divided."""
    return _share(2 * counts[..., 2], counts[..., 0] + counts[..., 1])


def precision(counts):
    return _share(counts[..., 2], counts[..., 1])


def recall(counts):
    return _share(counts[..., 2], counts[..., 0])


def accuracy(counts):
    """Of summed rows items, correct ones."""
    return _share(counts[..., 1], counts[..., 0])


def _share(part, whole):
    return np.divide(100.0 * part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)


def bootstrap(counts, *, samples=SAMPLES, seed=SEED):
    """int64[samples, k]: the sums of rows of counts int[n, k] over as many rows drawn with replacement."""
    rows, times = distinct(np.asarray(counts, np.int64))
    rng, n, sums, at_once = np.random.default_rng(seed), int(times.sum()), [], max(1, _BLOCK // max(1, len(rows)))
    for first in range(0, samples, at_once):
        drawn = rng.multinomial(n, times / n, size=min(at_once, samples - first))
        sums.append(drawn @ rows)
    return np.concatenate(sums)


def distinct(counts):
    """(distinct rows, how often each is there) of rows of numbers from 0."""
    key, size = np.zeros(len(counts), np.int64), 1
    for column in counts.T:
        size *= int(column.max(initial=0)) + 1
        if size >= 2**62:
            return np.unique(counts, axis=0, return_counts=True)
        key = key * (int(column.max(initial=0)) + 1) + column
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    return counts[first], times


def interval(counts, score, *, samples=SAMPLES, level=LEVEL, seed=SEED):
    """The Interval of score(sums) for rows of counts, one row a sequence."""
    return intervals(counts, {"": score}, samples=samples, level=level, seed=seed)[""]


def intervals(counts, scores, *, samples=SAMPLES, level=LEVEL, seed=SEED):
    """{name: Interval} of several scores of the same counts, on the same samples."""
    counts = np.asarray(counts)
    drawn, all_ = bootstrap(counts, samples=samples, seed=seed), counts.sum(axis=0)
    return {name: _interval(score(all_), score(drawn), level) for name, score in scores.items()}


def _interval(value, values, level):
    """Samples in which nothing could be divided say nothing; a score of nothing is 0, as everywhere."""
    values = values[~np.isnan(values)]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]) if len(values) else (0.0, 0.0)
    return Interval(float(np.nan_to_num(value)), float(low), float(high), level)


def mean_interval(values, *, samples=SAMPLES, level=LEVEL, seed=SEED):
    """The Interval of the mean of some repeats, drawn with replacement."""
    values = np.asarray(values, float)
    drawn = np.random.default_rng(seed).integers(0, len(values), (samples, len(values)))
    return _interval(values.mean(), values[drawn].mean(axis=1), level)


def compare(first, second, score, *, samples=SAMPLES, level=LEVEL, seed=SEED):
    """The Comparison of two models by their counts on the same sequences."""
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} sequences and {len(second)}: only the same ones can be compared")
    k, both = first.shape[1], np.concatenate([first, second], axis=1)
    drawn, all_ = bootstrap(both, samples=samples, seed=seed), both.sum(axis=0)
    a, b = score(drawn[:, :k]), score(drawn[:, k:])
    value_a, value_b = np.nan_to_num(score(all_[:k])), np.nan_to_num(score(all_[k:]))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    return Comparison(
        _interval(value_a, a, level), _interval(value_b, b, level), _interval(value_b - value_a, b - a, level), two_sided(b - a)
    )


def two_sided(differences):
    """How surely the differences lie on one side of 0; never less than one sample can tell."""
    n = len(differences)
    fewer = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (n + 1))


def mcnemar(only_first, only_second):
    """Two-sided p: of the items that one model alone has right each is a fair coin, if the models are as good."""
    n, k = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return 1.0
    if n > EXACT:  # normal approximation, with the correction for continuity
        return math.erfc(max(abs(only_first - only_second) - 1, 0) / math.sqrt(2 * n))
    i = np.arange(k + 1)
    log_binomial = math.lgamma(n + 1) - np.array([math.lgamma(j + 1) + math.lgamma(n - j + 1) for j in i.tolist()])
    return min(1.0, 2 * float(np.exp(log_binomial - n * math.log(2)).sum()))
