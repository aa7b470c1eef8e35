"""Long vectors a piece at a time: what is done to a piece finds it in the cache."""

COLUMNS = 16384  # numbers of a piece


def columns(size):
    """The slices of a vector of that size."""
    return (slice(first, first + COLUMNS) for first in range(0, size, COLUMNS))
