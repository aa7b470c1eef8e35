"""What the front ends share: options, training until another program's rule says stop, and the answers of a model."""

import argparse
import contextlib
import os
import sys
import tempfile
from dataclasses import replace
from itertools import pairwise

import click
import numpy as np

from ...errors import DataError
from ...whole import os_errors, writing
from ..base import spare
from ..progress import WATCHING

ENDLESS = 2**31 - 1  # steps


class Words(argparse.ArgumentParser):
    """A program's options; what it does not know is a UsageError."""

    def __init__(self, name, *options, files="*"):
        super().__init__(prog=name, add_help=False, allow_abbrev=False)
        for *flags, kind in options:
            if kind is bool:
                self.add_argument(*flags, action="store_true")
            elif kind is list:
                self.add_argument(*flags, action="append", default=[])
            else:
                self.add_argument(*flags, type=kind)
        self.add_argument("files", nargs=files)

    def error(self, message):
        raise click.UsageError(f"{self.prog}: {message}")


def stops():
    """Where the programs end a training."""
    from ...compat import stops

    return stops


def tell(text):
    click.echo(text, err=True)


def learnt(ctx, program, out, arguments, stop=None, *, texts=()):
    """Run `learn` with these arguments until `stop` has a reason, and write its model to `out` in the program's format.

    texts: files for the same model in other formats, (format, path).
    """
    from ...model.foreign import export
    from ...model.model import load

    words = dict(pairwise(map(str, arguments[:-1])))
    spare(ctx, [out, *(path for _, path in texts)], [*arguments[-1], words.get("-t"), words.get("--dev")])
    learn = ctx.find_root().command.commands["learn"]
    out = os.path.abspath(out)
    ctx.meta[WATCHING] = () if stop is None else (stop,)
    if stop is not None:
        arguments = ["--tol", 0, *(() if "--passes" in arguments else ("--passes", ENDLESS)), *arguments]
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.bin")
        with learn.make_context("learn", [*map(str, arguments[:-1]), "-m", model, *map(str, arguments[-1])], parent=ctx) as inner:
            learn.invoke(inner)
        written = [(path, export(load(model), path, format)) for format, path in ((program, out), *texts)]
    for path, size in written:
        tell(f"{path}: {size:,} bytes")


def answers(path, files, *, gold="auto", n=1, factor=1.0, force=False):
    """(sentence, gold or None, [(labels, score)], Scores, marginals, log p of the best) for each sentence of the files.

    The weights are taken times factor. force: gold labels that the model has are given.
    """
    from ...chain._sequences import Sequences
    from ...model.model import load
    from ...tagging._decoder import Decoder
    from ...tagging.query import Query
    from ...tagging.scores import Scores
    from ...text.encode import Encoder
    from ...text.read import sentences

    model = load(path)
    model = replace(model, w=model.w * factor)
    encoder, decoder = Encoder(model.vocabulary, gold=gold), Decoder(model.layout, model.w)
    names = model.vocabulary.labels
    for file in files or ["-"]:
        for sentence in sentences(file):
            corpus, true = encoder.sentence(sentence), encoder.gold_labels(sentence)
            scores, known = Scores(model, corpus), _known(sentence, true, names) if force else None
            decoded = decoder.decode(Sequences(corpus, model.layout), Query(probabilities=True, marginals=True, n=n, known=known))
            if n > 1:
                found, labels = decoded.ranked[0]
                paths = list(zip(labels.tolist(), found.tolist(), strict=True))
            else:
                paths = [(decoded.labels.tolist(), sum(scores.of_tokens(decoded.labels.tolist())))]
            yield sentence, true, paths, scores, (names, decoded.marginals), float(decoded.log_p[0])


def _known(sentence, labels, names):
    """bool[T, L]: what is left open where these labels are given; all where the model has no such label."""
    if labels is None:
        raise DataError(sentence.place(), "no column of labels", "labels that are given")
    number = {name: j for j, name in enumerate(names)}
    known = np.ones((len(labels), len(names)), bool)
    for row, label in zip(known, labels, strict=True):
        if label in number:
            row[:] = False
            row[number[label]] = True
    return known


def given(flag, value):
    return [] if value is None else [flag, value]


def exp(x):
    from math import exp

    return exp(min(x, 0.0))


@contextlib.contextmanager
def output(ctx, path, read):
    """A file to write, whole or absent, which is none of those that are read; None and - are standard output."""
    spare(ctx, [path], read)
    if path in (None, "-"):
        yield sys.stdout.buffer
    else:
        with os_errors(path, "cannot be written"), writing(path) as file:
            yield file
