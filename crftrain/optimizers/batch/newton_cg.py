"""Newton's method on the whole objective, its linear systems solved by conjugate gradients: few steps, exact optima.

    H = 1/n sum_i F_i' (covariances of q_i) F_i + lambda I     never formed: CG asks for products H v        (_tangent)

    1. s ~ -H^-1 g by CG within a trust region, w <- w + s     (_trust)
    2. CG ends when |r| fell to FALL of what it was or, far from the optimum, its k-th product brought less than C / k of what
       all of them brought (Nash and Sofer), or after MOST, since without l2 gains need not shrink; near it after RUN products,
       to go on in the next step if the model holds (_trust)
    3. far from the optimum H is that of a sample: with x = gap / gap at zero, SHARE (NEAR / x)^POWER of the sequences, FEWEST at
       least, drawn in proportion to their doubts, sum_t 1 - sum_j P(y_t = j)^2, and weighted by 1 / chance
    4. from x = LATE on CG is preconditioned by the root of the Hessian's diagonal at that point     (_diagonal)
    5. where weights are few, by the directions of the CG before as well                             (_pairs)

Forward and backward vectors are kept by the pass that computes the gradient, so that a product needs neither exponentials
nor sums of them, and the weights of sparse blocks are listed (_occurrence_list). What makes it fast is 3), since far from the optimum a
step on the exact H is no better than one on a tenth of it, and near it that 2) keeps a model. Why the root in 4): rare attributes
give H a cluster of eigenvalues just above lambda, frequent ones some large values, one each. The whole diagonal brings these down
and spreads the cluster to lambda / H_pp; its root does half of both. Where attributes have large values there is no such cluster, H's
scale is that of the values, and 4) takes the whole diagonal: one entry then is above LARGE times what a weight on every token has at most.

Under l1 steps 1) and 2) are on the weights that are not zero or want to leave it, and stay in an orthant     (_orthant_newton)

References: Tsuboi, Unno, Kashima, Okazaki 2011 (products); Nash, Sofer, "Assessing a search direction within a truncated-Newton
method", 1990 (2); Byrd, Chin, Neveitt, Nocedal, "On the use of stochastic Hessian information in optimization methods for machine
learning", 2011 (3); Morales, Nocedal 2000 (5).
"""

import math
from weakref import WeakMethod

import numpy as np

from ...chain._measures import max_norm
from ...chain._tangent import kept_bytes
from ...chain.memory import fitting
from ...chain.rounding import Rounding
from ...chain.sizes import listed
from ..base import Algorithm, Optimiser, Option, Step
from ._preconditioner import Preconditioned, diagonal, kept_pairs
from ._subsample import draw
from ._trust import Scalars, Steihaug, TrustRegion

C, FALL, MOST, RUN, LATE = 0.5, 0.2, 200, 20, 1e-3
LARGE, SHARE, NEAR, POWER, FEWEST = 100, 0.2, 0.02, 0.5, 20


def kept_sequences(cache, n, n_bytes):
    """How many sequences `--cache` keeps of n that take n_bytes together."""
    return fitting(n, n_bytes) if cache == "auto" else n if cache == "all" else min(n, int(cache))


def weakly(method):
    """The method without a hold on its object: what an object gives to its parts must not keep it alive."""
    reference = WeakMethod(method)
    return lambda *arguments: reference()(*arguments)


def enough(k, decrease, gain, fall):
    """Whether conjugate gradients end, far from the optimum."""
    return k * gain <= C * decrease or fall <= FALL or k == MOST


