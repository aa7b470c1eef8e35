"""Who gets how near to the optimum in how many seconds: every algorithm of crftrain, and the peers on the same features.

Each run has the same share of the time (`--minutes`, `--seconds`) and leaves off when that is over.
"""

import math
import tempfile
from dataclasses import dataclass

from crftrain import optimizers

from .. import peers
from ..process import Failed, learn, tag_and_score
from ..report import Row, number, table
from ..tasks import Setting

TITLE = "The race to the optimum"
MARKS = ("1e-1", "1e-2", "1e-3", "1e-4")
SHARPER = 0.1  # of each algorithm's own --tol, so that it does not stop before the last mark
HEADING = ("run", "s/pass", *MARKS, "last", "peak MB", "model kB", "score", "tag s", "note")
LEGEND = f"""\
s/pass: seconds of an effective pass (crftrain) or of an iteration (peers). {MARKS[0]} .. {MARKS[-1]}: seconds until (f - f*)/f* was
so small. last: (f - f*)/f* at the end. peak MB: the whole process. score: chunk F1 or accuracy on the test file. tag s: the test file;
for crftrain the whole process, for peers the calls alone, on attributes already made. Peers' seconds are those of their logs; Wapiti's
include the decoding of the training data after each iteration, which it always does. Everybody has the attributes that
`crftrain features` prints, also for names outside the sentence (Wapiti's own templates would write _x-1 for _B-1)."""


@dataclass(frozen=True)
class Entrant:
    """One of our algorithms, or a peer."""

    name: str
    algorithm: str | peers.Peer

    @property
    def ours(self):
        return isinstance(self.algorithm, str)

    def run(self, setting, found, folder, seconds):
        race = race_ours if self.ours else race_peer
        return race(setting, self.algorithm, found, folder, seconds)


def settings(bench):
    """What is raced on: the observed features, all of them where Wapiti can be raced in bearable time, and an l1 penalty."""
    for task in bench.tasks:
        if task.format == "conll":
            yield Setting(task, "observed")
        if task.name in ("conll2000", "ocr", "data"):
            yield Setting(task, "full")
        if task.name in ("conll2000", "data"):
            yield Setting(task, "full", l2="0", l1="1/n")


def entrants(bench, setting):
    """Ours (with --quick one is enough where peers need all features), then the peers that are installed."""
    need = {"l1", "no-l2"} if setting.l1 != "0" else {"l2"}
    able = [name for name in optimizers.names() if optimizers.get(name).minimises and need <= optimizers.get(name).solves]
    ours = [Entrant(f"crftrain {name}", name) for name in able if not bench.algorithms or name in bench.algorithms]
    again = setting.features == "full" and setting.task.format == "conll"
    theirs = [peer for peer in peers.for_setting(setting) if peer.is_installed and not (again and peer.once)]
    return ours[: 1 if bench.quick and again else None] + [Entrant(peer.name, peer) for peer in theirs]


def race_ours(setting, name, found, folder, seconds):
    own = optimizers.get(name).tol
    limits = (*(("--tol", own * SHARPER) if own else ()), "--max-seconds", round(seconds, 2), "--passes", 100_000)
    log, finished = learn(setting, folder, "-a", name, "--trace", *limits, timeout=120 + 10 * seconds)
    tag_seconds, score = tag_and_score(f"{folder}/model.bin", setting.task, folder)
    return peers.Run(
        f"crftrain {name}",
        ours=True,
        curve=log.curve,
        seconds_per_pass=log.seconds_per_pass,
        peak_mb=finished.peak_mb,
        model_bytes=log.end["model_bytes"],
        score=score,
        tag_seconds=tag_seconds,
        n_features=log.start["n_features"],
        note=log.end["reason"],
    )


