"""The steps of the stochastic average gradient; see sag.py."""

from libc.math cimport isnan
from libc.stdint cimport int64_t

import numpy as np

from ..._kernels cimport simd
from ...chain._blocks cimport Gradient
from ...chain._sequences cimport set_distinct
from ..loop._compiled cimport Sequential

from ...chain.certificate import dual, lower_bound
from ..base import counted, within

cdef int REFRESH = 0
cdef double FLAT = 1e-8         # no search where |g|^2 is not larger


cdef class SampledSteps(Sequential):
    """What SAG, SAGA and SVRG share: draws, and the constant of each unit."""

    def __init__(self, problem, w, rng, *, sampler, order=None, batch=1, skip=True, first=1.0, all_pairs=False):
        """sampler(n, rng, l2=, first=) makes one; order: the first draws, if not the sampler's."""
        Sequential.__init__(self, problem, w, batch=batch, skip=skip, all_pairs=all_pairs)
        self.list_few_weights()
        self.tokens = self.sequences.s
        self.keep, self.s = set_distinct(&self.tokens, self.sequences), &self.tokens
        self.sampler, self.l2 = sampler(self.n_units, rng, l2=problem.l2, first=first), problem.l2
        self.losses, self.entropies, self.pace = np.zeros(self.n_units), np.zeros(self.n_units), 1.0
        self.order, self.drawn = np.empty(0, np.int64) if order is None else order, 0

    cdef int64_t next_unit(self) noexcept nogil:
        cdef int64_t u = self.order[self.drawn] if self.drawn < self.order.shape[0] else self.sampler.draw()
        self.drawn += 1
        return u

    cdef double entropy(self, int64_t u, double f) noexcept nogil:
        """Of p(y | x) of the unit evaluated last, f its loss: f - w.g, where w.g is the sum of scores times residuals."""
        cdef int64_t i, t, first = self.first(u), size = self.X.L * self.X.LP
        for t in range(self.length(u)):
            f -= self.product(self.X.L, self.X.psi + t * self.X.LP, self.X.q + t * self.X.LP)
        if self.s.pairs.ptr == NULL:
            return f - self.product(self.X.places, &self.lazy.trans[0], self.X.edge)
        for i in range(self.units[u], self.units[u + 1]):       # e has the transitions, too
            for t in range(self.s.seq[i] + 1 - first, self.s.seq[i + 1] - first):
                f -= self.product(size, self.X.e + t * size, self.X.P + t * size)
        return f

    cdef double product(self, int64_t n, const double* scores, const double* residual) noexcept nogil:
        """scores . residual, where what is not legal has -inf and 0."""
        cdef double sum = 0
        cdef int64_t k
        if self.lazy.W.ends == NULL:
            return simd.dot(n, scores, residual)
        for k in range(n):
            if residual[k] != 0:
                sum += scores[k] * residual[k]
        return sum

    cdef bint learn_constant(self, int64_t u, double f, bint first) noexcept nogil:
        """The search for L_u after evaluate(u), unless it is to be left out; False: no memory."""
        cdef double L, square
        cdef int64_t doublings = 0
        if self.skip[u] > 0:
            self.skip[u] -= 1
            return True
        L, square = self.sampler.start(u, first), self.prepare_search(u)
        if isnan(square):
            return False
        if square > FLAT:
            L = self.search(u, f, square, L, first and self.sampler.seen == 1, &doublings)
            self.remember_search(u, doublings)
        self.sampler.found(u, L)
        return True

    def mean_loss(self):
        """Of those seen, each at its last visit."""
        return float(np.sum(self.losses)) / max(1, self.sampler.seen)

    def mean_gradient(self):
        """d/n, as a vector."""
        g = self.lazy.d_in_vector()
        g /= self.n_units
        return g

    def lower_bound(self, g=None):
        """(the best bound of the optimum, the dual at its point), which d is of: a unit not seen has its labels. g: d/n, if known."""
        g = self.mean_gradient() if g is None else g
        entropy = float(np.mean(self.entropies))
        return lower_bound(entropy, g, l2=self.l2, l1=self.problem.l1), dual(entropy, g, l2=self.l2, l1=self.problem.l1)

    def search_anew(self):
        """No search is left out until it has been satisfied again."""
        self.satisfied[:] = 0
        self.skip[:] = 0

    def search_again(self):
        """Each unit once, at its next visit."""
        self.skip[:] = 0

    def settle(self):
        """w becomes what it is; returns the max-norm of d/n + l2 w, infinite while some unit has not been seen."""
        gap = self.lazy.settle_and_measure(1.0 / self.n_units, self.l2)
        return gap if self.sampler.seen == self.n_units else np.inf

    def state(self):
        """Everything that a step depends on, as arrays; w is the caller's."""
        return {
            **self.sampler.state(),
            "losses": np.array(self.losses),
            "entropies": np.array(self.entropies),
            "pace": np.array([self.pace]),
            "satisfied": np.array(self.satisfied),
            "skip": np.array(self.skip),
            "order": np.array(self.order),
            "drawn": np.array([self.drawn]),
            "d": self.lazy.d_in_vector(),
        }

    def restore(self, state):
        """w, which the caller has set, and all the rest."""
        self.sampler.restore(state)
        np.asarray(self.losses)[:] = state["losses"]
        np.asarray(self.entropies)[:] = state["entropies"]
        self.pace = float(within(state, "pace", 0.0, 4.0)[0])
        np.asarray(self.satisfied)[:] = within(state, "satisfied", 0, 2**30)
        np.asarray(self.skip)[:] = within(state, "skip", 0, 2**30)
        self.order = np.array(within(state, "order", 0, self.n_units - 1))
        self.drawn = counted(state, "drawn")
        self.lazy.read_w()
        self.lazy.set_d(state["d"])

    def move_to(self, problem):
        """Go on under another strength with all that is known of the sequences."""
        self.problem, self.l2 = problem, problem.l2
        self.sampler.l2 = problem.l2


