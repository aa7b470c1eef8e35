"""How many numbers each kind of SAG's table holds for a corpus with all features.

Orders: train, template, format, min_freq, report. Marginals are (tokens - sequences) edges, as the paper counts them; crftrain stores
one more for each sequence.
"""

import numpy as np
from _shared import orders, report

from crftrain.chain._problem import Problem
from crftrain.chain.layout import arrange
from crftrain.optimizers.average._compiled import gradient_entries
from crftrain.text.encode import read_corpus
from crftrain.text.template import builtin


def main(train, format, template, min_freq):
    template = builtin(template) if template else None
    corpus, vocabulary = read_corpus((train,), template=template, format=format, min_freq=min_freq)
    problem = Problem(corpus, arrange(corpus, vocabulary, features="full"))
    n, tokens, labels = problem.n_sequences, problem.n_tokens, problem.n_labels
    return {
        "n_sequences": n,
        "n_features": problem.n_features,
        "sparse": int(gradient_entries(problem, np.arange(n + 1))[-1]),
        "marginals": tokens * labels + (tokens - n) * labels**2,
        "mixed": tokens * labels + n * labels**2,
    }


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
