"""Where other programs end a training, so that scripts and notebooks get what they got: observers with a reason to stop.

f is the objective over all sequences, g its gradient (with an l1 penalty the least subgradient), w the weights, k the step, f_0 that of
weights 0. Of g only the largest entry is known here, so |g|_2 <= sqrt(F) |g|_inf is asked for.

    CRFsuite    (f_{k - period} - f_k) / f_k < delta                 |g|_2 < epsilon max(1, |w|_2)
    CRF++       |f_{k-1} - f_k| / f_{k-1} < eta, three times running
    Wapiti      the rates of wrong tokens, in percent, of `stopwin` steps lie within stopeps
                L-BFGS besides: |f_{k-objwin+1} - f_k| / f_{k-objwin+1} < stopeps           |g|_2 <= 1e-5 max(1, |w|_2)
"""

import math

import numpy as np

from ..training.events import Observer

RUNNING = 3  # of CRF++
SMALL = 1e-5  # gradient of Wapiti


class Stop(Observer):
    """Keeps the objectives: past[k] is that after step k."""

    def start(self, event, step_name):
        self.n, self.past = event["n_sequences"], [event["n_tokens"] * math.log(max(1, event["n_labels"]))]

    def step(self, progress):
        self.past.append(self.n * progress.step.objective)
        return self.reason(progress)

    def reason(self, progress):
        raise NotImplementedError

    def is_flat(self, progress, epsilon):
        """Whether the gradient is proved to be below this share of the weights."""
        most = self.n * progress.step.gap * math.sqrt(len(progress.solution))
        return most < epsilon * max(1.0, float(np.linalg.norm(progress.solution)))


class CRFsuite(Stop):
    """epsilon None: a method that does not look at the gradient."""

    def __init__(self, *, period=10, delta=1e-5, epsilon=1e-5):
        self.period, self.delta, self.epsilon = period, delta, epsilon

    def reason(self, progress):
        loss = self.past[-1]
        if 0 < self.period < len(self.past) and (loss <= 0 or self.past[-1 - self.period] - loss < self.delta * loss):
            return "stopped by delta"
        return "converged by epsilon" if self.epsilon is not None and self.is_flat(progress, self.epsilon) else None


class CRFpp(Stop):
    def __init__(self, *, eta=1e-4):
        self.eta = eta

    def reason(self, progress):
        last = self.past[-1 - RUNNING :]
        small = [abs(before - after) < self.eta * before for before, after in zip(last, last[1:], strict=False)]
        return "stopped by eta" if len(small) == RUNNING and all(small) else None


class Wapiti(Stop):
    """Needs the accuracy on held-out data, or on the training data; objwin None: a method that does not look at the objective."""

    def __init__(self, *, stopwin=5, stopeps=0.02, objwin=5):
        self.stopwin, self.stopeps, self.objwin, self.wrong = stopwin, stopeps, objwin, []

    def reason(self, progress):
        if self.stopwin:
            self.wrong = [*self.wrong, 100 - progress.dev["accuracy"]][-self.stopwin :]
            if len(self.wrong) == self.stopwin and max(self.wrong) - min(self.wrong) < self.stopeps:
                return "stopped by the window of error rates"
        if self.objwin is None:
            return None
        if self.is_flat(progress, SMALL):
            return "converged by the gradient"
        before = self.past[-self.objwin] if 0 < self.objwin < len(self.past) - 1 else None
        return "stopped by the window of objectives" if before and abs(before - self.past[-1]) < self.stopeps * before else None
