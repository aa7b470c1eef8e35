"""The classes of fuzz.py: each makes what it needs in a folder of its own, and case(rng) says how one of its cases ended."""

import gzip
import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import hostile_models as hostile
import numpy as np
import problems
from mutate import FLOATS, NUMBERS, mutated, other_array, other_json, program

from crftrain import optimizers
from crftrain.cli.main import commands
from crftrain.errors import CrftrainError, ModelError
from crftrain.model import foreign
from crftrain.model.model import load, save
from crftrain.training.learn import learn
from crftrain.training.settings import Settings

TEXT = problems.text(sentences=6)
ITEMS = "O\ta:2\tb\nB\tb:-1.5\tc\n\nO\ta\n\nB\td:1e3\ta\n"
SIGNALLING = 0x7F800001  # the float32 of these bits raises a flag wherever it is looked at
TEMPLATE = 'U:%x[0,0]/%x[-1,1]\nU:%m[0,0,"^.?.?"]\nB:%x[0,1]\nB\n'


def finite(text):
    """Tagged output without a nan or an inf where a number belongs."""
    for line in text.split(b"\n"):
        for cell in line.split(b"\t")[1:]:
            number = cell.rpartition(b":")[2]
            assert number not in (b"nan", b"inf", b"-inf"), line
    return text


