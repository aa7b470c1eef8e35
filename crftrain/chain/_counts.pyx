"""How often features fire, as data: what scaling goes by."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from .._kernels cimport lattice_fit
from ._blocks cimport Gradient


def gold_counts(Sequences sequences, layout, bound):
    """float64[F]: how often, or with what sum of values, each feature fires on the gold labels; `bound` as in _order_free."""
    cdef Gradient gradient = Gradient(layout)
    cdef const Tokens* s = &sequences.s
    cdef Lattice* X = lattice_new(layout.n_labels, gradient.transitions.arcs)
    cdef int64_t i, T
    cdef bint pairs = s.pairs.ptr != NULL, room = X != NULL
    counts = np.zeros(layout.n_features)
    gradient.use(counts)
    gradient.view.nodes.magic = gradient.view.pairs.magic = magic_of(limit(bound))
    with nogil:
        for i in range(sequences.n if room else 0):
            T = s.seq[i + 1] - s.seq[i]
            room = lattice_fit(X, T, pairs)
            if not room:
                break
            memset(X.q, 0, T * X.LP * sizeof(double))
            memset(X.edge, 0, X.places * sizeof(double))
            if pairs:
                memset(X.P, 0, T * X.L * X.LP * sizeof(double))
            minus_gold(s, i, X)
            gradient.add(s, i, X)
    lattice_free(X)
    if not room:
        raise MemoryError()
    gradient.collect()
    return -counts


def feature_sums(corpus, layout):
    """(the least value of an occurrence, the largest sum of values in a sequence), with a label pair's plain feature counted as 1."""
    least, total = 1.0, np.diff(corpus.seq) - 1.0 if len(layout.transition) else np.zeros(corpus.n_sequences)
    for observations in (corpus.nodes, corpus.pairs if len(layout.pair) else None):
        if observations is not None:
            value = np.ones(len(observations.attr)) if observations.value is None else observations.value
            least = min(least, value.min(initial=1.0))
            sequence = np.repeat(np.arange(len(total)), np.diff(observations.ptr[corpus.seq]))
            total += np.bincount(sequence, value, len(total))
    return float(least), float(total.max(initial=1.0))
