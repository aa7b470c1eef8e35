"""What is trained on: the corpora beside the repository where they are, else the repository's own data/.

Unpacked files, items and optima are kept in a folder of the system's place for temporary files, so that a second run is quicker.
"""

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crftrain.text import _encode
from crftrain.text.encode import expand
from crftrain.text.read import sentences
from crftrain.text.template import builtin

from . import items as crfsuite_items
from .process import ROOT

SHARED = ROOT.parent / "shared"
CORPORA, YARDSTICK = SHARED / "corpora", SHARED / "yardstick" / "limit.c"
OPEN = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
# name: folder, training file, test file, template (None: items)
SOURCES = {
    "conll2000": (CORPORA / "conll2000", "train.txt.xz", "test.txt.xz", "chunk"),
    "ocr": (CORPORA / "ocr", "train.txt.xz", "test.txt.xz", None),
    "ned": (CORPORA / "conll2002", "ned.train.txt.xz", "ned.testb.txt.xz", "ner"),
    "ewt": (CORPORA / "ewt", "train.xpos.txt.xz", "test.xpos.txt.xz", "pos"),
    "data": (ROOT / "data", "train.txt", "test.txt", "chunk"),
}
MORE = {  # for tables that ask for them
    "jnlpba": (CORPORA / "jnlpba", "train.pos.txt.xz", "test.pos.txt.xz", "ner"),
    "pku": (CORPORA / "pku98", "seg.train.txt.xz", "seg.sighan05-pku-test.txt.xz", "seg"),
    "brown-univ": (CORPORA / "brown-univ", "train.txt.xz", "test.txt.xz", "pos"),
    "brown": (CORPORA / "brown", "train.txt.xz", "test.txt.xz", "pos"),
}


@dataclass(frozen=True)
class Task:
    """A corpus and how its features are made."""

    name: str
    train: Path
    test: Path
    template: str | None
    cache: Path

    @property
    def format(self):
        return "items" if self.template is None else "conll"

    @property
    def how(self):
        """How to read the training file, as keyword arguments of workers/_corpus.encode."""
        return {"format": self.format, "template": self.template}

    @cached_property
    def hash(self):
        """Of the corpus and the template: what the features depend on."""
        text = builtin(self.template).text if self.template else ""
        return hashlib.sha256(self.train.read_bytes() + b"\0" + text.encode()).hexdigest()[:24]

    def items(self, which):
        """The file with the attributes of "train" or "test" as items, those that `crftrain features` prints: what peers learn from."""
        source = getattr(self, which)
        if self.template is None:
            return source
        made_by = Path(_encode.__file__).stat().st_mtime_ns  # expanded again when the expansion may have changed
        target = self.cache / f"{self.hash}.{which}.{made_by}.items"
        template = builtin(self.template)
        if not target.exists():
            with replacing(target, "wb") as out:
                for lines in expand(sentences(str(source)), template):
                    out.write(b"\n".join(line for line in lines if line) + b"\n\n")
        return target

    def as_example_items(self):
        """The same corpus with the attributes of CRFsuite's chunking example."""
        paths = []
        for source in (self.train, self.test):
            paths.append(self.cache / f"{self.hash}.example.{source.name}.items")
            if not paths[-1].exists():
                with open(source, encoding="utf-8") as lines, replacing(paths[-1], "w") as out:
                    crfsuite_items.convert(lines, out)
        return Task(f"{self.name} items", *paths, None, self.cache)


@dataclass(frozen=True)
class Setting:
    """A task and the objective: which weights there are, and the penalties as `learn` takes them."""

    task: Task
    features: str = "observed"
    transitions: str = "full"
    l2: str = "1/n"
    l1: str = "0"

    @property
    def flags(self):
        template = ["-t", self.task.template] if self.task.template else []
        weights = ["--features", self.features, "--transitions", self.transitions, "--lambda", self.l2]
        return ["--format", self.task.format, *template, *weights, *(["--l1", self.l1] if self.l1 != "0" else [])]

    @property
    def penalty(self):
        return f"lambda {self.l2}" + (f", l1 {self.l1}" if self.l1 != "0" else "")

    @property
    def shown(self):
        """The column `features` of results: the weights, and what is not the default."""
        transitions = ["observed transitions"] if self.transitions != "full" else []
        penalty = [self.penalty] if (self.l2, self.l1) != ("1/n", "0") else []
        return ", ".join([self.features, *transitions, *penalty])

    def times_n(self, which, n):
        """n lambda or n lambda1: the penalties where the objective is a sum."""
        number, _, per_n = getattr(self, which).partition("/")
        return float(number) * (1 if per_n else n)


@contextmanager
def replacing(target, mode):
    """A file that appears under its name only when it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        with open(part, mode, encoding=None if "b" in mode else "utf-8") as out:
            yield out
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def cache_folder():
    """A folder that only this user can write to."""
    folder = Path(tempfile.gettempdir()) / f"crftrain-bench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        folder = Path(tempfile.mkdtemp(prefix="crftrain-bench-"))
    return folder


def available():
    """The names of the tasks to run when none is asked for."""
    found = [name for name, (folder, *_) in SOURCES.items() if name != "data" and folder.is_dir()]
    return found or ["data"]


def load(name, cache):
    """The Task, its files unpacked."""
    folder, *files, template = (SOURCES | MORE)[name]
    return Task(name, *(_unpacked(folder / file, cache / name) for file in files), template, cache)


def _unpacked(path, folder):
    if path.suffix not in OPEN:
        return path
    target = folder / path.stem
    if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
        with OPEN[path.suffix](path, "rb") as packed, replacing(target, "wb") as out:
            shutil.copyfileobj(packed, out)
    return target
