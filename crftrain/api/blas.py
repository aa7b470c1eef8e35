"""One thread for numpy's BLAS while a training runs.

Its threads do harm to what is summed here, vectors of some ten thousand numbers (a dot product of 20,000 took 10 ms in place of 7 us
where two threads waited for each other), and sums would depend on how many there are. The command says so in its environment before
numpy is there; a library cannot, so it asks the BLAS that numpy brought along, if it is OpenBLAS, and puts its number back at the end.
"""

import ctypes
import threading
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

NAMES = [f"{prefix}openblas_%s_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")]
FOLDERS = ("../numpy.libs", ".dylibs")

_lock, _inside, _before = threading.Lock(), 0, 1


@lru_cache
def _functions():
    """(get, set) of the OpenBLAS in numpy's own folder, or None."""
    import numpy as np

    for folder in FOLDERS:
        for path in sorted((Path(np.__file__).parent / folder).glob("*openblas*")):
            with suppress(OSError):
                library = ctypes.CDLL(str(path))
                for name in NAMES:
                    with suppress(AttributeError):
                        return getattr(library, name % "get"), getattr(library, name % "set")
    return None


@contextmanager
def one_thread():
    """In this context; where several are at once, until the last one ends."""
    global _inside, _before
    functions = _functions()
    if functions is None:
        yield
        return
    get, set_ = functions
    with _lock:
        if _inside == 0:
            _before = get()
            set_(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                set_(_before)
