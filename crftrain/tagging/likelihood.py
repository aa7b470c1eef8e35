"""How probable labels are that are known in part: of whole sequences, of spans, of what lies around them.

    log Z(allowed) = log of the sum of exp score(y) over the labellings y with y_t in allowed_t
    log p(y_t in allowed_t for all t) = log Z(allowed) - log Z(everything)

The forward recursion in numpy, for single sequences: a_t = psi_t + log sum_i exp(a_{t-1}(i) + e_t(i, .)).
"""

import numpy as np

from ._paths import node_scores


def log_probability(model, corpus, allowed):
    """Of a corpus of one sequence; allowed: bool [tokens, labels]."""
    layout, w = model.layout, model.w
    psi, edges = node_scores(corpus.nodes, layout, w), _edges(model, corpus)
    return _log_sum(np.where(allowed, psi, -np.inf), edges) - _log_sum(psi, edges)


def _edges(model, corpus):
    """t -> e_t [labels, labels]."""
    layout, w, n = model.layout, model.w, model.layout.n_labels
    plain = np.zeros(n * n)
    plain[layout.transition] = w[layout.transitions]
    pairs = corpus.pairs
    if pairs is None or not len(layout.pair):
        return lambda t: plain.reshape(n, n)

    def at(t):
        own, start = plain.copy(), int(layout.pair_ptr[0])
        for b in pairs.attr[pairs.ptr[t] : pairs.ptr[t + 1]].tolist():
            block = slice(int(layout.pair_ptr[b]), int(layout.pair_ptr[b + 1]))
            own[layout.pair[block.start - start : block.stop - start]] += w[block]
        return own.reshape(n, n)

    return at


def _log_sum(psi, edges):
    a = psi[0]
    for t in range(1, len(psi)):
        a = psi[t] + _log_sum_of(a[:, None] + edges(t))
    return float(_log_sum_of(a))


def _log_sum_of(x):
    """log sum exp over the first axis; -inf of nothing."""
    most = np.max(x, axis=0)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return most + np.log(np.exp(x - most).sum(axis=0))
