"""What is claimed of the distance from the optimum is true, on every kind of problem, whoever claims it."""

import math

import numpy as np
import pytest
from problems import KINDS, kind, larger

from crftrain import optimizers
from crftrain.chain import certificate
from crftrain.optimizers.base import Step
from crftrain.training.loop import Asked, Limits, fit
from crftrain.training.proof import Goal, Prover

PENALTIES = [(1.0, 0.0), (0.2, 0.1), (0.0, 0.3), (100.0, 0.0), (0.01, 0.0)]  # n lambda, n l1
BOUNDING = ["sag", "saga", "svrg", "sdca", "oeg", "lbfgs", "newton-cg", "gis"]
BOUNDING_L1 = ["sag", "saga", "newton-cg", "owlqn", "auto"]


def make(name, problem, seed=1, w=None, **options):
    algorithm = optimizers.get(name)
    w = np.zeros(problem.n_features) if w is None else w
    return algorithm.make(problem, w, np.random.default_rng(seed), **{**algorithm.defaults(), **options})


def least(problem):
    """f*, from another solver than those that are tested, as near as numbers go."""
    opt = make("owlqn" if problem.l1 else "newton-cg", problem)
    fit(problem, opt, prover=Prover(problem, opt, Goal(slope=1e-10)), monitors=[Limits(steps=2000)])
    return problem.exact_objective(opt.w)


def penalised(made, n_l2, n_l1):
    n = made.corpus.n_sequences
    return made.problem(l2=n_l2 / n, l1=n_l1 / n)


@pytest.mark.parametrize("name", KINDS)
def test_no_bound_is_above_the_optimum(name):
    made = kind(name)
    for n_l2, n_l1 in PENALTIES:
        problem = penalised(made, n_l2, n_l1)
        best = least(problem)
        for seed, scale in enumerate([0.0, 0.1, 0.1, 1.0, 5.0]):
            w, g = made.weights(seed, scale), np.empty(problem.n_features)
            value = problem.value_and_gradient(w, g) + problem.l1 * np.abs(w).sum()
            bound = certificate.bound_at(problem, value, w, g)
            assert 0 <= bound <= best * (1 + 1e-9) + 1e-12
            assert value - bound >= value - best - 1e-9 * abs(best) - 1e-12


def test_the_best_mixture_is_found_whatever_the_penalties():
    rng = np.random.default_rng(3)
    for scale in (1e-3, 0.1, 1.0, 30.0):
        for l2, l1 in ((0.1, 0.0), (0.1, 0.05), (1e-3, 0.2), (5.0, 1.0)):
            g, entropy = scale * rng.standard_normal(40), 2.0
            found = certificate.lower_bound(entropy, g, l2=l2, l1=l1)
            tried = [c * entropy - (np.maximum(0, c * np.abs(g) - l1) ** 2).sum() / (2 * l2) for c in np.linspace(0, 1, 20001)]
            assert found == pytest.approx(max(tried), rel=1e-4, abs=1e-4)
            assert found >= max(tried) - 1e-12


def test_without_squared_penalty_the_largest_entry_says_how_much_of_the_entropy_counts():
    g = np.array([0.1, -0.4, 0.2])
    assert certificate.lower_bound(3.0, g, l2=0.0, l1=0.2) == pytest.approx(1.5)
    assert certificate.lower_bound(3.0, g, l2=0.0, l1=0.5) == 3.0
    assert certificate.lower_bound(3.0, np.zeros(3), l2=0.0, l1=0.5) == 3.0


def test_what_no_number_says_proves_nothing():
    for entropy in (math.nan, math.inf, -1.0, 0.0):
        assert certificate.lower_bound(entropy, np.ones(2), l2=1.0, l1=0.0) == 0
    assert certificate.distance(math.inf, 1.0) == math.inf
    assert certificate.distance(2.0, 1.5) == 0.25
    assert certificate.distance(2.0, 3.0) == 0


@pytest.mark.parametrize("name", [name for name in KINDS if name != "one label"])
def test_a_table_of_one_point_bounds_as_the_point_itself_does(name):
    made = kind(name)
    problem, w = penalised(made, 1.0, 0.0), made.weights(2, 0.3)
    opt = make("sag", problem, w=w.copy(), table="marginals", table_precision="double", batch=2)
    step, g = opt.step(), np.empty(problem.n_features)  # a warm start: the table is filled at w
    assert step.exact
    value = problem.value_and_gradient(w, g)
    assert opt.lower_bound() == pytest.approx(certificate.bound_at(problem, value, w, g), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [*BOUNDING, "auto"])
def test_every_bound_and_every_claim_of_a_run_is_true(name):
    for made in (larger(sequences=40), larger(1, sequences=25, template="U:%x[0,0]\nB:%x[0,0]\nB\n", pair_attributes=6)):
        problem = penalised(made, 1.0, 0.0)
        best = least(problem)
        opt = make(name, problem)

        def true(progress, opt=opt, best=best):
            assert opt.lower_bound() <= best * (1 + 1e-6)
            if progress.proved:
                assert progress.step.objective * (1 - progress.distance) <= best * (1 + 1e-9)

        outcome = fit(problem, opt, tol=1e-3, monitors=[Asked(true), Limits(steps=2000)])
        assert outcome.reason == "converged"
        assert outcome.objective - best <= outcome.proved * outcome.objective + 1e-9 and outcome.proved <= 1e-3


