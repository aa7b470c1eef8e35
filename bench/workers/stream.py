"""`crftrain learn -a psa --stream -` at the end of a pipe: seconds of the process, and its resident memory on the way.

What comes down the pipe are `distinct` sentences of data/'s generator, again and again: once through, every name is known. They are
also left in the file `keep`, so that the same can be learnt in memory.

Orders: template, l2, distinct, rounds, keep, model, report. Memory in MB after each round; none where the system does not tell.
"""

import subprocess
import sys
import time
from pathlib import Path

from _shared import orders, report

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data"))
from generate import SEED, Town  # noqa: E402


def resident_mb(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return None


def main(template, l2, distinct, rounds, keep, model):
    town = Town(SEED + 1)
    text = "".join(line for _ in range(distinct) for line in (*town.lines(), "\n")).encode()
    with open(keep, "wb") as out:
        out.writelines(text for _ in range(rounds))
    flags = ["-q", "-a", "psa", "-t", template, "--lambda", str(l2), "-m", model, "--stream", "-"]
    started, memory = time.perf_counter(), []
    with subprocess.Popen([sys.executable, "-m", "crftrain", "learn", *flags], stdin=subprocess.PIPE) as process:
        for _ in range(rounds):
            process.stdin.write(text)  # returns when all but what the pipe holds has been read
            memory.append(resident_mb(process.pid))
        process.stdin.close()
    if process.returncode:
        raise SystemExit(f"the learner ended with status {process.returncode}")
    return {"seconds": time.perf_counter() - started, "memory": memory}


if __name__ == "__main__":
    asked = orders()
    path = asked.pop("report")
    report(path, **main(**asked))
