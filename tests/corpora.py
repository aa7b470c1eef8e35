"""The benchmark corpora that may lie beside the repository, unpacked; a test that needs an absent one skips and says why."""

import lzma
import os
import shutil
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1].parent / "shared" / "corpora"


def path(corpus, name):
    """path("conll2000", "train.txt") -> the unpacked file, from a cache in the temporary folder."""
    packed = FOLDER / corpus / f"{name}.xz"
    if not packed.exists():
        pytest.skip(f"no {packed} on this machine")

    def unpack(target):
        with lzma.open(packed) as source:
            shutil.copyfileobj(source, target)

    return _cached(f"{corpus}-{packed.stat().st_size}-{name}", unpack)


def crfsuite_items(name="train.txt"):
    """CoNLL-2000 as CRFsuite's chunking example expands it: the chunk template's macros, nothing outside of the sentence,
    __BOS__ and __EOS__ on its first and last token."""
    source = path("conll2000", name)

    def write(target):
        with open(source, encoding="utf-8") as file:
            for text in file.read().strip().split("\n\n"):
                rows = [line.split() for line in text.split("\n")]
                for t, row in enumerate(rows):
                    attributes = [_crfsuite_attribute(template, rows, t) for template in CRFSUITE]
                    attributes = [a for a in attributes if a] + ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == len(rows) - 1)
                    target.write("\t".join([row[2], *attributes]).encode() + b"\n")
                target.write(b"\n")

    return _cached(f"crfsuite-{Path(source).name}", write)


SINGLE = [(-2,), (-1,), (0,), (1,), (2,)]
CRFSUITE = [(0, window) for window in [*SINGLE, (-1, 0), (0, 1)]]  # column, rows
CRFSUITE += [(1, window) for window in [*SINGLE, (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)]]


def _crfsuite_attribute(template, rows, t):
    column, window = template
    if t + window[0] < 0 or t + window[-1] >= len(rows):
        return None
    name = "|".join(f"{'w' if column == 0 else 'pos'}[{row}]" for row in window)
    cells = "|".join(rows[t + row][column] for row in window)
    return f"{name}={cells}".replace("\\", "\\\\").replace(":", "\\:")


def _cached(name, write):
    """The path of a file in the cache, written if it is not there."""
    cache = Path(tempfile.gettempdir()) / f"crftrain-corpora-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    cache.mkdir(mode=0o700, exist_ok=True)
    file = cache / name
    if not file.exists():
        handle, partial = tempfile.mkstemp(dir=cache)
        with os.fdopen(handle, "wb") as target:
            write(target)
        os.replace(partial, file)  # so that two test runs at once do not see half a file
    return str(file)
