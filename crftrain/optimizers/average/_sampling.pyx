"""Sampling with Lipschitz constants: which sequence comes next, and how long a step may be.

L_i estimates how fast the gradient of sequence i changes; a line search finds it. Sequences whose gradient changes fast
are drawn more often, and the step may then depend on the mean of the L_i and not only on their maximum L:

    nus       SAG-NUS*: half the draws uniform, half with p_i = L_i / sum L among those seen;  alpha = (1/(L+l2) + 1/(mean+l2)) / 2
              L_i starts at mean / 2 and shrinks by 0.9 at each later visit         Schmidt et al. 2015, section 5
    nus2013   with probability (n-m)/n an unseen one, else p_i ~ L_i + mean among the m seen
              alpha = (n-m)/n / (L+l2) + m/n (1/(L+l2) + 1/(mean+l2)) / 2, L a running maximum that fades by 2^(-1/n) a step
              L_i starts at 1 and is halved at each later visit                     Schmidt, Le Roux, Bach 2013, section 5.5
    uniform   all alike, with one L that the line search doubles and each step shrinks by 2^(-1/n);  alpha = 1/(L+l2)
                                                                                    Schmidt et al. 2015, algorithm 1

Sums and maxima of the L_i are kept in a tree over the sequences, so they are exact, and a draw in proportion to L_i takes
log n steps. L_i never falls below l2, so that alpha l2 <= 1/2.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport pow

import numpy as np

from ..base import within

cdef class Sampler:
    """What the samplings share; subclasses say how to draw, where L starts and what step it allows."""

    def __init__(self, n, rng, *, l2, first=1.0):
        self.n, self.seen, self.l2, self.first, self.rng = n, 0, l2, first, rng
        self.bits = <bitgen_t*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")
        self.leaves = 1
        while self.leaves < n:
            self.leaves *= 2
        self.total, self.largest = np.zeros(2 * self.leaves), np.zeros(2 * self.leaves)
        self.visited = np.zeros(n, np.uint8)

    cdef int64_t draw(self) noexcept nogil:
        return self.uniformly()

    cdef bint visit(self, int64_t i) noexcept nogil:
        if self.visited[i]:
            return False
        self.visited[i] = 1
        self.seen += 1
        return True

    cdef double start(self, int64_t i, bint first) noexcept nogil:
        return self.first

    cdef void found(self, int64_t i, double L) noexcept nogil:
        self.set(i, L)

    cdef double step_size(self) noexcept nogil:
        """The length of the step at hand; called once a step, after found() if there was a search."""
        return 0

    cdef double saga_step_size(self) noexcept nogil:
        """A third: with draws that are not uniform, unbiased gradients vary more, and SAG's steps are too long for them."""
        return self.step_size() / 3

    cdef double svrg_step_size(self) noexcept nogil:
        return self.step_size() / 3

    cdef double probability(self, int64_t i) noexcept nogil:
        return 1.0 / self.n

    cdef double constant(self, int64_t i) noexcept nogil:
        return self.total[self.leaves + i]

    cdef void set(self, int64_t i, double L) noexcept nogil:
        """L_i, and the sums and maxima above it."""
        cdef int64_t node = self.leaves + i
        cdef double a, b
        self.total[node] = self.largest[node] = L if L > self.l2 else self.l2
        while node > 1:
            node //= 2
            self.total[node] = self.total[2 * node] + self.total[2 * node + 1]
            a, b = self.largest[2 * node], self.largest[2 * node + 1]
            self.largest[node] = a if a > b else b

    cdef double mean(self) noexcept nogil:
        return self.total[1] / self.seen

    cdef double maximum(self) noexcept nogil:
        return self.largest[1]

    cdef int64_t uniformly(self) noexcept nogil:
        return <int64_t> (self.bits.next_double(self.bits.state) * self.n)

    cdef int64_t proportionally(self) noexcept nogil:
        """i with probability L_i / sum L; those not seen have L_i = 0."""
        cdef double x = self.bits.next_double(self.bits.state) * self.total[1]
        cdef int64_t node = 1
        while node < self.leaves:
            node *= 2
            if x >= self.total[node] and self.total[node + 1] > 0:
                x -= self.total[node]
                node += 1
        return node - self.leaves

    def state(self):
        return {
            "sampler_L": np.array(self.total[self.leaves:self.leaves + self.n]),
            "sampler_visited": np.array(self.visited),
        }

    def restore(self, state):
        cdef int64_t i
        within(state, "sampler_L", 0, np.inf)
        np.asarray(self.visited)[:] = within(state, "sampler_visited", 0, 1)
        self.seen = int(np.count_nonzero(state["sampler_visited"]))
        for i in range(self.n):
            if self.visited[i]:
                self.set(i, state["sampler_L"][i])


