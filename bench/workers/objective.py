"""The objective at the weights of a Wapiti model, for those of its algorithms that print none.

Orders: train, template, format, l2, l1 (numbers), model, report. The model's text: #mdl#, #rdr# with patterns, the labels, the
observations (len:name,), and index=weight. Observations take L weights in their order if they begin with u, L * L if with b.
"""

import re

import numpy as np
from _corpus import encode
from _shared import orders, report

from crftrain.chain._problem import Problem


def read_wapiti(lines):
    """(labels, {observation: first weight}, weights); weights that are zero may be absent."""
    lines = iter(lines)
    next(lines)
    n_patterns = int(re.match(r"#rdr#(\d+)/", next(lines))[1])
    for _ in range(n_patterns):
        next(lines)
    names = [[next(lines).rstrip("\n").partition(":")[2][:-1] for _ in range(int(next(lines).split("#")[-1]))] for _ in range(2)]
    labels, start, at = names[0], {}, 0
    for name in names[1]:
        start[name] = at
        at += len(labels) ** (2 if name[0] == "b" else 1)
    weights = np.zeros(at)
    for line in lines:
        index, _, value = line.partition("=")
        weights[int(index)] = float.fromhex(value)
    return labels, start, weights


def spread(labels, start, weights, vocabulary, layout):
    """The same weights where crftrain's full layout has them."""
    L, w = len(labels), np.zeros(layout.n_features)
    order = np.array([labels.index(label) for label in vocabulary.labels])
    for a, name in enumerate(vocabulary.attributes.names()):
        w[layout.ptr[a] : layout.ptr[a + 1]] = weights[start["u" + name.decode()] + order]
    w[layout.transitions] = weights[start["b"] + (order[:, None] * L + order).ravel()]
    return w


def main(train, model, l2, l1, **how):
    corpus, vocabulary, layout = encode(train, **how)
    with open(model, encoding="utf-8") as lines:
        w = spread(*read_wapiti(lines), vocabulary, layout)
    return Problem(corpus, layout, l2=l2, l1=l1).objective(w)


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, objective=main(**asked))
