"""Dense twins of SAG, SAGA and SVRG: whole vectors, whole gradients, nothing lazy, nothing stored as marginals.

    f(w) = 1/n sum_u f_u(w) + l2/2 |w|^2 + l1 |w|_1,    u a unit: a sequence, or `batch` of them in a row

    a step      1. draw u                                                                Sampler
                2. f, g = f_u(w) and its gradient                                        Units
                3. L_u: double it until  f_u(w - g/L_u) <= f - |g|^2 / 2L_u              Twin.search
                4. w moves:
                   sag     d += g - g_u, g_u = g;   w <- (1 - alpha l2) w - alpha/m d    m units seen so far
                   saga    w <- prox((1 - alpha l2) w - alpha ((g - g_u) / (n p_u) + d/n)),  then d += g - g_u, g_u = g
                   svrg    the same without prox, g_u and d those of the anchor

Schmidt et al. 2015, algorithm 1, proposition 1, sections 5 and 7. A twin takes its randomness from random() of a numpy generator,
which gives the doubles that the compiled loop draws from the same generator, so both take the same steps.
"""

from functools import cache
from pathlib import Path

import numpy as np
from problems import Instance

from crftrain import optimizers
from crftrain.chain._problem import Problem
from crftrain.optimizers.average._rates import rates
from crftrain.training.learn import prepare
from crftrain.training.settings import Settings

FLAT = 1e-8  # algorithm 1, line 12: no search for a gradient so small


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


class Units:
    """The losses f_u, scaled so that their mean over units is the mean over sequences."""

    def __init__(self, made, batch):
        n = made.corpus.n_sequences
        groups = [np.arange(first, min(first + batch, n)) for first in range(0, n, batch)]
        self.n, self.share = len(groups), np.array([len(group) / n for group in groups])
        self.problems = [Problem(made.corpus.take(group), made.layout) for group in groups]

    def value(self, u, w):
        return self.n * self.share[u] * self.problems[u].value(w)

    def gradient(self, u, w):
        g = np.empty_like(w)
        f = self.problems[u].value_and_gradient(w, g)
        return self.n * self.share[u] * f, self.n * self.share[u] * g


# ---- sampling: draws, the L that a search begins with, and the step, as _sampling documents them


class Nus:
    def __init__(self, n, random, *, l2, first):
        self.n, self.random, self.l2, self.first = n, random, l2, first
        self.L, self.seen = np.zeros(n), np.zeros(n, bool)

    @property
    def m(self):
        return int(self.seen.sum())

    @property
    def mean(self):
        return self.L.sum() / self.m

    def uniformly(self):
        return int(self.random() * self.n)

    def proportionally(self):
        return int(np.searchsorted(np.cumsum(self.L), self.random() * self.L.sum(), side="right"))

    def draw(self):
        return self.uniformly() if self.m == 0 or self.random() < 0.5 else self.proportionally()

    def probability(self, u):
        return 1 / self.n if self.m == 0 else 0.5 / self.n + 0.5 * self.L[u] / self.L.sum()

    def start(self, u, first):
        if not first:
            return 0.9 * self.L[u]
        return 0.5 * self.L.sum() / (self.m - 1) if self.m > 1 else self.first

    def found(self, u, L):
        self.L[u] = max(L, self.l2)

    def step(self):
        return (1 / (self.L.max() + self.l2) + 1 / (self.mean + self.l2)) / 2

    def constant(self, u):
        return self.L[u]


class Nus2013(Nus):
    running = 0.0

    def draw(self):
        if self.random() * self.n < self.n - self.m:
            return self.uniformly_where(~self.seen)
        return self.proportionally() if self.random() < 0.5 else self.uniformly_where(self.seen)  # p ~ L + mean: half is uniform

    def uniformly_where(self, wanted):
        while not wanted[u := self.uniformly()]:
            pass
        return u

    def probability(self, u):
        if not self.seen[u]:
            return 1 / self.n
        return self.m / self.n * (self.L[u] + self.mean) / (self.L + self.mean)[self.seen].sum()

    def start(self, u, first):
        return self.first if first else self.L[u] / 2

    def found(self, u, L):
        super().found(u, L)
        self.running = max(self.running, self.L[u])

    def step(self):
        seen, by_maximum, by_mean = self.m / self.n, 1 / (self.running + self.l2), 1 / (self.mean + self.l2)
        self.running *= 2 ** (-1 / self.n)
        return (1 - seen) * by_maximum + seen * (by_maximum + by_mean) / 2


