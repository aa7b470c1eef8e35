"""The peers: how they are called, what their logs say, and their objective in our scale.

    CRFsuite    sum loss + c2 |w|^2 + c1 |w|_1          = n f    with c2 = n lambda / 2, c1 = n lambda1
    Wapiti      sum loss + rho2/2 |w|^2 + rho1 |w|_1    = n f    with rho2 = n lambda,   rho1 = n lambda1

The seconds are those of their own logs: processor time, for Wapiti without the system's share, but with the decoding of the
training data after each iteration, which it always does. Reading and making features are not in them, nor in crftrain's.
"""

import importlib.util
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .process import Failed, run, score, work
from .tasks import YARDSTICK

MODULES = {"python-crfsuite": "pycrfsuite", "libwapiti": "wapiti"}
MARK = "=== measured run\n"


def installed(module):
    return importlib.util.find_spec(module) is not None


@dataclass
class Run:
    """A training that was measured; the curve is [(seconds, f), ...], f of our scale, or None where it is not known."""

    name: str
    ours: bool = False
    curve: list = field(default_factory=list)
    seconds_per_pass: float | None = None
    peak_mb: float | None = None
    model_bytes: int | None = None
    score: float | None = None
    tag_seconds: float | None = None
    n_features: int | None = None
    note: str = ""
    failed: bool = False
    exact: bool = True  # the curve is the objective itself, not an estimate of it

    def seconds_to(self, target):
        """When f first was at most the target, or None."""
        return next((seconds for seconds, f in self.curve if f is not None and f <= target), None)

    @property
    def last(self):
        known = [f for _, f in self.curve if f is not None]
        return known[-1] if known else None


@dataclass(frozen=True)
class Peer:
    """One algorithm of a peer. `loss` says what the log's objective is: exact, estimate (while the weights change), none of ours."""

    package: str
    algorithm: str
    l1: bool = False  # for an objective with l1 > 0, not for one without
    loss: str = "exact"
    note: str = ""
    once: bool = False  # raced on a task's own features only, not again on all of them
    most_features: float = float("inf")  # more would take minutes a pass
    iterations: int | None = None

    @property
    def name(self):
        return f"{self.package} {'owl-qn' if self.l1 and self.algorithm.replace('-', '') == 'lbfgs' else self.algorithm}"

    @property
    def is_installed(self):
        return installed(MODULES[self.package])


EPOCHS = {"loss": "none", "note": "epochs of another objective", "iterations": 10, "once": True}
PEERS = (
    Peer("python-crfsuite", "lbfgs"),
    Peer("python-crfsuite", "l2sgd", loss="estimate", note="its running estimate, calibration included", once=True),
    Peer("python-crfsuite", "ap", **EPOCHS),
    Peer("python-crfsuite", "pa", **EPOCHS),
    Peer("python-crfsuite", "arow", **EPOCHS),
    Peer("libwapiti", "l-bfgs"),
    Peer("libwapiti", "rprop"),
    Peer("libwapiti", "bcd", loss="end", note="prints no objective: that of the end", most_features=1e5),
    Peer("python-crfsuite", "lbfgs", l1=True),
    Peer("libwapiti", "l-bfgs", l1=True),
    Peer("libwapiti", "sgd-l1", l1=True, loss="end", note="prints no objective: that of the end"),
)


def for_setting(setting):
    """The peers that can solve a setting with the same features; Wapiti always has all of them."""
    return [peer for peer in PEERS if peer.l1 == (setting.l1 != "0") and (peer.package != "libwapiti" or setting.features == "full")]


def parse_crfsuite(text):
    """[(seconds so far, loss), ...] of the iterations of one training; the calibration of l2sgd counts."""
    text = text.rpartition(MARK)[2]
    calibration = re.search(r"Best learning rate \(eta\).*\nSeconds required: ([\d.]+)", text)
    seconds, curve = float(calibration[1]) if calibration else 0.0, []
    for block in re.split(r"\*{5} (?:Iteration|Epoch) #\d+ \*{5}\n", text)[1:]:
        loss = re.search(r"^Loss: (\S+)", block, re.MULTILINE)
        spent = re.search(r"^Seconds required for this iteration: ([\d.]+)", block, re.MULTILINE)
        if loss and spent:
            seconds += float(spent[1])
            curve.append((seconds, float(loss[1])))
    return curve


