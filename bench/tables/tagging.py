"""Tagging's steady state against CRFsuite, Wapiti, CRF++, a yardstick in C and two threads; scoring; the start of the program.

Speeds are those of copies of the test file, TOKENS in all, less the time of one, whole processes, so neither start nor model counts. The
bars are stated for CoNLL-2000 with CRF++'s chunking template, on an idle machine.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import replace

from .. import peers, process
from ..process import ROOT, Failed, best, crftrain, work
from ..report import Row, at_least, at_most, bars_table
from ..tasks import Setting
from .bars import STATED_FOR, against

TITLE = "Tagging: steady state, threads, scoring, start"
TOKENS, TIMES = 2_400_000, 5
YARDSTICK = ROOT / "bench" / "tag_limit.c"
PROGRAMS = {"wapiti": ["wapiti", "label", "-m"], "crfpp": ["crf_test", "-m"]}  # by the format of their models
FEW, SELDOM = 3, 2  # copies and runs of these


class Measured:
    """A model, and the test file once and many times."""

    def __init__(self, bench, task, folder):
        self.task, self.folder, self.cores = task, folder, bench.cores
        self.times = 1 if bench.quick else TIMES
        self.model, self.crfsuite_model = folder + "/model.bin", folder + "/crfsuite.model"
        crftrain("learn", "-q", "--passes", 15, "-m", self.model, *Setting(task, "observed", "full").flags, task.train)
        text = task.test.read_bytes().rstrip(b"\n") + b"\n\n"
        self.n_tokens = sum(1 for line in text.splitlines() if line.strip())
        self.copies = (TOKENS // 20 if bench.quick else TOKENS) // self.n_tokens + 2
        self.once, self.long, self.sentence = (f"{folder}/{name}.txt" for name in ("once", "long", "sentence"))
        for path, content in ((self.once, text), (self.long, text * self.copies), (self.sentence, text.partition(b"\n\n")[0] + b"\n\n")):
            with open(path, "wb") as out:
                out.write(content)

    def seconds(self, path, *flags):
        def once():
            with open(self.folder + "/out", "wb") as out:
                return crftrain("tag", *flags, self.model, path, stdout=out).seconds

        return best(self.times, once)

    def speed(self, *flags):
        """Tokens a second."""
        one, many = self.seconds(self.once, *flags), self.seconds(self.long, *flags)
        return (self.copies - 1) * self.n_tokens / max(many - one, 1e-3)

    def crfsuite(self):
        """Tokens a second of Tagger.tag, given lists of attributes."""
        if not peers.PEERS[0].is_installed:
            raise Failed("python-crfsuite is not installed")
        orders = {"algorithm": "lbfgs", "params": {"c2": 1.0}, "seconds": None, "iterations": 15, "predictions": self.folder + "/predicted"}
        items = {"train": self.task.items("train"), "test": self.task.items("test"), "model": self.crfsuite_model}
        return self.n_tokens / work("train_crfsuite", self.folder, **orders, **items)[1]["tag_seconds"]

    def program(self, form):
        """Tokens a second of another program that is on PATH, with our model in its format."""
        words, model, few = PROGRAMS[form], f"{self.folder}/model.{form}", self.folder + "/few.txt"
        if not shutil.which(words[0]):
            raise Failed(f"{words[0]} is not on PATH")
        crftrain("export", self.model, model, "--to", form)
        with open(self.once, "rb") as once, open(few, "wb") as out:
            out.write(once.read() * (FEW + 1))

        def seconds(path):
            with open(self.folder + "/out", "wb") as out:
                return process.run([*words, model, path], timeout=120, stdout=out).seconds

        return FEW * self.n_tokens / (best(SELDOM, lambda: seconds(few)) - best(SELDOM, lambda: seconds(self.once)))

    def limit(self):
        """Tokens a second of tag_limit.c."""
        program = self.folder + "/tag_limit"
        try:
            process.run(["cc", "-O3", "-march=native", "-ffast-math", "-o", program, str(YARDSTICK)], timeout=120)
        except OSError as error:
            raise Failed(f"cc: {error.strerror}") from None
        return max(json.loads(process.run([program, self.once, "30"], timeout=120).stdout)["tokens_per_s"] for _ in range(self.times))


def rows_of(m):
    speed = m.speed()
    yield against("tag, tokens/s, against python-crfsuite's Tagger.tag", speed, m.crfsuite, at_least(8), "observed")
    yield against("tag, tokens/s, against tag_limit.c", speed, m.limit, at_least(0.5), "observed", "no text is read or written there")
    for form, (name, *_) in PROGRAMS.items():
        yield against(f"tag, tokens/s, against {name}", speed, lambda form=form: m.program(form), at_least(15), "observed")
    sure = m.speed("--score", "--marginals", "best")
    yield Row("tag --score --marginals best, tokens/s, against tag alone", sure, speed, sure / speed, features="observed")
    if m.cores > 1:
        two = m.speed("-j", 2)
        yield Row("tag -j 2, tokens/s, against one thread", two, speed, two / speed, at_least(1.85), features="observed")
    start = best(m.times, lambda: process.run([sys.executable, "-c", "import numpy"], timeout=60).seconds)
    one = m.seconds(m.sentence)
    yield Row("tag of a sentence, s, against importing numpy", one, start, one / start, at_most(1.2), features="observed")
    with open(m.folder + "/tagged", "wb") as out:
        crftrain("tag", m.model, m.long, stdout=out)
    scored = best(m.times, lambda: crftrain("eval", m.folder + "/tagged").seconds)
    yield Row("eval, million tokens a second, whole process", m.copies * m.n_tokens / scored / 1e6, features="observed")


def run_task(bench, task):
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = list(rows_of(Measured(bench, task, folder)))
        except Failed as error:
            rows = [Row("tagging", note=str(error), failed=True)]
    stated = task.name == STATED_FOR
    return [replace(row, task=task.name, bar=row.bar if stated else None) for row in rows]


def run(bench):
    """Yield the rows."""
    for task in bench.tasks:
        if task.name in (STATED_FOR, "data"):
            rows = run_task(bench, task)
            print(f"{task.name}, lambda 1/n\n\n{bars_table(rows)}\n")
            yield from rows
