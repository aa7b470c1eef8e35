"""Workers to train with: those of a Dask scheduler, or processes of this machine that are started for the purpose.

    with connect(4) as cluster                           four processes here
    with connect("tcp://head:8786") as cluster           whatever workers a scheduler has; also tls://, and the file that it writes
    with connect(client) as cluster                      those of a distributed.Client, which stays open
    cluster.place(make, recipes)                         an Engine

Before anything is read each worker says what it is (worker.facts): the same bits are promised only where those agree.
"""

import contextlib
import logging
import os

from ..errors import CrftrainError, SettingsError
from .engine import Engine, host_of
from .watch import Watch
from .worker import facts, greet, misfit

TIMEOUT = 60.0  # seconds of silence after which a worker counts as dead
MEGABYTE = 1 << 20
UNSEEN = {"dashboard": False, "dashboard_address": ":0"}  # nobody looks, and 8787 may be taken
ALONE = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"  # Ctrl-C reaches all of a terminal's processes, and one decides
CONFIGURATION = {  # of our own workers: no shard is Dask's to spill, nothing is moved about, nobody is killed for the memory it takes
    "distributed.deploy.lost-worker-timeout": "365 days",  # 15 s after a loss Dask gives up who is away just then, maybe lost once more
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.nanny.preload": [],
}


def needed():
    """dask.distributed, or a refusal that says how to get it."""
    try:
        import distributed
    except ImportError:
        raise SettingsError("", "workers need a package (pip install 'crftrain[cluster]')") from None
    return distributed


@contextlib.contextmanager
def connect(where, *, threads=1, timeout=None):
    """A Cluster of so many processes here with `threads` each, of the scheduler at an address or described in a file, or of a Client."""
    distributed, timeout = needed(), timeout or TIMEOUT
    with contextlib.ExitStack() as stack:
        client = where
        if isinstance(where, int | str):
            client = _started(stack, distributed, where, threads) if isinstance(where, int) else _joined(distributed, where, timeout)
            stack.callback(_close, client, 5)
        with Cluster(client, timeout=timeout, here=isinstance(where, int)) as cluster:
            yield cluster


def _started(stack, distributed, n, threads):
    import dask

    stack.enter_context(dask.config.set(CONFIGURATION))
    for name in ("distributed", "tornado", "asyncio"):  # what matters is told in our words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    how = {"memory_limit": 0, "silence_logs": logging.CRITICAL, "preload": [ALONE], "scheduler_kwargs": UNSEEN}
    local = distributed.LocalCluster(n_workers=n, threads_per_worker=threads, processes=True, **how)
    stack.callback(_close, local, 10)
    return distributed.Client(local)


def _close(what, seconds):
    """Processes that do not end in time end with this one."""
    with contextlib.suppress(OSError, needed().TimeoutError):
        what.close(timeout=seconds)


def _joined(distributed, where, timeout):
    how = {"address": where} if "://" in where else {"scheduler_file": where}
    for name in ("distributed.client", "distributed.comm", "distributed.core", "distributed.utils_comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return distributed.Client(**how, timeout=min(timeout, 30))
    except (OSError, ValueError, TypeError, KeyError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CrftrainError(where, f"no scheduler can be reached: {told}", "the address or the file of a running dask scheduler") from None


class Cluster:
    """The workers of a client, which stays its owner's. here: they were started from this folder."""

    def __init__(self, client, *, timeout=TIMEOUT, here=False):
        distributed = needed()
        self.client, self.timeout, self.here, self.direct, self.engines = client, timeout, here, True, []
        self.LOST = (distributed.CancelledError, distributed.scheduler.KilledWorker, distributed.TimeoutError, OSError)
        self.watch, self.facts = Watch(client, timeout), facts()

    def __enter__(self):
        self._meet()
        return self

    def __exit__(self, kind, *error):
        for engine in self.engines:
            engine.close()
        self.engines = []

    def _meet(self):
        """Every worker's facts are those of this process; an error names the one whose are not."""
        self.sync(self.watch.look)
        self.sync(self.watch.somebody)
        try:
            met = self.client.sync(self.client._run, greet, on_error="return", workers=self.watch.living, callback_timeout=self.timeout)
        except OSError as error:
            raise CrftrainError(self.watch.address, f"its workers do not answer: {error}", f"within {self.timeout:g} s") from None
        for address, answer in sorted(met.items()):
            if isinstance(answer, BaseException):
                raise CrftrainError(f"worker {address}", f"crftrain cannot be loaded there: {answer}", f"crftrain {self.facts['crftrain']}")
            misfit(address, answer[0], self.facts)
        self.free = {host_of(address): free for address, (_, free, _) in met.items()}
        self.threads = min(threads for _, _, threads in met.values())  # of each worker, and so of each shard
        self.sync(self._find_the_way)

    async def _find_the_way(self):
        """Vectors go to the workers themselves, where they can be reached from here; else by way of the scheduler."""
        import asyncio

        try:
            at = self.watch.living[:1]
            await asyncio.wait_for(self.client.scatter([b""], workers=at, hash=False, direct=True, asynchronous=True), 5)
        except (OSError, asyncio.TimeoutError):
            self.direct = False

    def paths(self, paths):
        """As workers elsewhere know them, which have not the same working folder."""
        return paths if self.here else tuple(os.path.abspath(path) for path in paths)

    @property
    def n_workers(self):
        return len(self.watch.living)

    def place(self, make, recipes):
        """An Engine for the objects that make(*recipe) makes."""
        engine = Engine(self, make, recipes)
        self.engines.append(engine)
        return engine

    def sync(self, function, *arguments):
        """A coroutine, run where the client lives."""
        return self.client.sync(function, *arguments)

    def tell_all(self, function, *arguments):
        """Every living worker does something small at once, beside whatever it is busy with."""
        with contextlib.suppress(OSError, CrftrainError):
            self.client.sync(self.client._run, function, *arguments, on_error="ignore", workers=self.watch.living, callback_timeout=5)
