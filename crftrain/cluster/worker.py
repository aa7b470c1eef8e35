"""What runs in a worker: shards are made here by their recipes, kept, and asked.

    call(name, version, ...)     asks the shard of that name, if it is of that version; else it says that it has none

A version is one making of a shard: each time that one is made anew, here or elsewhere, the client counts on. So a copy that has not
been told everything, because its worker was thought dead for a while, is never asked again. Nothing here is Dask's to keep, move,
spill or pickle.
"""

import platform
import threading
import time

from .. import __version__

FORGET = 3600.0  # seconds after which a shard that nobody asked for is given up: its client is gone
KEPT: dict = {}  # name: Kept


class Kept:
    """A shard and who may talk to it: one at a time."""

    def __init__(self, version, shard):
        self.version, self.shard, self.lock, self.asked = version, shard, threading.Lock(), time.monotonic()


def facts():
    """What two processes must have in common to compute the same bits."""
    import numpy as np

    from .. import _kernels

    return {
        "crftrain": __version__,
        "compiler": _kernels.COMPILER,
        "SIMD level": _kernels.SIMD,
        "C library": " ".join(platform.libc_ver()) or platform.platform(),
        "numpy": np.__version__,
    }


def free():
    """Bytes that are free where this runs; None: not known."""
    from ..chain.memory import free_memory

    return free_memory()


def greet(dask_worker=None):
    """(facts, free bytes, threads) of a worker."""
    return facts(), free(), dask_worker.state.nthreads if dask_worker is not None else 1


def call(name, version, method, arguments, making=None):
    """(seconds, result) of the shard's method; None where there is no such shard and no `making` to make it by.

    making: (expected facts, make, recipe, what it was told): a shard is make(*recipe).
    """
    now = time.monotonic()
    for other in [other for other, kept in list(KEPT.items()) if now - kept.asked > FORGET]:
        KEPT.pop(other, None)
    if making is not None:
        _make(name, version, *making)
    kept = KEPT.get(name)
    if kept is None or kept.version != version:
        return None
    with kept.lock:
        kept.asked = started = time.monotonic()
        result = getattr(kept.shard, method)(*arguments)
        kept.asked = time.monotonic()
    return kept.asked - started, result


def _make(name, version, expected, make, recipe, told):
    from distributed import get_worker

    misfit(get_worker().address, facts(), expected)
    KEPT.pop(name, None)  # its memory is free before the new one takes some
    shard = make(*recipe)
    for method, arguments in told:
        getattr(shard, method)(*arguments)
    KEPT[name] = Kept(version, shard)


def misfit(address, found, expected):
    """A CrftrainError for the first fact that is another one."""
    from ..errors import CrftrainError

    for what, wanted in expected.items():
        if found.get(what) != wanted:
            raise CrftrainError(f"worker {address}", f"{what} {found.get(what)}", f"{wanted}, as where training was started")


def forget(run):
    """Give up the shards of a run, whatever they are busy with."""
    for name in [name for name in KEPT if name[0] == run]:
        kept = KEPT.pop(name, None)
        if kept is not None and (cancel := getattr(kept.shard, "cancel", None)):
            cancel()
