"""Processor seconds of what is asked on standard input, a word a line: gradient, sag (a pass), tag (a process), dicts (made a Dataset).

Words: train, model, text. Runs in the installation that is measured, not in that of bench.py.
"""

import resource
import subprocess
import sys
import time

import numpy as np
from _corpus import encode

import crftrain
from crftrain import optimizers
from crftrain.chain._problem import Problem


def tables(path, most=4000):
    """(dictionaries, labels) of the first sentences of a file of columns."""
    with open(path, encoding="utf-8") as file:
        sentences = file.read().split("\n\n")[:most]
    rows = [[line.split() for line in sentence.splitlines()] for sentence in sentences if sentence.strip()]
    made = [[{"w": cells[0], "tag": cells[1], "suffix": cells[0][-3:], "bias": 1.0} for cells in sentence] for sentence in rows]
    return made, [[cells[-1] for cells in sentence] for sentence in rows]


def jobs(train, model, text):
    corpus, _, layout = encode(train, "conll", "chunk", features="observed")
    problem, algorithm = Problem(corpus, layout, l2=1 / corpus.n_sequences), optimizers.get("sag")
    w, g = 0.01 * np.random.default_rng(1).standard_normal(layout.n_features), np.empty(layout.n_features)
    sag = algorithm.make(problem, np.zeros(layout.n_features), np.random.default_rng(0), **algorithm.defaults())
    sag.step()  # the first pass is another one
    made = tables(train)
    tag = [sys.executable, "-m", "crftrain", "tag", model, text]
    return {
        "gradient": lambda: problem.value_and_gradient(w, g),
        "sag": sag.step,
        "tag": lambda: subprocess.run(tag, stdout=subprocess.DEVNULL, check=True),
        "dicts": lambda: crftrain.Dataset(*made),
    }


def seconds():
    """Of this process and of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


if __name__ == "__main__":
    known = jobs(*sys.argv[1:])
    for line in sys.stdin:
        started = seconds()
        known[line.strip()]()
        print(seconds() - started, flush=True)
