"""Interruptions: a signal asks a training to stop, and what there is by then is saved."""

import contextlib
import signal

from .events import Observer


class StopSignal(Observer):
    """INT and TERM: where a training is busy the first one asks to stop after the running step; any other aborts.

    As a context manager it holds the handlers; `number` is the signal received, or None.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, tell=None, signals=SIGNALS):
        self.tell, self.signals = tell, signals
        self.number, self.before, self.deferring = None, {}, False

    def __enter__(self):
        try:
            self.before = {number: signal.signal(number, self._receive) for number in self.signals}
        except ValueError:  # not the main thread: signals stay with whoever has it
            self.before = {}
        return self

    def __exit__(self, *exception):
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _receive(self, number, frame):
        again, self.number = self.number is not None, number
        if again or not self.deferring:
            raise KeyboardInterrupt
        if self.tell:
            self.tell(f"{signal.Signals(number).name}: stopping after this step and saving; again to abort")

    def busy(self):
        return self._defer(True)

    def idle(self):
        return self._defer(False)

    @contextlib.contextmanager
    def _defer(self, deferring):
        before, self.deferring = self.deferring, deferring
        try:
            yield
        finally:
            self.deferring = before

    @property
    def interrupted(self):
        return None if self.number is None else f"interrupted by {signal.Signals(self.number).name}"

    def step(self, progress):
        return self.interrupted
