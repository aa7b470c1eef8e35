"""Processor seconds of Problem.value_and_gradient on one thread, the least of `repeats`, in a process of its own.

Orders: train, template, format, repeats, report.
"""

import time

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain.chain._problem import Problem


def main(train, repeats, **how):
    corpus, _, layout = encode(train, features="observed", transitions="observed", **how)
    problem = Problem(corpus, layout, l2=1 / corpus.n_sequences)
    w = 0.01 * np.random.default_rng(1).standard_normal(layout.n_features)
    g, best = np.empty_like(w), float("inf")
    for _ in range(repeats + 1):  # the first round finds the memory
        started = time.process_time()
        problem.value_and_gradient(w, g)
        best = min(best, time.process_time() - started)
    return {"seconds": best, "tokens": corpus.n_tokens, "pairs": layout.n_pairs}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
