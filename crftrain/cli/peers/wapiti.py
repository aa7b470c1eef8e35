"""wapiti train, label, dump."""

import math
from collections import Counter

import click

from ...errors import DataError
from .common import Words, answers, given, learnt, output, stops, tell

DESCENT = {"l-bfgs": None, "bcd": "bcd", "rprop": "rprop", "rprop+": "rprop+", "rprop-": "rprop-", "sgd-l1": None}


def wapiti(ctx, words):
    """wapiti train|label|dump [options] [input [output]]"""
    modes = {"train": _wapiti_train, "label": _wapiti_label, "dump": _wapiti_dump}
    modes |= {name[0]: mode for name, mode in modes.items()}
    if not words or words[0] not in modes:
        raise click.UsageError("wapiti: expected train, label or dump")
    modes[words[0]](ctx, words[1:])


def _wapiti_train(ctx, words):
    words = Words(
        "wapiti train", ("-a", "--algo", str), ("-p", "--pattern", str), ("-m", "--model", str), ("-d", "--devel", str),
        ("-c", "--compact", bool), ("-t", "--nthread", int), ("-j", "--jobsize", int), ("-s", "--sparse", bool), ("-i", "--maxiter", int),
        ("-1", "--rho1", float), ("-2", "--rho2", float), ("-o", "--objwin", int), ("-w", "--stopwin", int), ("-e", "--stopeps", float),
        ("-T", "--type", str), ("--histsz", int), ("--eta0", float), ("--alpha", float),
    ).parse_args(words)  # fmt: skip
    algorithm = words.algo or "l-bfgs"
    if algorithm not in DESCENT or words.type not in (None, "crf") or not words.pattern or len(words.files) != 2:
        raise click.UsageError("wapiti train: expected a known -a, type crf, -p PATTERNS, input and output")
    rho1, rho2 = 0.5 if words.rho1 is None else words.rho1, 0.0001 if words.rho2 is None else words.rho2
    chosen = ["-a", "sgd-l1" if algorithm == "sgd-l1" else "owlqn" if rho1 else "lbfgs"]
    if DESCENT[algorithm]:
        tell(f"-a {algorithm}: another method for the same objective, {chosen[1]}")
    for flag, why in (
        ("jobsize", "threads share the sequences out by themselves"),
        ("sparse", "passes go by lists of label pairs wherever that is sooner"),
    ):
        if getattr(words, flag) not in (None, False):
            tell(f"--{flag}: {why}")
    own = {"histsz": "--memory"} if algorithm == "l-bfgs" else {"eta0": "--eta", "alpha": "--alpha"} if algorithm == "sgd-l1" else {}
    if odd := [name for name in ("histsz", "eta0", "alpha") if getattr(words, name) is not None and name not in own]:
        raise click.UsageError(f"wapiti train: --{odd[0]} is not for -a {algorithm}")
    chosen += [word for name, flag in own.items() for word in given(flag, getattr(words, name))]
    chosen += ["--lambda", f"{rho2:.17g}/n", "--l1", f"{rho1:.17g}/n"]
    chosen += [*given("--passes", words.maxiter or None), *given("--threads", words.nthread), *given("--init", words.model)]
    windows = {name: getattr(words, name) for name in ("objwin", "stopwin", "stopeps") if getattr(words, name) is not None}
    if algorithm != "l-bfgs":
        windows["objwin"] = None
    train, out = words.files
    if windows.get("stopwin") != 0 or words.devel:
        chosen += ["--dev", words.devel or train, "--select", "last"]
    full = ["--features", "full", "--transitions", "full", "--format", "conll", "-t", words.pattern, "--dialect", "wapiti"]
    learnt(ctx, "wapiti", out, [*full, *chosen, [train]], stops().Wapiti(**windows))


