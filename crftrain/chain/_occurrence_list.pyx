"""The weights of sparse blocks, one by one as sequences meet them: for those who gather and scatter again and again.

    gather     psi[to[e]] += value[e] w[from[e]]        e over what sequence i meets: an occurrence and a label of its attribute
    scatter    w[from[e]] += value[e] q[to[e]]

By blocks a weight takes three look-ups far apart in memory, block, label, weight, and the loop over so few of them ends where
no CPU foretells it. From the list it takes one, for 8 bytes and those of its value. The additions are the same in the same
order, and so the bits.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from .._kernels cimport LISTED_AHEAD, Occurrences, Tokens, padded_labels
from ._blocks cimport integers_from
from ._sequences cimport Sequences

from ..text.rare import occurrences

FEW = 3                         # weights an occurrence: with more, blocks that are near already are read as fast without a list
cdef int64_t MOST = <int64_t> 1 << 32   # 32 bits number so many weights, or scores of one sequence


def listed_bytes(corpus, layout, met=None):
    """What list_weights will take, but for pointers and padding. met: the occurrences of each attribute, where they are counted already."""
    if layout.label is None:
        return 0
    met = occurrences(corpus.nodes, layout.n_attributes) if met is None else met
    return int(met[layout.dense:] @ np.diff(layout.ptr)[layout.dense:]) * (8 if corpus.nodes.value is None else 16)


def few(n_bytes, n_occurrences):
    """Is a list short enough for those who have just brought the blocks near?"""
    return n_bytes <= 8 * FEW * n_occurrences


def list_weights(Sequences sequences, layout):
    """Make gather and scatter go by a list from now on, unless all blocks are rows or the numbers too large for it."""
    longest = np.diff(sequences.corpus.seq).max(initial=0)
    if sequences.s.listed.ptr != NULL or layout.label is None or max(layout.n_features, padded_labels(layout.n_labels) * longest) >= MOST:
        return
    sequences.keep += set_listed(&sequences.s, layout, 0, sequences.n)


cdef list set_listed(Tokens* s, layout, int64_t first, int64_t last):
    """List the weights that sequences first .. last - 1 meet; the arrays to be kept as long as s."""
    cdef const Occurrences* o = &s.nodes
    cdef const int64_t[::1] block = layout.ptr
    cdef const int32_t[::1] label = layout.label
    cdef int64_t i, t, k, p, e = 0
    cdef int LP = padded_labels(layout.n_labels)
    cdef bint valued = o.value != NULL
    cdef int64_t[::1] ptr = np.zeros(last - first + 1, np.int64)
    with nogil:
        for i in range(first, last):
            for t in range(s.seq[i], s.seq[i + 1]):
                for k in range(o.split[t], o.ptr[t + 1]):
                    e += block[o.attr[k] + 1] - block[o.attr[k]]
            ptr[i + 1 - first] = e
    cdef uint32_t[::1] place = np.zeros(e + LISTED_AHEAD, np.uint32), target = np.empty(e + 1, np.uint32)
    cdef double[::1] value = np.empty(e if valued else 0)
    e = 0
    with nogil:
        for i in range(first, last):
            for t in range(s.seq[i], s.seq[i + 1]):
                for k in range(o.split[t], o.ptr[t + 1]):
                    for p in range(block[o.attr[k]], block[o.attr[k] + 1]):
                        place[e], target[e] = <uint32_t> p, <uint32_t> ((t - s.seq[i]) * LP + label[p])
                        if valued:
                            value[e] = o.value[k]
                        e += 1
    s.listed.ptr, s.listed.from_, s.listed.to = integers_from(&ptr[0], first), &place[0], &target[0]
    s.listed.value = &value[0] if valued and e else NULL
    return [np.asarray(ptr), np.asarray(place), np.asarray(target), np.asarray(value)]
