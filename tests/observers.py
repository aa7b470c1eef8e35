"""Observers for tests: what a training says, and trainings that are interrupted."""

import signal

from crftrain.training.events import Observer
from crftrain.training.signals import StopSignal


class Hearing(Observer):
    """Keeps what is said; step, if there is one, is asked after each step."""

    def __init__(self, said=None, step=None):
        self.said, self.asked = [] if said is None else said, step

    def say(self, text):
        self.said.append(text)

    def step(self, progress):
        return self.asked(progress) if self.asked else None


class InterruptedAt(StopSignal):
    """A signal arrives during that step."""

    def __init__(self, iteration):
        super().__init__()
        self.iteration = iteration

    def step(self, progress):
        if progress.iteration == self.iteration:
            self.number = signal.SIGINT
        return super().step(progress)
