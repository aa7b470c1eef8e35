"""Time Problem.value_and_gradient in a process of its own: best of `repeats` for each number of threads, taken in turns.

Orders: train, template, format, features, transitions, threads (a list), repeats, report.
"""

import time

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain.chain._problem import Problem


def main(train, threads, repeats, **how):
    corpus, _, layout = encode(train, **how)
    problems = {count: Problem(corpus, layout, l2=1 / corpus.n_sequences, threads=count) for count in threads}
    w = 0.01 * np.random.default_rng(1).standard_normal(layout.n_features)
    g = np.empty_like(w)
    best = dict.fromkeys(threads, float("inf"))
    for _ in range(repeats + 1):  # the first round finds the memory
        for count, problem in problems.items():
            started = time.perf_counter()
            problem.value_and_gradient(w, g)
            best[count] = min(best[count], time.perf_counter() - started)
    facts = {"n_sequences": corpus.n_sequences, "n_features": layout.n_features, "occurrences": len(corpus.nodes.attr)}
    return {"seconds": best, **facts}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
