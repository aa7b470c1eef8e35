"""The steps of the stochastic average gradient under l1, in the metric of the blocks' rates; see sag.py and _soft."""

from libc.math cimport NAN, isnan
from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport lattice_fit
from ..weights._compiled cimport SoftWeights

from ._rates import rates


cdef class ProximalSagSteps(SagSteps):
    """L_u is how fast the gradient of f_u changes along r g:  f_u(w - r g / L) <= f_u(w) - g.(r g) / 2L"""

    cdef SoftWeights soft
    cdef double[::1] rated_edge         # [places]

    def __init__(self, problem, w, rng, **options):
        SagSteps.__init__(self, problem, w, rng, **options)
        own = rates(problem.sequences.corpus, problem.layout, problem.gold_counts())
        self.soft = SoftWeights(self.lazy.layout, w, own, l1=problem.l1, l2=problem.l2)
        self.lazy = self.local.lazy = self.soft
        self.rated_edge = np.zeros(self.X.places)

    def move_to(self, problem):
        SagSteps.move_to(self, problem)
        self.soft.l1, self.soft.l2 = problem.l1, problem.l2

    cdef double prepare_search(self, int64_t u) noexcept nogil:
        """g.(r g) of the unit evaluated last, and the scores of r g for trials. NaN: no memory."""
        cdef double square
        cdef int64_t k, size = self.X.places, T = self.length(u)
        if not lattice_fit(self.Y, T, self.s.pairs.ptr != NULL):
            return NAN
        square = self.square(u)
        if isnan(square):
            return NAN
        square += self.local.rate(self.soft.owing)
        for k in range(size):
            self.rated_edge[k] = self.soft.rate_edge[k] * self.X.edge[k]
            square += (self.rated_edge[k] - self.X.edge[k]) * self.X.edge[k]
        if self.s.pairs.ptr != NULL:
            for k in range(size, T * size):
                self.pair_scores[k] += self.rated_edge[k % size] - self.X.edge[k % size]
        self.edge_slope = &self.rated_edge[0]
        self.local.scores(self.first(u), T, self.Y.q)
        return square
