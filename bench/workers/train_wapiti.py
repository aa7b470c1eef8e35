"""Train with libwapiti on the same attributes as everybody else and tag with the model; Wapiti's log goes to stderr.

Orders: algorithm, params, train, test, model, predictions, report, seconds. Attributes are handed over as raw features (u...),
and one b stands for the label pairs, so that Wapiti's features are crftrain's `--features full`, names outside the sentence
included. sgd-l1 cannot read raw features (it takes its buffers' size from the patterns); it gets patterns that copy one column each.
After `seconds` Wapiti is sent INT, which ends it cleanly after the running iteration.
"""

import os
import signal
import threading

import wapiti
from _shared import orders, report, sequences, tag


def raw(items):
    """The columns of raw features."""
    return [["u" + name for name in names] + ["b"] for names in items]


def text(rows, labels=None):
    """One sequence as Wapiti reads it."""
    if labels is not None:
        rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    return "\n".join(map(" ".join, rows))


def copying_patterns(train):
    """Patterns that make of column k what stands there; ValueError if tokens differ in their number of attributes."""
    widths = {len(names) for _, items in sequences(train) for names in items}
    if len(widths) > 1:
        raise ValueError(f"{min(widths)} to {max(widths)} attributes a token: sgd-l1 works with patterns, which need as many everywhere")
    return "\n".join([f"u%x[0,{k}]" for k in range(widths.pop())] + ["b"])


def main(algorithm, params, train, test, model, predictions, seconds, **paths):
    patterns, columns = (copying_patterns(train), list) if algorithm == "sgd-l1" else (None, raw)
    trained = wapiti.Model(patterns=patterns, algo=algorithm, nthread=1, stopwin=100_000, **params)
    for labels, items in sequences(train):
        trained.add_training_sequence(text(columns(items), labels))
    enough = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    enough.start()
    trained.train()
    enough.cancel()
    trained.save(model)
    tag_seconds = tag(test, predictions, lambda items: trained.label_sequence(text(columns(items))).decode().split())
    report(paths["report"], tag_seconds=tag_seconds, n_features=trained._model.contents.nftr)


if __name__ == "__main__":
    main(**orders())
