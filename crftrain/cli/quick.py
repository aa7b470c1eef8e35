"""`crftrain tag [-j N] MODEL FILE..` and nothing else: most runs are one of these, and reading a command line takes as long to load as
tagging.

What is not so plain (other options, options in the environment, data or a model of another kind) goes the way of all commands. The two ways
share what they do, so nobody can tell which it was.
"""

import gc
import os
import sys
from itertools import chain


def ran(words):
    """Whether the words of a command line were so plain, and all is done."""
    words, threads = _with_threads(words)
    if len(words) < 3 or words[0] != "tag" or any(word.startswith("-") for word in words) or os.name == "nt":
        return False
    model, *files = words[1:]
    if any(name.startswith(("CRFTRAIN_", "_CRFTRAIN_")) for name in os.environ) or not os.path.isfile(model):
        return False
    gc.disable()  # nothing of what loads now will ever be garbage
    try:
        from ..model.model import load_bare
        from ..tagging.tag import Tagger
        from ..text.forms import detected
        from ..text.read import runs

        loaded = load_bare(model)
        if loaded.vocabulary.form or (loaded.vocabulary.format != "items" and detected(files[0])):
            return False
    finally:
        gc.enable()
    tag_files(Tagger(loaded), chain.from_iterable(map(runs, files)), threads=threads)
    return True


def _with_threads(words):
    """(the words but -j N, N)"""
    for i in range(1, len(words) - 1):
        if words[i] == "-j" and words[i + 1].isdecimal() and int(words[i + 1]) > 0:
            return [*words[:i], *words[i + 2 :]], int(words[i + 1])
    return words, 1


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
