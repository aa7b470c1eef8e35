"""What a command that trains shows on the terminal, and how it ends."""

import contextlib
import os
import signal
import stat
import sys
import textwrap
import threading
import time
from datetime import date, datetime

import click

from ..training.events import Observer, Observers, distance_text
from ..training.signals import StopSignal
from .bar import LogBar

EACH, GROWTH = 5, 1.4  # where there is no terminal: each of the first steps, then ever fewer
MUCH = 100_000  # sentences: who reads as many without a terminal is told, and again at twice as many
INTERVAL = 0.5  # seconds between two looks at the reading, and before the first
NARROW = 80  # columns, where the terminal does not say
ROOMY = 100  # columns that a step's plain line takes


class Console(Observer):
    """Tells the user everything on stderr; a step is a line that changes on a terminal, else some steps have a plain line each.

    first: what to say when training begins. verbose: each step has a plain line.
    """

    def __init__(self, first="", *, verbose=False):
        self.step_name, self.bar, self.first, self.verbose = "pass", None, first, verbose
        self.moving, self.next, self.much, self.shown = LogBar(), 1, MUCH, time.monotonic()
        self.drawing = threading.Lock()  # folds in several threads tell how far they are

    def say(self, text):
        with self.drawing:
            self._close()
            click.echo(_wrapped(text, _columns()) if _moves() else text, err=True)

    def start(self, event, step_name):
        self.step_name, self.moving, self.next = step_name, LogBar(), 1
        if self.first:
            self.say(self.first)
            self.first = ""

    def step(self, progress):
        if not self.verbose and _moves():
            self._show(self._moving_line(progress, _columns()))
        elif self.verbose or progress.iteration >= self.next:
            self.next = max(progress.iteration + 1, int(GROWTH * progress.iteration) if progress.iteration >= EACH else 0)
            click.echo("  ".join(self._parts(progress)), err=True)

    def folding(self, where, progress):
        if _moves():
            parts = where, f"step {progress.iteration}", distance_text(progress), f"{progress.seconds:.1f} s"
            with self.drawing:
                self._show(fitting([part for part in parts if part], _columns()), stays=False)

    def _moving_line(self, progress, width):
        """What matters most comes first, and the bar takes the room that there is."""
        first, *rest = self._parts(progress, short=True)
        distance = distance_text(progress)
        line = fitting([first, distance] if distance else [first], width)
        bar = self.moving.text(progress, width - len(line) - 3)
        return fitting([part for part in (line, bar, *rest) if part], width)

    def _parts(self, progress, *, short=False):
        """What a step has to tell; short: without the distance, and the objective later."""
        step, dev = progress.step, progress.dev or {}
        objective = f"objective {'' if step.exact else '~'}{step.objective:.6f}"
        scores = [f"dev {name} {dev[name]:.2f}" for name in ("f1", "accuracy") if name in dev][:1]
        traffic = "" if progress.traffic is None else str(progress.traffic)
        first, passes, seconds = f"{self.step_name} {progress.iteration}", f"{progress.passes:.1f} passes", f"{progress.seconds:.1f} s"
        if short:
            parts = first, *scores, seconds, objective, passes, traffic, step.note
        else:
            of = " of the optimum" if not sys.stderr.isatty() or _columns() >= ROOMY else ""
            parts = first, objective, distance_text(progress, of), *scores, passes, seconds, traffic, step.note
        return [part for part in parts if part]

    def reading(self, source, sentences):
        text = f"reading {source}: {sentences:,} sentences"
        if _moves():
            if time.monotonic() - self.shown > INTERVAL:
                self.shown = time.monotonic()
                self._show(fitting([text], _columns()), stays=False)
        elif sentences >= self.much:
            self.much = 2 * sentences
            click.echo(text, err=True)

    def _show(self, text, *, stays=True):
        from tqdm import tqdm

        if self.bar is not None and self.bar.leave != stays:
            self._close()
        if self.bar is None:
            self.bar = tqdm(bar_format="{desc}", file=sys.stderr, leave=stays)
        self.bar.set_description_str(text)

    def _close(self):
        if self.bar is not None:
            self.bar.close()
            if not self.bar.leave:
                click.echo("\33[K", nl=False, err=True)  # the ^C behind it
            self.bar = None


def _moves():
    """Whether there is a terminal on which a line can change."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns():
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or NARROW
    except (OSError, ValueError):
        return NARROW


def fitting(parts, width):
    """As many parts as a line of that width has room for, the first cut to it."""
    line = parts[0][: width - 1]
    for part in parts[1:]:
        if len(line) + 2 + len(part) >= width:
            break
        line += "  " + part
    return line


def _wrapped(text, width):
    """Lines broken between words, where a terminal would break them within."""

    def broken(line):
        return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

    return "\n".join(part for line in text.split("\n") for part in (broken(line) if len(line) > width else [line]))


def say_now(text):
    """For signal handlers: Python's stderr refuses a second write while it is in the middle of one."""
    below = "\n" if _moves() else ""  # the ^C behind what moves
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"{below}{text}\n".encode())


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
            console.say(stop.interrupted or "interrupted")
            ctx.exit(128 + (stop.number or signal.SIGINT))
    if outcome is not None and WATCHING not in ctx.meta:  # else the model is written once more, elsewhere
        console.say(f"{settings.model}: {outcome.model_bytes:,} bytes")
    if stop.number is not None:
        ctx.exit(128 + stop.number)
