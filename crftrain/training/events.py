"""What a training tells while it runs: to whom (Observer), and in which words (the events of a log, the facts of a model).

    say(text)                  something that people may want to read
    start(event, step_name)    training at one strength begins
    step(progress)             a step was made; an answer other than None is a reason to stop
    folding(where, progress)   a step was made in a fold; several threads may tell so at a time
    folded(folded)             cross-validation is over, or interrupted; a Folded
    end(event)                 training at one strength is over, or all of it: then the event has "model_bytes"
    busy()                     in this context an interruption waits for the end of a step,
    idle()                     and in this one, inside of the other, it does not: there is nothing to do but wait for data
    interrupted                why nothing further shall begin, or None

Nothing else goes out of a training before it returns. A training without an observer is silent and is not interrupted.
"""

import contextlib
import json
import math
import sys
import warnings
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from .. import __version__
from ..chain.checksum import checksum
from ..errors import CrftrainError, CrftrainWarning

MEGABYTE = 1 << 20
_UP = Context(prec=2, rounding=ROUND_CEILING)
LIMITS = ("passes", "max_passes", "max_seconds", "tol", "select", "patience")


class Observer:
    """Listens, and does nothing with what it hears."""

    @property
    def interrupted(self):
        return None

    def say(self, text):
        pass

    def reading(self, source, sentences):
        """So many sentences of a file have been read."""

    def start(self, event, step_name):
        pass

    def step(self, progress):
        return None

    def folding(self, where, progress):
        pass

    def folded(self, folded):
        pass

    def end(self, event):
        pass

    def busy(self):
        return contextlib.nullcontext()

    def idle(self):
        return contextlib.nullcontext()


SILENT = Observer()


class Observers(Observer):
    """Several as one, in their order."""

    def __init__(self, *observers):
        self.observers = observers

    def say(self, text):
        for observer in self.observers:
            observer.say(text)

    def reading(self, source, sentences):
        for observer in self.observers:
            observer.reading(source, sentences)

    def start(self, event, step_name):
        for observer in self.observers:
            observer.start(event, step_name)

    def step(self, progress):
        reasons = [observer.step(progress) for observer in self.observers]
        return next((reason for reason in reasons if reason), None)

    def folding(self, where, progress):
        for observer in self.observers:
            observer.folding(where, progress)

    def folded(self, folded):
        for observer in self.observers:
            observer.folded(folded)

    def end(self, event):
        for observer in self.observers:
            observer.end(event)

    def busy(self):
        return self._all(observer.busy() for observer in self.observers)

    def idle(self):
        return self._all(observer.idle() for observer in self.observers)

    @staticmethod
    @contextlib.contextmanager
    def _all(contexts):
        with contextlib.ExitStack() as stack:
            for context in contexts:
                stack.enter_context(context)
            yield

    @property
    def interrupted(self):
        return next((observer.interrupted for observer in self.observers if observer.interrupted), None)


class Unheard(Observer):
    """Hears nothing of what is tried on the way to a model, and may still interrupt it."""

    def __init__(self, observer):
        self.observer = observer

    @property
    def interrupted(self):
        return self.observer.interrupted

    def step(self, progress):
        return self.interrupted


