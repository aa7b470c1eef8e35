"""The strength that is found: near the best, in few trainings, and the same one however it is run."""

import json
import math
from pathlib import Path

import pytest
from observers import Hearing

from crftrain.model.model import load
from crftrain.training.learn import learn
from crftrain.training.search import LEAST, MOST, START, along, best, following, strength, walked
from crftrain.training.strength import Strength

AUTO = Strength.parse("auto")


def tried(score, likelihood=None):
    """{exponent: score} of a search over a curve."""
    walk, answer, scores = walked(), None, {}
    while True:
        try:
            exponent, goes_on = walk.send(answer)
        except StopIteration:
            return scores
        assert exponent not in scores
        assert goes_on == (bool(scores) and exponent == min(scores) - 2)  # on from the last one, which was stronger
        scores[exponent] = score(exponent)
        answer = scores[exponent], (likelihood or score)(exponent)


@pytest.mark.parametrize("peak", range(LEAST, MOST + 1))
def test_the_best_of_a_curve_is_found_to_half_a_step(peak):
    scores = tried(lambda exponent: 90 - 0.2 * (exponent - peak) ** 2)
    assert abs(best(scores) - peak) <= 1
    assert len(scores) <= 6 + abs(START - peak) // 2


def test_where_the_score_is_flat_nothing_more_is_tried():
    scores = tried(lambda exponent: 90.0 - 0.01 * abs(exponent), lambda exponent: -abs(exponent))
    assert sorted(scores) == [-2, 0, 2, 4]


def test_while_the_score_clearly_rises_the_walk_goes_on():
    """Though the likelihood has fallen."""
    assert min(tried(lambda exponent: 90 - 0.2 * exponent, lambda exponent: -abs(exponent - START))) == LEAST
    assert min(tried(lambda exponent: 90 - 0.05 * exponent, lambda exponent: -abs(exponent - START))) == START - 2


def test_the_walk_ends_at_its_bounds():
    assert min(tried(lambda exponent: -exponent)) == LEAST
    assert max(tried(lambda exponent: exponent)) == MOST


def test_of_equals_the_strongest_is_taken():
    assert best({4: 1.0, 2: 3.0, 0: 3.0, -2: 2.0}) == 2


def test_strengths_are_numbers_that_can_be_typed():
    assert [str(strength(exponent)) for exponent in (4, 2, 1, 0, -2, -16)] == ["10/n", "3.16/n", "1.78/n", "1/n", "0.316/n", "0.0001/n"]
    assert str(AUTO) == "auto"
    assert AUTO.auto and not Strength.parse("1/n").auto


def test_a_list_is_tried_in_its_order(settings):
    path = along(settings(lambdas=(Strength(3.0), Strength(1.0, True))))
    point, names = next(path), []
    while point is not None:
        names.append((point.name, point.goes_on))
        point = following(path, 1.0, math.nan)
    assert names == [("lambda 3, l1 0", False), ("lambda 1/n, l1 0", True)]


@pytest.mark.parametrize("how", [{"dev": True}, {"folds": 3}, {}], ids=str)
@pytest.mark.parametrize("auto", [{"lambdas": (AUTO,)}, {"lambdas": (Strength(0.01),), "l1s": (AUTO,), "algorithm": "owlqn"}], ids=len)
def test_the_chosen_one_is_the_best_that_was_tried(settings, train_file, tmp_path, how, auto):
    """By held-out data, by folds, by a tenth set apart; the log has them all, the model the chosen one."""
    if how.get("dev"):
        how = {"dev": str(train_file)}
    asked, said = settings(log=str(tmp_path / "l"), passes=20, **how, **auto), []
    learn(asked, Hearing(said))
    events = [json.loads(line) for line in Path(tmp_path / "l").read_text(encoding="utf-8").splitlines()]
    facts, name = load(asked.model).facts, "l1" if "l1s" in auto else "lambda"
    if "dev" in how:
        ends = [event for event in events if event["event"] == "end" and "path" in event]
        chosen = max(ends, key=lambda end: (end["dev"]["f1"], end[name]))[name]
        assert len(ends) >= 2
    else:
        (folds,) = [event for event in events if event["event"] == "folds"]
        points = [(point["f1"], Strength.parse(point[name]).number) for point in folds["points"]]
        chosen = max(points)[1] / 40
        assert len(points) >= 2
        assert facts["folds"].get("folds") == how.get("folds")
        assert ("set_apart" in facts["folds"]) is ("folds" not in how)
    assert facts[name] == pytest.approx(chosen)
    assert facts["n_sequences"] == 40


