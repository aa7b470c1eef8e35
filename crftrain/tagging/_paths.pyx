# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The best path through each label of each token, on plain arrays: for explanations, which ask what else might have been.

    up_t(j)   = psi_t(j) + max_i up_{t-1}(i) + e_t(i, j)            the best way from the start to label j at t
    down_t(i) = max_j e_{t+1}(i, j) + psi_{t+1}(j) + down_{t+1}(j)  and on to the end
    up_t(j) + down_t(j)                                              the score of the best path through j at t

Ties go to the lower label, as in decoding.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np


def node_scores(observations, layout, const double[::1] w):
    """psi float64[T, L]; occurrences of attribute -1, which has no weights, count nothing."""
    cdef const int64_t[::1] ptr = observations.ptr, block = layout.ptr
    cdef const int32_t[::1] attr = observations.attr, label = layout.node_labels()
    cdef bint valued = observations.value is not None
    cdef const double[::1] value = observations.value if valued else np.ones(1)
    cdef double[:, ::1] psi = np.zeros((ptr.shape[0] - 1, layout.n_labels))
    cdef int64_t t, k, p
    cdef double c = 1
    for t in range(ptr.shape[0] - 1):
        for k in range(ptr[t], ptr[t + 1]):
            if attr[k] < 0:
                continue
            if valued:
                c = value[k]
            for p in range(block[attr[k]], block[attr[k] + 1]):
                psi[t, label[p]] += c * w[p]
    return np.asarray(psi)


