"""What the workers share: each is a script that gets its orders as one JSON object and runs in a process of its own."""

import json
import re
import sys
import time

ESCAPE = re.compile(r"\\([:\\])")


def orders():
    return json.loads(sys.argv[1])


def sequences(path):
    """([label, ...], [[attribute, ...], ...]) of each sequence of an item file; values are not looked at."""
    labels, items = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line := line.rstrip("\n"):
                label, *names = ESCAPE.sub(r"\1", line).split("\t")
                labels.append(label)
                items.append(names)
            elif labels:
                yield labels, items
                labels, items = [], []
    if labels:
        yield labels, items


def tag(path, target, predict):
    """Write `gold TAB predicted` for an item file; the seconds that predict(items) took."""
    seconds = 0.0
    with open(target, "w", encoding="utf-8") as out:
        for gold, items in sequences(path):
            started = time.perf_counter()
            predicted = predict(items)
            seconds += time.perf_counter() - started
            out.write("".join(f"{a}\t{b}\n" for a, b in zip(gold, predicted, strict=True)) + "\n")
    return seconds


def report(path, **facts):
    """Leave what the log does not say."""
    with open(path, "w", encoding="utf-8") as out:
        json.dump({**facts, "peak_mb": peak_mb()}, out)


def peak_mb():
    """This program's peak memory; None where the system does not tell it from that of the process it was started from."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return None
