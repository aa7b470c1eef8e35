"""Checkpoints: what an algorithm's next step depends on, so that training can go on to the same bits.

A file of named arrays (numpy's .npz), never anything pickled: the algorithm's own state(), the random generator's, the
counters of the outer loop, the best weights on held-out data, and under "run" a JSON text of what must agree.

The reader believes nothing: an array has the type and the shape that the algorithm's own state has, or that its state_shapes() says,
and finite numbers; algorithms refuse what lies outside their range in restore().
"""

import json
import math
import os
import warnings
import zipfile

import numpy as np

from ..errors import CrftrainError, CrftrainWarning
from ..optimizers.base import Step
from ..whole import os_errors, try_replace, writing
from .loop import Monitor

FORMAT = 8  # one more whenever an algorithm keeps its state in another way
WARNINGS = 3  # as often it is told that a checkpoint cannot be written
MISFITS = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)  # what restore() may say of a state that is none


class Checkpoint(Monitor):
    """Writes the state every so many steps, when training is about to be interrupted, and after the last step.

    A checkpoint that cannot be written is a warning, and training goes on.
    """

    def __init__(self, path, every, run, optimiser, rng, *, monitors=(), observer):
        self.path, self.every, self.run = path, every, run
        self.optimiser, self.rng, self.monitors, self.observer = optimiser, rng, monitors, observer
        self.failures, self.written, self.last = 0, None, None
        with os_errors(path, "the checkpoint cannot be written"):
            try_replace(path, regular=True)

    def __call__(self, progress):
        self.last = progress
        if progress.iteration % self.every == 0 or self.observer.interrupted:
            self.write(progress)

    def conclude(self, outcome):
        if self.last is not None and self.written != self.last.iteration:
            self.write(self.last)
        if self.failures > WARNINGS:
            warnings.warn(f"{self.path}: the checkpoint could not be written {self.failures} times", CrftrainWarning, stacklevel=2)

    def write(self, progress):
        try:
            with writing(self.path, regular=True) as file:
                np.savez(file, **self._arrays(progress))
            self.written = progress.iteration
        except OSError as error:
            self.failures += 1
            if self.failures <= WARNINGS:
                reason = f"the checkpoint of step {progress.iteration} cannot be written: {error.strerror or error}"
                warnings.warn(f"{self.path}: {reason}; training goes on", CrftrainWarning, stacklevel=2)

    def _arrays(self, progress):
        arrays = {f"optimiser_{name}": array for name, array in self.optimiser.state().items()}
        for monitor in self.monitors:
            if monitor.best is not None:
                arrays["best"] = monitor.best
        counters = {
            "iteration": progress.iteration,
            "passes": progress.passes,
            "seconds": progress.seconds,
            "step": progress.step._asdict(),
            "rng": self.rng.bit_generator.state,
            "monitors": {monitor.key: monitor.counters() for monitor in self.monitors if monitor.key},
        }
        run = json.dumps({**self.run, "format": FORMAT}, sort_keys=True)
        return {"run": run, "counters": json.dumps(counters, default=_number), **arrays}


def _number(value):
    """A number of numpy's, for JSON."""
    return value.item()


def load(path, run):
    """(arrays, counters) of a checkpoint of the same run."""
    try:
        arrays = _members(path)
        written, counters = json.loads(str(arrays.pop("run"))), json.loads(str(arrays.pop("counters")))
        version = written.pop("format", 1)
    except OSError as error:
        raise CrftrainError(path, f"the checkpoint cannot be read: {error.strerror or error}") from None
    except Exception:  # whatever zip, numpy and JSON say of a file that is none of theirs
        raise CrftrainError(path, "not a checkpoint of crftrain, or damaged") from None
    if version != FORMAT:
        raise CrftrainError(path, f"a checkpoint of format {version}", f"{FORMAT}, that of this version of crftrain")
    now = json.loads(json.dumps(run, sort_keys=True))
    for name in sorted({*written, *now}, key=lambda name: (name == "data", name)):  # a checksum says least
        if written.get(name) != now.get(name):
            raise CrftrainError(path, f"made with {name} {written.get(name)}", f"{now.get(name)} as asked for now")
    return arrays, counters


