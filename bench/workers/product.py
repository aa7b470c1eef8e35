"""Time Hessian-vector products beside the gradient, in a process of its own: best of 2 `repeats`, two at a time in turns.

Orders: train, template, format, features, repeats, steps (of L-BFGS to the point where they are taken), report.
"""

import time

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain import optimizers
from crftrain.chain._occurrence_list import list_weights, listed_bytes
from crftrain.chain._problem import Problem


def main(train, repeats, steps, **how):
    corpus, _, layout = encode(train, **how)
    by_blocks, problem = (Problem(corpus, layout, l2=1 / corpus.n_sequences) for _ in range(2))
    list_weights(problem.sequences, layout)
    w, v = np.zeros(layout.n_features), np.random.default_rng(1).standard_normal(layout.n_features)
    start = optimizers.get("lbfgs").make(problem, w, None, memory=5)
    for _ in range(steps):
        start.step()
    g, out = np.empty_like(w), np.empty_like(w)
    ways = {"kept": problem.curvature(), "anew": problem.curvature(keep=0), "ad": problem.curvature(ad=True)}
    for curvature in ways.values():
        problem.value_and_gradient(w, g, keep=curvature)
    runs = {name: lambda at=at: at.times(v, out) for name, at in ways.items()}
    runs["gradient"] = lambda: problem.value_and_gradient(w, g)  # from the list, as products are
    runs["by blocks"] = lambda: by_blocks.value_and_gradient(w, g)
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            for _ in range(2):
                started = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - started)
    sizes = {"kept_bytes": ways["kept"].n_bytes, "listed_bytes": listed_bytes(corpus, layout)}
    return {"seconds": best, "n_features": layout.n_features, **sizes}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
