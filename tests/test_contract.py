"""What an algorithm declares, it can; and whatever happened before, its objective is the whole one."""

import numpy as np
import pytest
from problems import larger

from crftrain import learn, optimizers
from crftrain.layout import arrange
from crftrain.strength import Strength
from crftrain.train import Limits

NAMES = optimizers.names()


@pytest.fixture
def path():
    """path(name) -> (settings, training): two strengths of an algorithm, each stopped after a pass."""

    def make(name):
        algorithm, made = optimizers.get(name), larger(sequences=85)
        strengths = (Strength(10.0, True), Strength(1.0, True)), (Strength(0.0),)
        if "l2" not in algorithm.solves:
            strengths = ((Strength(0.0),), (Strength(1.0, True), Strength(0.1, True))) if "l1" in algorithm.solves else 2 * ((Strength(0.0),),)
        settings = learn.Settings(
            paths=(), algorithm=algorithm, options=algorithm.defaults(), lambdas=strengths[0], l1s=strengths[1], max_passes=1, passes=2
        )
        layout = arrange(made.corpus, made.vocabulary)
        return settings, learn.Training(made.corpus, made.vocabulary, 0, layout, 0.0)

    return make


@pytest.mark.parametrize("name", NAMES)
def test_a_path_that_is_stopped_early_tells_the_objective_of_the_whole(name, path):
    """At every point, after a few passes or within the first."""
    settings, training = path(name)
    w, before = np.zeros(training.layout.n_features), None
    for point, (l2, l1) in enumerate(learn.points(settings)):
        outcome, before = learn.fit_point(settings, training, point=point, w=w, before=before)
        n = training.corpus.n_sequences
        whole = larger(sequences=85).problem(l2=l2.at(n), l1=l1.at(n))
        assert before.problem.n_sequences == n
        assert (before.problem.l2, before.problem.l1) == (l2.at(n), l1.at(n))
        assert outcome.objective == pytest.approx(whole.exact(outcome.w)[0], rel=1e-12)
