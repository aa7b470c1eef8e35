"""`crftrain as PROGRAM ARGS...`: the command lines of crfsuite, crf_learn, crf_test and wapiti, so that scripts change one word.

Models are read and written in the program's own format, output has its form. The stop is ours: where theirs can be said in ours it
is, where not the run ends when it is proved to be near the optimum, and that is said. Any other word that cannot be kept to is an
error of usage.
"""

import argparse
import json
import os
import sys
import tempfile

import click

from ..errors import DataError
from .base import Command

DESCENT = {"l-bfgs": None, "bcd": "bcd", "rprop": "rprop", "rprop+": "rprop+", "rprop-": "rprop-", "sgd-l1": None}


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


def tell(text):
    click.echo(text, err=True)


def learnt(ctx, program, out, arguments):
    """Run `learn` with these arguments, and write its model to `out` in the program's format."""
    from ..model.foreign import export
    from ..model.model import load

    learn = ctx.find_root().command.commands["learn"]
    out = os.path.abspath(out)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.bin")
        with learn.make_context("learn", [*map(str, arguments[:-1]), "-m", model, *map(str, arguments[-1])], parent=ctx) as inner:
            learn.invoke(inner)
        size = export(load(model), out, program)
    tell(f"{out}: {size:,} bytes")


def answers(path, files, *, gold="auto", n=1):
    """(sentence, gold or None, [(labels, score)], Scores, marginals, log p of the best) for each sentence of the files."""
    from ..chain._sequences import Sequences
    from ..model.model import load
    from ..tagging._decoder import Decoder
    from ..tagging.query import Query
    from ..tagging.scores import Scores
    from ..text.encode import Encoder
    from ..text.read import sentences

    model = load(path)
    encoder, decoder = Encoder(model.vocabulary, gold=gold), Decoder(model.layout, model.w)
    names = model.vocabulary.labels
    for file in files or ["-"]:
        for sentence in sentences(file):
            corpus = encoder.sentence(sentence)
            scores = Scores(model, corpus)
            decoded = decoder.decode(Sequences(corpus, model.layout), Query(probabilities=True, marginals=True, n=n))
            if n > 1:
                found, labels = decoded.ranked[0]
                paths = list(zip(labels.tolist(), found.tolist(), strict=True))
            else:
                paths = [(decoded.labels.tolist(), sum(scores.of_tokens(decoded.labels.tolist())))]
            yield sentence, encoder.gold_labels(sentence), paths, scores, (names, decoded.marginals), float(decoded.log_p[0])


# ---- CRF++


def crf_learn(ctx, words):
    """crf_learn [options] template training_data model"""
    words = Words(
        "crf_learn", ("-f", "--freq", int), ("-m", "--maxiter", int), ("-c", "--cost", float), ("-e", "--eta", float),
        ("-a", "--algorithm", str), ("-p", "--thread", int), ("-H", "--shrinking-size", int),
    ).parse_args(words)  # fmt: skip
    if len(words.files) < 3:
        raise click.UsageError("crf_learn: expected template, training data, model")
    template, *train, out = words.files
    algorithm, cost = (words.algorithm or "CRF-L2").upper(), words.cost or 1.0
    kinds = {"CRF": "L2", "CRF-L2": "L2", "CRF-L1": "L1", "MIRA": "MIRA"}
    if algorithm not in kinds or cost <= 0:
        raise click.UsageError(f"crf_learn: -a {algorithm} -c {cost}, expected CRF-L2, CRF-L1 or MIRA, and a cost above 0")
    chosen = {
        "L2": ["--lambda", f"{1 / cost:.17g}/n"],
        "L1": ["--l1", f"{1 / cost:.17g}/n"],
        "MIRA": ["-a", "mira", "--c", cost, *_given("--shrinking-size", words.shrinking_size)],
    }[kinds[algorithm]]
    if words.shrinking_size is not None and kinds[algorithm] != "MIRA":
        raise click.UsageError("crf_learn: --shrinking-size is for -a MIRA")
    chosen += [*_given("--min-freq", words.freq), *_given("--passes", words.maxiter), *_given("--tol", words.eta)]
    full = ["--features", "full", "--transitions", "full"]
    learn = ["--format", "conll", "-t", template, "--dialect", "crfpp", *full, *_given("--threads", words.thread), *chosen, train]
    learnt(ctx, "crfpp", out, learn)