def _wapiti_label(ctx, words):
    words = Words(
        "wapiti label", ("-m", "--model", str), ("-l", "--label", bool), ("-s", "--score", bool), ("-p", "--post", bool),
        ("-n", "--nbest", int), ("-c", "--check", bool), ("--force", bool),
    ).parse_args(words)  # fmt: skip
    n, checked = words.nbest or 1, _Checked()
    if not words.model or len(words.files) > 2 or (words.post and n > 1) or (words.check and words.force):
        raise click.UsageError("wapiti label: expected -m MODEL, at most an input and an output, neither -p with -n nor -c with --force")
    gold = "yes" if words.check or words.force else "auto"
    with output(ctx, words.files[1] if len(words.files) > 1 else None, [words.model, *words.files[:1]]) as out:
        for sentence, true, paths, scores, (names, p), _ in answers(words.model, words.files[:1], gold=gold, n=n, force=words.force):
            if words.post:
                best = p.argmax(1)
                paths = [(best.tolist(), float(p[range(len(best)), best].prod()))]
            if words.check:
                checked.add(sentence, names, true, paths[0][0])
            for k, (path, score) in enumerate(paths):
                of_tokens = [float(p[t, y]) for t, y in enumerate(path)] if words.post else scores.of_tokens(path) if words.score else path
                rows = [_wapiti_row(words, line, names[y], of) for line, y, of in zip(sentence.lines, path, of_tokens, strict=True)]
                out.write("\n".join([*([f"# {k} {score:f}"] if words.score else []), *rows, "", ""]).encode())
    if words.check:
        checked.tell()


class _Checked:
    """Counts what `label -c` tells at its end; labels that the model has not are left out."""

    def __init__(self):
        self.gold, self.found, self.right = Counter(), Counter(), Counter()
        self.tokens = self.wrong = self.sentences = self.broken = 0
        self.names = ()

    def add(self, sentence, names, gold, path):
        if gold is None:
            raise DataError(sentence.place(), "no column of labels", "labels to check against")
        self.names, known = names, set(names)
        pairs = [(true, names[y]) for true, y in zip(gold, path, strict=True) if true in known]
        wrong = sum(true != found for true, found in pairs)
        self.gold.update(true for true, _ in pairs)
        self.found.update(found for _, found in pairs)
        self.right.update(found for true, found in pairs if true == found)
        self.tokens, self.sentences = self.tokens + len(path), self.sentences + 1
        self.wrong, self.broken = self.wrong + wrong, self.broken + bool(wrong)

    def tell(self):
        if not self.tokens:
            return
        tell(f"    Nb sequences  : {self.sentences}")
        tell(f"    Token error   : {100 * self.wrong / self.tokens:5.2f}%")
        tell(f"    Sequence error: {100 * self.broken / self.sentences:5.2f}%")
        tell("* Per label statistics")
        for name in self.names:
            precision, recall = (self.right[name] / total[name] if total[name] else math.nan for total in (self.found, self.gold))
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else math.nan
            tell(f"    {name:<6}  Pr={precision:.2f}  Rc={recall:.2f}  F1={f1:.2f}")


def _wapiti_row(words, line, label, score):
    shown = [] if words.label else [line.decode()]
    return "\t".join([*shown, label, *([f"{label}/{score:f}"] if words.score else [])])


def _wapiti_dump(ctx, words):
    from ...model.dump import weights
    from ...model.model import load

    words = Words("wapiti dump", ("-p", "--prec", int)).parse_args(words)
    if not 1 <= len(words.files) <= 2:
        raise click.UsageError("wapiti dump: expected a model, and at most an output")
    places, last = 5 if words.prec is None else words.prec, None
    with output(ctx, words.files[1] if len(words.files) > 1 else None, words.files[:1]) as out:
        for found in weights(load(words.files[0])):
            name, label = found.get("name", "b"), found.get("label") or found["to"]
            out.write(b"\n" * (last not in (None, name)))
            out.write(f"{name}\t{found.get('from', '#')}\t{label}\t{found['weight']:.{places}f}\n".encode())
            last = name
        out.write(b"\n")
