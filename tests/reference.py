"""Brute force: a linear chain by its definition, with every label path written out.

    score(y) = w . F(x, y)                      F(x, y): the value with which each weight's feature fires on the path y
    p(y | x) = exp(score(y)) / Z                Z: the sum over all label paths
    loss = log Z - score(gold)                  its gradient: the mean of F under p, minus F(x, gold)

Plain numpy and itertools over a Corpus and a Layout, for a few labels and a few positions. For longer sequences there is `chain`,
the textbook recursion on logarithms in long double, over tables psi[t][j] and e[t][i][j] of scores.
"""

import itertools
from dataclasses import dataclass

import numpy as np


def features(corpus, layout, i, y):
    """F(x_i, y): float64[F]."""
    out, first, labels = np.zeros(layout.n_features), corpus.seq[i], layout.node_labels()
    for t, label in enumerate(y):
        for attribute, value in _occurrences(corpus.nodes, first + t):
            block = slice(layout.ptr[attribute], layout.ptr[attribute + 1])
            out[block] += value * (labels[block] == label)
        if t == 0:
            continue
        pair = y[t - 1] * layout.n_labels + label
        out[layout.transitions] += layout.transition == pair
        if corpus.pairs is not None:
            for attribute, value in _occurrences(corpus.pairs, first + t):
                block = slice(layout.pair_ptr[attribute], layout.pair_ptr[attribute + 1])
                out[block] += value * (layout.pair[block.start - layout.pair_ptr[0] : block.stop - layout.pair_ptr[0]] == pair)
    return out


def _occurrences(observations, token):
    """(attribute, value) of a token."""
    k = slice(observations.ptr[token], observations.ptr[token + 1])
    values = np.ones(k.stop - k.start) if observations.value is None else observations.value[k]
    return zip(observations.attr[k].tolist(), values.tolist(), strict=True)


def own_features(made, i):
    """bool[F]: the weights of sequence i's attributes, and the transitions if it has any."""
    corpus, layout = made.corpus, made.layout
    own, first, end = np.zeros(layout.n_features, bool), corpus.seq[i], corpus.seq[i + 1]
    for observations, ptr in ((corpus.nodes, layout.ptr), (corpus.pairs, layout.pair_ptr)):
        if observations is not None:
            for a in observations.attr[observations.ptr[first] : observations.ptr[end]]:
                own[ptr[a] : ptr[a + 1]] = True
    own[layout.transitions] = end - first > 1
    return own


def gold(corpus, i):
    """The gold labels of sequence i."""
    return corpus.label[corpus.seq[i] : corpus.seq[i + 1]].tolist()


@dataclass
class Enumerated:
    """All there is to know of one sequence."""

    log_z: float
    node: np.ndarray  # [T, L] P(y_t = j)
    pair: np.ndarray  # [T, L, L] P(y_{t-1} = i, y_t = j); 0 at t = 0
    best: list  # the path with the highest score
    best_score: float
    loss: float
    gradient: np.ndarray  # [F] of the loss


def enumerate_paths(corpus, layout, w, i):
    """Sequence i under the weights w, by its L^T paths."""
    y_gold = gold(corpus, i)
    length, n_labels = len(y_gold), layout.n_labels
    paths = list(itertools.product(range(n_labels), repeat=length))
    fired = np.array([features(corpus, layout, i, y) for y in paths])
    score = np.array([np.dot(f[f != 0], w[f != 0]) for f in fired])
    log_z = log_sum_exp(score)
    p = np.exp(score - log_z)
    node, pair = np.zeros((length, n_labels)), np.zeros((length, n_labels, n_labels))
    for y, probability in zip(paths, p, strict=True):
        for t in range(length):
            node[t, y[t]] += probability
            if t:
                pair[t, y[t - 1], y[t]] += probability
    right = paths.index(tuple(y_gold))
    return Enumerated(log_z, node, pair, list(paths[score.argmax()]), score.max(), log_z - score[right], p @ fired - fired[right])


def objective(corpus, layout, w, *, l2=0.0, l1=0.0):
    """f(w) and the gradient of its smooth part."""
    n = corpus.n_sequences
    all_sequences = [enumerate_paths(corpus, layout, w, i) for i in range(n)]
    f = sum(one.loss for one in all_sequences) / n + l2 / 2 * np.dot(w, w) + l1 * np.abs(w).sum()
    return f, sum(one.gradient for one in all_sequences) / n + l2 * w


def central_differences(f, w, h=1e-5):
    """The gradient of f at w, one weight at a time."""
    out = np.empty_like(w)
    for p in range(len(w)):
        up, down = w.copy(), w.copy()
        up[p] += h
        down[p] -= h
        out[p] = (f(up) - f(down)) / (2 * h)
    return out


# ---- longer sequences ------------------------------------------------------------------------------------------------


def scores(corpus, layout, w, i):
    """The tables psi[T][L] and e[T][L][L] (0 at t = 0) of sequence i."""
    first, length, n_labels = corpus.seq[i], int(corpus.seq[i + 1] - corpus.seq[i]), layout.n_labels
    psi, e, labels = np.zeros((length, n_labels)), np.zeros((length, n_labels * n_labels)), layout.node_labels()
    e[1:, layout.transition] += w[layout.transitions]
    for t in range(length):
        for a, value in _occurrences(corpus.nodes, first + t):
            block = slice(layout.ptr[a], layout.ptr[a + 1])
            psi[t, labels[block]] += value * w[block]
        if t and corpus.pairs is not None:
            for a, value in _occurrences(corpus.pairs, first + t):
                block = slice(layout.pair_ptr[a], layout.pair_ptr[a + 1])
                e[t, layout.pair[block.start - layout.pair_ptr[0] : block.stop - layout.pair_ptr[0]]] += value * w[block]
    return psi, e.reshape(length, n_labels, n_labels)


def log_sum_exp(x, axis=None):
    """log sum exp(x); -inf where every x is."""
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total.reshape(()).item() if axis is None else np.squeeze(total, axis)


def chain(psi, e):
    """(log Z, P(y_t = j), P(y_{t-1} = i, y_t = j)) by forward and backward vectors of logarithms in long double."""
    psi, e = np.asarray(psi, np.longdouble), np.asarray(e, np.longdouble)
    length = len(psi)
    a, b = psi.copy(), np.zeros_like(psi)
    for t in range(1, length):
        a[t] += log_sum_exp(a[t - 1][:, None] + e[t], axis=0)
    for t in range(length - 1, 0, -1):
        b[t - 1] = log_sum_exp(e[t] + psi[t] + b[t], axis=1)
    log_z = log_sum_exp(a[-1], axis=0)
    pair = np.zeros_like(e)
    for t in range(1, length):
        pair[t] = np.exp(a[t - 1][:, None] + e[t] + psi[t] + b[t] - log_z)
    return float(log_z), np.exp(a + b - log_z).astype(float), pair.astype(float)


def best_path(psi, e):
    """The path with the highest score, and that score; ties go to the lower label."""
    score, back = psi[0], []
    for t in range(1, len(psi)):
        through = score[:, None] + e[t]
        back.append(through.argmax(axis=0))
        score = through.max(axis=0) + psi[t]
    y = [int(score.argmax())]
    for come_from in reversed(back):
        y.append(int(come_from[y[-1]]))
    return y[::-1], float(score.max())


def path_score(psi, e, y):
    """The score of one path."""
    return float(sum(psi[t, y[t]] for t in range(len(y))) + sum(e[t, y[t - 1], y[t]] for t in range(1, len(y))))