class Uniform(Nus):
    def __init__(self, n, random, *, l2, first):
        super().__init__(n, random, l2=l2, first=first)
        self.one = first

    mean = property(lambda self: self.one)

    def draw(self):
        return self.uniformly()

    proportionally = draw

    def probability(self, u):
        return 1 / self.n

    def start(self, u, first):
        return self.one

    def found(self, u, L):
        self.one = L

    def step(self):
        self.one = max(self.one, self.l2)
        alpha = 1 / (self.one + self.l2)
        self.one *= 2 ** (-1 / self.n)
        return alpha

    def constant(self, u):
        return self.one


SAMPLERS = {"nus": Nus, "nus2013": Nus2013, "uniform": Uniform}


# ---- the algorithms


class Twin:
    """What they share; a subclass has step()."""

    def __init__(self, made, rng, *, l2, l1=0.0, sampling="nus", skip=True, batch=1, initial_constant=1.0, first_pass="sample", w=None):
        self.units, self.l2, self.l1 = Units(made, batch), l2, l1
        self.n = n = self.units.n
        self.order = list(rng.permutation(n)) if first_pass == "permute" else []
        self.sampler = SAMPLERS[sampling](n, rng.random, l2=l2, first=initial_constant)
        self.w = np.zeros(made.layout.n_features) if w is None else w.copy()
        self.d, self.table = np.zeros_like(self.w), np.zeros((n, len(self.w)))
        self.losses, self.passes = np.zeros(n), 0.0
        self.skipping, self.satisfied, self.left_out = skip, np.zeros(n, int), np.zeros(n, int)

    def run(self, steps):
        for _ in range(steps):
            self.step()

    def draw(self):
        return int(self.order.pop(0)) if self.order else self.sampler.draw()

    def evaluate(self, u):
        self.passes += self.units.share[u]
        return self.units.gradient(u, self.w)

    def learn_constant(self, u, f, g, first):
        """Section 5.2: after k searches in a row without doubling the next 2^(k-1) are left out."""
        if self.left_out[u]:
            self.left_out[u] -= 1
            return
        L = self.sampler.start(u, first)
        if g @ self.along(g) > FLAT:
            L, doubled = self.search(u, f, g, L, halve=first and self.sampler.m == 1)
            self.satisfied[u] = 0 if doubled else self.satisfied[u] + 1
            if self.skipping and not doubled:
                self.left_out[u] = 2 ** (self.satisfied[u] - 1)
        self.sampler.found(u, L)

    def along(self, g):
        """The direction of trials."""
        return g

    def search(self, u, f, g, L, *, halve):
        """(L, whether it was doubled); halve: one that holds at once may be far too large."""

        def holds(L):
            self.passes += self.units.share[u]
            return self.units.value(u, self.w - self.along(g) / L) <= f - g @ self.along(g) / (2 * L)

        doubled = False
        while not holds(L):
            L, doubled = 2 * L, True
        while halve and not doubled and holds(L / 2):
            L /= 2
        return L, doubled

    def visit(self, u):
        """(f, g) at w, and L_u learnt from them."""
        first, self.sampler.seen[u] = not self.sampler.seen[u], True
        self.losses[u], g = self.evaluate(u)
        self.learn_constant(u, self.losses[u], g, first)
        return g

    def remember(self, u, g):
        self.d += g - self.table[u]
        self.table[u] = g

    def refresh(self):
        """One exact pass: the table and d become those of w."""
        self.d[:] = self.table[:] = 0
        for u in range(self.n):
            first, self.sampler.seen[u] = not self.sampler.seen[u], True
            self.losses[u], g = self.evaluate(u)
            if first:
                self.learn_constant(u, self.losses[u], g, True)
            self.remember(u, g)


class Sag(Twin):
    def step(self):
        u = self.draw()
        self.remember(u, self.visit(u))
        alpha = self.sampler.step()
        self.w = (1 - alpha * self.l2) * self.w - alpha / self.sampler.m * self.d


