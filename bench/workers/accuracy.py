"""Percent of the test file's labels that trainings get right, all of them on a corpus that is read once.

Orders: train, test, format, template, features, transitions, passes, runs: [[entrant as `compare` takes it, seed], ...], report, and
strength, n lambda, for algorithms that have one.
"""

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain.chain._problem import Problem
from crftrain.training.heldout import HeldOutData
from crftrain.training.race import Entrant


def main(train, test, passes, runs, strength, **how):
    corpus, vocabulary, layout = encode(train, **how)
    score = HeldOutData.read(test, vocabulary).scorer(layout)
    percent = []
    for text, seed in runs:
        entrant = Entrant.parse(text)
        l2 = strength / corpus.n_sequences if "l2" in entrant.algorithm.solves else 0.0
        problem, w = Problem(corpus, layout, l2=l2), np.zeros(layout.n_features)
        optimiser = entrant.algorithm.make(problem, w, np.random.default_rng(seed), **entrant.options)
        for _ in range(passes):
            optimiser.step()
        percent.append(score(optimiser.solution())[1]["accuracy"])
    return {"percent": percent}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
