"""How many workers pay: rounds and bytes over 1 to 64 shards, counted, and from them the seconds of 8, 64 and 512 workers.

    seconds = passes c T / K  +  rounds (16 m F / B  +  d)        K workers, T tokens, F weights; m = sum_k F_k / F, all by one client

c, the seconds of a gradient a token, m and the rounds and passes until 0.1 % is proved are measured, here, with all shards in this
process; B and d are stated. A corpus GROWTH times as large has F times GROWTH^h, with the h by which F grows from half of this corpus
to the whole of it; rounds, passes and m are then taken to be those of this one. mixing with 512 shards was not run: its rounds are those
with 64.

The picture, where matplotlib is: cluster.svg beside the kept corpora; docs/figures has one.
"""

import math
import time

import numpy as np

from crftrain import optimizers
from crftrain.chain._parts import even
from crftrain.chain.sharded import Inline, sharded
from crftrain.training.learn import prepare
from crftrain.training.proof import Goal, Prover
from crftrain.training.settings import Settings

from .. import tasks
from ..report import Row, at_most, number, table

TITLE = "Shards and workers"
CORPORA = ("conll2000", "ewt", "jnlpba")
SHARDS, FEW, WORKERS = (1, 2, 4, 8, 16, 32, 64), (2, 8), (8, 64, 512)  # few: of all corpora but the first
NAMES = ("lbfgs", "mixing")
SHARE = 0.65  # of lbfgs's rounds
NETWORKS = {"1 Gbit/s": 125e6, "0.5 GB/s": 500e6, "10 Gbit/s": 1250e6}  # bytes a second at the client; Dask reaches the second one
DELAY = 0.005  # seconds of a round besides
GROWTH = 1000
MOST = 500


class Counting(Inline):
    """Counts exchanges of vectors as long as the weights, and their bytes."""

    rounds = n_bytes = 0

    def map(self, method, arguments):
        found = super().map(method, arguments)
        if any(volume(own) >= 8 * shard.problem.n_features for own, shard in zip(arguments, self.shards, strict=True)):
            self.rounds += 1
            self.n_bytes += volume(arguments) + volume(found)
        return found


def volume(value):
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(volume, value)) if isinstance(value, list | tuple) else 0


def shared_weights(training, shards):
    """m."""
    objective = sharded(training.corpus, training.layout, even(training.corpus, shards))
    return sum(share.layout.n_features for share in objective.shares) / objective.n_features


def rounds(training, name, shards):
    """(rounds, passes, bytes a round over 16 sum F_k)"""
    objective = sharded(training.corpus, training.layout, even(training.corpus, shards), l2=1 / training.corpus.n_sequences)
    engine = objective.engine = Counting(objective.engine.shards)
    engine.recalled = objective.recalled
    algorithm = optimizers.get(name)
    optimiser = algorithm.make(objective, np.zeros(objective.n_features), np.random.default_rng(1), **algorithm.defaults())
    prover = Prover(objective, optimiser, Goal(distance=1e-3))
    while engine.rounds < MOST and not prover.converged:
        prover.look(optimiser.step(), optimiser.solution())
    own = 16 * sum(share.layout.n_features for share in objective.shares)
    return engine.rounds, objective.passes, engine.n_bytes / engine.rounds / own


def seconds_a_token(training):
    """c, the least of three."""
    problem = training.objective(Settings(paths=("-",), model="-"), 0.0, 0.0)
    w, g, least = np.zeros(problem.n_features), np.empty(problem.n_features), math.inf
    for _ in range(3):
        started = time.perf_counter()
        problem.value_and_gradient(w, g)
        least = min(least, time.perf_counter() - started)
    return least / training.corpus.n_tokens


