"""A corpus as the kernels see it."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from dataclasses import replace

import numpy as np

from .._kernels cimport Occurrences
from ._blocks cimport whole_rows


cdef class Sequences:
    def __init__(self, corpus, layout):
        """The arrays of the corpus are read only from now on: what is found out about them has to stay true."""
        cdef const int64_t[::1] seq = corpus.seq
        cdef const int32_t[::1] label = corpus.label
        for array in corpus.arrays():
            array.flags.writeable = False
        self.corpus, self.n, self.block_ptr = corpus, len(corpus.seq) - 1, layout.ptr
        self.nodes, self.pairs = ordered(corpus.nodes, whole_rows(layout)), corpus.pairs
        self.s.seq = &seq[0]
        self.s.label = &label[0] if label.shape[0] else NULL
        self.keep = [corpus, set_occurrences(&self.s.nodes, self.nodes, whole_rows(layout))]
        self.s.distinct = self.s.nodes
        if corpus.pairs is not None and layout.pair.shape[0]:
            self.keep.append(set_occurrences(&self.s.pairs, self.pairs, 0))

    def squared(self, layout):
        """The same with the squares of the values, if there are any."""
        corpus = self.corpus
        if self.nodes.value is None and (self.pairs is None or self.pairs.value is None):
            return self
        nodes = replace(self.nodes, value=None if self.nodes.value is None else self.nodes.value**2)
        pairs = self.pairs and replace(self.pairs, value=None if self.pairs.value is None else self.pairs.value**2)
        return Sequences(replace(corpus, nodes=nodes, pairs=pairs), layout)


cdef list set_distinct(Tokens* s, Sequences sequences):
    """`distinct`: each attribute of a sequence once, all at its first token; the arrays to be kept as long as s.

    Good for those who go to blocks once a visit.
    """
    cdef const Occurrences* o = &s.nodes
    cdef const int64_t* block_ptr = &sequences.block_ptr[0]
    cdef int64_t tokens = s.seq[sequences.n], i, t, n = 0
    cdef int64_t[::1] ptr = np.zeros(tokens + 1, np.int64), split = np.zeros(tokens + 1, np.int64)
    cdef int32_t[::1] attr = np.empty(o.ptr[tokens] + 1, np.int32), seen = np.full(sequences.block_ptr.shape[0], -1, np.int32)
    with nogil:
        for i in range(sequences.n):
            t = s.seq[i]
            ptr[t] = n
            n += list_sequence(o, block_ptr, t, s.seq[i + 1], i, &seen[0], &attr[n], &split[t])
            split[t] += ptr[t]
            for t in range(s.seq[i] + 1, s.seq[i + 1] + 1):
                ptr[t] = split[t] = n
    s.distinct.ptr, s.distinct.split, s.distinct.attr, s.distinct.value = &ptr[0], &split[0], &attr[0], NULL
    return [ptr, split, attr]


cdef int64_t list_sequence(
    const Occurrences* o, const int64_t* block_ptr, int64_t first, int64_t end, int32_t number, int32_t* seen, int32_t* attr, int64_t* split
) noexcept nogil:
    """The different attributes of tokens first .. end - 1 to attr, where there is room for all; how many they are.

    Rows, blocks of one weight, then the others: a CPU that foretells its branches goes through them faster.
    """
    cdef int64_t t, k, n = 0, room = o.ptr[end] - o.ptr[first], others = room
    cdef int32_t a, new, one
    for t in range(first, end):
        for k in range(o.ptr[t], o.split[t]):
            a = o.attr[k]
            attr[n] = a
            n += seen[a] != number
            seen[a] = number
    split[0] = n
    for t in range(first, end):
        for k in range(o.split[t], o.ptr[t + 1]):
            a = o.attr[k]
            new, one = seen[a] != number, block_ptr[a + 1] - block_ptr[a] == 1
            seen[a] = number
            attr[n if one else others - 1] = a  # the others backwards from the end of the room
            n += new & one
            others -= new & ~one
    for k in range((room - others) // 2):
        attr[others + k], attr[room - 1 - k] = attr[room - 1 - k], attr[others + k]
    memmove(attr + n, attr + others, (room - others) * sizeof(int32_t))
    return n + room - others


cdef object set_occurrences(Occurrences* o, observations, int64_t dense):
    """Occurrences that have dense attributes (number below `dense`) first in each token; where the others begin."""
    cdef const int64_t[::1] ptr = observations.ptr
    cdef const int32_t[::1] attr = observations.attr
    cdef const double[::1] value = observations.value
    cdef int64_t[::1] split = np.empty(max(1, ptr.shape[0] - 1), np.int64)
    cdef int64_t t, k
    with nogil:
        for t in range(ptr.shape[0] - 1):
            k = ptr[t]
            while k < ptr[t + 1] and attr[k] < dense:
                k += 1
            split[t] = k
    o.ptr, o.split = &ptr[0], &split[0]
    o.attr = &attr[0] if attr.shape[0] else NULL
    o.value = &value[0] if value is not None and value.shape[0] else NULL
    return observations, split


def ordered(observations, int64_t dense):
    """The same where dense attributes come first in each token; else a copy in which they do."""
    cdef const int64_t[::1] ptr = observations.ptr
    cdef const int32_t[::1] attr = observations.attr
    cdef int64_t t, k
    cdef bint in_order = True
    with nogil:
        for t in range(ptr.shape[0] - 1):
            for k in range(ptr[t] + 1, ptr[t + 1]):
                if attr[k - 1] >= dense and attr[k] < dense:
                    in_order = False
    if in_order:
        return observations
    value = None if observations.value is None else observations.value.copy()
    observations = replace(observations, attr=observations.attr.copy(), value=value)
    dense_first(observations.ptr, observations.attr, observations.value, dense)
    return observations


def order_occurrences(corpus, layout):
    """Put dense attributes first in each token, in place: with it Sequences needs no copy, and checksums are those of what is used."""
    dense_first(corpus.nodes.ptr, corpus.nodes.attr, corpus.nodes.value, whole_rows(layout))


cdef int dense_first(const int64_t[::1] ptr, int32_t[::1] attr, double[::1] value, int64_t dense) except -1:
    """Dense attributes and the others stay in their order among themselves."""
    cdef bint valued = value is not None
    cdef int64_t most = np.diff(ptr).max(initial=0), t, k, at, move
    cdef int32_t[::1] later = np.empty(most + 1, np.int32)
    cdef double[::1] later_value = np.empty(most + 1)
    with nogil:
        for t in range(ptr.shape[0] - 1):
            at, move = ptr[t], 0
            for k in range(ptr[t], ptr[t + 1]):
                if attr[k] < dense:
                    attr[at] = attr[k]
                    if valued:
                        value[at] = value[k]
                    at += 1
                else:
                    later[move] = attr[k]
                    if valued:
                        later_value[move] = value[k]
                    move += 1
            for k in range(move):
                attr[at + k] = later[k]
                if valued:
                    value[at + k] = later_value[k]
    return 0
