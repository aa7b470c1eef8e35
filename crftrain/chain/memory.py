"""How much memory there is."""

SHARE = 0.5  # of the free memory may be taken for what only saves time


def free_memory():
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def fitting(n, n_bytes):
    """How many of n things, n_bytes all together, fit into SHARE of the free memory."""
    free = free_memory()
    return n if free is None or n_bytes <= SHARE * free else int(n * SHARE * free / n_bytes)
