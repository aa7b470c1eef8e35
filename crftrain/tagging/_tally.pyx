# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What an Evaluation counts, in one scan over the numbers of labels; evaluate.py says what it is, and what the rules are."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ..text._strings cimport zeros


cdef struct Side:                       # gold or predicted, at one position
    int32_t tag, kind, last, kind_before
    bint starts, ends                   # a chunk starts here; one ended before


cdef class Rules:
    """Tags by numbers: start and end are [tag][next tag], inside says whether a tag is a part of chunks."""

    cdef const uint8_t[::1] start, end, inside
    cdef const int32_t[::1] tag, kind   # of each label

    def __init__(self, start, end, inside, tag, kind):
        self.start, self.end, self.inside, self.tag, self.kind = start, end, inside, tag, kind

    cdef void look(self, Side* side, int32_t label, int32_t before) noexcept nogil:
        cdef Py_ssize_t at
        cdef bint changed
        side.tag, side.kind, side.last, side.kind_before = self.tag[label], self.kind[label], self.tag[before], self.kind[before]
        at, changed = side.last * self.inside.shape[0] + side.tag, side.kind != side.kind_before
        side.starts = self.start[at] or (self.inside[side.tag] and changed)
        side.ends = self.end[at] or (self.inside[side.last] and changed)


def tally(const int32_t[::1] gold, const int32_t[::1] predicted, Rules rules, Py_ssize_t n_kinds):
    """(correct tokens, correct sequences, of each label [gold, found, correct], of each type of chunks the same)."""
    cdef int64_t[:, ::1] labels = counts(rules.kind.shape[0]), kinds = counts(n_kinds)
    cdef int64_t hits = 0, whole = 0
    cdef Py_ssize_t t
    cdef int32_t g = 0, p = 0, g_before, p_before
    cdef bint fine = True, begun = False, closes
    cdef Side ours, theirs
    with nogil:
        for t in range(gold.shape[0]):
            g_before, p_before, g, p = g, p, gold[t], predicted[t]
            labels[g, 0] += 1
            labels[p, 1] += 1
            if g == p and g > 1:        # 0 is no token, 1 no label
                labels[g, 2] += 1
                hits += 1
            elif g > 0:
                fine = False
            else:
                whole += fine
                fine = True
            rules.look(&ours, g, g_before)
            rules.look(&theirs, p, p_before)
            kinds[ours.kind, 0] += ours.starts
            kinds[theirs.kind, 1] += theirs.starts
            closes = ours.ends and theirs.ends and ours.kind_before == theirs.kind_before
            if begun and closes:        # at the very next event
                kinds[ours.kind_before, 2] += 1
            if closes or ours.ends != theirs.ends or ours.kind != theirs.kind:
                begun = False
            if ours.starts and theirs.starts and ours.kind == theirs.kind:
                begun = True
        if begun:                       # what the end of the data leaves open is closed by it
            kinds[rules.kind[g], 2] += 1
    return hits, whole, labels.base.tolist(), kinds.base.tolist()


cdef counts(Py_ssize_t n):
    return memoryview(bytearray(24 * n)).cast("q", (n, 3))


def parted(const int32_t[::1] pairs, const int32_t[::1] number, int64_t origin):
    """(gold, predicted, where sequences begin) of pairs, two numbers of names side by side and -1 after each sequence.

    number: what a name's number is to the caller; after a sequence stands a 0. origin: the first position.
    """
    cdef Py_ssize_t t, k = 0, n = pairs.shape[0] // 2
    cdef int64_t n_ends = 0
    cdef int32_t[::1] gold = zeros(n, "i"), predicted = zeros(n, "i")
    for t in range(n):
        n_ends += pairs[2 * t] < 0
        gold[t] = number[pairs[2 * t]] if pairs[2 * t] >= 0 else 0
        predicted[t] = number[pairs[2 * t + 1]] if pairs[2 * t + 1] >= 0 else 0
    cdef int64_t[::1] first = zeros(n_ends, "q")
    for t in range(n):
        if pairs[2 * t] >= 0 and (t == 0 or pairs[2 * t - 2] < 0):
            first[k] = origin + t
            k += 1
    return gold.base, predicted.base, first.base
