"""What threads sum into. Each has a part of the corpus, a run of sequences:

    out = R(c w) + sum over the parts       exact, see _order_free, so that neither the parts nor their order decide a bit

An attribute belongs to the first part that has it: that one scatters into the vector that is wanted, since nobody else does. What
it shares with earlier parts it sums apart, in a vector of its own with numbers of its own, which is added when all have ended.
So K threads take sum_k F_k - F numbers more than one, F_k what part k has of the F weights, and not (K - 1) F.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from itertools import pairwise

import numpy as np

from .._kernels cimport Lattice, Occurrences, Tokens, scatter_nodes, scatter_pairs, simd
from ._blocks cimport BlockView, Transitions, aligned, integers_from, whole_rows
from ._order_free cimport PIECE, magic_of, round_scaled, square_of
from ._occurrence_list cimport set_listed
from ._sequences cimport Sequences, dense_first, set_occurrences

from ..text.encode import Observations
from ._order_free import largest_sum
from .threads import in_threads

FIRST = 1.06                    # times as many tokens as another part the first one sums in the same time
PER_BLOCK = 3                   # numbers that are added in the time that a block takes besides


cdef class Part:
    def __init__(self, Sequences sequences, BlockView whole, int64_t first, int64_t last, int64_t places):
        self.first, self.last, self.whole, self.rest, self.keep = first, last, whole, None, []
        self.sequences, self.mine, self.edge = sequences, sequences.s, aligned(places)
        self.attributes = self.pair_attributes = np.empty(0, np.int32)

    def share(self, Sequences sequences, layout, owned, pairs_owned):
        """Leave the attributes that are not its own to `rest`."""
        tokens = slice(sequences.s.seq[self.first], sequences.s.seq[self.last])
        self.attributes, mine, others = divided(sequences.nodes, owned.view(np.uint8), tokens)
        if pairs_owned is not None:
            self.pair_attributes, my_pairs, other_pairs = divided(sequences.pairs, pairs_owned.view(np.uint8), tokens)
        rest = layout.part(np.asarray(self.attributes), np.asarray(self.pair_attributes))
        self.others = self.mine
        self._take(&self.mine.nodes, mine, whole_rows(layout), tokens.start)
        self._take(&self.others.nodes, others, whole_rows(rest), tokens.start)
        if pairs_owned is not None:
            self._take(&self.mine.pairs, my_pairs, 0, tokens.start)
            self._take(&self.others.pairs, other_pairs, 0, tokens.start)
        if sequences.s.listed.ptr != NULL:
            self._list(&self.mine, layout)
            self._list(&self.others, rest)
        if rest.n_features:
            self.rest, self.numbers = BlockView(rest), np.zeros(rest.n_features)

    def n_bytes(self):
        return 8 * self.numbers.shape[0] + sum(array.nbytes for array in self.keep) if self.rest is not None else 0

    cdef int _take(self, Occurrences* o, observations, int64_t dense, int64_t first) except -1:
        """These in place of o; the first token that they speak of is `first`."""
        dense_first(observations.ptr, observations.attr, observations.value, dense)
        kept, split = set_occurrences(o, observations, dense)
        o.ptr, o.split = integers_from(o.ptr, first), integers_from(o.split, first)
        self.keep += [array for array in (kept.ptr, kept.attr, kept.value, np.asarray(split)) if array is not None]
        return 0

    cdef int _list(self, Tokens* s, layout) except -1:
        self.keep += set_listed(s, layout, self.first, self.last)
        return 0

    cdef int begin(self, double magic) except -1:
        """A sum begins."""
        self.edge[:] = 0
        if self.rest is not None:
            self.rest.point_to(self.numbers)
            self.rest.nodes.magic = self.rest.pairs.magic = magic
            with nogil:
                memset(&self.numbers[0], 0, self.numbers.shape[0] * sizeof(double))
                self.rest.clear_rows(0, self.rest.n_rows)
        return 0

    cdef void add(self, int64_t i, const Lattice* X) noexcept nogil:
        """The sum += F' (q, edge, P) of sequence i."""
        cdef int64_t first = self.mine.seq[i], T = self.mine.seq[i + 1] - first
        scatter_nodes(&self.mine, &self.whole.nodes, i, X.L, X.LP, X.q)
        simd.axpy(X.places, 1.0, X.edge, &self.edge[0])
        if self.mine.pairs.ptr != NULL:
            scatter_pairs(&self.mine, &self.whole.pairs, first, T, X)
        if self.rest is not None:
            scatter_nodes(&self.others, &self.rest.nodes, i, X.L, X.LP, X.q)
            if self.mine.pairs.ptr != NULL:
                scatter_pairs(&self.others, &self.rest.pairs, first, T, X)

    def end(self):
        if self.rest is not None:
            self.rest.add_rows(0, self.attributes.shape[0])

    def give(self, int64_t first, int64_t last):
        """Add what attributes first .. last - 1 have in `rest` to `whole`."""
        cdef int64_t begin, end
        if self.rest is not None:
            begin, end = np.searchsorted(self.attributes, (first, last))
            with nogil:
                add_blocks(self.attributes, begin, end, self.rest.nodes.ptr, self.numbers, self.whole.nodes.ptr, self.whole.vector)

    def give_pairs(self):
        if self.rest is not None:
            add_blocks(self.pair_attributes, 0, self.pair_attributes.shape[0], self.rest.pairs.ptr, self.numbers, self.whole.pairs.ptr,
                       self.whole.vector)


