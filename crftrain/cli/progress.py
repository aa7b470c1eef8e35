"""What a command that trains shows on the terminal, and how it ends."""

import contextlib
import os
import signal
import stat
import sys
from datetime import date, datetime

import click

from ..training.events import Observer, Observers, percent
from ..training.signals import StopSignal
from .bar import LogBar

EACH, GROWTH = 8, 1.25  # where there is no terminal: each of the first steps, then ever fewer


class Console(Observer):
    """Tells the user everything on stderr; a step is a line that changes on a terminal, else some steps have a plain line each.

    first: what to say when training begins. verbose: each step has a plain line.
    """

    def __init__(self, first="", *, verbose=False):
        self.step_name, self.bar, self.first, self.verbose = "pass", None, first, verbose
        self.moving, self.next = LogBar(), 1

    def say(self, text):
        self._close()
        click.echo(text, err=True)

    def start(self, event, step_name):
        self.step_name, self.moving, self.next = step_name, LogBar(), 1
        if self.first:
            self.say(self.first)
            self.first = ""

    def step(self, progress):
        step = progress.step
        text = f"{self.step_name} {progress.iteration}  objective {'' if step.exact else '~'}{step.objective:.6f}{_distance(progress)}"
        if progress.dev:
            name = "f1" if "f1" in progress.dev else "accuracy"
            text += f"  dev {name} {progress.dev[name]:.2f}"
        text += f"  {progress.passes:.1f} passes  {progress.seconds:.1f} s" + (f"  {step.note}" if step.note else "")
        if not self.verbose and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._show("  ".join(filter(None, (text, self.moving.text(progress)))))
        elif self.verbose or progress.iteration >= self.next:
            self.next = max(progress.iteration + 1, int(GROWTH * progress.iteration) if progress.iteration >= EACH else 0)
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


def _distance(progress):
    """How far from the optimum, and where that will be enough."""
    if progress.distance is None:
        return ""
    goal = f", to be {percent(progress.goal)}" if progress.goal and progress.distance > progress.goal else ""
    return f"  within {'' if progress.proved else '~'}{percent(progress.distance)} of the optimum{goal}"


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


WATCHING = "crftrain.watching"  # what a context knows of further observers


def run_training(ctx, run, settings, quiet, verbose=False):
    """run(settings, observer) under signals, with messages and an exit status."""
    console = Observer() if quiet else Console(replaced(settings.model), verbose=verbose)
    with StopSignal(None if quiet else say_now) as stop:
        try:
            outcome = run(settings, Observers(console, stop, *ctx.meta.get(WATCHING, ())))
        except KeyboardInterrupt:
            ctx.exit(128 + (stop.number or signal.SIGINT))
    if outcome is not None and WATCHING not in ctx.meta:  # else the model is written once more, elsewhere
        console.say(f"{settings.model}: {outcome.model_bytes:,} bytes")
    if stop.number is not None:
        ctx.exit(128 + stop.number)