def _members(path):
    """The arrays of the file, which are stored as they are: no more bytes than the file has."""
    with open(path, "rb") as file:
        with zipfile.ZipFile(file) as archive:
            members, size = archive.infolist(), os.fstat(file.fileno()).st_size
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or sum(member.file_size for member in members) > size:
            raise ValueError("packed")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


def restore(path, run, problem, optimiser, rng, monitors=()):
    """Put everything back; returns (iteration, seconds, the last step)."""
    arrays, counters = load(path, run)
    try:
        start = _start(counters)
        state = {name.removeprefix("optimiser_"): array for name, array in arrays.items() if name.startswith("optimiser_")}
        optimiser.become(state)
        _check_state(state, optimiser)
        optimiser.restore(state)
        _check_generator(counters["rng"], rng)
        rng.bit_generator.state = counters["rng"]
        kept = dict(counters["monitors"])
        for monitor in monitors:
            if monitor.keeps_best or monitor.key in kept:  # --tol may be new
                monitor.restore(kept[monitor.key])
            if monitor.keeps_best:
                _check_array("best", arrays["best"], np.float64, optimiser.solution().shape)
                monitor.best = arrays["best"]
        problem.passes = float(counters["passes"])
        return start
    except MISFITS as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else error
        raise CrftrainError(path, f"the checkpoint does not fit: {reason}") from None


def _start(counters):
    """(iteration, seconds, the last step), each of the type and in the range that it has."""
    iteration, passes, seconds = (counters[name] for name in ("iteration", "passes", "seconds"))
    if not isinstance(iteration, int) or isinstance(iteration, bool) or not 1 <= iteration < 2**53:
        raise ValueError(f"iteration {str(iteration)[:40]}")
    for name, number in (("passes", passes), ("seconds", seconds)):
        if not isinstance(number, float) or not 0 <= number < math.inf:
            raise ValueError(f"{name} {str(number)[:40]}")
    step = Step(**counters["step"])
    if not (isinstance(step.objective, float) and isinstance(step.gap, float) and isinstance(step.exact, bool)):
        raise ValueError("the last step")
    if not (isinstance(step.note, str) and isinstance(step.done, str)):
        raise ValueError("the last step")
    return iteration, seconds, step


def _check_state(state, optimiser):
    """A ValueError where an array has not the type and the shape that the algorithm's own have, or numbers that are not finite."""
    fresh = {name: (array.dtype, array.shape) for name, array in optimiser.state().items()}
    more = optimiser.state_shapes()
    for name in fresh.keys() - more.keys() - state.keys():
        raise ValueError(f"{name!r} is missing")
    for name, array in state.items():
        if name not in more and name not in fresh:
            raise ValueError(f"an array {name!r}")
        _check_array(name, array, *more.get(name, fresh.get(name)), finite=name not in more)


def _check_array(name, array, dtype, shape, *, finite=True):
    """shape: None where a length is free."""
    fits = len(array.shape) == len(shape) and all(wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        raise ValueError(f"{name!r} is {array.dtype}{list(array.shape)}, not {np.dtype(dtype)}{list(shape)}")
    if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name!r} has a number that is not finite")


def _check_generator(state, rng):
    """The shape of numpy's own state, and numbers that NumPy 1 would wrap; what they are else is the generator's to check."""
    own = rng.bit_generator.state
    if _kinds(state) != _kinds(own) or state["bit_generator"] != own["bit_generator"]:
        raise ValueError("the random generator's state")
    if min(state["state"].values()) < 0 or not 0 <= state["uinteger"] < 2**32:
        raise ValueError("the random generator's state")


def _kinds(value):
    """The types of a dictionary's values, of those within it too."""
    return {key: _kinds(part) for key, part in value.items()} if isinstance(value, dict) else type(value)