cdef void add_blocks(const int32_t[::1] name, int64_t first, int64_t last, const int64_t* ptr, const double[::1] numbers,
                     const int64_t* whole_ptr, double[::1] whole) noexcept nogil:
    """Block name[k] of the whole += block k, if there is one of that name."""
    cdef int64_t k, p, at
    for k in range(first, last):
        if name[k] < 0:
            continue
        at = whole_ptr[name[k]] - ptr[k]
        for p in range(ptr[k], ptr[k + 1]):
            whole[at + p] += numbers[p]


def add_named(const int32_t[::1] name, const int64_t[::1] ptr, const double[::1] numbers, const int64_t[::1] whole_ptr, double[::1] whole):
    """Block name[k] of the whole += block k."""
    with nogil:
        add_blocks(name, 0, name.shape[0], &ptr[0], numbers, &whole_ptr[0], whole)


def take_named(const int32_t[::1] name, const int64_t[::1] ptr, double[::1] numbers, const int64_t[::1] whole_ptr, const double[::1] whole):
    """Block k = block name[k] of the whole; the others stay."""
    cdef int64_t k, p, at
    with nogil:
        for k in range(name.shape[0]):
            if name[k] >= 0:
                at = whole_ptr[name[k]] - ptr[k]
                for p in range(ptr[k], ptr[k + 1]):
                    numbers[p] = whole[at + p]


def even(corpus, parts, first=1.0):
    """int64[parts+1]: the sequences cut into runs with about as many tokens each, the first with so many times as many."""
    ends = np.append(0, first + np.arange(parts)) / (first + parts - 1)
    return np.searchsorted(corpus.seq, ends * corpus.n_tokens).astype(np.int64)


def even_work(corpus, threads):
    """The same for threads that sum: the first scatters all that it has into one vector, the others into two."""
    return even(corpus, threads, FIRST)


def shared_numbers(corpus, layout, cuts):
    """How many numbers the parts sum apart, in all."""
    total = 0
    for observations, ptr in ((corpus.nodes, layout.ptr), (corpus.pairs, layout.pair_ptr)):
        if observations is not None and len(ptr) > 1:
            sizes, parts = np.diff(ptr), np.zeros(len(ptr) - 1, np.int64)
            for first, last in pairwise(observations.ptr[corpus.seq[cuts]]):
                parts += np.bincount(observations.attr[first:last], minlength=len(sizes)) > 0
            total += int(sizes @ np.maximum(parts - 1, 0))
    return total


def divided(observations, owned, tokens):
    """(attributes, mine, others): occurrences in a slice of the tokens of what `owned`, uint8[A], names, and those of the other
    attributes, which are listed and have their places in that list for numbers.
    """
    cdef const int64_t[::1] ptr = observations.ptr[tokens.start : tokens.stop + 1]
    cdef const int32_t[::1] attr = observations.attr
    cdef const double[::1] value = observations.value
    cdef const uint8_t[::1] own = owned
    cdef uint8_t[::1] met = np.zeros(len(owned), np.uint8)
    cdef int64_t n = ptr.shape[0] - 1, t, k, here = 0, there = 0
    cdef int64_t[::1] my_ptr = np.zeros(n + 1, np.int64), other_ptr = np.zeros(n + 1, np.int64)
    for t in range(n):
        for k in range(ptr[t], ptr[t + 1]):
            if own[attr[k]]:
                here += 1
            else:
                met[attr[k]] = 1
                there += 1
        my_ptr[t + 1], other_ptr[t + 1] = here, there
    attributes = np.flatnonzero(met).astype(np.int32)
    cdef int32_t[::1] number = np.zeros(len(owned), np.int32)
    np.asarray(number)[attributes] = np.arange(len(attributes), dtype=np.int32)
    cdef bint valued = value is not None
    cdef int32_t[::1] mine = np.empty(here, np.int32), others = np.empty(there, np.int32)
    cdef double[::1] my_value = np.empty(here if valued else 0), other_value = np.empty(there if valued else 0)
    here = there = 0
    for k in range(ptr[0], ptr[n]):
        if own[attr[k]]:
            mine[here] = attr[k]
            if valued:
                my_value[here] = value[k]
            here += 1
        else:
            others[there] = number[attr[k]]
            if valued:
                other_value[there] = value[k]
            there += 1
    return (
        attributes,
        Observations(np.asarray(my_ptr), np.asarray(mine), np.asarray(my_value) if valued else None),
        Observations(np.asarray(other_ptr), np.asarray(others), np.asarray(other_value) if valued else None),
    )


