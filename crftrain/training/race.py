"""Algorithms racing on one encoded corpus: what `crftrain compare` does.

    1. the corpus is read and numbered once                                              learn.prepare
    2. f*, the least value of the objective, from the most exact algorithm there is, kept in the folder by a checksum
    3. each entrant is trained, several times with other seeds; its log events, with the exact objective and the test
       scores of each step, go to runs.jsonl, its figures to summary.tsv
    4. a table says who leads after so many effective passes, and after so many seconds; plot.py draws the curves

A run that fails is a row that says so. Seconds are those of the optimisation alone, as `learn --log` has them.
"""

import io
import json
import math
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import optimizers
from ..errors import CrftrainError
from ..whole import os_errors
from ..whole import replace as write_whole
from .events import SILENT, Log, Unheard, end_event, fingerprint, plain, start_event, step_event
from .heldout import HeldOutData
from .learn import prepare
from .loop import Monitor
from .proof import Goal
from .train import fit_point

SUMMARY = ("run", "seed", "steps", "passes", "seconds", "objective", "distance", "gap", "score", "error", "reason")
MARKS = (1, 2, 5, 10, 20, 50)  # effective passes; seconds have as many, the last of them past the longest run
EXACT = ("newton-cg", "lbfgs")  # for f*, the best first
EXACT_L1 = ("owlqn",)
TIGHT = 1e-9  # f - f* over f, proved; without squared penalty the gap over that at zero


@dataclass(frozen=True)
class Entrant:
    """An algorithm and its options, as written: sag:sampling=uniform,batch=2."""

    text: str
    algorithm: object
    options: dict

    @classmethod
    def parse(cls, text):
        """ValueError says what was expected."""
        name, _, rest = text.partition(":")
        try:
            algorithm = optimizers.get(name)
        except KeyError:
            raise ValueError(f"no algorithm is called {name!r}, expected one of {', '.join(optimizers.names())}") from None
        options = algorithm.defaults()
        for setting in filter(None, rest.split(",")):
            key, _, value = setting.partition("=")
            option = algorithm.option(key.strip().replace("-", "_"))
            if option is None:
                raise ValueError(f"{name} has no option {key!r}, expected one of {', '.join(options) or 'none'}")
            options[option.name] = option.parse(value)
        return cls(text, algorithm, options)


@dataclass
class Run:
    """One training: the curve as (passes, seconds, objective, test scores or None) after each step."""

    name: str
    seed: int
    curve: list = field(default_factory=list)
    end: dict | None = None
    error: str = ""

    def before(self, axis, limit):
        """The last objective within so many passes (axis 0) or seconds (axis 1), or None."""
        return next((point[2] for point in reversed(self.curve) if point[axis] <= limit), None)


class Recorder(Monitor):
    """Keeps the curve and writes the events."""

    def __init__(self, run, log, evaluate):
        self.run, self.log, self.evaluate = run, log, evaluate

    def __call__(self, progress):
        scores = self.evaluate(progress.solution)[1] if self.evaluate else None
        event = step_event(progress)
        self.run.curve.append((progress.passes, progress.seconds, progress.step.objective, scores))
        self.log.write("step", run=self.run.name, seed=self.run.seed, **event, **({"test": scores} if scores else {}))


