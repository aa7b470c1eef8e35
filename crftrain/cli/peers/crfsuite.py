"""crfsuite learn, tag, dump."""

import click

from .common import Words, answers, exp, given, learnt, output, stops


def crfsuite(ctx, words):
    """crfsuite learn|tag|dump [options] [files]"""
    modes = {"learn": _crfsuite_learn, "tag": _crfsuite_tag, "dump": _crfsuite_dump}
    if not words or words[0] not in modes:
        raise click.UsageError("crfsuite: expected learn, tag or dump")
    modes[words[0]](ctx, words[1:])


NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
OF_MARGIN = {"type": "--type", "c": "--c", "variance": "--variance", "gamma": "--gamma", "epsilon": "--epsilon"}


def _crfsuite_learn(ctx, words):
    words = Words(
        "crfsuite learn", ("-t", "--type", str), ("-a", "--algorithm", str), ("-p", "--set", list), ("-m", "--model", str),
        ("-e", "--holdout", int),
    ).parse_args(words)  # fmt: skip
    algorithm = NAMES.get(words.algorithm, words.algorithm or "lbfgs")
    if words.type not in (None, "1d", "crf1d") or algorithm not in ("lbfgs", "l2sgd", "ap", "pa", "arow") or not words.model:
        raise click.UsageError("crfsuite learn: expected -m MODEL, type 1d, and lbfgs, l2sgd, ap, pa or arow")
    theirs, files, held = dict(word.split("=", 1) for word in words.set if "=" in word), words.files or ["-"], []
    if words.holdout is not None:
        if not 1 <= words.holdout <= len(files) or len(files) == 1:
            raise click.UsageError(f"crfsuite learn: -e {words.holdout}, expected the number of one of several files")
        held = ["--dev", files.pop(words.holdout - 1), "--select", "last"]
    try:
        stop = _stop(algorithm, theirs)
        chosen = _crfsuite_words(algorithm, theirs)
    except ValueError as error:
        raise click.UsageError(f"crfsuite learn: {error}") from None
    if theirs:
        raise click.UsageError(f"crfsuite learn: -p {next(iter(theirs))}, which has no counterpart for {algorithm}")
    learnt(ctx, "crfsuite", words.model, ["--format", "items", *held, *chosen, files], stop)


def _stop(algorithm, theirs):
    """Where the training ends, by words that are taken out of `theirs`; None where our own rule is the same."""
    if algorithm not in ("lbfgs", "l2sgd"):
        return None
    known = {"period": 10, "delta": 1e-5, "epsilon": 1e-5} if algorithm == "lbfgs" else {"period": 10, "delta": 1e-6}
    values = {name: type(value)(theirs.pop(name, value)) for name, value in known.items()}
    return stops().CRFsuite(**{"epsilon": None, **values})


def _crfsuite_words(algorithm, theirs):
    """Our options for theirs, which are taken out of `theirs`."""
    full = {name: float(theirs.pop(f"feature.possible_{name}", 0)) for name in ("states", "transitions")}
    chosen = [word for name, flag in (("states", "--features"), ("transitions", "--transitions")) for word in
              (flag, "full" if full[name] else "observed")]  # fmt: skip
    rounds = {"lbfgs": None, "l2sgd": 1000}.get(algorithm, 100)
    chosen += given("--passes", theirs.pop("max_iterations", rounds))
    if (least := float(theirs.pop("feature.minfreq", 0))) > 1:
        chosen += ["--min-freq", str(int(-(-least // 1)))]
    if algorithm in ("lbfgs", "l2sgd"):
        l2, l1 = 2 * float(theirs.pop("c2", 1)), float(theirs.pop("c1", 0)) if algorithm == "lbfgs" else 0.0
        chosen += ["--lambda", f"{l2:.17g}/n", *(["--l1", f"{l1:.17g}/n"] if l1 else [])]
        chosen += ["-a", "owlqn" if l1 else "lbfgs"] if algorithm == "lbfgs" else ["-a", "sgd", "--no-average"]
        flags = {"num_memories": "--memory"} if algorithm == "lbfgs" else {"calibration.eta": "--eta"}
        return chosen + [word for name, flag in flags.items() for word in given(flag, theirs.pop(name, None))]
    chosen += ["-a", algorithm]
    for name in [name for name in theirs if name in OF_MARGIN]:
        chosen += [OF_MARGIN[name], theirs.pop(name)]
    for name in ("averaging", "error_sensitive"):
        if name in theirs:
            chosen.append(f"--{'' if float(theirs.pop(name)) else 'no-'}{name.replace('_', '-')}")
    return chosen


def _crfsuite_dump(ctx, words):
    from ...compat.pycrfsuite import Tagger

    words = Words("crfsuite dump").parse_args(words)
    if len(words.files) != 1:
        raise click.UsageError("crfsuite dump: expected a model")
    tagger = Tagger()
    tagger.open(words.files[0])
    tagger.dump()


def _crfsuite_tag(ctx, words):
    words = Words(
        "crfsuite tag", ("-m", "--model", str), ("-r", "--reference", bool), ("-p", "--probability", bool), ("-i", "--marginal", bool),
        ("-l", "--marginal-all", bool), ("-q", "--quiet", bool),
    ).parse_args(words)  # fmt: skip
    if not words.model or len(words.files) > 1:
        raise click.UsageError("crfsuite tag: expected -m MODEL, and at most one file")
    with output(ctx, None, ()) as out:
        for _, gold, paths, _, (names, p), log_p in answers(words.model, words.files, gold="yes"):
            rows = [f"@probability\t{exp(log_p):f}"] if words.probability else []
            for t, y in enumerate(paths[0][0]):
                row = [gold[t]] if words.reference else []
                row.append(f"{names[y]}:{p[t, y]:f}" if words.marginal else names[y])
                rows.append("\t".join(row + ([f"{name}:{p[t, j]:f}" for j, name in enumerate(names)] if words.marginal_all else [])))
            if not words.quiet:
                out.write("\n".join([*rows, "", ""]).encode())