@pytest.mark.parametrize("how", ["dev", "folds"])
def test_the_model_says_what_was_tried_and_the_table_is_told(settings, train_file, how):
    """Each strength with its active weights, objective and scores."""
    asked, heard = settings(lambdas="1/n,0.1/n", passes=5, **{how: str(train_file) if how == "dev" else 3}), Hearing()
    learn(asked, heard)
    facts = load(asked.model).facts
    tried = facts["tried"] if how == "dev" else facts["folds"]["points"]
    assert [one["lambda"] for one in tried] == ["1/n", "0.1/n"]
    assert all(set(one) == {"lambda", "l1", "active", "objective", "f1", "accuracy", "likelihood"} for one in tried)
    head = next(lines for lines in (text.splitlines() for text in heard.said) if lines[0].split()[:2] == ["lambda", "l1"])
    assert head[0].split() == ["lambda", "l1", "active", "objective", "f1", "accuracy", "likelihood", "seconds"]
    assert [line.split()[0] for line in head[1:3]] == ["1/n", "0.1/n"]
    assert any("the best f1 of 2 strengths" in text for text in heard.said)


def test_what_the_first_folds_tried_alone_is_told_too(settings):
    asked, heard = settings(lambdas="auto", folds=4, passes=5), Hearing()
    learn(asked, heard)
    folds = load(asked.model).facts["folds"]
    ahead, points = ([one["lambda"] for one in folds[name]] for name in ("ahead", "points"))
    assert ahead[:2] == ["10/n", "3.16/n"] and set(points) <= set(ahead)
    (report,) = [text for text in heard.said if text.startswith("folds 1 and 2 alone:")]
    told = [line.split()[0] for line in report.splitlines() if line]
    assert told[2 : 3 + len(ahead)] == [*ahead, "all"] and told[4 + len(ahead) : 4 + len(ahead) + len(points)] == points


@pytest.mark.parametrize("how", [{"lambdas": "10/n,1/n,0.3/n"}, {"lambdas": "0.1/n", "l1s": "1/n,0.1/n"}], ids=["lambda", "l1"])
@pytest.mark.parametrize("algorithm", ["auto", "owlqn", "sag"])
def test_each_point_of_a_path_is_that_of_a_run_at_its_strength_alone(settings, tmp_path, algorithm, how):
    learn(settings(algorithm, **how, tol=1e-5, log=str(tmp_path / "log")))
    told = map(json.loads, (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    ends = [event for event in told if event["event"] == "end" and "path" in event]
    assert len(ends) == len(max(how.values(), key=len).split(","))
    for end in ends:
        alone = learn(settings(algorithm, lambdas=repr(end["lambda"]), l1s=repr(end["l1"]), tol=1e-5))
        assert end["objective"] == pytest.approx(alone.objective, rel=2e-5)


def test_the_choice_does_not_hang_on_threads(settings):
    found = []
    for threads in (1, 3):
        asked = settings(lambdas=(AUTO,), folds=4, passes=10, threads=threads)
        learn(asked)
        found.append(load(asked.model).facts["folds"])
    assert found[0] == found[1]


def test_what_is_set_apart_hangs_on_the_seed_alone(settings):
    found = []
    for seed in (1, 1, 2):
        asked = settings(lambdas=(AUTO,), passes=5, seed=seed)
        learn(asked)
        found.append(load(asked.model).facts["folds"]["likelihood"])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ("--lambda auto --l1 auto", "auto is one strength to be found"),
        ("--lambda auto,1/n", "auto is one strength to be found"),
        ("--lambda auto --dev t --folds 3", "auto is found by --dev or by --folds, not by both"),
        ("--lambda auto --checkpoint c", "with --checkpoint"),
        ("-a psa --stream --lambda auto", "with --stream"),
    ],
)
def test_what_cannot_be_searched_is_refused(crftrain, arguments, refusal):
    ended = crftrain("learn", *arguments.split(), "train.txt")
    assert ended.status == 2
    assert refusal in ended.err