def of_task(task, bench, cuts):
    """Rows of one corpus; the model where it was cut in all ways."""
    training = read(task)
    known = {"c": seconds_a_token(training), "T": training.corpus.n_tokens, "F": training.layout.n_features, "m": {}, "cost": {}}
    half = training.corpus.take(np.arange(training.corpus.n_sequences // 2))
    known["h"] = math.log2(known["F"] / np.count_nonzero(weights_of(half, training)))
    lines, base = [], None
    for shards in cuts:
        bench.say(f"{task.name}, {shards} shards")
        known["m"][shards] = m = shared_weights(training, shards)
        base = base or rounds(training, "lbfgs", shards)
        mixed = rounds(training, "mixing", shards)
        for name, (n, passes, volume) in zip(NAMES, (base, mixed), strict=True):
            known["cost"][name, shards] = n, passes
            if name == "lbfgs" and shards != cuts[0]:
                continue  # it makes the same steps however the data are cut
            what, bar = f"{name}, {shards} shards", at_most(SHARE) if name == "mixing" else None
            yield Row(f"{what}: rounds to a proved 1e-3", n, base[0], n / base[0], bar, task.name)
            yield Row(f"{what}: bytes a round over w and g of the shards", ratio=volume, bar=at_most(1.1), task=task.name)
        megabytes = 16 * m * known["F"] / 1e6
        told = f"{base[0]}", f"{mixed[0]}", f"{mixed[0] / base[0]:.0%}", f"{mixed[1]:.0f}"
        lines.append((f"{shards}", number(m, 3), f"{megabytes:.3g}", *told))
    print(table(("shards", "m", "MB a round", "lbfgs", "mixing", "of lbfgs", "its passes"), lines) + "\n")
    if cuts == SHARDS:
        for workers in WORKERS:
            known["m"].setdefault(workers, shared_weights(training, workers))
            for name in NAMES:
                known["cost"].setdefault((name, workers), known["cost"][name, SHARDS[-1]])
        print(model(known) + "\n")
        draw(known, bench.cache / f"cluster-{task.name}.svg")


def read(task):
    return prepare(Settings(paths=(str(task.train),), template=task.template, format=task.format, algorithm="lbfgs", model="unused.bin"))


def weights_of(part, training):
    """Which of the weights a part of the corpus meets, by its labels: as many as it would have alone."""
    from crftrain.chain.layout import Seen

    seen = Seen.of(part, len(training.vocabulary.attributes))
    return np.ones(len(seen.label) + len(training.layout.transition))


def seconds(known, name, workers, growth, network):
    compute = known["c"] * known["T"] * growth / workers
    travel = 16 * known["m"][workers] * known["F"] * growth ** known["h"] / NETWORKS[network]
    rounds, passes = known["cost"][name, workers]
    return passes * compute + rounds * (travel + DELAY if workers > 1 else 0)


def model(known):
    """The table of seconds."""
    lines = []
    for growth in (1, GROWTH):
        for workers in (1, *WORKERS):
            for name in NAMES:
                told = [f"{seconds(known, name, workers, growth, network):,.1f}" for network in NETWORKS]
                lines.append((f"{known['T'] * growth:,}", f"{workers}", name, f"{known['m'][workers]:.3g}", *told))
    return table(("tokens", "workers", "method", "m", *(f"s, {network}" for network in NETWORKS)), lines)


def draw(known, path):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "crftrain"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    at = (1, *WORKERS)
    for n, network in enumerate(NETWORKS):
        for name, dash in zip(NAMES, ("--", "-"), strict=True):
            curve = [seconds(known, name, k, GROWTH, network) for k in at]
            axes.loglog(at, curve, dash, color=f"C{n}", marker="o", markersize=4, label=f"{name}, {network}")
    axes.set(xlabel="workers", ylabel="seconds to a proved 0.1 % (model)", title=f"{known['T'] * GROWTH:,} tokens")
    axes.grid(alpha=0.3)
    figure.legend(frameon=False, fontsize="small", loc="outside right center")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def run(bench):
    """Yield the rows of each corpus; the tables are printed."""
    found = [name for name in CORPORA if (tasks.SOURCES | tasks.MORE)[name][0].is_dir()]
    chosen = [] if bench.quick else [tasks.load(name, bench.cache) for name in found]
    for task in chosen or bench.tasks:
        yield from of_task(task, bench, SHARDS if task in chosen[:1] else FEW)
