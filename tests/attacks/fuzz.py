"""Spoilt files, texts, options and checkpoints, as many as there is time for: python tests/attacks/fuzz.py [CLASS ...] --minutes 60

Whatever comes in: an error that the user can understand, or a result whose numbers are finite. Never another exception, a case of more
than SLOW seconds of processor time (or LONG by the clock), or a process that grows beyond LARGE bytes. Each case has a number, from which
it can be made again: --only CLASS:NUMBER. Options name paths, so their class runs where all but its own folder is read-only (`python
fuzz.py options` sees to that itself).
"""

import argparse
import faulthandler
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

SLOW, LONG, LARGE, ROOM, BATCH = 10, 600, 1 << 30, 3 << 30, 500


class Found(Exception):
    """A fault."""


def run(name, numbers, folder, *, until=None):
    """Cases of a class; (how they ended, {number: fault})."""
    import cases

    made, ends, faults = getattr(cases, name.capitalize())(folder), Counter(), {}
    warnings.simplefilter("ignore")
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _too_slow)
    for number in numbers:
        if until is not None and time.monotonic() > until:
            break
        signal.setitimer(signal.ITIMER_PROF, SLOW)  # others may need the processors too: what they take does not count
        signal.alarm(LONG)
        try:
            ends[made.case(random.Random(f"{name} {number}"))] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            faults[number] = "".join(traceback.format_exception(error))
            ends["FAULT"] += 1
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
    return ends, faults


def _too_slow(*_):
    raise Found(f"more than {SLOW} seconds of work, or {LONG} by the clock")


def confined(folder):
    """The command that runs what follows where only the folder can be written; None where the system does not permit it."""
    script = (
        f"mount --make-rprivate / && mount --bind {folder} {folder} && mount -o remount,bind,ro / && "
        "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && mkdir /dev/shm && "
        f'TMPDIR={folder} HOME={folder} exec "$@"'
    )
    command = ["unshare", "--mount", "--net", "sh", "-c", script, "sh"]
    try:
        return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else None
    except OSError:
        return None


def batches(name, minutes, first):
    """Batches in processes of their own until the time is up, so that a crash costs one of them; the counts and faults."""
    until, ends, faults = time.monotonic() + 60 * minutes, Counter(), []
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            inside = confined(folder) if name == "options" else []
            if inside is None:
                return Counter({"skipped: unshare is not permitted": 1}), []
            command = [*inside, sys.executable, __file__, name, "--first", str(first), "--batch", str(until - time.monotonic()), folder]
            done = subprocess.run(command, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            end, _, count = line.rpartition("\t")
            ends[end] += int(count) if end else 0
        if done.returncode or done.stderr:
            faults.append(f"{name} from {first}: status {done.returncode}\n{done.stderr[-3000:]}")
        first += BATCH
    return ends, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("classes", nargs="*", default=[])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=int(time.time()) * BATCH)
    parser.add_argument("--only")
    parser.add_argument("--batch", nargs=2, metavar=("SECONDS", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    faulthandler.enable()
    if asked.only:
        name, _, number = asked.only.partition(":")
        return _told(*run(name, [int(number)], tempfile.mkdtemp()))
    if asked.batch:
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which maps more than any machine has
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
        resource.setrlimit(resource.RLIMIT_CPU, (BATCH * SLOW, BATCH * SLOW))  # ends what hears no signal
        seconds, folder = asked.batch
        until = time.monotonic() + float(seconds)
        return _told(*run(asked.classes[0], range(asked.first, asked.first + BATCH), folder, until=until))
    status = 0
    for name in asked.classes or ("models", "foreign", "texts", "checkpoints", "options"):
        ends, faults = batches(name, asked.minutes / (len(asked.classes) or 5), asked.first)
        print(f"{name}: {sum(ends.values()):,} cases; " + ", ".join(f"{end} {count:,}" for end, count in ends.most_common()))
        print(*faults, sep="\n", end="\n" if faults else "", flush=True)
        status |= bool(faults or ends["FAULT"])
    return status


def _told(ends, faults):
    for end, count in ends.items():
        print(f"{end}\t{count}")
    for number, fault in faults.items():
        print(f"case {number}:\n{fault}", file=sys.stderr)
    if (grown := 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) > LARGE and "libasan" not in os.environ.get("LD_PRELOAD", ""):
        print(f"grew to {grown:,} bytes", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    home = tempfile.mkdtemp()
    os.environ["HOME"] = home
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(home, ignore_errors=True)
