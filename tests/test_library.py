"""crftrain as a library: importing it changes nothing, settings stand alone, and training writes nothing."""

import os
import pickle
import subprocess
import sys

import problems
import pytest
from observers import Hearing

from crftrain import optimizers
from crftrain.errors import SettingsError
from crftrain.model.model import load
from crftrain.text.encode import read_corpus
from crftrain.training.learn import learn
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength
from crftrain.training.train import train


def test_importing_it_changes_nothing_and_loads_nothing():
    code = """
import os, signal, sys, threading
before = dict(os.environ), signal.getsignal(signal.SIGINT), threading.active_count()
import crftrain
assert (dict(os.environ), signal.getsignal(signal.SIGINT), threading.active_count()) == before
assert not {"numpy", "click", "tqdm", "sklearn"} & sys.modules.keys()
assert set(crftrain.__all__) < set(dir(crftrain))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_using_it_changes_no_variable(train_file):
    code = f"""
import os
before = dict(os.environ)
import crftrain
from crftrain.text.encode import read_corpus
corpus, vocabulary = read_corpus({str(train_file)!r})
model, outcome = crftrain.train(corpus, vocabulary, crftrain.Settings(passes=2))
assert model.active and outcome.iteration == 2
assert dict(os.environ) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_it_has_not_is_an_attribute_error():
    import crftrain

    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        crftrain.nosuch  # noqa: B018


# ---- settings


@pytest.mark.parametrize("name", optimizers.names())
def test_a_name_alone_makes_settings_that_can_be_done(name):
    algorithm = optimizers.get(name)
    settings = Settings(algorithm=name).check()
    assert settings.options == algorithm.defaults()
    assert settings.points == [(Strength(1.0, True) if "l2" in algorithm.solves else Strength(0.0), Strength(0.0))]


def test_what_is_not_given_is_filled_in():
    settings = Settings()
    assert (settings.algorithm.name, settings.checkpoint_every, settings.select, settings.given) == ("auto", 10, "score", frozenset())
    assert Settings(l1s="0.5/n").algorithm.name == "auto"
    assert Settings(l1s=0.5).points == [(Strength(0.0), Strength(0.5))]
    assert Settings(l1s="0.5/n").points == [(Strength(0.0), Strength(0.5, True))]
    assert Settings(lambdas=["1/n", 0.25]).points == [(Strength(1.0, True), Strength(0.0)), (Strength(0.25), Strength(0.0))]
    assert Settings(algorithm="lbfgs", options={"memory": "7"}).options["memory"] == 7


def test_an_update_takes_the_models_strengths_and_one_pass():
    settings = Settings(update=True, init="m")
    assert (settings.algorithm.name, settings.passes, settings.points) == ("psa", 1, [])
    assert Settings(update=True, init="m", passes=3).passes == 3
    assert Settings(update=True, init="m", replay=("old",)).algorithm.name == "auto"


REFUSED = [
    ({"algorithm": "nosuch"}, "no algorithm is called 'nosuch', expected one of adagrad, "),
    ({"algorithm": "lbfgs", "options": {"memory": 0}}, "memory: 0 is not a whole number >= 1"),
    ({"algorithm": "lbfgs", "options": {"eta": 1}}, "lbfgs has no option 'eta', expected one of "),
    ({"passes": 0}, "passes 0, expected a whole number >= 1"),
    ({"passes": 1.5}, "passes 1.5, expected a whole number >= 1"),
    ({"passes": True}, "passes True, expected a whole number"),
    ({"threads": "2"}, "threads '2', expected a whole number"),
    ({"seed": -1}, "seed -1, expected a whole number >= 0"),
    ({"tol": float("nan")}, "tol nan, expected a number >= 0"),
    ({"max_seconds": 0}, "max_seconds 0, expected a number > 0"),
    ({"features": "all"}, "features 'all', expected one of observed, full"),
    ({"lambdas": "many"}, "lambdas 'many', expected a number >= 0 or one divided by n"),
    ({"lambdas": object()}, "lambdas <object"),
    ({"lambdas": "1,2", "l1s": "1,2", "algorithm": "owlqn"}, "lambdas and l1s cannot both be lists"),
    ({"patience": 3}, "patience needs dev"),
    ({"select": "score"}, "select needs dev"),
    ({"folds_out": "f"}, "folds_out needs folds"),
    ({"format": "items", "template": "chunk"}, "format items has its attributes already: template does not apply"),
    ({"resume": "r", "init": "m"}, "resume goes on with one training"),
    ({"algorithm": "lbfgs", "l1s": "1"}, "lbfgs cannot solve --l1"),
    ({"algorithm": "sag", "stream": True}, "sag cannot learn from a stream; these can: "),
    ({"algorithm": "psa", "stream": True, "dev": "d", "lambdas": 0.1}, "dev is not for a stream"),
    ({"algorithm": "psa", "stream": True}, "lambdas 1/n of a stream needs n_hint N, or a number instead"),
    ({"n_hint": 5}, "n_hint needs stream"),
    ({"update": True, "init": "m", "algorithm": "lbfgs"}, "lbfgs forgets what is not in its data: it needs replay OLD"),
]