class ProximalSag(Twin):
    """Under l1, weight by weight: each has a rate, and owes steps since a unit last had its block, which it pays as one.

    risen = 0: the steps of a pass grow to their length.
    """

    def __init__(self, made, rng, **options):
        super().__init__(made, rng, **options)
        corpus, layout, size = made.corpus, made.layout, len(self.w)
        blocks, transitions = rates(corpus, layout, made.problem().gold_counts())
        self.rate, block = np.ones(size), np.full(size, -1)  # of the transitions
        nodes, pairs = (np.arange(len(ptr) - 1).repeat(np.diff(ptr)) for ptr in (layout.ptr, layout.pair_ptr))
        self.rate[: layout.ptr[-1]], block[: layout.ptr[-1]] = blocks[nodes], nodes
        self.rate[layout.transitions], block[layout.pair_ptr[0] :] = transitions, layout.n_attributes + pairs
        self.block, self.paid, self.sum, self.length = block, np.zeros((2, size)), 0.0, 0.0
        self.met, self.risen = [], self.n
        for problem in self.units.problems:
            own = problem.sequences.corpus
            later = () if own.pairs is None else layout.n_attributes + own.pairs.attr
            self.met.append(np.isin(block, np.concatenate([[-1], own.nodes.attr, later])))

    def along(self, g):
        return self.rate * g

    def pay(self, which):
        owed, due = (self.rate * (now - before) for now, before in zip((self.sum, self.length), self.paid, strict=True))
        w = soft(self.w - owed * self.d, due * self.l1) / (1 + due * self.l2)
        self.w = np.where(which, w, self.w)
        self.paid[:, which] = [[self.sum], [self.length]]

    def step(self):
        u = self.draw()
        self.pay(self.met[u])
        self.remember(u, self.visit(u))
        self.risen = min(self.risen + 1, self.n)
        alpha = self.sampler.step() * self.risen / self.n
        self.sum, self.length = self.sum + alpha / self.sampler.m, self.length + alpha

    def run(self, steps):
        super().run(steps)
        self.pay(np.ones(len(self.w), bool))


class Saga(Twin):
    def step(self):
        u = self.draw()
        omega = 1 / (self.n * self.sampler.probability(u))
        g = self.visit(u)
        alpha = self.sampler.step() / 3
        self.move(alpha, omega * (g - self.table[u]) + self.d / self.n)
        self.remember(u, g)

    def move(self, alpha, direction):
        self.w = soft((1 - alpha * self.l2) * self.w - alpha * direction, alpha * self.l1)


class TwoDraws(Saga):
    """Proposition 1(b), as soon as every L_u is known."""

    def step(self):
        if self.sampler.m < self.n:
            super().step()
            return
        j, r = self.sampler.proportionally(), self.sampler.uniformly()
        f, g_j = self.evaluate(j)
        self.learn_constant(j, f, g_j, False)
        self.losses[r], g_r = self.evaluate(r)
        alpha = 1 / (4 * (self.sampler.mean + self.l2))
        self.move(alpha, self.sampler.mean / self.sampler.constant(j) * (g_j - self.table[j]) + self.d / self.n)
        self.remember(r, g_r)


class Svrg(Twin):
    """The table is that of the anchor; mixed: the first pass is SAG's, over units in a random order."""

    def __init__(self, made, rng, *, mixed=False, **options):
        super().__init__(made, rng, first_pass="permute" if mixed else "sample", **options)
        self.begun = False

    def run(self, steps):
        if not self.begun:
            for _ in range(len(self.order)):
                Sag.step(self)
            self.refresh()
            self.begun = True
        super().run(steps)
        self.refresh()

    def step(self):
        u = self.sampler.draw()
        omega = 1 / (self.n * self.sampler.probability(u))
        g = self.visit(u)
        self.passes += self.units.share[u]  # the anchor's gradient is not remembered
        alpha = self.sampler.step() / (1 if isinstance(self.sampler, Uniform) else 3)
        self.w = (1 - alpha * self.l2) * self.w - alpha * (omega * (g - self.table[u]) + self.d / self.n)


# ---- what the tests share


def start(name, made, *, l2=None, l1=0.0, w=None, seed=1, threads=1, **options):
    """(problem, w, optimiser); l2 is 1/n if not given."""
    problem = made.problem(l2=1 / made.corpus.n_sequences if l2 is None else l2, l1=l1, threads=threads)
    w = np.zeros(problem.n_features) if w is None else w
    algorithm = optimizers.get(name)
    return problem, w, algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), **options})


def assert_same_steps(name, twin, made, *, l2, l1=0.0, passes=5, seed=1, twins_options=(), **options):
    """After each pass w, d and the passes counted are the twin's, to 1e-12."""
    problem, w, opt = start(name, made, l2=l2, l1=l1, seed=seed, **options)
    opt.pace.look = lambda *seen: False  # the twin has the steps of the papers
    own = ("sampling", "skip", "batch", "initial_constant", "first_pass", "mixed")
    twin = twin(made, np.random.default_rng(seed), l2=l2, l1=l1, **{key: options[key] for key in own if key in options})
    for k in range(passes):
        opt.step()
        twin.run(twin.n)
        for what, mine, dense in (("w", w, twin.w), ("d", opt.steps.lazy.d_in_vector(), twin.d)):
            assert np.abs(mine - dense).max() <= 1e-12 * np.abs(dense).max(), f"{what} after pass {k + 1}, {options}"
        assert abs(problem.passes - twin.passes) <= 1e-9 * twin.passes, f"pass {k + 1}, {options}"
    return w, opt, twin


