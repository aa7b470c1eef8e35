"""What each token adds to the score of a labelling: psi_t(y_t) + e_t(y_{t-1}, y_t)."""

import numpy as np

from ._paths import node_scores


class Scores:
    """The scores of one sentence: psi[T, L] of its tokens, edge(t)[L, L] of label pairs at token t, the label before first."""

    def __init__(self, model, corpus):
        self.layout, self.w, self.pairs, n = model.layout, np.ascontiguousarray(model.w), corpus.pairs, model.layout.n_labels
        self.psi = node_scores(corpus.nodes, self.layout, self.w)
        self.plain = np.zeros(n * n)
        self.plain[self.layout.transition] = self.w[self.layout.transitions]

    def edge(self, t):
        n, edge = self.layout.n_labels, self.plain.copy()
        if self.pairs is not None:
            ptr, first = self.layout.pair_ptr, int(self.layout.pair_ptr[0])
            for b in self.pairs.attr[self.pairs.ptr[t] : self.pairs.ptr[t + 1]].tolist():
                edge[self.layout.pair[ptr[b] - first : ptr[b + 1] - first]] += self.w[ptr[b] : ptr[b + 1]]
        return edge.reshape(n, n)

    def of_tokens(self, path):
        return [float(self.psi[t, y] + (self.edge(t)[path[t - 1], y] if t else 0)) for t, y in enumerate(path)]
