"""Checkpoints: what an algorithm's next step depends on, so that training can go on to the same bits.

A file of named arrays (numpy's .npz), never anything pickled: the algorithm's own state(), the random generator's, the
counters of the outer loop, the best weights on held-out data, and under "run" a JSON text of what must agree.
"""

import json
import os

import numpy as np

from ..errors import CrftrainError
from .loop import Monitor

FORMAT = 3  # one more whenever an algorithm keeps its state in another way


class Checkpoint(Monitor):
    """Writes the state every so many steps, and once more when training is about to be interrupted."""

    def __init__(self, path, every, run, optimiser, rng, *, monitors=(), observer):
        self.path, self.every, self.run = path, every, run
        self.optimiser, self.rng, self.monitors, self.observer = optimiser, rng, monitors, observer

    def __call__(self, progress):
        if progress.iteration % self.every == 0 or self.observer.interrupted:
            self.write(progress)

    def write(self, progress):
        arrays = {f"optimiser_{name}": array for name, array in self.optimiser.state().items()}
        for monitor in self.monitors:
            if monitor.best is not None:
                arrays["best"] = monitor.best
        counters = {
            "iteration": progress.iteration,
            "passes": progress.passes,
            "seconds": progress.seconds,
            "rng": self.rng.bit_generator.state,
            "monitors": {monitor.key: monitor.counters() for monitor in self.monitors if monitor.key},
        }
        scratch = f"{self.path}.{os.getpid()}.part"
        try:
            with open(scratch, "wb") as file:
                np.savez(file, run=json.dumps({**self.run, "format": FORMAT}, sort_keys=True), counters=json.dumps(counters), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(scratch, self.path)
        except OSError as error:
            raise CrftrainError(self.path, f"the checkpoint cannot be written: {error.strerror}") from None
        finally:
            if os.path.exists(scratch):
                os.unlink(scratch)


def load(path, run):
    """(arrays, counters) of a checkpoint of the same run."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        written, counters = json.loads(str(arrays.pop("run"))), json.loads(str(arrays.pop("counters")))
    except OSError as error:
        raise CrftrainError(path, f"the checkpoint cannot be read: {error.strerror or error}") from None
    except Exception:  # whatever zip, numpy and JSON say of a file that is none of theirs
        raise CrftrainError(path, "not a checkpoint of crftrain, or damaged") from None
    if (version := written.pop("format", 1)) != FORMAT:
        raise CrftrainError(path, f"a checkpoint of format {version}", f"{FORMAT}, that of this version of crftrain")
    now = json.loads(json.dumps(run, sort_keys=True))
    for name in sorted({*written, *now}, key=lambda name: (name == "data", name)):  # a checksum says least
        if written.get(name) != now.get(name):
            raise CrftrainError(path, f"made with {name} {written.get(name)}", f"{now.get(name)} as asked for now")
    return arrays, counters


def restore(path, run, problem, optimiser, rng, monitors=()):
    """Put everything back; returns (iteration, seconds)."""
    arrays, counters = load(path, run)
    try:
        optimiser.restore({name.removeprefix("optimiser_"): array for name, array in arrays.items() if name.startswith("optimiser_")})
        rng.bit_generator.state = counters["rng"]
        for monitor in monitors:
            if monitor.key in counters["monitors"]:  # --tol may be new
                monitor.restore(counters["monitors"][monitor.key])
            if monitor.keeps_best:
                monitor.best = arrays["best"]
        problem.passes = counters["passes"]
        return counters["iteration"], counters["seconds"]
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise CrftrainError(path, f"the checkpoint does not fit: {error}") from None
