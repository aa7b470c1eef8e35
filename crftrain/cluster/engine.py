"""An engine for objects that live on workers: the promise of Inline (chain/sharded.py), kept whatever happens to the workers.

    engine.map(method, arguments) -> results        a round: one task for each shard, on the worker that has it

A shard is a recipe, make(*recipe), which stays with the client. Each of its tasks goes to one worker, its home, and to no other. The
client looks on (watch.py), and when the home is lost, or has not been heard of for too long, the task goes to another one, which makes
the shard anew and tells it what it was told (prepared, recalled). Dask is not asked to rescue a task: one that is tied to a worker
waits for ever when that is gone, and one that is not may run where the shard is not.
"""

import asyncio
import itertools
import uuid

import numpy as np

from ..errors import CrftrainError
from . import worker
from .watch import EACH

INLINE = 1 << 16  # bytes up to which arguments go by way of the scheduler, as part of the task
MEGABYTE = 1 << 20
TRIES = 10  # workers in a row that may be lost over one question


class Traffic:
    """What an engine has sent and received."""

    def __init__(self):
        self.rounds = self.sent = self.received = self.remade = 0
        self.slowest = ("", 0.0)  # the worker, and its seconds, of the last round

    @property
    def bytes(self):
        return self.sent + self.received

    @property
    def facts(self):
        """For a log."""
        worker, seconds = self.slowest
        return {"rounds": self.rounds, "bytes": self.bytes, "remade": self.remade, "slowest": worker, "slowest_seconds": seconds}

    def __str__(self):
        worker, seconds = self.slowest
        return f"{self.rounds:,} rounds, {self.bytes / 1e6:,.0f} MB, slowest {worker.partition('://')[2] or worker} {seconds:.2f} s"