def compare(settings, entrants, observer=SILENT, *, repeat=1, jobs=1):
    """Race the entrants under the settings (whose algorithm does not matter); returns (runs, the optimum's facts)."""
    out = Path(settings.out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CrftrainError(out, f"the folder cannot be made: {error.strerror}") from None
    training = prepare(settings, observer)
    tests = _tests(settings, training)
    found = optimum(settings, training, out, observer)
    observer.say(f"f* = {found['objective']:.12g} by {found['algorithm']}, f - f* <= {_shown(found['bound'])} there")
    wanted = [(entrant, seed) for entrant in entrants for seed in range(settings.seed, settings.seed + repeat)]
    runs = []
    with Log.to(out / "runs.jsonl") as log, observer.busy():
        for run in _races(settings, training, tests, wanted, log, jobs, observer):
            runs.append(run)
            observer.say(f"{run.name}, seed {run.seed}: " + (run.error or _told(run, found)))
            write_summary(out / "summary.tsv", runs, found)
            if observer.interrupted:
                break
    return runs, found


def _races(settings, training, tests, wanted, log, jobs, observer):
    """One run after the other, or in so many processes, each of which leaves its events to be copied."""
    if jobs == 1:
        for entrant, seed in wanted:
            yield race(settings, training, tests, entrant, seed, log, observer)
        return
    with ProcessPoolExecutor(jobs) as pool:
        pending = [pool.submit(_race_apart, settings, entrant.text, seed) for entrant, seed in wanted]
        for future in pending:
            try:
                run, lines = future.result()
            except BrokenProcessPool:
                raise CrftrainError("", "a process of the race was ended from outside", "fewer --jobs, if memory was short") from None
            log.copy(lines)
            yield run


def _tests(settings, training):
    return HeldOutData.read(settings.test, training.vocabulary, encoding=settings.encoding) if settings.test else None


def _race_apart(settings, text, seed):
    """A race in a process of its own, which reads the corpus again; (run, its events as lines)."""
    training = prepare(settings)
    with io.StringIO() as lines:
        run = race(settings, training, _tests(settings, training), Entrant.parse(text), seed, Log(lines), SILENT)
        return run, lines.getvalue()


def race(settings, training, tests, entrant, seed, log, observer):
    """Train once and record; a failure is kept in the run."""
    run = Run(entrant.text, seed)
    settings = replace(settings, algorithm=entrant.algorithm, options=entrant.options, seed=seed, trace=True)
    recorder = Recorder(run, log, tests.scorer(training.layout) if tests else None)
    log.write("start", run=run.name, **start_event(settings, training, 0), encode_seconds=training.encode_seconds)
    try:
        outcome, _ = fit_point(settings, training, watching=[recorder], observer=Unheard(observer))
        run.end = end_event(outcome)
    except (CrftrainError, MemoryError) as error:
        run.error = f"failed: {error}"
        run.end = {"reason": run.error}
    log.write("end", run=run.name, seed=seed, **run.end)
    return run


def optimum(settings, training, out, observer):
    """The least objective and its certificate, from the folder if it was found before."""
    l2, l1 = (strength.at(training.corpus.n_sequences) for strength in settings.points[0])
    path = out / f"optimum-{fingerprint(training):08x}-{l2:.17g}-{l1:.17g}.json"
    if known := _known_optimum(path, training):
        return known
    name = next(name for name in (EXACT_L1 if l1 else EXACT) if name in optimizers.names())
    observer.say(f"looking for f* with {name}")
    algorithm = optimizers.get(name)
    exact = replace(settings, algorithm=algorithm, options=algorithm.defaults(), passes=5000, max_passes=None, max_seconds=None)
    outcome, _ = fit_point(exact, training, goal=Goal(distance=TIGHT, slope=None if l2 else TIGHT))
    found = {"algorithm": name, "objective": outcome.objective, "gap": outcome.gap, "bound": outcome.bound, "reason": outcome.reason}
    found = plain({**found, "n_sequences": training.corpus.n_sequences})
    with os_errors(path, "cannot be written"):
        write_whole(path, [json.dumps(found).encode()])
    return found


def _known_optimum(path, training):
    """What is in the file, if all of it is there and can be."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        numbers = [found["objective"], found["gap"], 0.0 if found["bound"] is None else found["bound"]]
        good = all(isinstance(number, float) and 0 <= number < math.inf for number in numbers)
        good = good and found["objective"] > 0 and found["n_sequences"] == training.corpus.n_sequences
        return found if good and isinstance(found["algorithm"], str) and isinstance(found["reason"], str) else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def distance(objective, found):
    """(f - f*) / f*; nan if there is no f."""
    return math.nan if objective is None else objective / found["objective"] - 1


def write_summary(path, runs, found):
    """A row for each run, in the columns of SUMMARY; what is not known is empty."""
    lines = ["\t".join(SUMMARY)]
    for run in runs:
        passes, seconds, objective, scores = run.curve[-1] if run.curve else (None, None, None, None)
        score = scores and scores.get("f1", scores["accuracy"])
        row = (run.name, run.seed, len(run.curve), passes, seconds, objective, distance(objective, found), run.end.get("gap"))
        row += (score, scores and 100 - scores["accuracy"], run.end["reason"])
        lines.append("\t".join(_cell(value) for value in row))
    with os_errors(path, "cannot be written"):
        write_whole(path, ["".join(line + "\n" for line in lines).encode()])


def read_summary(path):
    """The rows of a summary as dictionaries of strings."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [dict(zip(SUMMARY, line.split("\t"), strict=True)) for line in lines[1:]]


def _cell(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value).replace("\t", " ")


def leaders(runs, found):
    """The lines of two tables: the distance to f* of each entrant after so many passes, and seconds; * marks the least."""
    names = list(dict.fromkeys(run.name for run in runs))
    width = max(len("passes"), *map(len, names))
    for axis, unit, marks in ((0, "passes", MARKS), (1, "seconds", second_marks(runs))):
        yield f"{unit:<{width}}" + "".join(f"{mark:>10g}" for mark in marks)
        cells = [[_middle([run.before(axis, mark) for run in runs if run.name == name], found) for mark in marks] for name in names]
        leasts = [min((x for x in column if not math.isnan(x)), default=math.nan) for column in zip(*cells, strict=True)]
        for name, row in zip(names, cells, strict=True):
            shown = ("-" if math.isnan(x) else f"{x:.1e}" + ("*" if x <= least else " ") for x, least in zip(row, leasts, strict=True))
            yield f"{name:<{width}}" + "".join(f"{cell:>10}" for cell in shown)
        yield ""


def second_marks(runs):
    """1, 2, 5, 10 .. in the power of ten that fits: as many as MARKS, the last one just past the longest run."""
    longest = max((run.curve[-1][1] for run in runs if run.curve), default=MARKS[-1])
    series = [digit * 10.0**power for power in range(-5, 8) for digit in (1, 2, 5)]
    last = next((k for k, mark in enumerate(series) if mark >= longest), len(series) - 1)
    return series[max(last + 1 - len(MARKS), 0) : last + 1]


def _middle(values, found):
    """The median distance over the repeats that have one."""
    known = sorted(distance(value, found) for value in values if value is not None)
    return known[len(known) // 2] if known else math.nan


def _shown(bound):
    return "?" if bound is None else f"{bound:.2g}"


def _told(run, found):
    passes, seconds, objective, scores = run.curve[-1]
    score = "" if not scores else "".join(f", {name} {value:.2f}" for name, value in scores.items())
    return f"{passes:.1f} passes, {seconds:.2f} s, distance {distance(objective, found):.1e}{score}; {run.end['reason']}"