def _given(flag, value):
    return [] if value is None else [flag, value]


def crf_test(ctx, words):
    """crf_test [options] -m model files..."""
    words = Words(
        "crf_test", ("-m", "--model", str), ("-n", "--nbest", int), ("-v", "--verbose", int), ("-c", "--cost-factor", float),
        ("-o", "--output", str),
    ).parse_args(words)  # fmt: skip
    if not words.model or words.cost_factor not in (None, 1.0):
        raise click.UsageError("crf_test: expected -m MODEL, and no cost factor but 1")
    level, n = words.verbose or 0, words.nbest or 0
    with _output(words.output) as out:
        for sentence, _, paths, _, (names, p), log_p in answers(words.model, words.files, n=max(n, 1)):
            rows = [b"\t".join(line.replace(b"\t", b" ").split()).decode() for line in sentence.lines]
            for k, (path, score) in enumerate(paths):
                whole = _exp(log_p + score - paths[0][1])
                head = [f"# {k} {whole:f}"] if n else [f"# {whole:f}"] if level else []
                lines = [_crfpp_row(row, y, names, p[t], level) for t, (row, y) in enumerate(zip(rows, path, strict=True))]
                out.write("\n".join([*head, *lines, "", ""]).encode())


def _crfpp_row(row, y, names, p, level):
    mine = f"{names[y]}/{p[y]:f}" if level else names[y]
    return "\t".join([row, mine, *(f"{name}/{p[j]:f}" for j, name in enumerate(names) if level > 1)])


def _exp(x):
    from math import exp

    return exp(min(x, 0.0))


