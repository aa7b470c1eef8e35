"""Bytes and numbers that break readers, and the program within this process."""

import io
import math
import sys
from collections import namedtuple

import numpy as np

from crftrain.cli import main as cli

Ended = namedtuple("Ended", "status out err")
EDGES = (0, 1, 2, 3, 127, 128, 255)
NUMBERS = (-1, 0, 1, 2, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 10**30, 10**400)
FLOATS = (0.0, -0.0, 1e-320, 1e150, -1e150, 1e308, 3.4e38, math.inf, -math.inf, math.nan, -1.0, 0.5)


def mutated(rng, content):
    """The bytes with a few changes of the kinds that break readers: flips, edges, cuts, copies."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(content) + 1)
        match rng.randrange(6):
            case 0 if at < len(content):
                content[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(content):
                content[at] = rng.choice(EDGES)
            case 2:
                content[at:at] = rng.choice((b"\0", b"\1", b"\xff\xff\xff\xff\7", b"\x80\1", rng.randbytes(4)))
            case 3:
                del content[at : at + rng.choice((1, 1, 4, 8))]
            case 4:
                start = rng.randrange(len(content) + 1)
                content[at:at] = content[start : start + 8]
            case _:
                content[at : at + 8] = rng.choice((-1, 0, 1, 2**31, 2**63 - 1)).to_bytes(8, "little", signed=True)
    return bytes(content)


def other_json(rng, value):
    """A JSON value with one part of it replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value))
        if rng.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: other_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        k = rng.randrange(len(value))
        return [*value[:k], other_json(rng, value[k]), *value[k + 1 :]]
    return rng.choice([None, True, "", "1", [], {}, [1], {"a": 1}, *NUMBERS, *FLOATS])


def other_array(rng, array):
    """An array with another type, shape, or some numbers out of all range."""
    match rng.randrange(6):
        case 0:
            with np.errstate(all="ignore"):
                return array.astype(rng.choice((np.float32, np.int32, np.int64, np.uint8, np.float64, bool)))
        case 1:
            return rng.choice((array[None], array.ravel()[:-1], np.zeros(0, array.dtype), np.zeros((2, 2), array.dtype)))
        case 2:
            return np.array(rng.choice(("text", "", "[]")))
    array = array.copy()
    if array.size:
        places = [rng.randrange(array.size) for _ in range(rng.choice((1, 1, 3)))] if rng.random() < 0.8 else slice(None)
        number = rng.choice(FLOATS if array.dtype.kind == "f" else [n for n in NUMBERS if -(2**63) <= n < 2**63])
        with np.errstate(all="ignore"):
            array.reshape(-1)[places] = np.array(number).astype(array.dtype)
    return array


def program(*arguments, input=b""):
    """The command line's main() in this process; whatever it does not catch goes to the caller."""
    streams, before = [io.BytesIO(input), io.BytesIO(), io.BytesIO()], (sys.stdin, sys.stdout, sys.stderr, sys.argv)
    try:
        sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in streams)
        sys.argv = ["crftrain", *map(str, arguments)]
        try:
            cli.main()
            status = 0
        except SystemExit as ended:
            status = ended.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        return Ended(status, streams[1].getvalue(), streams[2].getvalue().decode(errors="replace"))
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv = before