def crfsuite_iteration(text):
    """The least seconds of an L-BFGS iteration with one trial of the line search."""
    text = text.rpartition(MARK)[2]
    found = re.findall(r"^Line search trials: 1\n(?:.*\n){1,3}?Seconds required for this iteration: ([\d.]+)", text, re.MULTILINE)
    if not found:
        raise Failed("no iteration of CRFsuite had one trial of the line search")
    return min(map(float, found))


def parse_wapiti(text):
    """[(seconds so far, objective or None), ...] of its progress lines."""
    lines = re.findall(r"\[ *\d+\] obj=(\S+) .*time=[\d.]+s/([\d.]+)s", text)
    return [(float(seconds), None if objective == "NA" else float(objective)) for objective, seconds in lines]


def parse_limit(text):
    """[{name: number, ...}, ...], one for each line the yardstick prints."""
    return [{name: float(value) for name, value in re.findall(r"([A-Za-z_]\w*) (-?\d[\d.e+-]*)", line)} for line in text.splitlines()]


def train(peer, setting, optimum_n, folder, *, seconds, timeout, seed=None):
    """Run a peer on a setting, tag the test file with its model, and measure; Failed if it cannot. seed: of CRFsuite's order."""
    task, n, folder = setting.task, optimum_n, Path(folder)
    orders = {
        "algorithm": peer.algorithm,
        "params": _params(peer, setting, n),
        "train": task.items("train"),
        "test": task.items("test"),
        "model": folder / "model",
        "predictions": folder / "predictions",
        "seconds": seconds,
    }
    if peer.package == "libwapiti":
        finished, facts = work("train_wapiti", folder, timeout=timeout, **orders)
        curve = parse_wapiti(finished.stderr + finished.stdout)
    else:
        finished, facts = work("train_crfsuite", folder, timeout=timeout, iterations=peer.iterations, seed=seed, **orders)
        curve = parse_crfsuite(finished.stdout)
    if not curve:
        return Run(peer.name, n_features=facts["n_features"], note=f"no iteration within {seconds:.1f} s")
    steps = len(curve)
    run_ = Run(
        peer.name,
        curve=[(at, None if peer.loss == "none" or f is None else f / n) for at, f in curve],
        seconds_per_pass=(curve[-1][0] - curve[0][0]) / (steps - 1) if steps > 1 else curve[0][0],
        peak_mb=facts.pop("peak_mb") or finished.peak_mb,
        model_bytes=orders["model"].stat().st_size,
        score=score(orders["predictions"]),
        note=peer.note,
        exact=peer.loss != "estimate",
        **facts,
    )
    if peer.loss == "end":
        run_.curve[-1] = (run_.curve[-1][0], _objective(setting, n, orders["model"], folder))
    return run_


def _params(peer, setting, n):
    l2, l1 = setting.times_n("l2", n), setting.times_n("l1", n)
    if peer.package == "libwapiti":
        return {"rho1": l1, "rho2": l2, "maxiter": 0, "stopeps": 1e-9}
    possible = {"states": setting.features, "transitions": setting.transitions}
    params = {f"feature.possible_{what}": int(which == "full") for what, which in possible.items()}
    if peer.algorithm == "lbfgs":
        params |= {"c1": l1, "c2": l2 / 2, "epsilon": 1e-7, "delta": 1e-7}
    elif peer.algorithm == "l2sgd":
        params |= {"c2": l2 / 2, "delta": 1e-7}
    return params


def _objective(setting, n, model, folder):
    numbers = {"l2": setting.times_n("l2", n) / n, "l1": setting.times_n("l1", n) / n}
    return work("objective", folder, train=setting.task.train, **setting.task.how, **numbers, model=model)[1]["objective"]


@cache
def compiled(cache_folder):
    """The yardstick, compiled for this machine; Failed where it is not."""
    if not YARDSTICK.is_file():
        raise Failed("no yardstick beside the repository")
    program = cache_folder / "limit"
    try:
        run(["cc", "-O3", "-march=native", "-ffast-math", "-o", str(program), str(YARDSTICK), "-lm"], timeout=120)
    except OSError as error:
        raise Failed(f"cc: {error.strerror}") from None
    return program


def limit(task, *arguments, timeout=300):
    """What the yardstick measures on a task: one dictionary for each line."""
    return parse_limit(run([str(compiled(task.cache)), str(task.items("train")), *map(str, arguments)], timeout=timeout).stdout)
