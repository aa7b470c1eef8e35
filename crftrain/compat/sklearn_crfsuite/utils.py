"""Lists of lists."""

from itertools import chain


def flatten(sequences):
    """Their members in one list."""
    return list(chain.from_iterable(sequences))