class _output:
    """A file to write, or standard output."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.file = sys.stdout.buffer if self.path in (None, "-") else open(self.path, "wb")  # noqa: SIM115
        return self.file

    def __exit__(self, *_):
        self.file.flush()
        if self.path not in (None, "-"):
            self.file.close()


# ---- Wapiti


def wapiti(ctx, words):
    """wapiti train|label|dump [options] [input [output]]"""
    modes = {"train": _wapiti_train, "label": _wapiti_label, "dump": _wapiti_dump}
    if not words or words[0] not in modes:
        raise click.UsageError("wapiti: expected train, label or dump")
    modes[words[0]](ctx, words[1:])


def _wapiti_train(ctx, words):
    words = Words(
        "wapiti train", ("-a", "--algo", str), ("-p", "--pattern", str), ("-m", "--model", str), ("-d", "--devel", str),
        ("-c", "--compact", bool), ("-t", "--nthread", int), ("-j", "--jobsize", int), ("-s", "--sparse", bool), ("-i", "--maxiter", int),
        ("-1", "--rho1", float), ("-2", "--rho2", float), ("-o", "--objwin", int), ("-w", "--stopwin", int), ("-e", "--stopeps", float),
        ("-T", "--type", str),
    ).parse_args(words)  # fmt: skip
    algorithm = words.algo or "l-bfgs"
    if algorithm not in DESCENT or words.type not in (None, "crf") or not words.pattern or len(words.files) != 2:
        raise click.UsageError("wapiti train: expected a known -a, type crf, -p PATTERNS, input and output")
    rho1, rho2 = 0.5 if words.rho1 is None else words.rho1, 0.0001 if words.rho2 is None else words.rho2
    chosen = ["-a", "sgd-l1" if algorithm == "sgd-l1" else "owlqn" if rho1 else "lbfgs"]
    if DESCENT[algorithm]:
        tell(f"-a {algorithm}: another method for the same objective, {chosen[1]}")
    for flag in ("objwin", "stopwin"):
        if getattr(words, flag) is not None and not (flag == "stopwin" and words.devel):
            tell(f"--{flag}: the run ends when it is proved to be near the optimum; --stopeps X is how near")
    for flag, why in (
        ("jobsize", "threads share the sequences out by themselves"),
        ("sparse", "passes go by lists of label pairs wherever that is sooner"),
        ("stopeps", "it is how near to the optimum the run is proved to be when it ends, not the change of the objective"),
    ):
        if getattr(words, flag) not in (None, False):
            tell(f"--{flag}: {why}")
    strength = ["--lambda", f"{rho2:.17g}/n", "--l1", f"{rho1:.17g}/n"]
    chosen += [*strength, *_given("--passes", words.maxiter), *_given("--tol", words.stopeps), *_given("--threads", words.nthread)]
    chosen += [*_given("--dev", words.devel), *(_given("--patience", words.stopwin) if words.devel else []), *_given("--init", words.model)]
    full = ["--features", "full", "--transitions", "full", "--format", "conll"]
    learnt(ctx, "wapiti", words.files[1], ["-t", words.pattern, "--dialect", "wapiti", *full, *chosen, words.files[:1]])


def _wapiti_label(ctx, words):
    words = Words(
        "wapiti label", ("-m", "--model", str), ("-l", "--label", bool), ("-s", "--score", bool), ("-p", "--post", bool),
        ("-n", "--nbest", int),
    ).parse_args(words)  # fmt: skip
    n = words.nbest or 1
    if not words.model or len(words.files) > 2 or (words.post and n > 1):
        raise click.UsageError("wapiti label: expected -m MODEL, at most an input and an output, and not -p with -n")
    with _output(words.files[1] if len(words.files) > 1 else None) as out:
        for sentence, _, paths, scores, (names, p), _ in answers(words.model, words.files[:1], n=n):
            if words.post:
                best = p.argmax(1)
                paths = [(best.tolist(), float(p[range(len(best)), best].prod()))]
            for k, (path, score) in enumerate(paths):
                of_tokens = [float(p[t, y]) for t, y in enumerate(path)] if words.post else scores.of_tokens(path) if words.score else path
                rows = [_wapiti_row(words, line, names[y], of) for line, y, of in zip(sentence.lines, path, of_tokens, strict=True)]
                out.write("\n".join([*([f"# {k} {score:f}"] if words.score else []), *rows, "", ""]).encode())


def _wapiti_row(words, line, label, score):
    shown = [] if words.label else [line.decode()]
    return "\t".join([*shown, label, *([f"{label}/{score:f}"] if words.score else [])])


def _wapiti_dump(ctx, words):
    from ..model.dump import dump_json
    from ..model.model import load

    words = Words("wapiti dump", ("-p", "--prec", int)).parse_args(words)
    if not 1 <= len(words.files) <= 2:
        raise click.UsageError("wapiti dump: expected a model, and at most an output")
    places, last = 5 if words.prec is None else words.prec, None
    with _output(words.files[1] if len(words.files) > 1 else None) as out:
        for found in map(json.loads, dump_json(load(words.files[0]))):
            if "kind" not in found:
                continue
            name, label = found.get("name", "b"), found.get("label") or found["to"]
            out.write(b"\n" * (last not in (None, name)))
            out.write(f"{name}\t{found.get('from', '#')}\t{label}\t{found['weight']:.{places}f}\n".encode())
            last = name
        out.write(b"\n")


# ---- CRFsuite


def crfsuite(ctx, words):
    """crfsuite learn|tag [options] [files]"""
    modes = {"learn": _crfsuite_learn, "tag": _crfsuite_tag}
    if not words or words[0] not in modes:
        raise click.UsageError("crfsuite: expected learn or tag")
    modes[words[0]](ctx, words[1:])


OF_MARGIN = {"type": "--type", "c": "--c", "variance": "--variance", "gamma": "--gamma", "epsilon": "--epsilon"}


def _crfsuite_learn(ctx, words):
    words = Words(
        "crfsuite learn", ("-t", "--type", str), ("-a", "--algorithm", str), ("-p", "--set", list), ("-m", "--model", str),
    ).parse_args(words)  # fmt: skip
    names = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
    algorithm = names.get(words.algorithm, words.algorithm or "lbfgs")
    if words.type not in (None, "1d", "crf1d") or algorithm not in ("lbfgs", "l2sgd", "ap", "pa", "arow") or not words.model:
        raise click.UsageError("crfsuite learn: expected -m MODEL, type 1d, and lbfgs, l2sgd, ap, pa or arow")
    given = dict(word.split("=", 1) for word in words.set if "=" in word)
    try:
        chosen = _crfsuite_words(algorithm, given)
    except ValueError as error:
        raise click.UsageError(f"crfsuite learn: {error}") from None
    if given:
        raise click.UsageError(f"crfsuite learn: -p {next(iter(given))}, which has no counterpart for {algorithm}")
    learnt(ctx, "crfsuite", words.model, ["--format", "items", *chosen, words.files or ["-"]])


def _crfsuite_words(algorithm, given):
    """Our options for theirs, which are taken out of `given`."""
    full = {name: float(given.pop(f"feature.possible_{name}", 0)) for name in ("states", "transitions")}
    chosen = [word for name, flag in (("states", "--features"), ("transitions", "--transitions")) for word in
              (flag, "full" if full[name] else "observed")]  # fmt: skip
    chosen += _given("--passes", given.pop("max_iterations", None))
    if (least := float(given.pop("feature.minfreq", 0))) > 1:
        chosen += ["--min-freq", int(-(-least // 1))]
    if algorithm in ("lbfgs", "l2sgd"):
        l2, l1 = 2 * float(given.pop("c2", 1)), float(given.pop("c1", 0)) if algorithm == "lbfgs" else 0.0
        chosen += ["--lambda", f"{l2:.17g}/n", *(["--l1", f"{l1:.17g}/n"] if l1 else [])]
        chosen += ["-a", "owlqn" if l1 else "lbfgs"] if algorithm == "lbfgs" else ["-a", "sgd", "--no-average"]
        theirs = {"epsilon": "--tol", "num_memories": "--memory"} if algorithm == "lbfgs" else {"calibration.eta": "--eta"}
        return chosen + [word for name, flag in theirs.items() for word in _given(flag, given.pop(name, None))]
    chosen += ["-a", algorithm]
    for name in [name for name in given if name in OF_MARGIN]:
        chosen += [OF_MARGIN[name], given.pop(name)]
    for name in ("averaging", "error_sensitive"):
        if name in given:
            chosen.append(f"--{'' if float(given.pop(name)) else 'no-'}{name.replace('_', '-')}")
    return chosen


def _crfsuite_tag(ctx, words):
    words = Words(
        "crfsuite tag", ("-m", "--model", str), ("-r", "--reference", bool), ("-p", "--probability", bool), ("-i", "--marginal", bool),
        ("-l", "--marginal-all", bool), ("-q", "--quiet", bool),
    ).parse_args(words)  # fmt: skip
    if not words.model or len(words.files) > 1:
        raise click.UsageError("crfsuite tag: expected -m MODEL, and at most one file")
    with _output(None) as out:
        for _, gold, paths, _, (names, p), log_p in answers(words.model, words.files, gold="yes"):
            rows = [f"@probability\t{_exp(log_p):f}"] if words.probability else []
            for t, y in enumerate(paths[0][0]):
                row = [gold[t]] if words.reference else []
                row.append(f"{names[y]}:{p[t, y]:f}" if words.marginal else names[y])
                rows.append("\t".join(row + ([f"{name}:{p[t, j]:f}" for j, name in enumerate(names)] if words.marginal_all else [])))
            if not words.quiet:
                out.write("\n".join([*rows, "", ""]).encode())


PROGRAMS = {"crfsuite": crfsuite, "crf_learn": crf_learn, "crf_test": crf_test, "wapiti": wapiti}


class Verbatim(Command):
    """A command that leaves what follows its first argument as it is."""

    def parse_args(self, ctx, args):
        ctx.ignore_unknown_options, ctx.allow_interspersed_args = True, False
        return super().parse_args(ctx, args)


@click.command("as", cls=Verbatim)
@click.argument("program", type=click.Choice([*PROGRAMS]))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def as_program(ctx, program, words):
    """Do what another PROGRAM would do with its own command line, and write what it would write.

    \b
      crftrain as crf_learn -c 2 template train.txt model
      crftrain as crf_test -v1 -n 3 -m model test.txt
      crftrain as wapiti train -p patterns.txt -1 0.1 train.txt model.wapiti
      crftrain as wapiti label -s -p -m model.wapiti test.txt
      crftrain as crfsuite learn -p c1=0.1 -m model.crfsuite train.items
      crftrain as crfsuite tag -i -r -m model.crfsuite test.items

    Models are read and written in its format. A word that cannot be kept to is an error; where the stop is ours, that is said.
    """
    try:
        PROGRAMS[program](ctx, list(words))
    except BrokenPipeError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(getattr(error, "filename", None) or program, getattr(error, "strerror", None) or str(error)) from None