def race_peer(setting, peer, found, folder, seconds):
    if found.n_features > peer.most_features:
        return peers.Run(peer.name, note=f"left out: too slow for {found.n_features:,} features")
    run_ = peers.train(peer, setting, found.n, folder, seconds=seconds, timeout=180 + 4 * seconds)
    if run_.n_features != found.n_features:
        run_.note = f"{run_.n_features:,} features, not ours; {run_.note}"
    return run_


def race(bench, setting, starters):
    """(runs, f*, where f* is from, the Optimum that tells n and the features)"""
    found = bench.optimum(setting)
    least, origin = (found.f, found.reason) if found else (math.inf, "the least value seen by any run")
    found = found or bench.optimum(Setting(setting.task, setting.features))
    runs = []
    for entrant in starters:
        seconds = bench.share()
        bench.say(f"{setting.task.name}, {setting.shown}: {entrant.name}, {seconds:.1f} s")
        with tempfile.TemporaryDirectory() as folder:
            try:
                runs.append(entrant.run(setting, found, folder, seconds))
            except Failed as error:
                runs.append(peers.Run(entrant.name, entrant.ours, note=str(error), failed=True))
    seen = min((f for run in runs if run.exact for _, f in run.curve if f is not None), default=math.inf)
    if seen < least * (1 - 1e-9):
        least, origin = seen, "the least value seen by any run"
    return runs, least, origin, found


def rows_of(runs, f_star, setting):
    """One row for each run and figure; beside ours the best of the peers."""

    def row(run, what, value, best):
        name = run.name.removeprefix("crftrain ")
        ours, other = (value, best) if run.ours else (None, value)
        ratio = ours / other if ours is not None and other else None
        return Row(f"{name}: {what}", ours, other, ratio, task=setting.task.name, features=setting.shown)

    figures = {f"seconds to {mark}": lambda run, mark=mark: run.seconds_to(f_star * (1 + float(mark))) for mark in MARKS}
    figures |= {"seconds a pass": lambda run: run.seconds_per_pass, "peak MB": lambda run: run.peak_mb}
    figures |= {"model bytes": lambda run: run.model_bytes, "tag seconds": lambda run: run.tag_seconds}
    for what, of in figures.items():
        best = min((value for run in runs if not run.ours and (value := of(run)) is not None), default=None)
        yield from (row(run, what, of(run), best) for run in runs if of(run) is not None)
    yield from (row(run, "score", run.score, None) for run in runs if run.score is not None)
    yield from (Row(f"{run.name}: failed", task=setting.task.name, features=setting.shown, failed=True) for run in runs if run.failed)


def shown(runs, f_star):
    """The table for people, the fastest to the last mark first."""

    def whole(x):
        return number(None if x is None else round(x))

    def cells(run):
        marks = [number(run.seconds_to(f_star * (1 + float(mark))), 3) for mark in MARKS]
        last = NO_VALUE if run.last is None else f"{run.last / f_star - 1:.1e}"
        kilobytes = None if run.model_bytes is None else run.model_bytes / 1e3
        rest = (whole(run.peak_mb), whole(kilobytes), number(run.score), number(run.tag_seconds, 2), run.note)
        return (run.name, number(run.seconds_per_pass, 3), *marks, last, *rest)

    def order(run):
        times = [run.seconds_to(f_star * (1 + float(mark))) for mark in reversed(MARKS)]
        return [math.inf if time is None else time for time in times]

    return table(HEADING, map(cells, sorted(runs, key=order)))


NO_VALUE = "-"


def run(bench):
    """Yield the rows of all races."""
    fields = [(setting, starters) for setting in settings(bench) if (starters := entrants(bench, setting))]
    bench.expect(sum(len(starters) for _, starters in fields))
    print(LEGEND + "\n")
    for setting, starters in fields:
        runs, f_star, origin, found = race(bench, setting, starters)
        what = f"{setting.task.name}, {found.n_features:,} features ({setting.features}), {setting.penalty}"
        print(f"{what}: n f* = {found.n * f_star:.8g} ({origin})\n")
        print(shown(runs, f_star) + "\n")
        yield from rows_of(runs, f_star, setting)