class Engine:
    """Objects on the workers of a Cluster; make(*recipe) makes one, of each recipe."""

    def __init__(self, cluster, make, recipes):
        self.cluster, self.make, self.recipes, self.run = cluster, make, recipes, uuid.uuid4().hex
        self.prepared = self.recalled = lambda k: ()
        self.traffic, self.tasks = Traffic(), itertools.count()
        self.home, self.version, self.pending = [None] * len(recipes), [0] * len(recipes), set()

    @property
    def n_workers(self):
        return self.cluster.n_workers

    def map(self, method, arguments):
        """The method of every object, each with its own arguments; the results in order."""
        return self.cluster.sync(self._round, method, list(arguments))

    def one(self, k, method, arguments):
        """The method of object k alone; threads may ask at once."""
        return self.cluster.sync(self._together, method, {k: arguments})[0]

    def check_room(self, sizes):
        """An error where the objects take more bytes, sizes[k], than the machine of their workers has free."""
        for k in range(len(sizes)):
            if self.home[k] is None:
                self._settle(k)
        hosts, free = [host_of(home) for home in self.home], self.cluster.free
        for host in sorted(set(hosts)):
            need, has = sum(size for size, mine in zip(sizes, hosts, strict=True) if mine == host), free.get(host)
            if has is not None and need > has:
                found = f"{has / MEGABYTE:,.0f} MB are free"
                raise CrftrainError(f"worker at {host}", found, f"{need / MEGABYTE:,.0f} MB for its shards; more machines take less each")

    async def _round(self, method, arguments):
        await self.cluster.watch.look(EACH)
        self._even_out()
        return await self._together(method, dict(enumerate(arguments)))

    async def _together(self, method, arguments):
        asked = [asyncio.ensure_future(self._ask(k, method, own)) for k, own in arguments.items()]
        watched = asyncio.ensure_future(self.cluster.watch.until_lost())
        together = asyncio.gather(*asked)
        self.pending.add(together)
        try:
            await asyncio.wait({together, watched}, return_when=asyncio.FIRST_COMPLETED)
            if watched.done() and not together.done():
                watched.result()
            found = await together
        except asyncio.CancelledError:
            raise CrftrainError(method, "given up by who asked for it") from None
        finally:
            self.pending.discard(together)
            await _end([*asked, together, watched])
        self.traffic.rounds += 1
        self.traffic.slowest = max(((home, seconds) for home, seconds, _ in found), key=lambda one: one[1], default=("", 0.0))
        return [result for _, _, result in found]

    def _even_out(self):
        """A worker that came, or came back, takes a shard off one that has two more."""
        living = self.cluster.watch.living
        while len(living) > 1:
            load = {home: [k for k, mine in enumerate(self.home) if mine == home] for home in living}
            most, least = max(living, key=lambda home: len(load[home])), min(living, key=lambda home: len(load[home]))
            if len(load[most]) < len(load[least]) + 2:
                break
            self.home[load[most][-1]] = None
            self._settle(load[most][-1])

    def _settle(self, k):
        """The living worker with the fewest shards is the home of k."""
        living = self.cluster.watch.living
        self.home[k] = min(living, key=lambda home: (self.home.count(home), home)) if living else None
        self.version[k] = -abs(self.version[k]) - 1  # below 0: to be made

    async def _ask(self, k, method, own):
        """(worker, its seconds, the result); sent again until there is one."""
        for _ in range(TRIES):
            while self.home[k] not in self.cluster.watch.living:
                self._settle(k)
                if self.home[k] is None:
                    await self.cluster.watch.somebody()
            home = self.home[k]
            try:
                answer = await self._send(home, k, method, own)
            except self.cluster.LOST as error:
                failure = error
                await self.cluster.watch.doubt(home)
                if home in self.cluster.watch.living:
                    self._unmade(k)
                continue
            if answer is not None:
                self.version[k] = abs(self.version[k])
                return (home, *answer)
            self._unmade(k)
        raise CrftrainError(f"shard {k + 1}", f"{TRIES} workers were lost over {method} ({failure})", "workers that have the memory for it")

    def _unmade(self, k):
        """Its worker has not got it."""
        self.version[k] = -abs(self.version[k]) - 1

    async def _send(self, home, k, method, own):
        making = None
        if self.version[k] < 0:
            self.traffic.remade += self.version[k] < -1
            making = (self.cluster.facts, self.make, self.recipes[k], [*self.prepared(k), *self.recalled(k)])
        lost = self.cluster.watch.lost(home)
        sending = asyncio.ensure_future(self._carry(home, ((self.run, k), abs(self.version[k]), method), own, making))
        await asyncio.wait({sending, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            sending.cancel()
            await asyncio.wait({sending}, timeout=1)
            raise ConnectionError(f"{home} is lost")
        return sending.result()

    async def _carry(self, home, what, own, making):
        """To the worker and back."""
        client, direct, data = self.cluster.client, self.cluster.direct, (own, making)
        key = f"crftrain-{what[2]}-{self.run[:8]}-{what[0][1]}-{next(self.tasks)}"
        size = volume(data)
        scattered = None
        if size > INLINE:
            scattered = await client.scatter({f"{key}-data": data}, workers=[home], hash=False, direct=direct, asynchronous=True)
            data = scattered[f"{key}-data"]
        future = client.submit(_call, *what, data, key=key, workers=[home], pure=False)
        try:
            (answer,) = await client.gather([future], direct=direct, asynchronous=True)
        finally:
            future.release()
            del scattered
        self.traffic.sent += size
        self.traffic.received += volume(answer)
        return answer

    def close(self):
        """Nothing of it stays on the workers."""
        self.cluster.sync(self._give_up)
        self.cluster.tell_all(worker.forget, self.run)

    async def _give_up(self):
        for together in list(self.pending):
            together.cancel()


async def _end(tasks):
    """Cancel them, as often as it takes: before Python 3.12 a wait_for whose answer comes at that moment gives the answer and goes on."""
    unfinished = tasks
    while unfinished:
        for task in unfinished:
            task.cancel()
        _, unfinished = await asyncio.wait(unfinished, timeout=EACH)
    await asyncio.gather(*tasks, return_exceptions=True)


def _call(name, version, method, data):
    own, making = data
    return worker.call(name, version, method, own, making)


def host_of(address):
    """Without protocol and port."""
    return address.rpartition("/")[2].rpartition(":")[0] if address else ""


def volume(value):
    """Bytes of the arrays in it, and of texts."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(volume, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(volume, value))
    if hasattr(value, "__dict__"):
        return sum(map(volume, vars(value).values()))
    return 8
