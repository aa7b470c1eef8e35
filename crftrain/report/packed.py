"""Sentences, labels and reasons as JSON that a page unpacks when they are looked at: a million tokens are a few megabytes.

    text      the words of a sentence with a space between, sentences with a line end between
    labels    two numbers a token: 2 label + (1 where a chunk begins); in as many characters a token as it takes
    sure      the probability of the predicted label in one character

A number is written in base 89 with the printable characters that neither JSON nor HTML looks at.
"""

import json

import numpy as np

ALPHABET = "".join(chr(c) for c in range(33, 127) if chr(c) not in '"\\<>&')
BASE = len(ALPHABET)
_BYTES = np.frombuffer(ALPHABET.encode(), np.uint8)


def width_for(most):
    """How many characters the numbers up to `most` take."""
    width = 1
    while BASE**width <= most:
        width += 1
    return width


def pack(numbers, width=1):
    """A string of width characters for each number, the highest digit first."""
    numbers = np.asarray(numbers, np.int64)
    digits = [numbers // BASE**k % BASE for k in reversed(range(width))]
    return _BYTES[np.stack(digits, axis=1).ravel()].tobytes().decode("ascii") if len(numbers) else ""


def shares(p):
    """A probability as a number below BASE."""
    return np.clip((np.asarray(p) * BASE).astype(np.int64), 0, BASE - 1)


def as_script(data):
    """JSON that stands in a page: nothing in it can end the element it stands in, or begin another one."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for c in "<>&\u2028\u2029":
        if c in text:
            text = text.replace(c, f"\\u{ord(c):04x}")
    return text
