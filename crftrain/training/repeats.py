"""How much a score hangs on chance: the same training again, with other seeds, or its folds dealt out in other ways.

with folds     the chosen strength is cross-validated again, sequences dealt out by the seeds seed + 1 ..
with --dev     trained again with the seeds seed + 1 .., each scored on the held-out data; the model stays that of the first

-> {"n": 3, "f1": {"mean": .., "deviation": ..}, ...}        the deviation is that of a sample (n - 1)
"""

from dataclasses import replace

import numpy as np

from .folds import cross_validate


def fold_again(settings, training, fit_point, observer, groups, folded):
    """The facts of all the ways of dealing out, `folded` the first; settings have the chosen strength alone."""
    scores = [folded.points[folded.best].scores]
    for r in range(1, settings.repeat):
        try:
            again = cross_validate(settings, training, fit_point, observer, groups, seed=settings.seed + r)
        except KeyboardInterrupt:
            _told(scores, observer)
            raise
        scores.append(again.points[0].scores)
        observer.say(f"dealt out {r + 1} of {settings.repeat} times: {_text(scores[-1])}")
    return _told(scores, observer)


def train_again(settings, training, fit_point, observer, heldout, dev):
    """The facts of all seeds; dev are the first one's scores."""
    scores = [dev]
    for r in range(1, settings.repeat):
        if observer.interrupted:
            break
        outcome, _ = fit_point(replace(settings, seed=settings.seed + r, checkpoint=None), training, heldout=heldout)
        scores.append(outcome.dev)
        observer.say(f"seed {settings.seed + r}, {r + 1} of {settings.repeat}: {_text(outcome.dev)}")
    return _told(scores, observer)


def _told(scores, observer):
    facts: dict = {"n": len(scores)}
    for name in scores[0]:
        values = np.array([one[name] for one in scores])
        facts[name] = {"mean": float(values.mean()), "deviation": float(values.std(ddof=1)) if len(values) > 1 else 0.0}
    told = ", ".join(f"{name} {facts[name]['mean']:.4f} +- {facts[name]['deviation']:.4f}" for name in scores[0])
    observer.say(f"{len(scores)} times: {told}")
    return facts


def _text(scores):
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
