"""What an algorithm declares, it can; and whatever happened before, its objective is the whole one."""

import numpy as np
import pytest
from problems import larger

from crftrain import optimizers
from crftrain.chain.layout import arrange
from crftrain.training import train as learn
from crftrain.training.strength import Strength

NAMES = optimizers.names()


def path(name, made):
    """(settings, training): two strengths of an algorithm, each stopped after a pass."""
    algorithm = optimizers.get(name)
    none, falling = (Strength(0.0),), (Strength(10.0, True), Strength(1.0, True))
    lambdas, l1s = (falling, none) if "l2" in algorithm.solves else (none, falling) if "l1" in algorithm.solves else (none * 2, none)
    limits = {"max_passes": 1, "passes": 2}
    settings = learn.Settings(paths=(), algorithm=algorithm, options=algorithm.defaults(), lambdas=lambdas, l1s=l1s, **limits)
    return settings, learn.Training(made.corpus, made.vocabulary, 0, arrange(made.corpus, made.vocabulary), 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_stopped_early_tells_the_objective_of_the_whole(name):
    """At every point, after a few passes or within the first."""
    made = larger(sequences=85)
    settings, training = path(name, made)
    w, before = np.zeros(training.layout.n_features), None
    for point, (l2, l1) in enumerate(learn.points(settings)):
        outcome, before = learn.fit_point(settings, training, point=point, w=w, before=before)
        n = training.corpus.n_sequences
        whole = made.problem(l2=l2.at(n), l1=l1.at(n))
        assert before.problem.n_sequences == n
        assert (before.problem.l2, before.problem.l1) == (l2.at(n), l1.at(n))
        assert outcome.objective == pytest.approx(whole.exact(outcome.w)[0], rel=1e-12)