@pytest.mark.parametrize("asked, why", REFUSED, ids=str)
def test_what_cannot_be_done_is_refused_in_the_callers_words(asked, why):
    with pytest.raises(SettingsError) as refused:
        Settings(**asked).check()
    assert str(refused.value).startswith(why)
    assert isinstance(refused.value, ValueError)


def test_settings_go_through_a_pickle_with_any_algorithm():
    for name in optimizers.names():
        settings = Settings(algorithm=name, passes=3)
        assert pickle.loads(pickle.dumps(settings)) == settings


# ---- nothing that is read is written


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("train", "dev", "old"):
        (tmp_path / name).write_text(problems.text())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "train")
    os.link(tmp_path / "dev", tmp_path / "hard")
    return tmp_path


OVERWRITES = [
    (["learn", "-m", "train", "train"], "--model train would overwrite train, which is TRAIN"),
    (["learn", "-m", "./folder/../train", "train"], "would overwrite train, which is TRAIN"),
    (["learn", "-m", "folder/link", "train"], "--model folder/link would overwrite train, which is TRAIN"),
    (["learn", "--log", "dev", "--dev", "dev", "train"], "--log dev would overwrite dev, which is --dev"),
    (["learn", "--log", "hard", "--dev", "dev", "train"], "--log hard would overwrite dev, which is --dev"),
    (["learn", "--checkpoint", "train", "train"], "--checkpoint train would overwrite train"),
    (["learn", "--init", "old", "-m", "old", "train"], "--model old would overwrite old, which is --init"),
    (["learn", "-m", "new", "--log", "new", "train"], "--log and --model are both new"),
    (["learn", "--stream", "-a", "psa", "--lambda", "1", "-m", "train", "train"], "--model train would overwrite train"),
    (["update", "-m", "train", "old", "train"], "train would overwrite train, which is NEW"),
    (["update", "--replay", "dev", "--log", "dev", "old", "train"], "--log dev would overwrite dev, which is --replay"),
    (["update", "old", "old"], "would overwrite old"),
    (["compare", "-a", "lbfgs", "--out", "race", "race/summary.tsv"], "would overwrite race/summary.tsv, which is TRAIN"),
    (["compare", "-a", "lbfgs", "--out", "race", "--test", "race/runs.jsonl", "train"], "race/runs.jsonl, which is --test"),
]


@pytest.mark.parametrize("arguments, why", OVERWRITES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_an_output_that_names_an_input_is_refused_before_anything_is_opened(crftrain, files, arguments, why):
    (files / "race").mkdir()
    for name in ("summary.tsv", "runs.jsonl"):
        (files / "race" / name).write_text(problems.text())
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    ended = crftrain(*arguments)
    assert ended.status == 2
    assert why in ended.err
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


def test_what_is_no_file_may_be_written_twice_and_a_checkpoint_goes_on(crftrain, files):
    assert crftrain("learn", "-q", "--passes", 1, "-m", os.devnull, "--log", os.devnull, "train").status == 0
    assert crftrain("learn", "-q", "--passes", 1, "--checkpoint", "state", "--checkpoint-every", 1, "train").status == 0
    assert crftrain("learn", "-q", "--passes", 2, "--checkpoint", "state", "--resume", "state", "train").status == 0
    assert crftrain("update", "-q", "model.bin", "dev").status == 0


# ---- training


def test_training_returns_what_learn_writes_and_writes_nothing(settings, tmp_path, monkeypatch):
    asked = settings(passes=4)
    learn(asked)
    expected = (tmp_path / "model.bin").read_bytes()
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    model, outcome = train(*read_corpus(asked.paths), Settings(algorithm="lbfgs", passes=4))
    assert list(empty.iterdir()) == []
    assert model.w is outcome.w and outcome.model_bytes == 0
    model.save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == expected


def test_a_training_starts_from_a_model_and_tells_an_observer(settings, tmp_path):
    asked = settings(passes=30)
    learn(asked)
    heard = Hearing()
    _, outcome = train(*read_corpus(asked.paths), Settings(algorithm="lbfgs", passes=5), heard, init=load(tmp_path / "model.bin"))
    assert outcome.iteration <= 5 and any("of its weights are the start" in text for text in heard.said)


def test_an_observer_may_stop_it(settings):
    stop = Hearing(step=lambda progress: "enough" if progress.iteration == 2 else None)
    _, outcome = train(*read_corpus(settings().paths), Settings(algorithm="lbfgs", tol=0), stop)
    assert (outcome.reason, outcome.iteration) == ("enough", 2)
