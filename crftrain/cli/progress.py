"""What a command that trains shows on the terminal, and how it ends."""

import contextlib
import os
import signal
import stat
import sys
from datetime import date, datetime

import click

from ..training.events import Observer, Observers
from ..training.settings import DEFAULT_FOR_L1
from ..training.signals import StopSignal


class Console(Observer):
    """Tells the user everything on stderr; each step is one line that changes on a terminal, else a plain line each."""

    def __init__(self, first=""):
        self.step_name, self.bar, self.first = "pass", None, first  # what to say when training begins

    def say(self, text):
        self._close()
        click.echo(text, err=True)

    def start(self, event, step_name):
        self.step_name = step_name
        if self.first:
            self.say(self.first)
            self.first = ""

    def step(self, progress):
        step = progress.step
        text = f"{self.step_name} {progress.iteration}  objective {'' if step.exact else '~'}{step.objective:.6f}  gap {step.gap:.2e}"
        if progress.dev:
            name = "f1" if "f1" in progress.dev else "accuracy"
            text += f"  dev {name} {progress.dev[name]:.2f}"
        text += f"  {progress.passes:.1f} passes  {progress.seconds:.1f} s" + (f"  {step.note}" if step.note else "")
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._show(text)
        else:
            click.echo(text, err=True)

    def _show(self, text):
        from tqdm import tqdm

        if self.bar is None:
            self.bar = tqdm(bar_format="{desc}", file=sys.stderr, leave=True)
        self.bar.set_description_str(text)

    def _close(self):
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def say_now(text):
    """For signal handlers: Python's stderr refuses a second write while it is in the middle of one."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"{text}\n".encode())


def replaced(path):
    """What to tell of the file that a model takes the place of; nothing if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"replaces {path} ({_size(found.st_size)}, of {_day(found.st_mtime)})" if stat.S_ISREG(found.st_mode) else ""


def _size(n):
    unit = min(max(0, len(str(n)) - 1) // 3, 3)
    return f"{n / 1000**unit:.3g} {('bytes', 'kB', 'MB', 'GB')[unit]}"


def _day(seconds):
    then, today = datetime.fromtimestamp(seconds), date.today()
    days = (today - then.date()).days
    return f"today {then:%H:%M}" if days == 0 else "yesterday" if days == 1 else f"{then.day} {then:%B %Y}"


def run_training(ctx, run, settings, quiet):
    """run(settings, observer) under signals, with messages and an exit status."""
    console = Observer() if quiet else Console(replaced(settings.model))
    if settings.algorithm.name == DEFAULT_FOR_L1 and ctx.params["algorithm"] is None:
        console.say(f"algorithm: {settings.algorithm.name}, chosen for --l1 (-a chooses another)")
    with StopSignal(None if quiet else say_now) as stop:
        try:
            outcome = run(settings, Observers(console, stop))
        except KeyboardInterrupt:
            ctx.exit(128 + (stop.number or signal.SIGINT))
    if outcome is not None:
        console.say(f"{settings.model}: {outcome.model_bytes:,} bytes")
    if stop.number is not None:
        ctx.exit(128 + stop.number)
