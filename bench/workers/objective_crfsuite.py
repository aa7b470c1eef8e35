"""The objective at the weights of a CRFsuite model, whose log has a running estimate only.

Orders: train, template, format, features, transitions, l2, l1 (numbers), model, report. What the model does not have is 0.
"""

import numpy as np
import pycrfsuite
from _corpus import encode
from _shared import orders, report

from crftrain.chain._problem import Problem


def main(train, model, l2, l1, **how):
    corpus, vocabulary, layout = encode(train, **how)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    info, w = tagger.info(), np.zeros(layout.n_features)
    labels, names = vocabulary.labels, [name.decode() for name in vocabulary.attributes.names()]
    for a, name in enumerate(names):
        for p in range(layout.ptr[a], layout.ptr[a + 1]):
            w[p] = info.state_features.get((name, labels[layout.label[p]]), 0.0)
    pairs = [(labels[k // len(labels)], labels[k % len(labels)]) for k in layout.transition]
    w[layout.transitions] = [info.transitions.get(pair, 0.0) for pair in pairs]
    return Problem(corpus, layout, l2=l2, l1=l1).objective(w)


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, objective=main(**asked))
