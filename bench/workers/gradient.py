"""Time Problem.value_and_gradient in a process of its own: best of `repeats` for each number of threads, taken in turns.

Orders: train, template, format, features, transitions, threads (a list), repeats, report.
"""

import time

import numpy as np
from _shared import orders, report

from crftrain._problem import Problem
from crftrain.learn import Settings, prepare


def main(train, threads, repeats, **how):
    training = prepare(Settings(paths=(train,), algorithm=None, options={}, **how))
    problems = {count: Problem(training.corpus, training.layout, l2=1 / training.corpus.n_sequences, threads=count) for count in threads}
    w = 0.01 * np.random.default_rng(1).standard_normal(training.facts.n_features)
    g = np.empty_like(w)
    best = dict.fromkeys(threads, float("inf"))
    for _ in range(repeats + 1):  # the first round finds the memory
        for count, problem in problems.items():
            started = time.perf_counter()
            problem.value_and_gradient(w, g)
            best[count] = min(best[count], time.perf_counter() - started)
    return {"seconds": best, "occurrences": len(training.corpus.nodes.attr), **vars(training.facts)}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