cdef class Edges:
    """e_t(i, j): one matrix for all positions, or with attributes on label pairs another one at each."""

    cdef const double[:, ::1] trans
    cdef double[:, ::1] own
    cdef bint pairs
    cdef const int64_t[::1] ptr, block
    cdef const int32_t[::1] attr, pair
    cdef const double[::1] w

    def __init__(self, double[:, ::1] trans, observations, layout, const double[::1] w):
        self.trans, self.w = trans, w
        self.pairs = observations is not None
        if self.pairs:
            self.own = np.empty((layout.n_labels, layout.n_labels))
            self.ptr, self.attr = observations.ptr, observations.attr
            self.block, self.pair = layout.pair_ptr - layout.pair_ptr[0], layout.pair
            self.w = w[layout.pair_ptr[0]:]

    cdef const double[:, ::1] at(self, int64_t t):
        cdef int64_t k, p, L = self.trans.shape[0]
        if not self.pairs:
            return self.trans
        self.own[:, :] = self.trans
        for k in range(self.ptr[t], self.ptr[t + 1]):
            if self.attr[k] >= 0:
                for p in range(self.block[self.attr[k]], self.block[self.attr[k] + 1]):
                    self.own[self.pair[p] // L, self.pair[p] % L] += self.w[p]
        return self.own

    cdef double own_part(self, int64_t t, int64_t i, int64_t j):
        """What attributes on label pairs add to e_t(i, j)."""
        return self.at(t)[i, j] - self.trans[i, j] if self.pairs else 0.0


def best_paths(const int64_t[::1] seq, const double[:, ::1] psi, Edges edges):
    """(up, down float64[T, L], come_from, go_to int32[T, L]): the label before and after on the best path through each."""
    cdef int64_t T = psi.shape[0], L = psi.shape[1], s, t, i, j
    cdef double[:, ::1] up = np.empty((T, L)), down = np.zeros((T, L))
    cdef int32_t[:, ::1] come_from = np.zeros((T, L), np.int32), go_to = np.zeros((T, L), np.int32)
    cdef const double[:, ::1] e
    cdef double score
    for s in range(seq.shape[0] - 1):
        for j in range(L):
            up[seq[s], j] = psi[seq[s], j]
        for t in range(seq[s] + 1, seq[s + 1]):
            e = edges.at(t)
            for j in range(L):
                up[t, j] = -INFINITY
            for i in range(L):
                for j in range(L):
                    score = up[t - 1, i] + e[i, j]
                    if score > up[t, j]:
                        up[t, j] = score
                        come_from[t, j] = i
            for j in range(L):
                up[t, j] += psi[t, j]
        for t in range(seq[s + 1] - 1, seq[s], -1):
            e = edges.at(t)
            for i in range(L):
                down[t - 1, i] = -INFINITY
                for j in range(L):
                    score = e[i, j] + (psi[t, j] + down[t, j])
                    if score > down[t - 1, i]:
                        down[t - 1, i] = score
                        go_to[t - 1, i] = j
    return np.asarray(up), np.asarray(down), np.asarray(come_from), np.asarray(go_to)


def parted(
    const int64_t[::1] seq, const double[:, ::1] psi, Edges edges, const int32_t[:, ::1] come_from, const int32_t[:, ::1] go_to,
    const int64_t[::1] tokens, const int32_t[::1] a, const int32_t[::1] b
):
    """Where the best paths through labels a[k] and b[k] at tokens[k] part, and by how much.

    ([k][3] transitions, pair attributes, nodes of other tokens; [[(token, label, other label)]]). Where the two meet they stay together.
    """
    cdef double[:, ::1] sums = np.zeros((tokens.shape[0], 3))
    cdef int32_t ya, yb, na, nb
    cdef int64_t n, k, s = 0
    cdef list all_changed = [], changed
    for n in range(tokens.shape[0]):
        while seq[s + 1] <= tokens[n]:
            s += 1
        changed, k, ya, yb = [], tokens[n], a[n], b[n]
        while k > seq[s] and ya != yb:
            na, nb = come_from[k, ya], come_from[k, yb]
            sums[n, 0] += edges.trans[na, ya] - edges.trans[nb, yb]
            sums[n, 1] += edges.own_part(k, na, ya) - edges.own_part(k, nb, yb)
            k, ya, yb = k - 1, na, nb
            if ya != yb:
                sums[n, 2] += psi[k, ya] - psi[k, yb]
                changed.append((k, ya, yb))
        changed.reverse()
        k, ya, yb = tokens[n], a[n], b[n]
        while k < seq[s + 1] - 1 and ya != yb:
            na, nb = go_to[k, ya], go_to[k, yb]
            k += 1
            sums[n, 0] += edges.trans[ya, na] - edges.trans[yb, nb]
            sums[n, 1] += edges.own_part(k, ya, na) - edges.own_part(k, yb, nb)
            ya, yb = na, nb
            if ya != yb:
                sums[n, 2] += psi[k, ya] - psi[k, yb]
                changed.append((k, ya, yb))
        all_changed.append(changed)
    return np.asarray(sums), all_changed


def said(
    observations, layout, const double[::1] w, const double[:, ::1] best,
    const int64_t[::1] tokens, const int32_t[::1] a, const int32_t[::1] b
):
    """What each attribute of some tokens says: (ptr, value, for a, for b, the label were it absent), the attributes of tokens[k] at ptr[k].

    best: the scores of the best paths through each label of those tokens.
    """
    cdef const int64_t[::1] block = layout.ptr, first = observations.ptr
    cdef const int32_t[::1] label = layout.node_labels(), attr = observations.attr
    cdef bint valued = observations.value is not None
    cdef const double[::1] values = observations.value if valued else np.ones(1)
    cdef int64_t L = layout.n_labels, n, k, p, j, at = 0
    ptr = np.concatenate([[0], np.cumsum(np.diff(observations.ptr)[tokens])]).astype(np.int64)
    cdef int64_t size = ptr[tokens.shape[0]]
    cdef double[::1] value = np.ones(size), for_a = np.zeros(size), for_b = np.zeros(size), rest = np.empty(L)
    cdef int32_t[::1] without = np.zeros(size, np.int32)
    for n in range(tokens.shape[0]):
        for k in range(first[tokens[n]], first[tokens[n] + 1]):
            if valued:
                value[at] = values[k]
            for j in range(L):
                rest[j] = best[n, j]
            if attr[k] >= 0:
                for p in range(block[attr[k]], block[attr[k] + 1]):
                    rest[label[p]] -= value[at] * w[p]
                    if label[p] == a[n]:
                        for_a[at] = value[at] * w[p]
                    elif label[p] == b[n]:
                        for_b[at] = value[at] * w[p]
            for j in range(1, L):
                if rest[j] > rest[without[at]]:
                    without[at] = j
            at += 1
    return ptr, np.asarray(value), np.asarray(for_a), np.asarray(for_b), np.asarray(without)
