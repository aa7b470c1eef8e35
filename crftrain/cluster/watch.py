"""Which workers live: what the scheduler says of them, and how long they have been silent.

A worker that is killed is gone from the scheduler's list at once. One that hangs stays on it, but is heard of no more: after `timeout`
seconds it counts as dead, until it is heard of again. Clocks of other machines are not read, only whether they move; and time in which
nobody looked here, as while a laptop slept, counts as nobody's silence, nor as time without workers or without an answer.
"""

import asyncio
import time
from concurrent.futures import CancelledError

from ..errors import CrftrainError

EACH = 0.5  # seconds between two looks
LONG = 5.0  # of more seconds between two looks only so many were looked at
PATIENCE = 10.0  # seconds that a scheduler may be out of reach


class Watch:
    """living: the addresses of workers that can be asked, sorted."""

    def __init__(self, client, timeout):
        self.client, self.timeout, self.living = client, timeout, []
        self.signs, self.silence, self.losses = {}, {}, {}  # of each worker: its last sign, seconds since; who waits for its loss
        self.looked = self.counted = time.monotonic()
        self.unanswered = self.deserted = 0.0  # seconds without an answer, and without a worker
        self.address = client.scheduler.address

    async def look(self, every=0.0):
        """Ask the scheduler, if that is as long ago."""
        now = time.monotonic()
        if now - self.looked < every:
            return
        self.looked = now
        try:
            if self.client.status != "running":
                raise ConnectionError(self.client.status)
            limit = min(LONG, self.timeout)
            found = (await asyncio.wait_for(self.client.scheduler.identity(n_workers=-1), limit))["workers"]
        except (OSError, CancelledError, asyncio.TimeoutError, AttributeError):
            self.unanswered += self._passed()
            if self.unanswered > min(PATIENCE, self.timeout) or self.client.status == "closed":
                raise self.no_scheduler() from None
            return
        self.unanswered = 0.0
        self._take(found, self._passed())

    def _passed(self):
        """Seconds that were looked at since this was asked."""
        before, self.counted = self.counted, time.monotonic()
        return min(self.counted - before, LONG)

    def no_scheduler(self):
        told = "the scheduler is lost, and with it what the workers had"
        return CrftrainError(self.address, told, "one that lives; --resume goes on from a --checkpoint")

    def _take(self, found, seconds):
        signs = {address: told["last_seen"] for address, told in found.items()}
        same = {address for address, sign in signs.items() if self.signs.get(address) == sign}
        self.silence = {address: self.silence[address] + seconds if address in same else 0.0 for address in signs}
        self.signs = signs
        able = (address for address, told in found.items() if told.get("status", "running") == "running")
        self.living = sorted(address for address in able if self.silence[address] <= self.timeout)
        self.deserted = 0.0 if self.living else self.deserted + seconds
        for address in self.losses.keys() - self.living:
            loss = self.losses.pop(address)
            if not loss.done():
                loss.set_result(None)

    def lost(self, address):
        """A future that is done when the worker is lost."""
        if address not in self.losses:
            self.losses[address] = asyncio.get_running_loop().create_future()
        return self.losses[address]

    async def until_lost(self):
        """Look on until the scheduler is lost, which is an error."""
        while True:
            await asyncio.sleep(EACH)
            await self.look()

    async def doubt(self, address):
        """Something went wrong with a worker: whether it lives is known afterwards."""
        await asyncio.sleep(EACH / 2)
        await self.look()

    async def somebody(self):
        """Wait for a worker; an error if there is none for too long."""
        while not self.living:
            if self.deserted > self.timeout:
                raise CrftrainError(self.address, f"no worker for {self.timeout:g} s", "at least one that lives (--worker-timeout)")
            await asyncio.sleep(EACH / 2)
            await self.look()
