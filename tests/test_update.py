"""`update`: nothing that a model knows is lost, old sentences and new ones make the optimum of both, and a failure changes nothing."""

import re
from pathlib import Path

import numpy as np
import problems
import pytest
from observers import Hearing
from test_warmstart import MACROS, by_name

from crftrain import optimizers
from crftrain.errors import DataError, ModelError, TrainingError
from crftrain.model import model
from crftrain.training.learn import learn, prepare
from crftrain.training.strength import Strength
from crftrain.training.update import update

OLD = problems.text(1, words=40, labels=("B-X", "I-X", "O"))
NEW = problems.text(2, words=60, labels=("O", "B-Y", "I-X", "B-X"), sentences=60)
ONLINE = [name for name in optimizers.names() if optimizers.get(name).online]


@pytest.fixture
def files(tmp_path):
    """files(old=..., new=...) -> their paths."""

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.txt").write_text(text)
        return [str(tmp_path / f"{name}.txt") for name in texts]

    return write


@pytest.fixture
def go_on(settings, tmp_path):
    """go_on(paths, algorithm=..., replay=...) -> Outcome of an update of old.bin, without strengths of its own."""

    def run(paths, *, replay=(), said=None, **changes):
        own = {"lambdas": (), "l1s": (), "update": True, "replay": tuple(replay), **changes}
        return update(settings(paths=tuple(paths), init=str(tmp_path / "old.bin"), **own), Hearing(said))

    return run


@pytest.fixture
def learnt(settings, tmp_path):
    """learnt(path, ...) -> old.bin, an optimum to solver tolerance unless passes=... says less."""

    def run(path, **changes):
        learn(settings(paths=(path,), model=str(tmp_path / "old.bin"), tol=1e-8, **changes))
        return str(tmp_path / "old.bin")

    return run


def as_items(text):
    return "\n".join("\t".join([*line.split()[::-1]]) for line in text.split("\n"))


@pytest.mark.parametrize("changes", [{}, {"features": "full"}, {"transitions": "observed"}, {"template": MACROS}, {"format": "items"}])
@pytest.mark.parametrize("replayed", [False, True])
def test_without_new_sentences_the_file_stays_as_it_is(files, learnt, go_on, tmp_path, changes, replayed):
    old, new = files(old=as_items(OLD) if "format" in changes else OLD, new="\n\n")
    if "template" in changes:
        changes = {"template": files(template=changes["template"])[0]}
    path, said = learnt(old, passes=5, **changes), []
    before = Path(path).read_bytes()
    assert go_on([new], model=path, replay=[old] * replayed, said=said) is None
    assert Path(path).read_bytes() == before
    assert said == ["no new sentences: the weights stay as they are"]


@pytest.mark.parametrize("algorithm", ["lbfgs", "sag"])
@pytest.mark.parametrize("changes", [{}, {"features": "full"}, {"transitions": "observed"}, {"template": MACROS}])
def test_old_and_new_sentences_reach_the_optimum_of_both(settings, files, learnt, go_on, tmp_path, algorithm, changes):
    """With new labels and attributes; at the model's lambda, the number, whatever n has become."""
    old, new = files(old=OLD, new=NEW)
    if "template" in changes:
        changes = {"template": files(template=changes["template"])[0]}
    learnt(old, lambdas=(Strength(0.02),), **changes)
    at_once = learn(settings(paths=(old, new), model=str(tmp_path / "both.bin"), tol=1e-8, lambdas=(Strength(0.02),), **changes))
    outcome = go_on([new], replay=[old], algorithm=algorithm, options=optimizers.get(algorithm).defaults(), tol=1e-8)
    assert outcome.converged
    assert outcome.objective == pytest.approx(at_once.objective, rel=1e-8)
    a, b = (model.load(tmp_path / name) for name in ("model.bin", "both.bin"))
    assert (a.vocabulary.labels, a.facts["lambda"]) == (b.vocabulary.labels, 0.02)
    a, b = (by_name(found.vocabulary, found.layout, found.w) for found in (a, b))
    assert max(abs(a.get(name, 0) - b.get(name, 0)) for name in a.keys() | b.keys()) < 3e-3


@pytest.mark.parametrize("algorithm", ONLINE)
@pytest.mark.parametrize("features", ["observed", "full"])
def test_new_sentences_alone_keep_what_the_model_knows(files, learnt, go_on, tmp_path, algorithm, features):
    """All the old names are there, with the old weights where a short pass with tiny steps does not change them."""
    old, new = files(old=OLD, new=NEW)
    before, said = model.load(learnt(old, features=features)), []
    options, penalised = optimizers.get(algorithm).defaults(), "l2" in optimizers.get(algorithm).solves
    tiny = {name: 1e-9 for name in ("eta", "c", "variance") if name in options}
    outcome = go_on([new], algorithm=algorithm, options={**options, **tiny}, passes=1, said=said)
    after = model.load(tmp_path / "model.bin")
    assert after.vocabulary.labels == [*before.vocabulary.labels, "B-Y"]
    was, now = (by_name(found.vocabulary, found.layout, found.w) for found in (before, after))
    assert was.keys() <= now.keys()
    if tiny:
        assert max(abs(now[name] - was.get(name, 0)) for name in now) < 1e-4
    assert outcome.iteration == 1
    names = [set(found.vocabulary.attributes.names()) for found in (before, after)]
    told, seen = re.fullmatch(r"60 new sequences; new to the model: 1 labels, (\d+) attributes", said[0]), len(names[1] - names[0])
    assert int(told[1]) == seen if penalised else int(told[1]) >= seen  # a name without a mistake keeps no weight


