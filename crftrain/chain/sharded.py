"""The objective over shards, wherever they are: what Objective promises, by an engine.

    value      1/n sum of the shards' losses + l2/2 |w|^2            one number for each sequence comes back
    gradient   R(l2 w) + sum_k scatter(g_k)                          w_k goes, g_k comes back
    product    the same with tangents; asked again where their unit did not do

Everything that is decided, here and by the optimiser, is decided by the same numbers as in a Problem over the whole corpus, so that
all bits are those. An engine is asked for one method of all shards at a time,

    engine.map(method, arguments) -> results        one tuple of arguments and one result for each shard, in their order
    engine.recalled = f                             f(k): the (method, arguments) that shard k goes through where it was made anew,
                                                    after engine.prepared(k), if somebody has set it (training/parted.py)

and may run them where and when it likes: here one after the other (Inline), or in threads (Threaded).
"""

import math
from functools import partial
from weakref import WeakValueDictionary

import numpy as np

from ._measures import Measures
from ._order_free import limit, rounded, square_norm
from .rounding import Rounding, Whole
from .shard import Shard, cut
from .threads import in_threads


class Inline:
    """Shards of this process, one after the other."""

    traffic = None  # what was sent and received

    def __init__(self, shards):
        self.shards = shards

    def map(self, method, arguments):
        return [getattr(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)]


class Threaded(Inline):
    """The same, `threads` at a time."""

    def __init__(self, shards, threads):
        super().__init__(shards)
        self.threads = threads

    def map(self, method, arguments):
        results, waiting = [None] * len(self.shards), iter(list(enumerate(arguments)))

        def work(_):
            for k, own in waiting:
                results[k] = getattr(self.shards[k], method)(*own)

        in_threads(work, self.threads, cancel=lambda: [shard.cancel() for shard in self.shards])
        return results


def sharded(corpus, layout, cuts, *, l2=0.0, l1=0.0, threads=1, cluster=None):
    """The objective over the shards of a corpus between the cuts: in this process, or where cluster.place(make, recipes) has them."""
    whole = Whole.of(corpus)
    parts = cut(corpus, layout, cuts)
    recipes = [(own, share.layout, whole) for share, own in parts]
    if cluster is not None:
        engine = cluster.place(partial(Shard, threads=cluster.threads), recipes)
    else:
        shards = [Shard(*recipe) for recipe in recipes]
        engine = Inline(shards) if threads == 1 else Threaded(shards, threads)
    return Sharded(engine, layout, [share for share, _ in parts], np.diff(cuts), whole, l2=l2, l1=l1, threads=threads)


class Sharded(Measures):
    """An Objective. shares: what of the layout each shard has; sizes: int64[K], its sequences; whole: a rounding.Whole."""

    in_shards = True
    traffic = property(lambda self: self.engine.traffic)

    def __init__(self, engine, layout, shares, sizes, whole, *, l2=0.0, l1=0.0, threads=1):
        self.engine, self.layout, self.shares, self.sizes, self.whole = engine, layout, shares, sizes, whole
        self.l2, self.l1, self.threads, self.passes = l2, l1, threads, 0.0
        self.scale = 1.0 / whole.n_sequences
        self.n_sequences, self.n_tokens = whole.n_sequences, whole.n_tokens
        self.n_labels, self.n_features = layout.n_labels, layout.n_features
        self.tokens = None  # of each weight, in all shards
        self.matrices, self.listed, engine.recalled = WeakValueDictionary(), False, self.recalled

    def at(self, *, l2, l1):
        """The same corpus and weights under another regularisation."""
        return Sharded(self.engine, self.layout, self.shares, self.sizes, self.whole, l2=l2, l1=l1, threads=self.threads)

    def each(self, method, *arguments):
        """The method of all shards with the same arguments."""
        return self.engine.map(method, [arguments] * len(self.shares))

    def parted(self, x):
        """Views of what there is one of for each sequence."""
        return np.split(x, np.cumsum(self.sizes)[:-1])

    def value(self, w):
        """1/n sum of the losses + l2/2 |w|^2."""
        losses = self.engine.map("losses", [(share.gather(w),) for share in self.shares])
        self.passes += 1
        return self._mean(losses) + (0.5 * self.l2 * square_norm(w) if self.l2 else 0.0)

    def value_and_gradient(self, w, out, *, keep=None):
        """The value; its gradient goes to out. `keep` takes along what products at w need."""
        most = limit(self.whole.bound * self.scale)
        top = rounded(w, self.l2, most, out)
        if top > most:
            most = limit(top)
            rounded(w, self.l2, most, out)
        name, losses = keep and keep.fill_at(w, most), []
        for share, (own, g) in zip(self.shares, self.engine.map("gradient", self._parts(w, most, name)), strict=True):
            losses.append(own)
            share.scatter(g, out)
        self.passes += 1
        return self._mean(losses) + (0.5 * self.l2 * square_norm(w) if self.l2 else 0.0)

    def _parts(self, w, *more):
        """w_k and more for each shard."""
        return [(share.gather(w), *more) for share in self.shares]

    def _mean(self, losses):
        return float(np.sum(np.concatenate(losses))) * self.scale

    def curvature(self, w=None, *, keep=None, ad=False):
        """The Hessian at w, all computed anew for each product; or without w, to be filled by value_and_gradient."""
        return ShardedMatrix(self, w, keep=keep, ad=ad)

    def diagonal(self, w):
        """The Hessian's diagonal at w, about."""
        return ShardedMatrix(self, w, diagonal=True)

    def apart(self, function, v, *arguments, matrix=None):
        """(The sum of what function(Apart, v_k, ...) makes in each shard, [what it says besides]); it tells its passes too."""
        self._weigh()
        name = matrix and matrix.name
        told = [(function, share.gather(v), k, self.l2, name, *arguments) for k, share in enumerate(self.shares)]
        out, said = np.zeros(len(v)), []
        for share, size, (own, more, passes) in zip(self.shares, self.sizes, self.engine.map("apart", told), strict=True):
            share.scatter(own, out)
            said.append(more)
            self.passes += passes * int(size) * self.scale
        return out, said

    def _weigh(self):
        """Who has how much of each weight's tokens: asked and told once."""
        if self.tokens is None:
            tokens = np.zeros(self.n_features)
            for share, own in zip(self.shares, self.each("tokens"), strict=True):
                share.scatter(own, tokens)
            self.tokens = np.maximum(tokens, 1)
            self.engine.map("weigh", self._parts(self.tokens))

    def list_weights(self):
        self.listed = True
        self.each("list_weights")

    def recalled(self, k):
        """What shard k has to be told when it is made anew."""
        if self.listed:
            yield "list_weights", ()
        if self.tokens is not None:
            yield "weigh", (self.shares[k].gather(self.tokens),)
        for matrix in list(self.matrices.values()):
            yield from matrix.recalled(k)

    def gold_counts(self):
        counts = np.zeros(self.n_features)
        for share, own in zip(self.shares, self.each("gold_counts"), strict=True):
            share.scatter(own, counts)
        return counts

    def feature_sums(self):
        least, most = zip(*self.each("feature_sums"), strict=True)
        return min(least), max(most)


