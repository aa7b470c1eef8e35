"""`crftrain tag [-j N] [-n N] [--constrain S] [--forbid P] [--allow P] MODEL FILE..` and nothing else: most runs are one of these, and
reading a command line takes as long to load as tagging.

What is not so plain (other options, options in the environment, data or a model of another kind) goes the way of all commands. The two ways
share what they do, so nobody can tell which it was.
"""

import contextlib
import gc
import os
import sys
from dataclasses import dataclass, field
from itertools import chain

MOST = 10_000  # of -n and -j; whoever wants more goes the long way


def ran(words):
    """Whether the words of a command line were so plain, and all is done."""
    command, words = words[:1], parted(words[1:])
    if command != ["tag"] or words is None or len(words.names) < 2 or os.name == "nt":
        return False
    model, *files = words.names
    if any(name.startswith(("CRFTRAIN_", "_CRFTRAIN_")) for name in os.environ) or not os.path.isfile(model):
        return False
    gc.disable()  # nothing of what loads now will ever be garbage
    try:
        tagger = _tagger(model, words, files[0])
    finally:
        gc.enable()
    if tagger is None:
        return False
    from ..text.read import runs

    tag_files(tagger, chain.from_iterable(map(runs, files)), threads=words.threads)
    return True


@dataclass
class Words:
    """Of a command line that is plain: names of files, threads, how many labellings, and what Model.legal takes."""

    names: list
    threads: int = 1
    best: int = 1
    rules: dict = field(default_factory=dict)


def parted(words):
    """The Words, or None where there is anything else."""
    found = Words([])
    words = iter(words)
    for word in words:
        value = next(words, "") if word in ("-j", "-n", "--constrain", "--forbid", "--allow") else None
        if value is None:
            if word.startswith("-"):
                return None
            found.names.append(word)
        elif word in ("-j", "-n"):
            if not (value.isascii() and value.isdecimal() and len(value) < 9 and 1 <= int(value) <= MOST):
                return None
            setattr(found, "threads" if word == "-j" else "best", int(value))
        elif word == "--constrain":
            found.rules["scheme"] = value
        else:
            found.rules.setdefault(word[2:], []).append(value)
    return found


def _tagger(path, words, first):
    """The Tagger; None where the model or the first file is of another kind, or the rules are wrong."""
    from ..errors import SettingsError
    from ..model.model import load_bare
    from ..tagging.query import Query
    from ..tagging.tag import Output, Tagger
    from ..text.forms import detected

    model = load_bare(path)
    if model.vocabulary.form or (model.vocabulary.format != "items" and detected(first)):
        return None
    output = Output(query=Query(n=words.best))
    if not words.rules:
        return Tagger(model, output=output)
    from ..text.legal import SCHEMES

    if words.rules.get("scheme", "auto") not in SCHEMES:
        return None
    with contextlib.suppress(SettingsError):
        return Tagger(model, output=output, legal=model.legal(**words.rules))
    return None


def tag_files(tagger, stream, **how):
    """The sentences of a stream to standard output; how many cannot be tagged."""
    from ..tagging.stream import tag_stream

    out = sys.stdout.buffer

    def write(text):
        out.write(text)
        out.flush()

    def tell(error):
        print(f"crftrain: {error}", file=sys.stderr)

    return tag_stream(tagger, stream, write, tell=tell, **how)
