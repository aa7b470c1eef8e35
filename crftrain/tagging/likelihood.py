"""What a labelling scores: the sum of its weights.

    score(y) = sum_t sum_a value w[a, y_t] + sum_t w[y_{t-1}, y_t] + sum_t sum_b w[b, y_{t-1}, y_t],    log p(y) = score(y) - log Z
"""

import numpy as np


def path_scores(model, corpus, paths):
    """float64[paths]: the score of each labelling, int32[paths, tokens], of a corpus of one sequence."""
    return np.array([_score(model, corpus, path.astype(np.int64)) for path in paths])


def _score(model, corpus, y):
    layout, w = model.layout, model.w
    label = layout.node_labels()
    score = _weights(corpus.nodes, y, layout.ptr, label, w)
    if len(y) > 1:
        pair = y[:-1] * layout.n_labels + y[1:]
        dense = np.zeros(layout.n_labels**2)
        dense[layout.transition] = w[layout.transitions]
        score += dense[pair].sum()
        if corpus.pairs is not None:
            pairs = np.concatenate([[-1], pair])
            start = int(layout.pair_ptr[0])
            score += _weights(corpus.pairs, pairs, layout.pair_ptr - start, layout.pair, w[start:])
    return score


def _weights(observations, member, ptr, members, w):
    """The sum of the weights of each token's attributes with the token's member: a label, or a label pair."""
    wanted = np.repeat(member, np.diff(observations.ptr))
    total = 0.0
    for k, (a, j) in enumerate(zip(observations.attr.tolist(), wanted.tolist(), strict=True)):
        first, end = ptr[a], ptr[a + 1]
        at = first + np.searchsorted(members[first:end], j)
        if at < end and members[at] == j:
            total += w[at] * (1.0 if observations.value is None else observations.value[k])
    return total