class Log(Observer):
    """JSON lines for scripts and benchmarks; what is unknown is null, never NaN.

    Training goes on without a log that cannot be written any more, with a warning.
    """

    def __init__(self, file=None):
        self.file, self.where = file, {}

    @classmethod
    def to(cls, path):
        """A log in a file; without a path nothing is logged."""
        try:
            return cls(open(path, "w", encoding="utf-8") if path else None)
        except (OSError, ValueError) as error:
            raise CrftrainError(path, f"the log cannot be written: {getattr(error, 'strerror', None) or error}") from None

    def write(self, event, **values):
        if self.file:
            with self._or_without():
                print(json.dumps({"event": event, **{key: plain(value) for key, value in values.items()}}), file=self.file, flush=True)

    def copy(self, lines):
        """Events that another log has written."""
        if self.file:
            with self._or_without():
                self.file.write(lines)
                self.file.flush()

    @contextlib.contextmanager
    def _or_without(self):
        try:
            yield
        except OSError as error:
            file, self.file = self.file, None
            with contextlib.suppress(OSError):
                file.close()
            reason = f"the log cannot be written any more: {error.strerror or error}"
            warnings.warn(f"{getattr(file, 'name', 'log')}: {reason}; training goes on without it", CrftrainWarning, stacklevel=2)

    def start(self, event, step_name):
        self.where = {"path": event["path"]} if "path" in event else {}
        self.write("start", **event)

    def step(self, progress):
        if self.file:
            self.write("step", **self.where, **step_event(progress))

    def folded(self, folded):
        self.write("folds", **folded.event)

    def end(self, event):
        self.write("end", **event)

    def close(self):
        if self.file:
            with self._or_without():
                self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def plain(value):
    """The value for JSON: no numpy numbers, null for what is not finite."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


def fingerprint(training):
    """A checksum of the encoded corpus and of which weights there are."""
    check, layout = training.checksum(), training.layout
    for array in (layout.ptr, layout.transition, layout.pair):
        check = checksum(array, check)
    return check


def run_facts(settings, training, problem):
    """What a checkpoint and the run that goes on with it must agree in."""
    return {
        **training.facts,
        "algorithm": settings.algorithm.name,
        "options": settings.options,
        "lambda": problem.l2,
        "l1": problem.l1,
        "seed": settings.seed,
        **_deciding_threads(settings),
        "dev": settings.dev,
        "data": fingerprint(training),
        **({"legal": training.vocabulary.legal.said} if training.vocabulary.legal is not None else {}),
    }


def start_event(settings, training, point):
    l2, l1 = (strength.at(training.n_sequences) for strength in settings.points[point])
    return {
        "algorithm": settings.algorithm.name,
        "options": settings.options,
        **training.facts,
        "lambda": l2,
        "l1": l1,
        "threads": settings.threads,
        "seed": settings.seed,
    }


def _deciding_threads(settings):
    """How many there are, where a method is chosen by it; else no number depends on them."""
    return {"threads": settings.threads} if settings.algorithm.adapts else {}


def step_event(progress):
    step = progress.step
    return {
        "iteration": progress.iteration,
        "passes": progress.passes,
        "seconds": progress.seconds,
        "objective": step.objective,
        "exact": step.exact,
        "gap": step.gap,
        "distance": progress.distance,
        "proved": progress.proved,
        "active": int(np.count_nonzero(progress.solution)),
        **({"dev": progress.dev} if progress.dev else {}),
        **(progress.traffic.facts if progress.traffic else {}),
    }


def end_event(outcome):
    return {
        "reason": outcome.reason,
        "iteration": outcome.iteration,
        "passes": outcome.passes,
        "seconds": outcome.seconds,
        "objective": outcome.objective,
        "gap": outcome.gap,
        "bound": outcome.bound,
        "proved": outcome.proved,
        "active": outcome.active,
        **({"best_iteration": outcome.best_iteration, "dev": outcome.dev} if outcome.dev else {}),
    }


def last_event(outcome, model_bytes):
    """The end of everything: what was chosen, and the size of the model that was written, None if there is none."""
    return {**end_event(outcome), "peak_rss_mb": peak_rss(), "model_bytes": model_bytes}


def model_facts(settings, training, point, outcome):
    """What the model says of its training; nothing that differs between two runs alike."""
    facts = start_event(settings, training, point)
    del facts["threads"]
    return {
        **facts,
        **_deciding_threads(settings),
        "version": __version__,
        "features": settings.features,
        "transitions": settings.transitions,
        "min_freq": settings.min_freq,
        "converged": outcome.converged,
        "reason": outcome.reason,
        "iteration": outcome.iteration,
        "passes": outcome.passes,
        "objective": outcome.objective,
        "gap": outcome.gap,
        "bound": outcome.bound,
        "proved": outcome.proved,
        **({"best_iteration": outcome.best_iteration, "dev": outcome.dev} if outcome.dev else {}),
    }


def limits(settings):
    """What the model says of how far it was asked to be trained, where that was asked."""
    asked = {name: getattr(settings, name) for name in LIMITS if name in settings.given}
    return {"limits": asked} if asked and not settings.update else {}


def ending(outcome, algorithm):
    """How training ended, and what is kept of it, which with held-out data is another step: lines for the user."""
    ended = f"{outcome.reason}: {algorithm.step_name} {outcome.iteration}, {outcome.passes:.1f} effective passes, {outcome.seconds:.2f} s"
    numbers = f"objective {outcome.objective:.8g}, {outcome.active:,} active features"
    if outcome.dev:
        last = "" if outcome.proved_last is None else f", {proved_text(outcome.proved_last, outcome.gap)}"
        return (
            f"{ended}{last}\nkept {algorithm.step_name} {outcome.best_iteration}: held-out {scores_text(outcome.dev)}; {numbers}; "
            f"{proved_text(outcome.proved, outcome.gap)}"
        )
    lines = [f"{ended}; {numbers}"]
    if not outcome.converged and not math.isnan(outcome.gap):
        lines.append("not converged: the optimum is not reached, which the model file says too")
    return "\n".join([*lines, proved_text(outcome.proved, outcome.gap)])


def proved_text(distance, gap):
    """What is proved of weights, in words."""
    if distance is None:
        return f"nothing is proved without a penalty; the largest entry of the gradient is {gap:.2g}"
    return f"within {percent(distance)} of the optimum, proved"


def distance_text(progress, of=""):
    """How far from the optimum, and where that will be enough."""
    if progress.distance is None:
        return ""
    goal = ""
    if progress.goal and progress.distance > progress.goal:
        goal = f", to be {percent(progress.goal)}"
    elif progress.goal and not progress.proved:
        goal = ", to be proved"
    return f"within {'' if progress.proved else '~'}{percent(progress.distance)}{of}{goal}"


def percent(share):
    """Two digits, rounded up, so that it says no more than is known."""
    exact = Decimal(f"{100 * min(share, 1e4):.12g}")
    return f"{float(_UP.create_decimal(exact)):.2g} %" if share < 0.99 else f"{math.ceil(exact)} %"


def scores_text(scores):
    """{"f1": 93.1, ...} as text."""
    return ", ".join(f"{name} {value:.4f}" if name == "likelihood" else f"{name} {value:.2f}" for name, value in scores.items())


def peak_rss():
    """The most memory that this process has held, in MB; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else MEGABYTE)
