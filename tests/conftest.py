"""What several test modules share: the command line within this process and as a real process, files to learn from."""

import io
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import corpora
import problems
import pytest

from crftrain import optimizers
from crftrain.chain.layout import arrange, number
from crftrain.cli import main as cli
from crftrain.text.encode import read_corpus
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength

os.environ.pop("PYTHONUNBUFFERED", None)  # programs under test buffer their streams, as anyone's do


@dataclass
class Ended:
    """How a command ended."""

    status: int
    out: bytes
    err: str

    @property
    def lines(self):
        return self.out.decode().split("\n")[:-1]


@pytest.fixture
def crftrain(monkeypatch, tmp_path):
    """crftrain("learn", "train.txt", ...) -> Ended: the command line's main(), in this process and in tmp_path."""
    monkeypatch.chdir(tmp_path)

    def run(*args, input=b""):
        streams = [io.BytesIO(input), io.BytesIO(), io.BytesIO()]
        with monkeypatch.context() as patch:
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
            patch.setattr(sys, "argv", ["crftrain", *map(str, args)])
            with pytest.raises(SystemExit) as exit_:
                cli.main()
            sys.stdout.flush()
            return Ended(exit_.value.code, streams[1].getvalue(), streams[2].getvalue().decode())

    return run


@pytest.fixture
def process(tmp_path):
    """process("tag", ...) -> Popen of `python -m crftrain` in tmp_path; whatever still runs at the end is killed."""
    started = []

    def start(*args, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path, **options}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(cli.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])}
        # where the tests run in the background INT may be ignored, which a child would inherit
        heeded = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            started.append(subprocess.Popen([sys.executable, "-m", "crftrain", *map(str, args)], env=environment, **pipes))
        finally:
            signal.signal(signal.SIGINT, heeded)
        return started[-1]

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def train_file(tmp_path):
    """A small file `word class label` with chunk labels."""
    path = tmp_path / "train.txt"
    path.write_text(problems.text(), encoding="utf-8")
    return path


@pytest.fixture
def settings(tmp_path, train_file):
    """settings(passes=3) -> what `learn` is asked for: train.txt, L-BFGS, lambda = 1/n, tmp_path/model.bin, and the changes."""

    def make(algorithm="lbfgs", **changes):
        algorithm = optimizers.get(algorithm) if isinstance(algorithm, str) else algorithm
        common = {
            "paths": (str(train_file),),
            "algorithm": algorithm,
            "options": algorithm.defaults(),
            "model": str(tmp_path / "model.bin"),
            "lambdas": (Strength(1.0, True),),
            "l1s": (Strength(0.0),),
        }
        return Settings(**{**common, **changes})

    return make


@pytest.fixture(scope="session")
def conll():
    """CoNLL-2000's training data as CRFsuite's example expands them, with weights for what was observed."""
    corpus, vocabulary = read_corpus([corpora.crfsuite_items()], format="items")
    dense = number(corpus, vocabulary)
    return problems.Instance(corpus, vocabulary, arrange(corpus, vocabulary, transitions="observed", dense=dense))
