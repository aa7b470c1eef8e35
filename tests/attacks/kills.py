"""Runs ended at random moments: python tests/attacks/kills.py --runs 500

KILL, INT, TERM or a limit of memory: what stands at a place is the old file or a new one, whole; the status is right; no traceback; and
what goes on from the checkpoint, if there is one, ends in the same bytes as if it had never been broken off.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import problems  # noqa: E402

from crftrain import optimizers  # noqa: E402
from crftrain.errors import CrftrainError  # noqa: E402
from crftrain.model.model import load  # noqa: E402

STATUS = {signal.SIGKILL: {-9}, signal.SIGINT: {130, -2}, signal.SIGTERM: {143, -15}}
TASKS = ("learn", "checkpoint", "update", "stream", "compare")


def tasks():
    """All pairs (task, algorithm that can do it)."""
    can = {"learn": "solves", "checkpoint": "solves", "update": "online", "stream": "streams", "compare": "solves"}
    return [(task, name) for task in TASKS for name in optimizers.names() if getattr(optimizers.get(name), can[task]) is not False]


def words(task, name):
    """The command line of a task, about a second's work; of `checkpoint` what --resume is put behind comes first."""
    passes = {"adagrad": 120, "smd": 120, "newton-cg": 60}.get(name, 300)
    strength = ["--l1", "0.01"] if name in ("owlqn", "sgd-l1") else ["--lambda", "0.01"] if "l2" in optimizers.get(name).solves else []
    learn = ["learn", "-a", name, *strength, "--tol", "0", "--passes", str(passes)]
    return {
        "learn": [*learn, "-m", "out.bin", "train.txt"],
        "checkpoint": [*learn, "-m", "out.bin", "--checkpoint", "state", "--checkpoint-every", "1", "train.txt"],
        "update": ["update", "-a", name, "--passes", str(passes), "out.bin", "train.txt"],
        "stream": ["learn", "-a", name, "--stream", "--save-every", "100", *strength, "-m", "out.bin", "train.txt"],
        "compare": ["compare", "--out", "race", *strength, "-a", name, "-a", name, "--max-passes", "100", "train.txt"],
    }[task]


class Place:
    """A folder with a corpus, a model, and how long each task takes there."""

    def __init__(self, folder, sentences=1500):
        self.folder = Path(folder)
        (self.folder / "train.txt").write_text(problems.text(sentences=sentences), encoding="utf-8")
        self.ended("learn", "-q", "--passes", "1", "-m", "old.bin", "train.txt")
        self.old, self.seconds = (self.folder / "old.bin").read_bytes(), {}
        self.unbroken = {}

    def start(self, *arguments, **options):
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": self.folder, **options}
        return subprocess.Popen([sys.executable, "-m", "crftrain", *arguments], **pipes)

    def ended(self, *arguments):
        child = self.start(*arguments)
        error = child.communicate()[1]
        assert child.returncode == 0, error
        return error

    def reset(self, task):
        """As before each run: for `update` there is a model, for the others an old one that they replace."""
        for name in ("state", "resumed.bin"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "out.bin").write_bytes(self.old)
        if task not in self.seconds:
            began = time.monotonic()
            self.ended(*words(*task))
            self.seconds[task] = time.monotonic() - began
            if task[0] == "checkpoint":
                self.unbroken[task] = (self.folder / "out.bin").read_bytes()
            (self.folder / "out.bin").write_bytes(self.old)
            (self.folder / "state").unlink(missing_ok=True)

    def run(self, rng, task, number):
        """One run; how it ended."""
        self.reset(task)
        child = self.start(*words(*task))
        time.sleep(rng.random() * 1.1 * self.seconds[task])
        child.send_signal(number)
        error = child.communicate(timeout=600)[1].decode()
        self.check(task)
        if number == signal.SIGINT and "Traceback" in error and "in run\n" not in error:
            return "ended Python while it started, before any line of ours"
        assert child.returncode in STATUS[number] | {0}, (task, number, child.returncode, error)
        assert "Traceback" not in error, (task, error)
        return "had ended before" if child.returncode == 0 else "ended"

    def check(self, task):
        load(self.folder / "out.bin")
        left = [name for name in os.listdir(self.folder) if name.endswith((".tmp", ".part"))]
        if task[0] == "checkpoint" and (self.folder / "state").exists():
            arguments = words(*task)[: words(*task).index("-m")]
            self.ended(*arguments, "-q", "-m", "resumed.bin", "--resume", "state", "train.txt")
            assert (self.folder / "resumed.bin").read_bytes() == self.unbroken[task], f"{task}: other bytes"
        if left:
            self.ended("learn", "-q", "--passes", "1", "-m", "out.bin", "--checkpoint", "state", "train.txt")
            assert not [name for name in os.listdir(self.folder) if name.endswith(".tmp")], left

    def starved(self, task, megabytes):
        """With so much memory: done, or an error that says so."""
        self.reset(task)
        room = megabytes << 20
        child = self.start(*words(*task), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)))
        error = child.communicate(timeout=600)[1].decode()
        assert child.returncode in (0, 1), (task, megabytes, child.returncode, error)
        ours = "Traceback" not in error or "crftrain/__main__" not in error or "import" in error  # Python or numpy could not even load
        assert ours, (task, megabytes, error)
        load(self.folder / "out.bin")
        return "done" if child.returncode == 0 else "refused"


def attack(folder, runs, seed=0):
    """So many runs, a task with an algorithm each; (a Counter of how they ended, faults)."""
    place, rng, ends, faults = Place(folder), random.Random(seed), Counter(), []
    for run in range(runs):
        name = rng.choice(TASKS)
        task, number = rng.choice([task for task in tasks() if task[0] == name]), rng.choice(sorted(STATUS))
        try:
            ends[f"{name} {signal.Signals(number).name} {place.run(rng, task, number)}"] += 1
        except (AssertionError, CrftrainError, subprocess.TimeoutExpired) as error:
            faults.append(f"seed {seed}, run {run}, {' '.join(words(*task))}, {signal.Signals(number).name}: {error}")
    return ends, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--starved", type=int, default=0, help="runs with a random limit of memory besides")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, which children inherit
    with tempfile.TemporaryDirectory() as folder:
        ends, faults = attack(folder, asked.runs, asked.seed)
        place, rng = Place(folder), random.Random(asked.seed)
        for _ in range(asked.starved):
            task = rng.choice(tasks())
            ends[f"{task[0]} starved {place.starved(task, rng.randrange(60, 500))}"] += 1
    for end, count in sorted(ends.items()):
        print(f"{count:>6}  {end}")
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