def sum_of_table(made, opt, kind):
    """F' of what the table holds: float64[F], d by another way."""
    corpus, layout, table = made.corpus, made.layout, opt.steps.table.state()
    n_labels, out = layout.n_labels, np.zeros(layout.n_features)
    if kind == "sparse":
        return sum_of_gradients(made, np.asarray(opt.steps.units), table["table_values"].astype(float))
    labels, q = layout.node_labels(), table["table_nodes"].reshape(-1, n_labels).astype(float)
    tokens = np.repeat(np.arange(corpus.n_tokens), np.diff(corpus.nodes.ptr))
    values = np.ones(len(tokens)) if corpus.nodes.value is None else corpus.nodes.value
    for t, a, value in zip(tokens, corpus.nodes.attr, values, strict=True):
        block = slice(layout.ptr[a], layout.ptr[a + 1])
        out[block] += value * q[t, labels[block]]
    edges, size = table["table_edges" if kind == "mixed" else "table_pairs"], layout.n_pairs if kind == "mixed" else n_labels**2
    edges = edges.reshape(-1 if size else 1, size).astype(float)
    out[layout.transitions] = edges.sum(axis=0)[places(layout, kind)]
    if corpus.pairs is not None:
        for t in range(corpus.n_tokens):
            for b in corpus.pairs.attr[corpus.pairs.ptr[t] : corpus.pairs.ptr[t + 1]]:
                block = slice(layout.pair_ptr[b], layout.pair_ptr[b + 1])
                out[block] += edges[t, layout.pair[block.start - layout.pair_ptr[0] : block.stop - layout.pair_ptr[0]]]
    return out


def places(layout, kind):
    """Where the table has the transitions: in a list of arcs one after the other, but for `marginals`, which has all pairs."""
    return slice(None) if layout.sparse and kind != "marginals" else layout.transition


def sum_of_gradients(made, units, values):
    """The same of table `sparse`: a unit's dense blocks, the others, all label pairs, blocks of pair attributes."""
    corpus, layout = made.corpus, made.layout
    out, at, n_labels, rows = np.zeros(layout.n_features), 0, layout.n_labels, layout.dense
    square = layout.n_pairs
    if layout.label is None:  # the rows that can be read with their padding to a multiple of 8
        rows = layout.n_attributes - -(-(-n_labels % 8) // n_labels)

    def add(block):
        nonlocal at
        out[block] += values[at : at + block.stop - block.start]
        at += block.stop - block.start

    for first, end in zip(corpus.seq[units[:-1]], corpus.seq[units[1:]], strict=True):
        attributes = list(dict.fromkeys(corpus.nodes.attr[corpus.nodes.ptr[first] : corpus.nodes.ptr[end]].tolist()))
        for a in sorted(attributes, key=lambda a: a >= rows):  # dense ones first, else as they came
            add(slice(layout.ptr[a], layout.ptr[a + 1]))
        out[layout.transitions] += values[at : at + square][places(layout, "sparse")]
        at += square
        if corpus.pairs is not None:
            for b in corpus.pairs.attr[corpus.pairs.ptr[first] : corpus.pairs.ptr[end]]:
                add(slice(layout.pair_ptr[b], layout.pair_ptr[b + 1]))
    assert at == len(values)
    return out


def optimum(made, l2, gap=1e-9):
    """(w, f) by L-BFGS."""
    problem, w, opt = start("lbfgs", made, l2=l2)
    for _ in range(3000):
        step = opt.step()
        if step.gap <= gap or step.done:
            break
    return w, problem.exact(w)[0]


@cache
def repository_data():
    """(data/train.txt with the template that is chosen for it, f* at lambda = 1/n); made once for all modules."""
    lbfgs = optimizers.get("lbfgs")
    path = Path(__file__).parents[1] / "data" / "train.txt"
    training = prepare(Settings(paths=(str(path),), algorithm=lbfgs, options=lbfgs.defaults()))
    made = Instance(training.corpus, training.vocabulary, training.layout)
    return made, optimum(made, 1 / made.corpus.n_sequences)[1]


def steps_until(name, share, most=400, **options):
    """Steps on the repository's data until f - f* <= share f*."""
    made, best = repository_data()
    problem, w, opt = start(name, made, **options)
    for k in range(1, most + 1):
        opt.step()
        if k % 4 == 0 and problem.exact_objective(w) - best <= share * best:
            return k
    raise AssertionError(f"{most} steps, f - f* = {problem.exact_objective(w) - best:.1e}")