class ShardedMatrix:
    """A Matrix of all shards: each has its part under this one's name."""

    names = 0

    def __init__(self, objective, w=None, *, diagonal=False, keep=None, ad=False):
        ShardedMatrix.names += 1
        n = objective.n_sequences
        self.objective, self.name, self.diagonal, self.rounding = objective, f"matrix {ShardedMatrix.names}", diagonal, None
        self.options = [{"keep": None if keep is None else int(size) * keep // n, "ad": ad} for size in objective.sizes]
        self.sampled, self.point, self.most = np.ones(n), None if w is None else w.copy(), 0.0
        objective.engine.map("matrix", [self._making(k) for k in range(len(objective.shares))])
        objective.matrices[self.name] = self

    def _making(self, k):
        if self.most or self.point is None:
            return self.name, None, self.options[k]
        return self.name, self.objective.shares[k].gather(self.point), {}, self.diagonal

    def recalled(self, k):
        """(method, arguments) of what shard k was told."""
        yield "matrix", self._making(k)
        yield "sample", (self.name, self.objective.parted(self.sampled)[k], self._heaviest())
        if self.most:
            yield "gradient", (self.objective.shares[k].gather(self.point), self.most, self.name)

    def sample(self, weight):
        """The weights of the sequences from the next filling on."""
        self.sampled[:] = weight
        self.point, self.most = None, 0.0
        parts = self.objective.parted(self.sampled)
        self.objective.engine.map("sample", [(self.name, own, self._heaviest()) for own in parts])

    def _heaviest(self):
        return max(1.0, float(self.sampled.max(initial=0.0)))

    def fill_at(self, w, most):
        """value_and_gradient is about to fill it at w; its name for that."""
        self.point, self.most = w.copy(), most
        return self.name

    @property
    def doubts(self):
        return np.concatenate(self.objective.each("doubts", self.name))

    @property
    def share(self):
        """The part of the sequences that products visit."""
        return np.count_nonzero(self.sampled) / max(len(self.sampled), 1)

    def times(self, v, out):
        """out = the product with v."""
        if self.point is None:
            raise ValueError("the curvature is empty, expected one that value_and_gradient(w, g, keep=...) has filled")
        objective, whole = self.objective, self.objective.whole
        bound = whole.square_bound if self.diagonal else whole.bound
        self.rounding = self.rounding or Rounding(limit(bound * objective.scale))
        for most in self.rounding.attempts(math.sqrt(square_norm(v))):
            self.rounding.wanted, marginals = self._sum(v, most, out)
            objective.passes += self.share
        if not self.diagonal:
            pairs = objective.layout.transitions
            out[pairs] += v[pairs] * (objective.scale * marginals)

    def _sum(self, v, used, out):
        """out = R(l2 v + 1/n sum of the tangents); (what would have done for `used`, the sums of pair marginals)."""
        objective = self.objective
        wanted, marginals = rounded(v, objective.l2, used, out), 0.0
        found = objective.engine.map("tangents", [(self.name, share.gather(v), used) for share in objective.shares])
        for share, (own, h, expected) in zip(objective.shares, found, strict=True):
            wanted, marginals = max(wanted, own), marginals + expected
            share.scatter(h, out)
        return wanted, marginals