class NewtonCG(Optimiser):
    shards = True

    def __init__(self, objective, w, rng, *, cache, hvp, hessian_share, precondition, pairs):
        super().__init__(objective, w, rng)
        self.share = hessian_share
        objective.list_weights()
        keep = kept_sequences(cache, objective.n_sequences, kept_bytes(objective.n_tokens, objective.n_labels))
        self.curvature = objective.curvature(keep=keep, ad=hvp == "ad")
        m, self.precondition = kept_pairs(pairs, objective), precondition
        product = weakly(self._product)
        self.subproblem = Preconditioned(len(w), product, m, objective.threads) if m else Steihaug(len(w), product)
        self.doubts = self.curvature.doubts  # at w = 0 all tokens are as doubtful
        self.region, self.ratio = None, 1.0

    def step(self):
        if self.region is None:
            return self._first()
        late = self.ratio < LATE
        if self.precondition and late and not self.region.on and self.subproblem.inverse is None:
            self._precondition()
        if self.region.on or late and (self.curvature.sampled == 1).all():
            promise = self.region.step(lambda k, decrease, gain, fall: fall <= FALL or k == RUN, exact=True)
        else:
            promise = self.region.step(enough)
        if promise is None:
            return self._report(done="no step lowers the objective any more: rounding")
        return self._report(note=f"{promise.products} products")

    def _first(self):
        """The start: where it is not zero it may be near the optimum, or the optimum."""
        warm = self.w.any()
        if warm:
            self.ratio = 0.0  # all sequences, if it is up to --hessian-share auto
        self._draw()
        self._start()
        if not warm:
            return self.step()
        first = self._report()
        if self.ratio >= LATE and self.share == "auto":
            self._enter(self.w, self.region.g)
        return first

    def _start(self):
        g = np.empty_like(self.w)
        f = self._fill(self.w, g)
        self.region = TrustRegion(weakly(self._enter), self.objective.value_and_gradient, self.subproblem, self.w, g, f)

    def _report(self, **said):
        gap, at_zero = max_norm(self.region.gradient), self.objective.gap_at_zero()
        self.ratio = gap / at_zero if at_zero else 0.0
        return Step(self.region.f, gap, **said)

    def _enter(self, w, g):
        self._draw()
        return self._fill(w, g)

    def _fill(self, w, g):
        f = self.objective.value_and_gradient(w, g, keep=self.curvature)
        self.doubts = self.curvature.doubts
        return f

    def _draw(self):
        share = SHARE * (NEAR / max(self.ratio, 1e-300)) ** POWER if self.share == "auto" else self.share
        if self.share == "auto":  # an empty sample has no curvature, and one of two or three is often far off
            share = max(share, FEWEST / len(self.doubts))
        self.curvature.sample(np.ones(len(self.doubts)) if share >= 1 else draw(self.doubts, share, self.rng))

    def _product(self, v, out):
        self.curvature.times(v, out)

    def _precondition(self):
        found = diagonal(self.objective, self.w)
        if found is None:
            return
        if found.max() <= LARGE * self.objective.n_tokens / self.objective.n_sequences:
            np.sqrt(found, out=found)
        self.subproblem.precondition(np.divide(1, found, out=found))
        self.region.radius = math.inf

    def gradient(self):
        return self.region.gradient

    def state(self):
        inverse = {} if self.subproblem.inverse is None else {"inverse": self.subproblem.inverse}
        region = self.subproblem.state(False) if self.region is None else self.region.state()
        return {"w": self.w, "sample": self.curvature.sampled, "ratio": np.array(self.ratio)} | self._rounding() | inverse | region

    def _rounding(self):
        return {} if self.curvature.rounding is None else {"rounding": self.curvature.rounding.state()}

    def state_shapes(self):
        vectors = dict.fromkeys(("inverse", "s", "r", "d", "origin"), (np.float64, self.w.shape))
        return vectors | {"sums": (np.float64, (len(Scalars._fields),)), "radius": (np.float64, ()), "rounding": (np.float64, (2,))}

    def restore(self, state):
        self.w[:] = state.get("origin", state["w"])
        self.curvature.sample(state["sample"])
        self._start()
        self.ratio = float(state["ratio"])
        if "rounding" in state:
            self.curvature.rounding = Rounding.restored(state["rounding"])
        if "inverse" in state:
            self.subproblem.precondition(state["inverse"].copy())
        self.region.restore(state)


def memory(facts, options):
    keeps = options["hvp"] == "dp" and facts.n_pairs == facts.n_labels**2
    kept = kept_bytes(facts.n_tokens, facts.n_labels) if keeps else 0
    part = kept_sequences(options["cache"], facts.n_sequences, kept) / max(facts.n_sequences, 1)
    pairs = 32 * kept_pairs(options["pairs"], facts) * facts.n_features
    weights = (88 + 16 * options["precondition"]) * facts.n_features
    return {"weights": weights, "listed weights": listed(facts), "kept for products": int(part * kept), "pairs": pairs}


def build(objective, w, rng, *, pairs, **options):
    """Under l1 the weights that may move change from step to step, and with them what the directions before were worth."""
    if objective.l1:
        from ._orthant_newton import OrthantNewton

        return OrthantNewton(objective, w, rng, pairs=0, **options)
    return NewtonCG(objective, w, rng, pairs=pairs, **options)


ALGORITHM = Algorithm(
    summary="Newton's method with conjugate gradients: exact optima, from zero or after another algorithm",
    reference="Tsuboi, Unno, Kashima, Okazaki, Fast Newton-CG method for batch learning of conditional random fields, AAAI 2011",
    solves=frozenset({"l2", "l1", "no-l2"}),
    options=(
        Option("cache", "auto", "sequences whose vectors stay; auto: what fits half the free memory", words=("auto", "all"), minimum=0),
        Option("hvp", "dp", "products by dynamic programming or by differentiating the recursions, anew each time", choices=("dp", "ad")),
        Option("hessian_share", "auto", "part of the sequences for products; auto: grows to all", words=("auto",), above=0, maximum=1),
        Option("precondition", True, "near the optimum divide by the root of the Hessian's diagonal in the conjugate gradients"),
        Option("pairs", "auto", "directions that precondition later ones; auto: none where weights are many", words=("auto",), minimum=0),
    ),
    optimiser=NewtonCG,
    build=build,
    memory=memory,
    lighter="--cache 0, --min-freq 2, --features observed, or -a sag",
    step_name="iteration",
    tol=2.5e-5,
    passes=500,
    details=(
        "For exact optima; sag is sooner at 1e-3 of it. Seconds to (f - f*)/f* = 1e-6 on CoNLL-2000 chunking, one thread: all features\n"
        "21.1 where lbfgs takes 55.3, those observed 6.9 and 13.8. A product costs about a gradient, 1.6 to 1.7 times as much with\n"
        "--cache 0 and 2 to 6 times by --hvp ad. With attributes on label pairs nothing is kept. Where the free memory allows, the\n"
        "weights of attributes with few labels are listed by occurrence, 8 bytes each: products and gradients take 0.7 times as long.\n"
        "With --l1 it works on the weights that may move, in an orthant: for exact optima, far from them sag and owlqn are sooner."
    ),
)