class Files:
    """Bytes that are a model of some kind."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.place, self.again = self.folder / "model.bin", self.folder / "again.bin"

    def case(self, rng):
        self.place.write_bytes(self.spoilt(rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # numpy's too: a library's user would see it
                model = load(self.place)
            save(self.again, model.vocabulary, model.layout, model.w, model.facts)
        except ModelError as error:
            assert len(str(error)) < 1000, str(error)[:2000]
            return "refused"
        assert np.isfinite(model.w).all()
        assert np.count_nonzero(load(self.again).w) <= model.active
        self.use(rng, model)
        return "a model"

    def use(self, rng, model):
        """What commands make of it: each may refuse, none may fail."""
        if rng.random() < 0.1:
            items = model.vocabulary.format == "items"
            text = (ITEMS if items else TEXT).encode()
            command = rng.choice((["tag", "--marginals", "all", "--score"], ["dump"], ["info"], ["update", "--passes", "1", "-q"]))
            ended = program(*command, self.again, *(["-"] if command[0] in ("tag", "update") else []), input=text)
            assert ended.status in (0, 1), ended
            if command[0] == "tag":
                finite(ended.out)


class Models(Files):
    def spoilt(self, rng):
        tags = rng.sample(hostile.TAGS, rng.choice((1, 1, 1, 2)))
        contents = hostile.GOOD | {tag: mutated(rng, hostile.GOOD[tag]) for tag in tags}
        if rng.random() < 0.2:
            changes = {rng.choice(hostile.FIELDS): rng.choice([number for number in NUMBERS if -(2**63) <= number < 2**63])}
            contents[b"SIZE"] = hostile.size(**changes)
        if rng.random() < 0.1:
            facts = {"lambda": 0.1, "l1": 0.0, "n_sequences": 3, "features": "observed", "transitions": "full", "algorithm": "sag"}
            contents[b"FACT"] = json.dumps(other_json(rng, facts)).encode()
        deflate = tuple(tag for tag in hostile.TAGS if rng.random() < 0.1)
        whole = hostile.forge(contents, deflate=deflate)
        return mutated(rng, whole) if rng.random() < 0.1 else whole


class Foreign(Files):
    """Models of other programs, as their own writers make them of two small models, spoilt."""

    def __init__(self, folder):
        super().__init__(folder)
        (self.folder / "train.txt").write_text(TEXT, encoding="utf-8")
        (self.folder / "train.items").write_text(ITEMS.replace(":2", "").replace(":-1.5", "").replace(":1e3", ""), encoding="utf-8")
        self.whole = []
        for kind, template in (("train.txt", "U0:%x[0,0]\nU1:%x[0,1]\nB\n"), ("train.items", None)):
            (self.folder / "t.tpl").write_text(template or "", encoding="utf-8")
            shape = {"template": str(self.folder / "t.tpl")} if template else {"format": "items"}
            asked = Settings(paths=(str(self.folder / kind),), algorithm="lbfgs", passes=3, model=str(self.place), **shape)
            learn(asked)
            self.whole += [bytes_of for format in foreign.FORMATS for bytes_of in self._as(format, load(self.place))]
        assert len(self.whole) >= 3

    @staticmethod
    def _as(format, model):
        try:
            return [b"".join(foreign.image(format, model))]
        except ModelError:  # it cannot be said there
            return []

    def spoilt(self, rng):
        whole = rng.choice(self.whole)
        if rng.random() < 0.5:  # a number of 32 bits, where the formats keep counts, offsets and ids
            at = 4 * rng.randrange(len(whole) // 4)
            edges = (0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, len(whole), len(whole) - 1, SIGNALLING)
            number = rng.choice((*edges, rng.randrange(2**32), rng.randrange(256)))
            return whole[:at] + number.to_bytes(4, "little") + whole[at + 4 :]
        return mutated(rng, whole)


class Texts:
    """Training and tagging on spoilt text."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.train, self.model, self.template = (str(self.folder / name) for name in ("train.txt", "model.bin", "t.tpl"))
        self.log = str(self.folder / "log")

    def case(self, rng):
        items = rng.random() < 0.4
        text = (ITEMS if items else TEXT).encode()
        for _ in range(rng.choice((0, 1, 2))):
            text = mutated(rng, text)
        if rng.random() < 0.2:
            number = rng.choice([repr(value) for value in FLOATS] + [str(value) for value in NUMBERS] + ["1_0", "0x1", "", ":", "\\:"])
            text = text.replace(b"a:2" if items else b"w1 ", b"a:" + number.encode() if items else number.encode() + b" ")
        with open(self.train, "wb") as file:
            file.write(gzip.compress(text, 1) if rng.random() < 0.1 else text)
        with open(self.template, "wb") as file:
            file.write(mutated(rng, TEMPLATE.encode()) if rng.random() < 0.3 else TEMPLATE.encode())
        name = rng.choice(("lbfgs", "sag", "sgd", "pa", "newton-cg", "psa"))
        shape = ["--format", "items"] if items else ["-t", rng.choice((self.template, "chunk", "ner"))]
        encoding = ["--encoding", rng.choice(("utf-8", "utf-8", "latin-1", "utf-16", "ascii", "utf-7"))]
        ended = program("learn", "-q", "-a", name, "--passes", 1, *shape, *encoding, "-m", self.model, "--log", self.log, self.train)
        assert ended.status in (0, 1), ended
        if ended.status:
            assert ended.err.startswith("crftrain: error: "), ended.err
            return "refused"
        with open(self.log, encoding="utf-8") as lines:
            assert all(json.loads(line).get("objective", 0) is not None for line in lines), "no objective"
        other = mutated(rng, text) if rng.random() < 0.5 else text
        tagged = program("tag", "--marginals", "all", "--score", *encoding, self.model, "-", input=other)
        assert tagged.status in (0, 1), tagged
        finite(tagged.out)
        return "learnt" if tagged.status else "learnt and tagged"


