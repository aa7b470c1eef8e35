"""Where other programs end: each rule against its words, on objectives and error rates made up."""

from types import SimpleNamespace

import numpy as np

from crftrain.compat.stops import CRFpp, CRFsuite, Wapiti
from crftrain.optimizers.base import Step

START = {"n_sequences": 10, "n_tokens": 40, "n_labels": 3}


def ended(rule, objectives, *, gaps=None, wrong=None):
    """The step at which the rule has a reason, and the reason; None if it never has."""
    rule.start(START, "iteration")
    for k, objective in enumerate(objectives):
        step = Step(objective=objective / 10, gap=gaps[k] if gaps else 1.0)
        dev = {"accuracy": 100 - wrong[k]} if wrong else None
        if reason := rule.step(SimpleNamespace(step=step, solution=np.ones(4), dev=dev)):
            return k + 1, reason
    return None


def test_crfsuite_looks_a_period_back():
    falling = [40 - k for k in range(5)] + [35.0] * 20
    assert ended(CRFsuite(period=3, delta=1e-5), falling) == (9, "stopped by delta")
    assert ended(CRFsuite(period=3, delta=0.081), falling)[0] == 7  # (38 - 35) / 35 is not, (37 - 35) / 35 is below
    assert ended(CRFsuite(period=0), falling) is None
    gaps = [1e-3] * 7 + [9e-5] * 30  # 10 sqrt(4) 9e-5 < 1e-3 sqrt(4)
    assert ended(CRFsuite(period=50, epsilon=1e-3), falling, gaps=gaps) == (8, "converged by epsilon")


def test_crfpp_wants_three_small_changes_running():
    assert ended(CRFpp(eta=1e-3), [40, 39.99, 30, 29.99, 29.98, 29.97]) == (6, "stopped by eta")
    assert ended(CRFpp(eta=1e-3), [40, 39.99, 39.98, 30, 29.99]) is None
    assert ended(CRFpp(eta=1e-3), [40, 40.01, 40.0, 40.01]) == (4, "stopped by eta")


def test_wapiti_looks_at_windows():
    falling = [40 - k for k in range(12)]
    assert ended(Wapiti(objwin=None), falling, wrong=[9, 5, 3, 3, 3.01, 3, 3.01, 3]) == (7, "stopped by the window of error rates")
    assert ended(Wapiti(objwin=None, stopwin=2), falling, wrong=[9, 9, 3]) == (2, "stopped by the window of error rates")
    assert ended(Wapiti(stopwin=0, objwin=3), [40, 30, 29.9, 29.8, 29.7, 29.6]) == (4, "stopped by the window of objectives")
    assert ended(Wapiti(stopwin=0, objwin=5), falling, gaps=[1.0, 1e-9, 1.0]) == (2, "converged by the gradient")
