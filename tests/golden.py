"""Golden bits: are two trees' weights the same, bit for bit?

    python tests/golden.py TREE             prints a hash of the weights of each case
    python tests/golden.py TREE OTHER       and where the two differ; exit status 1 if they do

A tree is a folder with a built .venv, or a commit of this repository, which is checked out and built in a temporary folder.
Both run here, now, with CRFTRAIN_SIMD=base: other compilers, libraries and machines give other bits, so no hash is kept.

A case is an algorithm with each penalty that it solves, on each kind of corpus (problems.KINDS), with 1 and 2 threads; each of
its options at other values, on FEW kinds; and through the command line a path, a stream and an update, on data/.
A commit that means to change bits says so; all others are proved to be refactorings.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

STEPS = 4
FEW = ("plain", "full", "pair attributes", "real values")
ALONE = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "CRFTRAIN_SIMD": "base"}
ROOT = Path(__file__).resolve().parents[1]


# ---- within a tree


def print_hashes(tree):
    """One line a case: what it is, a tab, the hash of its weights."""
    sys.path.insert(0, str(tree / "tests"))
    for what, found in (*trained(), *commanded(tree)):
        print(f"{what}\t{found}", flush=True)


def trained():
    """(case, hash) of each algorithm's weights after STEPS steps, or the error that they ended in."""
    import problems

    from crftrain import optimizers

    for name in optimizers.names():
        algorithm = optimizers.get(name)
        for penalties in penalties_of(algorithm):
            for kind in problems.KINDS:
                for threads in (1, 2):
                    yield f"{name} {penalties} {kind}, {threads} threads", hash_of(algorithm, problems.kind(kind, 3), penalties, threads)
        for option in algorithm.options:
            for value in others(option):
                for kind in FEW:
                    found = hash_of(algorithm, problems.kind(kind, 3), penalties_of(algorithm)[0], 1, **{option.name: value})
                    yield f"{name} {option.flag} {value} {kind}", found
        yield f"{name} larger", hash_of(algorithm, problems.larger(), penalties_of(algorithm)[0], 1)


def penalties_of(algorithm):
    """(l2, l1) as multiples of 1/n: each combination that it says it solves."""
    solves = algorithm.solves
    wanted = {(1.0, 0.0): {"l2"}, (0.0, 0.0): {"no-l2"}, (1.0, 0.2): {"l1", "l2"}, (0.0, 0.2): {"l1", "no-l2"}}
    return [penalties for penalties, needed in wanted.items() if needed <= solves]


def others(option):
    """Values beside the default."""
    if option.kind is bool:
        return [not option.default]
    numbers = [] if option.choices else [option.kind(2) if option.maximum is None else option.kind(option.maximum)]
    return [value for value in (*option.choices, *option.words, *numbers) if value != option.default]


def hash_of(algorithm, made, penalties, threads, **options):
    import numpy as np

    from crftrain.errors import CrftrainError

    n = made.corpus.n_sequences
    try:
        problem = made.problem(l2=penalties[0] / n, l1=penalties[1] / n, threads=threads)
        w = np.zeros(problem.n_features)
        optimiser = algorithm.make(problem, w, np.random.default_rng(1), **{**algorithm.defaults(), **options})
        for _ in range(STEPS):
            if optimiser.step().done:
                break
    except CrftrainError:
        return "refused"
    return hashlib.sha256(optimiser.solution().tobytes() + w.tobytes()).hexdigest()[:16]


def commanded(tree):
    """(case, hash) of the models that commands write: their weights, as `dump` shows them."""
    from crftrain import optimizers

    data = [str(tree / "data" / name) for name in ("train.txt", "dev.txt")]
    for name in optimizers.names():
        solves = optimizers.get(name).solves
        path = ["--lambda", "10/n,1/n"] if "l2" in solves else ["--l1", "1/n,0.1/n"] if "l1" in solves else []
        yield f"{name}, a path", dumped(["learn", "-a", name, *path, "--passes", "2", data[0]])
        if optimizers.get(name).streams:
            yield f"{name}, a stream", dumped(["learn", "--stream", "-a", name, "--lambda", "0.001", data[0]])
        if optimizers.get(name).online:
            yield f"{name}, an update", dumped(["learn", "--passes", "3", data[0]], ["update", "-a", name, "model.bin", data[1]])


def dumped(*commands):
    with tempfile.TemporaryDirectory() as place:
        for command in commands:
            flags = ["-m", "model.bin", "-q"] if command[0] == "learn" else ["-q"]
            subprocess.run([sys.executable, "-m", "crftrain", command[0], *flags, *command[1:]], cwd=place, check=True)
        lines = subprocess.run([sys.executable, "-m", "crftrain", "dump", "model.bin"], cwd=place, check=True, capture_output=True).stdout
        weights = b"\n".join(line for line in lines.split(b"\n") if not line.startswith(b"#"))
        return hashlib.sha256(weights).hexdigest()[:16]


# ---- of two trees


def hashes(tree):
    """{case: hash} of a built tree, by its own Python."""
    script = [str(tree / ".venv/bin/python"), str(Path(__file__).resolve()), "--within", str(tree)]
    done = subprocess.run(script, env={**os.environ, **ALONE, "PYTHONPATH": str(tree)}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{tree}: {done.stderr}")
    return dict(line.split("\t") for line in done.stdout.splitlines())


@contextmanager
def built(what):
    """The folder of a tree, or of a commit, checked out and built for as long as it is looked at."""
    if Path(what).is_dir():
        yield Path(what).resolve()
        return
    with tempfile.TemporaryDirectory() as scratch:
        place, git = Path(scratch) / "tree", ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), what], check=True)
        try:
            subprocess.run(["make", "-C", str(place), "build"], check=True, stdout=sys.stderr)
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", help="one or two built folders, or commits")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.within:
        return print_hashes(asked.within)
    found = []
    for what in asked.trees or [ROOT]:
        with built(what) as tree:
            found.append(hashes(tree))
    if len(found) == 1:
        for case, value in found[0].items():
            print(f"{value}  {case}")
        return 0
    differing = [case for case in {**found[0], **found[1]} if found[0].get(case) != found[1].get(case)]
    for case in differing:
        print(f"{found[0].get(case, 'not there'):16}  {found[1].get(case, 'not there'):16}  {case}")
    print(f"{len(found[0])} cases, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
