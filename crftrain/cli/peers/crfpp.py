"""crf_learn and crf_test."""

import click

from ..base import spare
from .common import Words, answers, exp, given, learnt, output, stops


def crf_learn(ctx, words):
    """crf_learn [options] template training_data model; crf_learn -C text_model model"""
    words = Words(
        "crf_learn", ("-f", "--freq", int), ("-m", "--maxiter", int), ("-c", "--cost", float), ("-e", "--eta", float),
        ("-a", "--algorithm", str), ("-p", "--thread", int), ("-H", "--shrinking-size", int), ("-C", "--convert", bool),
        ("-t", "--textmodel", bool),
    ).parse_args(words)  # fmt: skip
    if words.convert:
        _crfpp_converted(ctx, words.files)
        return
    if len(words.files) < 3:
        raise click.UsageError("crf_learn: expected template, training data, model")
    template, *train, out = words.files
    algorithm, cost, eta = (words.algorithm or "CRF-L2").upper(), words.cost or 1.0, words.eta or 1e-4
    kinds = {"CRF": "L2", "CRF-L2": "L2", "CRF-L1": "L1", "MIRA": "MIRA"}
    if algorithm not in kinds or cost <= 0 or eta <= 0:
        raise click.UsageError(f"crf_learn: -a {algorithm} -c {cost} -e {eta}, expected CRF-L2, CRF-L1 or MIRA, and numbers above 0")
    kind = kinds[algorithm]
    chosen = {
        "L2": ["-a", "lbfgs", "--lambda", f"{1 / cost:.17g}/n"],
        "L1": ["-a", "owlqn", "--l1", f"{1 / cost:.17g}/n"],
        "MIRA": ["-a", "mira", "--c", cost, *given("--shrinking-size", words.shrinking_size)],
    }[kind]
    if words.shrinking_size is not None and kind != "MIRA":
        raise click.UsageError("crf_learn: --shrinking-size is for -a MIRA")
    chosen += [*given("--min-freq", words.freq), *given("--passes", words.maxiter), *given("--threads", words.thread)]
    full = ["--features", "full", "--transitions", "full", "--format", "conll", "-t", template, "--dialect", "crfpp"]
    texts = [("crfpp-text", f"{out}.txt")] if words.textmodel else []
    learnt(ctx, "crfpp", out, [*full, *chosen, train], None if kind == "MIRA" else stops().CRFpp(eta=eta), texts=texts)


def _crfpp_converted(ctx, files):
    """A text model as a binary one."""
    from ...model.foreign import export
    from ...model.model import load

    if len(files) != 2:
        raise click.UsageError("crf_learn -C: expected text model, model")
    spare(ctx, files[1:], files[:1])
    export(load(files[0]), files[1], "crfpp")


def crf_test(ctx, words):
    """crf_test [options] -m model files..."""
    words = Words(
        "crf_test", ("-m", "--model", str), ("-n", "--nbest", int), ("-v", "--verbose", int), ("-c", "--cost-factor", float),
        ("-o", "--output", str),
    ).parse_args(words)  # fmt: skip
    if not words.model:
        raise click.UsageError("crf_test: expected -m MODEL")
    factor = 1.0 if words.cost_factor is None else words.cost_factor
    level, n = words.verbose or 0, words.nbest or 0
    with output(ctx, words.output, [words.model, *words.files]) as out:
        for sentence, _, paths, _, (names, p), log_p in answers(words.model, words.files, n=max(n, 1), factor=factor):
            rows = [b"\t".join(line.replace(b"\t", b" ").split()).decode() for line in sentence.lines]
            for k, (path, score) in enumerate(paths):
                whole = exp(log_p + score - paths[0][1])
                head = [f"# {k} {whole:f}"] if n else [f"# {whole:f}"] if level else []
                lines = [_crfpp_row(row, y, names, p[t], level) for t, (row, y) in enumerate(zip(rows, path, strict=True))]
                out.write("\n".join([*head, *lines, "", ""]).encode())


def _crfpp_row(row, y, names, p, level):
    mine = f"{names[y]}/{p[y]:f}" if level else names[y]
    return "\t".join([row, mine, *(f"{name}/{p[j]:f}" for j, name in enumerate(names) if level > 1)])
