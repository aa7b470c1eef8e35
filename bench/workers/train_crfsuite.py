"""Train with python-crfsuite on items and tag with the model; CRFsuite's own log goes to stdout.

Orders: algorithm, params, train, test, model, predictions, report, seconds, iterations, seed. CRFsuite has no limit of time and loses
the model of a run that is broken off. So two iterations are timed first, and as many as fit into `seconds` are run then, after the
line MARK. Without `seconds` CRFsuite stops by itself. `iterations`, if given, is their largest number. It shuffles by rand() without
a seed: other runs of a method that depends on the order come from `seed`, by which the sequences are put in an order first.
"""

import random
import re

import pycrfsuite
from _shared import orders, report, sequences, tag

MARK = "=== measured run\n"


class Trainer(pycrfsuite.Trainer):
    log = ""

    def message(self, message):
        self.log += message
        print(message, end="", flush=True)

    def last(self, what):
        """The last number after `what` in the log."""
        return float(re.findall(what + r": ([\d.]+)", self.log)[-1])


def main(algorithm, params, train, test, model, predictions, seconds, iterations, seed=None, **paths):
    trainer = Trainer(algorithm=algorithm, verbose=False)
    data = sequences(train)
    if seed is not None:
        data = list(data)
        random.Random(seed).shuffle(data)
    for labels, items in data:
        trainer.append(items, labels)
    trainer.set_params(params)
    if seconds is not None:
        trainer.set("max_iterations", 2)
        trainer.train(model)
        fit = max(3, int(seconds / max(trainer.last("Seconds required for this iteration"), 1e-3)))
        iterations = fit if iterations is None else min(fit, iterations)
    if iterations is not None:
        trainer.set("max_iterations", iterations)
    print(MARK, end="", flush=True)
    trainer.train(model)
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    report(paths["report"], tag_seconds=tag(test, predictions, tagger.tag), n_features=int(trainer.last("Number of features")))


if __name__ == "__main__":
    main(**orders())