def owners(observations, seq, cuts, n, reach=0):
    """int32[n]: the first part that has each attribute; the number of parts where none may write its block in place.

    A row that is scattered to where it stands writes a few numbers behind its end as they were: blocks that far behind must not be
    another part's.
    """
    owner = np.full(n, len(cuts) - 1, np.int32)
    for k in reversed(range(len(cuts) - 1)):
        first, last = observations.ptr[seq[cuts[k : k + 2]]]
        owner[observations.attr[first:last]] = k
    alone = owner.copy()
    for r in range(1, reach + 1):
        alone[:-r][owner[:-r] != owner[r:]] = len(cuts) - 1
    return alone


cdef class Parts:
    """cuts: int64[K+1], which sequences are the parts."""

    def __init__(self, Sequences sequences, layout, cuts, *, threads, bound=None):
        cdef BlockView whole = BlockView(layout)
        self.layout, self.threads, self.whole, n = layout, threads, whole, len(cuts) - 1
        self.transitions, self.bound = Transitions(layout), largest_sum(sequences.corpus) if bound is None else bound
        self.parts = [Part(sequences, whole, cuts[k], cuts[k + 1], self.transitions.places) for k in range(n)]
        self.edge = aligned(self.transitions.places)
        self.squares = np.zeros((layout.n_features + PIECE - 1) // PIECE)
        self.stretches = np.linspace(0, len(self.squares), threads + 1).astype(np.int64)
        if n > 1:
            seq = sequences.corpus.seq
            reach = layout.n_attributes - whole_rows(layout) if layout.label is None else 0
            owner = owners(sequences.nodes, seq, cuts, layout.n_attributes, reach)
            pairs = None if sequences.s.pairs.ptr == NULL else owners(sequences.pairs, seq, cuts, len(layout.pair_ptr) - 1)
            for k in range(n):
                self.parts[k].share(sequences, layout, owner == k, None if pairs is None else pairs == k)
        self.ranges = self._ranges()

    def _ranges(self):
        """int64[threads+1]: the attributes cut into runs with about as many numbers to be added up."""
        cdef Part part
        if self.threads == 1:
            return np.array([0, self.layout.n_attributes])
        sizes, work = np.diff(self.layout.ptr), np.zeros(self.layout.n_attributes)
        work[:self.whole.n_rows] = self.whole.LP
        for part in self.parts:
            work[np.asarray(part.attributes)] += PER_BLOCK + sizes[np.asarray(part.attributes)]
        ends = np.searchsorted(np.cumsum(work), np.linspace(0, work.sum(), self.threads + 1)).astype(np.int64)
        ends[0], ends[self.threads] = 0, self.layout.n_attributes
        return ends

    def n_bytes(self):
        """What the parts have beside the corpus and the vector that is wanted."""
        return sum(part.n_bytes() for part in self.parts)

    cdef double open(self, double[::1] w, double c, double[::1] out, double limit) except -1:
        """out = R(c w), `limit` that of all that will be added; the largest |c w|."""
        if w.shape[0] != self.layout.n_features or out.shape[0] != self.layout.n_features:
            raise ValueError(f"{w.shape[0]} weights and room for {out.shape[0]}, expected {self.layout.n_features}")
        self.whole.point_to(out)
        self.whole.nodes.magic = self.whole.pairs.magic = magic_of(limit)
        tops = [0.0] * self.threads

        def work(k):
            tops[k] = self._stretch(w, c, out, magic_of(limit), k)

        in_threads(work, self.threads)
        return max(tops)

    def _stretch(self, const double[::1] w, double c, double[::1] out, double magic, int k):
        """out = R(c w) and the squares of w, for the pieces of one thread; no sums in its rows."""
        cdef double top = 0
        cdef int64_t piece, first, last
        with nogil:
            for piece in range(self.stretches[k], self.stretches[k + 1]):
                first, last = piece * PIECE, min((piece + 1) * PIECE, w.shape[0])
                top = max(top, round_scaled(w, c, magic, out, first, last))
                self.squares[piece] = square_of(w, first, last)
            self.whole.clear_rows(self.ranges[k], self.ranges[k + 1])
        return top

    cdef double norm(self):
        """|w|^2 of what the sum was opened with."""
        cdef double total = 0
        cdef int64_t k
        for k in range(self.squares.shape[0]):
            total += self.squares[k]
        return total

    cdef int close(self) except -1:
        """Add up."""
        cdef int64_t k
        in_threads(self._gather, self.threads)
        self.edge[:] = 0
        for part in self.parts:
            part.give_pairs()
            simd.axpy(self.edge.shape[0], 1.0, &(<Part> part).edge[0], &self.edge[0])
        for k in range(self.transitions.n):
            self.whole.vector[self.transitions.first + k] += self.edge[self.transitions.place[k]]
        self.whole.let_go()
        return 0

    def _gather(self, k):
        """For the attributes of one thread."""
        cdef int64_t first = self.ranges[k], last = self.ranges[k + 1]
        with nogil:
            self.whole.add_rows(first, last)
        for part in self.parts:
            part.give(first, last)
