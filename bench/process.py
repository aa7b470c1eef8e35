"""Running things and measuring them from outside: seconds, peak memory, what they printed.

A child counts the memory of the process that started it as its own peak. So this one stays small (some 50 MB, below which no peak is
told right): corpora are encoded, gradients timed and peers run in processes of their own, each with one thread.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKERS = ROOT / "bench" / "workers"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
KILOBYTES = 1 if sys.platform != "darwin" else 1024  # ru_maxrss is in kilobytes, or in bytes


class Failed(Exception):
    """A run that did not do what it was to do; the message fits a line of a table."""


@dataclass(frozen=True)
class Finished:
    """A process that has ended well."""

    stdout: str
    stderr: str
    seconds: float
    peak_mb: float


def run(command, *, timeout, stdout=None):
    """Run to the end and measure; Failed if it did not end with status 0 in time. stdout may be an open file."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started, killed = time.perf_counter(), threading.Event()
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stdout or out, stderr=err, env={**os.environ, **ONE_THREAD}
        )

        def kill():
            killed.set()
            process.kill()

        timer = threading.Timer(timeout, kill)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [_text(file) for file in (out, err)]
    if killed.is_set():
        raise Failed(f"killed after {timeout:.0f} s")
    if process.returncode:
        last = next((line for line in reversed(texts[1].splitlines()) if line.strip()), "no message")
        raise Failed(f"status {process.returncode}: {last.strip()}")
    return Finished(*texts, seconds, usage.ru_maxrss / KILOBYTES / 1024)


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def crftrain(*arguments, timeout=600, stdout=None):
    """`crftrain ARGUMENTS` as a process."""
    return run([sys.executable, "-m", "crftrain", *map(str, arguments)], timeout=timeout, stdout=stdout)


def work(name, folder, *, timeout=600, **orders):
    """Run workers/NAME.py; (Finished, what it reported)."""
    path = Path(folder) / "report.json"
    text = json.dumps({**orders, "report": str(path)}, default=str)
    finished = run([sys.executable, str(WORKERS / f"{name}.py"), text], timeout=timeout)
    return finished, json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Log:
    """The events of `learn --log`."""

    start: dict
    steps: list
    end: dict

    @property
    def curve(self):
        """[(seconds, objective), ...]; exact with --trace."""
        return [(step["seconds"], step["objective"]) for step in self.steps if step["objective"] is not None]

    @property
    def seconds_per_pass(self):
        return self.end["seconds"] / self.end["passes"]


def read_log(path):
    """The log of one finished training, of the last one if there are several."""
    log = Log(None, [], None)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] == "start":
                log = Log(event, [], None)
            elif event["event"] == "step":
                log.steps.append(event)
            else:
                log = Log(log.start, log.steps, event)
    if log.start is None or log.end is None:
        raise Failed(f"{Path(path).name} has no end")
    return log


def learn(setting, folder, *flags, timeout=600):
    """`crftrain learn` of a setting; (Log, Finished). The model is folder/model.bin."""
    folder = Path(folder)
    log, files = folder / "log.jsonl", ("--log", folder / "log.jsonl", "-m", folder / "model.bin")
    finished = crftrain("learn", *setting.flags, *flags, "-q", *files, setting.task.train, timeout=timeout)
    return read_log(log), finished


def score(path):
    """Percent of a file whose last two columns are gold and predicted: chunk F1 where labels are chunks, else accuracy."""
    result = json.loads(crftrain("eval", "--json", path).stdout)
    return result["chunk"]["f1"] if result["chunk"] else result["accuracy"]


def tag_and_score(model, task, folder, *, timeout=600):
    """(seconds of the whole process, score) of `crftrain tag` on the task's test file."""
    target = Path(folder) / "tagged.txt"
    with open(target, "wb") as out:
        finished = crftrain("tag", model, task.test, timeout=timeout, stdout=out)
    return finished.seconds, score(target)


def best(times, measure):
    """The least of several measurements."""
    return min(measure() for _ in range(times))