@pytest.mark.parametrize("n_l2, n_l1", [(0.2, 0.1), (0.0, 0.5)])
def test_with_l1_too_what_is_proved_is_true(n_l2, n_l1):
    problem = penalised(larger(sequences=40), n_l2, n_l1)
    best = least(problem)
    for name in ("owlqn", "saga", "auto"):
        opt = make(name, problem)
        outcome = fit(problem, opt, tol=1e-2, monitors=[Limits(steps=3000)])
        assert outcome.reason == "converged"
        assert outcome.objective - best <= outcome.proved * outcome.objective + 1e-9


class Always(Prover):
    def _due(self, step):
        return True


@pytest.mark.parametrize("name", ["sag", "saga", "svrg", "sdca", "oeg", "hybrid", "auto"])
def test_a_run_that_is_measured_at_every_step_takes_the_same_steps(name):
    made, found = larger(sequences=40), []
    for prover in (Prover, Always):
        problem = penalised(made, 1.0, 0.0)
        opt = make(name, problem)
        fit(problem, opt, prover=prover(problem, opt, Goal()), monitors=[Limits(steps=25)])
        found.append(opt.solution().tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["sag", "saga", "lbfgs", "newton-cg", "owlqn", "auto"])
def test_a_start_at_the_optimum_stops_at_once(name):
    problem = penalised(larger(sequences=40), 1.0, 0.0)
    opt = make("newton-cg", problem)
    fit(problem, opt, tol=1e-9, monitors=[Limits(steps=300)])
    again = make(name, problem, w=opt.w.copy())
    outcome = fit(problem, again, tol=1e-3)
    assert (outcome.reason, outcome.iteration) == ("converged", 1)


def test_a_run_is_measured_in_two_steps_or_a_tenth_of_them():
    problem = penalised(larger(sequences=40), 1.0, 0.0)
    for name in ("sag", "saga", "sdca", "oeg"):
        opt = make(name, problem)
        prover = Prover(problem, opt, Goal(distance=1e-8))
        outcome = fit(problem, opt, prover=prover, monitors=[Limits(steps=400)])
        assert prover.measured <= max(2, 0.1 * outcome.iteration)


@pytest.mark.parametrize("steps, measured, share, due", [(9, 0, 0.9, 1), (9, 1, 0.9, 0), (9, 1, 0.7, 1), (25, 1, 0.9, 1), (9, 2, 0.1, 0)])
def test_the_last_measurement_before_every_tenth_step_has_one_waits_for_room(steps, measured, share, due):
    problem = penalised(larger(sequences=40), 1.0, 0.0)
    prover = Prover(problem, make("sag", problem), Goal(distance=1e-3))
    prover.steps, prover.measured, prover.ratio, prover.estimate = steps, measured, 1.0, share * 1e-3
    assert prover._due(Step(1.0)) == due


@pytest.mark.parametrize("own, distance", [(2.0, 1 / 3), (0.0, 1.0), (-5.0, 1.0), (4.0, 0.0), (4.5, 0.0)])
def test_what_is_corrected_is_what_f_lacks_to_its_bound(own, distance):
    """Where next to nothing is proved the estimate says so."""
    problem = penalised(larger(sequences=40), 1.0, 0.0)
    prover = Prover(problem, make("sag", problem), Goal(distance=1e-3))
    assert prover._estimated(Step(4.0, exact=False), own) == pytest.approx(distance)


def test_no_estimate_stops_a_run():
    """An algorithm that thinks it is there, and is not, is measured and goes on."""
    problem = penalised(larger(sequences=40), 1.0, 0.0)
    opt = make("sag", problem)
    first, claimed = opt.step, problem.n_sequences

    def hopeful():
        step = first()
        return step._replace(objective=opt.lower_bound() + 1e-9)

    opt.step = hopeful
    outcome = fit(problem, opt, tol=1e-3, monitors=[Limits(steps=100)])
    assert outcome.reason == "converged" and claimed
    assert outcome.objective - least(problem) <= 1e-3 * outcome.objective


def test_what_is_asked_for_where_nothing_was_said():
    n = 40
    made = larger(sequences=n)
    assert Goal.of(made.problem(l2=1 / n), None, default_slope=1e-5) == Goal(distance=1e-3)
    assert Goal.of(made.problem(l2=1e-5 / n), None, default_slope=1e-5) == Goal(distance=1e-3, slope=1e-5)
    assert Goal.of(made.problem(l1=1 / n), None, default_slope=1e-5) == Goal(distance=1e-3, slope=1e-5)
    assert Goal.of(made.problem(l1=1 / n), 1e-2, default_slope=1e-5) == Goal(distance=1e-2)
    assert Goal.of(made.problem(), None, default_slope=1e-5) == Goal(slope=1e-5)
    assert Goal.of(made.problem(), 1e-4, default_slope=1e-5) == Goal(slope=1e-4)
    assert Goal.of(made.problem(l2=1 / n), 0, default_slope=1e-5) == Goal()


@pytest.mark.parametrize("name, n_l1", [(name, 0.0) for name in (*BOUNDING, "auto")] + [(name, 0.1) for name in BOUNDING_L1])
def test_where_there_is_one_label_the_first_step_is_proved(name, n_l1):
    problem = larger(labels=1, sequences=20).problem(l2=1 / 20, l1=n_l1 / 20)
    outcome = fit(problem, make(name, problem), monitors=[Limits(steps=30)])
    assert outcome.reason == "converged" and outcome.objective == pytest.approx(0, abs=1e-12)
