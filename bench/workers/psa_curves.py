"""F1 of psa on its way, and the seconds of its passes: for each of `runs` the same weights as `crftrain learn --seed SEED` would have.

Orders: train, test, template, format, features, runs [{options, seed, marks}] with marks in passes, ascending, those below 1 within the
first pass; report. An answer for each run: the F1 (accuracy where labels are no chunks) at each mark, and the seconds of whole passes.
"""

import time

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain import optimizers
from crftrain.chain._problem import Problem
from crftrain.training.heldout import HeldOutData

PSA = optimizers.get("psa")


def follow(problem, score, options, seed, marks):
    """{scores, seconds}"""
    n, asked = problem.n_sequences, {**PSA.defaults(), **options}
    opt = PSA.make(problem, np.zeros(problem.n_features), np.random.default_rng(seed), **asked)
    order, done, passes = opt.rng.permutation(n), 0, 1
    scores, seconds = [], []
    for mark in marks:
        end = n if mark >= 1 else round(mark * n / asked["batch"]) * asked["batch"]  # where a batch ends
        if done < end:
            opt.steps.descend(order[done:end])
            done = end
        while passes < mark:
            started = time.perf_counter()
            opt.step()
            seconds.append(time.perf_counter() - started)
            passes += 1
        scores.append(score(opt.settled())[0])
    return {"scores": scores, "seconds": seconds}


def main(train, test, runs, **how):
    corpus, vocabulary, layout = encode(train, **how)
    problem, score = Problem(corpus, layout, l2=1 / corpus.n_sequences), HeldOutData.read(test, vocabulary).scorer(layout)
    return {"runs": [follow(problem, score, **run) for run in runs]}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
