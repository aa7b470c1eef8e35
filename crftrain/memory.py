"""How much memory there is, and large pieces of it."""

import numpy as np

SHARE = 0.5  # of the free memory may be taken for what only saves time


def free_memory():
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def zeros(shape, dtype=float):
    """As numpy's, but cleared at once: in pages that are huge where the system has these, which numpy asks for by empty() alone. A
    first touch of small pages takes some twenty times as long, and falls into the first pass over the data."""
    array = np.empty(shape, dtype)
    array[...] = 0
    return array


def fitting(n, n_bytes):
    """How many of n things, n_bytes all together, fit into SHARE of the free memory."""
    free = free_memory()
    return n if free is None or n_bytes <= SHARE * free else int(n * SHARE * free / n_bytes)
