"""Which strengths are tried, one after the other: those that were listed, or a search for the best.

    path = along(settings)
    point = next(path)                     the first Point: settings with one strength
    point = following(path, score, likelihood)    the next one, when those of the last are known; None when there is none

The search walks c/n from START downwards in steps of half a power of ten, each going on from the one before, until the held-out likelihood
has fallen: it is smooth where the score jumps by a sentence, and is past its peak by then, which the score's is near. Further, as long
as the score rises by RISEN all the same, but not with folds, of which each would have to go there.
Upwards from START if that was the best. Where the score falls by CLEAR on both sides of the best, both neighbours in steps half as long are
tried, from zero: what was reached under a weaker penalty is no good start for a stronger one. The best score is chosen.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .strength import Strength

if TYPE_CHECKING:
    from .settings import Settings

START, STEP = 4, 2  # in quarters of a power of ten: c = 10
LEAST, MOST = -16, 16
CLEAR = 0.4  # percent of F1 or accuracy: where a curve falls by so much in a step, half a step from its peak costs a tenth
RISEN = 0.2  # percent of F1 or accuracy, in a step
TOL = 5e-2  # how far from their optimum points may end that are only to be compared, where nobody says another --tol


@dataclass(frozen=True)
class Point:
    settings: "Settings"  # with one strength
    goes_on: bool  # from where the last one ended; else it starts from zero

    @property
    def name(self):
        return "lambda {}, l1 {}".format(*self.settings.points[0])


def along(settings):
    """Points, each sent the (score, likelihood) of the one before."""
    for name in ("lambdas", "l1s"):
        if any(strength.auto for strength in getattr(settings, name)):
            walk, score = walked(math.inf if settings.folds else RISEN), None
            settings = quick(settings)
            while (step := _sent(walk, score)) is not None:
                exponent, goes_on = step
                score = yield Point(replace(settings, **{name: (strength(exponent),)}), goes_on)
            return
    yield from listed(settings)


def listed(settings):
    """Points of the strengths as they were asked for."""
    for k, (l2, l1) in enumerate(settings.points):
        yield Point(replace(settings, lambdas=(l2,), l1s=(l1,)), k > 0)


def quick(settings):
    """The same to a tolerance that is enough to choose by; the last step of each point, since the best one is often so by chance."""
    how: dict = {} if "tol" in settings.given else {"tol": TOL}
    how |= {} if settings.given & {"select", "patience"} else {"select": "last"}
    return replace(settings, **how)


def beside(names, best):
    """Of the exponents tried those next to the best, and itself, the strongest first."""
    order = sorted(names, reverse=True)
    at = order.index(best)
    return order[max(0, at - 1) : at + 2]


def following(path, score, likelihood):
    """The next Point, or None."""
    return _sent(path, (score, score if math.isnan(likelihood) else likelihood))


def _sent(generator, value):
    try:
        return generator.send(value)
    except StopIteration:
        return None


def strength(exponent):
    """c/n with c = 10^(exponent / 4), in three digits."""
    return Strength(float(f"{10 ** (exponent / 4):.3g}"), True)


def walked(risen=RISEN):
    """(exponent, whether it goes on from the last) of what to try; each is sent its (score, likelihood)."""
    scores, likelihoods = {}, {}

    def walk(exponent, step, highest):
        while LEAST <= exponent <= MOST:
            before = max(scores.values(), default=math.inf)
            scores[exponent], likelihoods[exponent] = yield exponent, step < 0 and bool(scores)
            if likelihoods[exponent] <= highest and scores[exponent] < before + risen:
                return
            highest, exponent = max(highest, likelihoods[exponent]), exponent + step

    yield from walk(START, -STEP, -math.inf)
    if best(scores) == START:
        yield from walk(START + STEP, STEP, likelihoods[START])
    middle = best(scores)
    beside = [scores.get(middle - STEP, scores[middle]), scores.get(middle + STEP, scores[middle])]
    if max(beside) < scores[middle] - CLEAR:
        for exponent in (middle + STEP // 2, middle - STEP // 2):
            scores[exponent], _ = yield exponent, False


def best(scores):
    """The largest exponent of those with the best score."""
    return max(scores, key=lambda exponent: (scores[exponent], exponent))
