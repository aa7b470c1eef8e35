"""installations.py TRAIN TEXT NAME=PYTHON ...: processor time of several installations of crftrain, over that of the first one.

TRAIN has a word, its tag and a label in columns, TEXT is tagged; PYTHON is the interpreter of an environment with crftrain. All take turns,
in another order each round; minima and medians are told.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS, REPEATED = 7, 20
WORKER = Path(__file__).parent / "workers" / "installed.py"


def asked(worker, job):
    worker.stdin.write(job + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def measure(train, text, pythons, place):
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    base, model, long = next(iter(pythons)), str(place / "model.bin"), place / "text"
    learn = [pythons[base], "-m", "crftrain", "learn", "-q", "-m", model, "--passes", "5", train]
    subprocess.run(learn, cwd=place, env=env, check=True)
    long.write_bytes((Path(text).read_bytes().rstrip(b"\n") + b"\n\n") * REPEATED)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": place, "env": env}
    workers = {name: subprocess.Popen([python, str(WORKER), train, model, str(long)], **pipes) for name, python in pythons.items()}
    for job in ("gradient", "sag", "tag", "dicts"):
        found = {name: [] for name in pythons}
        for turn in range(ROUNDS + 1):
            for name in random.Random(turn).sample(list(pythons), len(pythons)):
                found[name].append(asked(workers[name], job))
        least, middle = ({name: by(times[1:]) for name, times in found.items()} for by in (min, statistics.median))
        told = [f"{name} {least[name] / least[base]:.3f} by minima, {middle[name] / middle[base]:.3f} by medians" for name in pythons]
        print(f"{job}: {least[base]:.4f} s; {'; '.join(told[1:])}", flush=True)
    for worker in workers.values():
        worker.stdin.close()


if __name__ == "__main__":
    train, text, *named = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        measure(os.path.abspath(train), os.path.abspath(text), dict(name.split("=", 1) for name in named), Path(place))