cdef class Nus(Sampler):
    cdef int64_t draw(self) noexcept nogil:
        if self.seen == 0 or self.bits.next_double(self.bits.state) < 0.5:
            return self.uniformly()
        return self.proportionally()

    cdef double start(self, int64_t i, bint first) noexcept nogil:
        if first:
            return 0.5 * self.total[1] / (self.seen - 1) if self.seen > 1 else self.first
        return 0.9 * self.total[self.leaves + i]

    cdef double step_size(self) noexcept nogil:
        return 0.5 * (1 / (self.maximum() + self.l2) + 1 / (self.mean() + self.l2))

    cdef double probability(self, int64_t i) noexcept nogil:
        if self.seen == 0:
            return 1.0 / self.n
        return 0.5 / self.n + 0.5 * self.total[self.leaves + i] / self.total[1]


cdef class Nus2013(Sampler):
    cdef double running             # the fading maximum

    cdef int64_t draw(self) noexcept nogil:
        cdef int64_t i
        if self.bits.next_double(self.bits.state) * self.n < self.n - self.seen:
            while True:             # the unseen are a large share when they are asked for often
                i = self.uniformly()
                if not self.visited[i]:
                    return i
        if self.bits.next_double(self.bits.state) < 0.5:
            return self.proportionally()
        while True:                 # half the mass of L_i + mean is uniform over those seen
            i = self.uniformly()
            if self.visited[i]:
                return i

    cdef double start(self, int64_t i, bint first) noexcept nogil:
        return self.first if first else 0.5 * self.total[self.leaves + i]

    cdef void found(self, int64_t i, double L) noexcept nogil:
        self.set(i, L)
        if self.total[self.leaves + i] > self.running:
            self.running = self.total[self.leaves + i]

    cdef double step_size(self) noexcept nogil:
        cdef double seen = <double> self.seen / self.n, by_maximum = 1 / (self.running + self.l2), by_mean = 1 / (self.mean() + self.l2)
        self.running *= pow(2.0, -1.0 / self.n)
        return (1 - seen) * by_maximum + seen * 0.5 * (by_maximum + by_mean)

    cdef double probability(self, int64_t i) noexcept nogil:
        if not self.visited[i]:
            return 1.0 / self.n
        return (0.5 + 0.5 * self.seen * self.total[self.leaves + i] / self.total[1]) / self.n

    def state(self):
        return {**Sampler.state(self), "sampler_running": np.array([self.running])}

    def restore(self, state):
        Sampler.restore(self, state)
        self.running = within(state, "sampler_running", 0, np.inf)[0]


cdef class Uniform(Sampler):
    cdef double L

    def __init__(self, n, rng, *, l2, first=1.0):
        Sampler.__init__(self, n, rng, l2=l2, first=first)
        self.L = first

    cdef double start(self, int64_t i, bint first) noexcept nogil:
        return self.L

    cdef void found(self, int64_t i, double L) noexcept nogil:
        self.L = L

    cdef double step_size(self) noexcept nogil:
        cdef double alpha
        if self.L < self.l2:
            self.L = self.l2
        alpha = 1 / (self.L + self.l2)
        self.L *= pow(2.0, -1.0 / self.n)
        return alpha

    cdef double svrg_step_size(self) noexcept nogil:
        """SVRG bears the whole step where draws are uniform, SAGA does not."""
        return self.step_size()

    cdef double maximum(self) noexcept nogil:
        return self.L

    cdef double mean(self) noexcept nogil:
        return self.L

    cdef double constant(self, int64_t i) noexcept nogil:
        return self.L

    cdef int64_t proportionally(self) noexcept nogil:
        return self.uniformly()

    def state(self):
        return {**Sampler.state(self), "sampler_running": np.array([self.L])}

    def restore(self, state):
        Sampler.restore(self, state)
        self.L = within(state, "sampler_running", 0, np.inf)[0]


SAMPLERS = {"nus": Nus, "nus2013": Nus2013, "uniform": Uniform}
