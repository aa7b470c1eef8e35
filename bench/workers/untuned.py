"""`auto` with several seeds until it stops, and the first of our algorithms at a true distance of GOAL, in one process.

Seconds are the processor's, of what an algorithm does from its making on; looking at it from outside is not counted.
"""

import json
import time
from pathlib import Path

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain import optimizers
from crftrain.chain._problem import Problem
from crftrain.chain.sizes import sizes
from crftrain.training.proof import DEFAULT, Goal, Prover

GOAL, CLOSE, NEAR = DEFAULT, 2e-6, 20
STEPS, ROOM = 3000, 3e9  # bytes: who needs more does not take part


class Run:
    """An algorithm from zero weights, or from w."""

    def __init__(self, problem, name, seed, goal, w=None):
        algorithm = optimizers.get(name)
        self.problem, self.w, self.seconds, self.k, problem.passes = problem, np.zeros(problem.n_features) if w is None else w, 0.0, 0, 0.0
        with self:
            self.optimiser = algorithm.make(problem, self.w, np.random.default_rng(seed), **algorithm.defaults())
        self.prover, self.told = Prover(problem, self.optimiser, Goal(distance=goal)), self.optimiser.news()

    def __enter__(self):
        self.started = time.process_time()

    def __exit__(self, *_):
        self.seconds += time.process_time() - self.started

    def step(self):
        with self:
            step = self.optimiser.step()
            step = self.prover.look(step, self.optimiser.solution())
        self.k += 1
        self.told += self.optimiser.news()
        return step

    def to_the_end(self, longest):
        """Until it is proved; what is proved at last, of f at last."""
        step = self.step()
        while not (self.prover.converged or step.done or self.seconds > longest or self.k == STEPS):
            step = self.step()
        return self.prover.distance, self.problem.exact_objective(self.optimiser.solution())

    def to_distance(self, least, longest):
        """Seconds until f is within GOAL of `least`; None: not in so many."""
        while self.seconds < longest and self.k < STEPS:
            step = self.step()
            if step.exact or step.objective <= least * (1 + NEAR * GOAL):
                f = self.problem.exact_objective(self.optimiser.solution())
                if f <= least * (1 + GOAL):
                    return self.seconds
            if step.done:
                break
        return None


def least_value(problem, start, kept, longest):
    """f*, from the cache or by newton-cg from a point near it: (f, how near that is proved to be)."""
    if kept.exists():
        return json.loads(kept.read_text())
    run = Run(problem, "newton-cg", 1, CLOSE, start.copy())
    proved, f = run.to_the_end(longest)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([f, proved]))
    return f, proved


def main(train, format, template, seeds, rivals, strength, longest, kept):
    """strength: n lambda."""
    corpus, _, layout = encode(train, format, template, features="observed", transitions="auto")
    problem = Problem(corpus, layout, l2=strength / corpus.n_sequences)
    runs, start = [], None
    for seed in seeds:
        run = Run(problem, "auto", seed, GOAL)
        proved, f = run.to_the_end(4 * longest)
        told = " | ".join(run.told)
        runs.append({"seconds": run.seconds, "steps": run.k, "passes": problem.passes, "proved": proved, "f": f, "told": told})
        start = run.w if start is None else start
    f, close = least_value(problem, start, Path(kept), 4 * longest)
    f = min(f, *(run["f"] for run in runs))
    seconds, limit = {}, min(longest, max(run["seconds"] for run in runs))  # a rival that takes longer than auto is none
    counts = sizes(corpus, layout)
    for name in rivals:
        algorithm = optimizers.get(name)
        if sum(algorithm.memory(counts, algorithm.defaults()).values()) > ROOM:
            continue
        seconds[name] = Run(problem, name, seeds[0], 0.0).to_distance(f, limit)
        limit = min(limit, seconds[name] or limit)
    facts = {"n_sequences": corpus.n_sequences, "n_tokens": corpus.n_tokens, "n_labels": layout.n_labels, "n_features": layout.n_features}
    return {**facts, "runs": runs, "rivals": seconds, "least": f, "close": close}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