def test_the_model_goes_on_from_its_own_weights(files, learnt, go_on):
    """At the optimum of the same data there is nothing to do."""
    old, again = files(old=OLD, again=OLD)
    learnt(old)
    assert go_on([again], replay=[old], tol=1e-5).iteration == 1


def test_n_counts_all_that_was_learnt_from(files, learnt, go_on, tmp_path):
    old, new, more = files(old=OLD, new=NEW, more=problems.text(3, sentences=5))
    learnt(old, passes=2)
    go_on([new], replay=[old], lambdas=(Strength(3, True),), l1s=(Strength(0.1, True),), passes=2, algorithm="owlqn",
          options=optimizers.get("owlqn").defaults(), model=str(tmp_path / "old.bin"))  # fmt: skip
    facts = model.load(tmp_path / "old.bin").facts
    assert (facts["n_sequences"], facts["n_learnt"], facts["lambda"], facts["l1"]) == (100, 100, 0.03, 0.001)
    go_on([more], lambdas=(Strength(1, True),), algorithm="sgd-l1", options=optimizers.get("sgd-l1").defaults(), passes=1)
    facts = model.load(tmp_path / "model.bin").facts
    assert (facts["n_sequences"], facts["n_learnt"], facts["lambda"], facts["l1"]) == (5, 105, 1 / 105, 0.001)


def test_what_cannot_be_learnt_leaves_the_model_alone(files, learnt, go_on):
    old, new, broken, empty = files(old=OLD, new=NEW, broken=NEW + "w1 c1\n", empty="")
    path = learnt(old, passes=2, algorithm="owlqn", options=optimizers.get("owlqn").defaults(), l1s=(Strength(0.01),))
    before = Path(path).read_bytes()
    with pytest.raises(DataError, match="2 columns, expected 3 as in the data that the model was learnt from"):
        go_on([broken], replay=[old], model=path)
    with pytest.raises(DataError, match="empty.txt: no sentences"):
        go_on([new], replay=[empty], model=path)
    with pytest.raises(TrainingError, match=r"lbfgs cannot solve --l1; these can: .*lambda \S+, l1 0.01"):
        go_on([new], replay=[old], model=path)
    assert Path(path).read_bytes() == before


def test_a_model_that_does_not_know_what_it_was_learnt_from(settings, files, go_on, tmp_path):
    """Only numbers that are needed are missed."""
    old, new = files(old=OLD, new=NEW)
    training, at = prepare(settings(paths=(old,))), tmp_path / "old.bin"
    w = np.ones(training.layout.n_features)
    model.save(at, training.vocabulary, training.layout, w, {"lambda": "1"})
    with pytest.raises(ModelError, match="old.bin: no n_sequences among its facts"):
        go_on([new])
    model.save(
        tmp_path / "old.bin", training.vocabulary, training.layout, np.ones(training.layout.n_features), {"n_sequences": 40, "l1": 0}
    )
    with pytest.raises(ModelError, match="old.bin: no lambda among its facts"):
        go_on([new])
    assert go_on([new], lambdas=(Strength(0.1),), passes=2).iteration == 2


def test_the_command(crftrain, files):
    files(train=OLD, new=NEW)
    assert crftrain("learn", "-q", "-m", "old.bin", "train.txt").status == 0
    alone = crftrain("update", "-a", "lbfgs", "old.bin", "new.txt")
    assert alone.status == 2 and "lbfgs forgets what is not in its data: it needs --replay OLD; these do not: " in alone.err
    assert crftrain("update", "--patience", 3, "old.bin", "new.txt").status == 2
    done = crftrain("update", "--replay", "train.txt", "-m", "new.bin", "old.bin", "new.txt")
    assert done.status == 0 and "60 new sequences, 40 old ones; new to the model: 1 labels, " in done.err
    assert "algorithm\tauto" in crftrain("dump", "new.bin").out.decode()
    before = len(crftrain("dump", "old.bin").lines)
    in_place = crftrain("update", "-q", "old.bin", "new.txt")
    assert (in_place.status, in_place.err) == (0, "")
    assert len(crftrain("dump", "old.bin").lines) > before
    assert crftrain("tag", "old.bin", "new.txt").status == 0