class Checkpoints:
    """Checkpoints of all algorithms, an array or a counter changed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "train.txt").write_text(TEXT, encoding="utf-8")
        (self.folder / "b.tpl").write_text("U:%x[0,0]\nB:%x[0,1]\nB\n", encoding="utf-8")
        self.kept = {}

    def settings(self, name, **more):
        algorithm = optimizers.get(name)
        l1 = {"l1s": "1/n"} if "l2" not in algorithm.solves and "l1" in algorithm.solves else {}
        dev = {"dev": str(self.folder / "train.txt")} if name in ("sag", "sgd") else {}
        common = {"paths": (str(self.folder / "train.txt"),), "template": str(self.folder / "b.tpl"), "tol": 1e-9}
        return Settings(algorithm=algorithm, model=str(self.folder / "model.bin"), **common, **l1, **dev, **more)

    def arrays(self, name):
        if name not in self.kept:
            place = str(self.folder / f"{name}.npz")
            learn(self.settings(name, passes=2, checkpoint=place, checkpoint_every=1))
            with np.load(place) as file:
                self.kept[name] = {key: file[key] for key in file.files}
        return self.kept[name]

    def case(self, rng):
        name = rng.choice(optimizers.names())
        arrays, place = dict(self.arrays(name)), self.folder / "spoilt.npz"
        for key in rng.sample(sorted(arrays), rng.choice((1, 1, 2))):
            if key in ("run", "counters"):
                arrays[key] = np.array(json.dumps(other_json(rng, json.loads(str(arrays[key])))))
            else:
                arrays[key] = other_array(rng, arrays[key])
        with open(place, "wb") as file:
            np.savez(file, **arrays)
        if rng.random() < 0.1:
            place.write_bytes(mutated(rng, place.read_bytes()))
        try:
            outcome = learn(replace(self.settings(name, passes=3), resume=str(place)))
        except CrftrainError:
            return "refused"
        assert np.isfinite(outcome.objective)
        return "went on"


WORDS = ["items", "observed", "full", "likelihood", "chunk", "utf-16"]
VALUES = ["0", "1", "2", "-1", "1/n", "0.5,1/n", "nan", "inf", "-inf", "1e308", "1e-320", "1e400", "", " ", "yes", "no", "é", "\udc80"]
VALUES += ["9" * 400, "99999999999999999999", "4294967296", "9223372036854775808", "-9223372036854775809", "1" * 5000, "0x10", "auto"]
VALUES += [".", "..", "/", "none/file", "train.txt", "model.bin", "out", "link", "folder", "-", "/dev/null", "/proc/self/mem", "x" * 5000]


class Options:
    """Commands with options and values drawn from all that there are; paths lead into the folder or are refused."""

    def __init__(self, folder):
        os.chdir(folder)
        self.flags = {name: self._flags(name) for name in commands.commands}

    @staticmethod
    def _flags(name):
        flags = [flag for param in commands.commands[name].params for flag in param.opts if flag.startswith("-")]
        if name in ("learn", "update"):
            flags += [option.flag for algorithm in optimizers.names() for option in optimizers.get(algorithm).options]
        return sorted({*flags} - {"--config"} | {"--config", "--passes"})

    def case(self, rng):
        for name, text in (("train.txt", TEXT), ("items.txt", ITEMS)):
            Path(name).write_text(text, encoding="utf-8")
        if not os.path.lexists("link"):
            os.symlink("nowhere", "link")
            os.makedirs("folder", exist_ok=True)
        if not os.path.exists("model.bin") or rng.random() < 0.02:
            program("learn", "-q", "--passes", 1, "-m", "model.bin", "train.txt")
        name = rng.choice(sorted(commands.commands))
        arguments = [name]
        for _ in range(rng.choice((0, 1, 1, 2, 3, 5))):
            arguments.append(rng.choice(self.flags[name]))
            if rng.random() < 0.8:
                values = VALUES if rng.random() < 0.7 else [*optimizers.names(), *WORDS]
                arguments.append(rng.choice(values))
        if name in ("learn", "update", "compare") and "--passes" not in arguments:
            arguments += ["--passes", "2"]
        arguments += rng.choices(["train.txt", "model.bin", "items.txt", "-", "out", *VALUES[-12:]], k=rng.choice((0, 1, 1, 2)))
        arguments = [value for value in arguments if value not in ("-j", "--jobs")]
        before = Path("train.txt").read_bytes()
        ended = program(*arguments, input=TEXT.encode())
        assert ended.status in (0, 1, 2), (arguments, ended)
        assert "Traceback" not in ended.err, (arguments, ended)
        assert name == "convert" or Path("train.txt").read_bytes() == before, (arguments, "train.txt is another one")
        return f"status {ended.status}"