cdef class TableSteps(SampledSteps):
    """SAG and SAGA: a table whose sum is d."""

    def __init__(self, problem, w, rng, *, table, **options):
        """table(problem, units) makes one."""
        SampledSteps.__init__(self, problem, w, rng, **options)
        self.table = table(problem, self.units)
        self.pairs_wanted = self.table.pairs

    def refresh(self):
        """Every unit once at the settled w: fills the table and d anew; returns the exact mean gradient, without penalty."""
        mean = np.zeros(self.lazy.layout.n_features)
        self.gradient = Gradient(self.lazy.layout)
        self.gradient.use(mean)
        self.table.clear()
        self.lazy.clear_d()
        self.each(REFRESH, self.n_units)
        self.gradient.collect()
        self.gradient = None
        mean /= self.n_units
        return mean

    cdef int64_t visit(self, int what, int64_t u) noexcept nogil:
        """Add to the mean gradient, and put into the table."""
        cdef double f = self.evaluate(u)
        if isnan(f):
            return -1 - u
        self.gradient.add_tokens(self.s, self.first(u), self.length(u), self.X)
        self.losses[u], self.entropies[u] = f, self.entropy(u, f)
        if self.sampler.visit(u) and not self.learn_constant(u, f, True) or self.table.exchange(self, u) < 0:
            return -1 - u
        return u

    def state(self):
        return {**SampledSteps.state(self), **self.table.state()}

    def restore(self, state):
        SampledSteps.restore(self, state)
        self.table.restore(state)


cdef class SagSteps(TableSteps):
    def __init__(self, problem, w, rng, **options):
        TableSteps.__init__(self, problem, w, rng, **options)
        self.risen = self.n_units

    cdef double rise(self) noexcept nogil:
        self.risen = min(self.risen + 1, self.n_units)
        return <double> self.risen / self.n_units

    cdef int64_t visit_next(self) noexcept nogil:
        cdef int64_t u = self.next_unit()
        cdef bint first = self.sampler.visit(u)
        cdef double f
        self.table.fetch(self, u)
        f = self.evaluate(u)
        if isnan(f):
            return -1
        self.losses[u], self.entropies[u] = f, self.entropy(u, f)
        if not self.learn_constant(u, f, first) or self.table.exchange(self, u) < 0:
            return -1
        self.lazy.step(self.pace * self.sampler.step_size() * self.rise(), self.l2, self.sampler.seen)
        return u
