"""From files to a model file: what is logged, what is kept, what is chosen, and that nothing is touched where something fails."""

import json
import math
from dataclasses import replace

import numpy as np
import problems
import pytest
from observers import Hearing, InterruptedAt

from crftrain.errors import CrftrainError, DataError, ModelError, TrainingError
from crftrain.model.model import load
from crftrain.optimizers.base import Algorithm, Optimiser, Step
from crftrain.tagging.tag import Tagger
from crftrain.text.read import Sentence, sentences
from crftrain.training import train
from crftrain.training.learn import learn, prepare
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength

START = {"event", "algorithm", "options", "n_sequences", "n_tokens", "n_labels", "n_attributes", "n_features", "lambda", "l1"}
START |= {"threads", "seed", "encode_seconds", "version"}
STEP = {"event", "iteration", "passes", "seconds", "objective", "exact", "gap", "distance", "proved", "active"}
END = {"event", "reason", "iteration", "passes", "seconds", "objective", "gap", "bound", "proved", "active", "peak_rss_mb", "model_bytes"}
END |= {"lambda", "l1"}


def events(path):
    """The lines of a log; NaN and its kin are no JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} in the log")

    with open(path, encoding="utf-8") as lines:
        return [json.loads(line, parse_constant=refuse) for line in lines]


def lambdas(text):
    return Strength.parse_list(text)


class Wanderer(Optimiser):
    """An algorithm without a gap, whose steps only estimate: w moves by one each time."""

    def step(self):
        self.w += 1
        self.objective.value(self.w)
        return Step(10.0, exact=False)

    def state(self):
        return {"w": self.w}

    def restore(self, state):
        self.w[:] = state["w"]


def wanderer(**changes):
    solves = frozenset({"l2", "l1", "no-l2"})
    return Algorithm("wanders", "2020", solves, Wanderer, memory=lambda facts, options: {"w": 8 * facts.n_features}, **changes)


@pytest.fixture
def dev_file(tmp_path):
    path = tmp_path / "dev.txt"
    path.write_text(problems.text(1, noise=0.2), encoding="utf-8")
    return path


# ---- the log


def test_the_log_has_the_keys_that_are_documented(settings, tmp_path):
    outcome = learn(settings(log=str(tmp_path / "log"), threads=2, seed=5, passes=4))
    start, *steps, end = events(tmp_path / "log")
    assert set(start) == START
    assert [set(step) for step in steps] == [STEP] * 4
    assert set(end) == END
    assert [event["event"] for event in (start, *steps, end)] == ["start", *["step"] * 4, "end"]
    assert (start["algorithm"], start["options"]) == ("lbfgs", {"memory": 10})
    expected = {"n_sequences": 40, "n_labels": 3, "lambda": 1 / 40, "l1": 0, "threads": 2, "seed": 5}
    assert {key: start[key] for key in expected} == expected
    assert start["n_features"] == load(tmp_path / "model.bin").active
    assert [step["iteration"] for step in steps] == [1, 2, 3, 4]
    assert all(step["exact"] is True for step in steps)
    assert all(a["passes"] < b["passes"] and a["seconds"] < b["seconds"] for a, b in zip(steps, steps[1:], strict=False))
    assert end["reason"] == outcome.reason == "limit of 4 iterations"
    assert (end["objective"], end["gap"]) == (pytest.approx(steps[-1]["objective"]), pytest.approx(steps[-1]["gap"]))
    assert end["bound"] >= 0
    assert end["model_bytes"] == (tmp_path / "model.bin").stat().st_size
    assert 1 < end["peak_rss_mb"] < 1e6
    assert 0 < start["encode_seconds"] < 60


def test_held_out_scores_are_logged_step_by_step(settings, tmp_path, dev_file):
    outcome = learn(settings(log=str(tmp_path / "log"), dev=str(dev_file), passes=6))
    _, *steps, end = events(tmp_path / "log")
    assert [set(step) for step in steps] == [STEP | {"dev"}] * 6
    assert [set(step["dev"]) for step in steps] == [{"f1", "accuracy", "likelihood"}] * 6
    assert set(end) - {"dev"} == END | {"best_iteration"}
    f1 = [step["dev"]["f1"] for step in steps]
    assert end["best_iteration"] == outcome.best_iteration == 1 + f1.index(max(f1))
    assert end["objective"] == pytest.approx(steps[end["best_iteration"] - 1]["objective"])


def test_what_is_not_known_is_null(settings, tmp_path):
    learn(settings(wanderer(), log=str(tmp_path / "log"), passes=2, lambdas=lambdas("0")))
    _, *steps, end = events(tmp_path / "log")
    assert [(step["gap"], step["exact"]) for step in steps] == [(None, False)] * 2
    assert end["bound"] is None  # without a penalty nothing bounds the optimum
    assert end["gap"] > 0  # the end is exact
    assert load(tmp_path / "model.bin").facts["bound"] is None


def test_trace_makes_the_logged_objective_exact_and_costs_no_pass(settings, tmp_path):
    for trace in (False, True):
        learn(settings(wanderer(), log=str(tmp_path / f"{trace}"), passes=3, trace=trace))
    plain, traced = events(tmp_path / "False"), events(tmp_path / "True")
    assert [step["objective"] for step in plain[1:-1]] == [10.0] * 3
    assert all(step["exact"] for step in traced[1:-1])
    assert traced[-2]["objective"] == pytest.approx(traced[-1]["objective"]) == pytest.approx(plain[-1]["objective"])
    assert [step["passes"] for step in traced[1:-1]] == [step["passes"] for step in plain[1:-1]] == [1, 2, 3]


def test_active_is_the_number_of_weights_that_are_not_zero(settings, tmp_path):
    outcome = learn(settings(log=str(tmp_path / "log"), passes=2))
    assert events(tmp_path / "log")[-1]["active"] == outcome.active == np.count_nonzero(outcome.w)


def test_a_log_that_cannot_be_written_is_an_error_before_training(settings, tmp_path):
    with pytest.raises(CrftrainError, match="the log cannot be written"):
        learn(settings(log=str(tmp_path / "none" / "log")))
    assert not (tmp_path / "model.bin").exists()


# ---- several strengths


def test_every_point_of_a_path_logs_its_own_start_to_end(settings, tmp_path):
    learn(settings(log=str(tmp_path / "log"), lambdas=lambdas("10/n,1/n,0.1"), passes=3))
    all_events = events(tmp_path / "log")
    for k, strength in enumerate((10 / 40, 1 / 40, 0.1)):
        own = [event for event in all_events if event.get("path") == k]
        assert [event["event"] for event in own] == ["start", *["step"] * 3, "end"], f"point {k}"
        assert set(own[0]) == START | {"path"}
        assert set(own[-1]) == END | {"path"}
        assert own[0]["lambda"] == pytest.approx(strength)
        assert own[-1]["objective"] == pytest.approx(own[-2]["objective"])


def test_each_point_starts_where_the_one_before_ended(settings, tmp_path):
    """The same strength again is done at once; a strength nearby takes fewer steps than from zero."""
    learn(settings(log=str(tmp_path / "log"), lambdas=lambdas("1/n,1/n,0.9/n"), tol=1e-7))
    iterations = [0, 0, 0]
    for event in events(tmp_path / "log"):
        if event["event"] == "step":
            iterations[event["path"]] = event["iteration"]
    cold = learn(settings(lambdas=lambdas("0.9/n"), tol=1e-7)).iteration
    assert iterations[0] > 5
    assert iterations[1] <= 1
    assert iterations[2] < cold


def test_without_held_out_data_the_last_point_is_saved(settings, tmp_path):
    path = learn(settings(lambdas=lambdas("10/n,0.5/n"), tol=1e-6))
    facts = load(tmp_path / "model.bin").facts
    assert facts["lambda"] == pytest.approx(0.5 / 40)
    single = learn(settings(lambdas=lambdas("0.5/n"), tol=1e-6))
    assert path.objective == pytest.approx(single.objective, rel=1e-6)


@pytest.mark.parametrize("order", ["100000/n,1/n", "1/n,100000/n"])
def test_held_out_data_choose_among_the_points(settings, tmp_path, dev_file, order):
    """A penalty that leaves nothing to weigh loses, wherever it stands."""
    outcome = learn(settings(lambdas=lambdas(order), dev=str(dev_file), log=str(tmp_path / "log")))
    model = load(tmp_path / "model.bin")
    assert model.facts["lambda"] == pytest.approx(1 / 40)
    assert model.facts["best_iteration"] == outcome.best_iteration
    scores = [event["dev"]["f1"] for event in events(tmp_path / "log") if event["event"] == "step"]
    assert outcome.dev["f1"] == max(scores)


def test_the_points_of_a_path():
    def pairs(l2, l1):
        return [(str(a), str(b)) for a, b in Settings(lambdas=l2, l1s=l1).points]

    assert pairs("1/n,2/n", "0") == [("1/n", "0"), ("2/n", "0")]
    assert pairs("0", "1,0.5/n") == [("0", "1"), ("0", "0.5/n")]


@pytest.mark.parametrize("text, number", [("0.5", 0.5), ("1/n", 1 / 40), (" 3 / n ", 3 / 40), ("0", 0), ("1e-3/n", 1e-3 / 40)])
def test_strengths(text, number):
    assert Strength.parse(text).at(40) == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "n", "1/m", "/n", "-1", "nan", "inf/n", "1/n/n", "1/2"])
def test_what_is_no_strength(text):
    with pytest.raises(ValueError, match="is not a number >= 0 or one divided by n"):
        Strength.parse(text)


# ---- held-out data


def test_the_step_that_is_kept_is_the_best_on_held_out_data(settings, tmp_path, dev_file):
    """The weights saved are those of the best step: training stopped there gives the same model."""
    outcome = learn(settings(dev=str(dev_file), passes=12))
    kept = load(tmp_path / "model.bin")
    assert outcome.best_iteration <= outcome.iteration
    learn(settings(passes=outcome.best_iteration))
    assert (load(tmp_path / "model.bin").w == kept.w).all()


def test_patience_ends_training(settings, dev_file):
    outcome = learn(settings(dev=str(dev_file), patience=2, tol=0))
    assert outcome.reason == "no better score on held-out data for 2 steps"
    assert outcome.iteration >= outcome.best_iteration + 2


def test_labels_that_are_no_chunks_are_scored_by_accuracy(settings, tmp_path):
    (tmp_path / "pos.txt").write_text(problems.text(labels=("N", "V", "A")), encoding="utf-8")
    outcome = learn(settings(paths=(str(tmp_path / "pos.txt"),), dev=str(tmp_path / "pos.txt"), passes=3))
    assert set(outcome.dev) == {"accuracy", "likelihood"}


def test_a_held_out_label_that_training_never_saw_is_an_error_of_the_tagger(settings, tmp_path):
    """CRFsuite stops scoring the sentence there (peers, 7); Wapiti crashes on a new label (peers, 13)."""
    (tmp_path / "one.txt").write_text("w0 c0 O\nw1 c1 O\n\n" * 5, encoding="utf-8")
    (tmp_path / "dev.txt").write_text("w0 c0 O\nw1 c1 B-NEW\nw0 c0 O\nw0 c0 O\n\n", encoding="utf-8")
    outcome = learn(settings(paths=(str(tmp_path / "one.txt"),), dev=str(tmp_path / "dev.txt"), passes=2))
    assert outcome.dev["accuracy"] == 75


@pytest.mark.parametrize("text, finding", [("", "no sentences|no tokens"), ("\n\n", "no sentences|no tokens"), ("w c\n", "no gold label")])
def test_held_out_data_without_a_gold_label_are_an_error(settings, tmp_path, text, finding):
    (tmp_path / "dev.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=finding):
        learn(settings(dev=str(tmp_path / "dev.txt"), passes=1))
    assert not (tmp_path / "model.bin").exists()


# ---- the model


def test_the_model_says_how_it_was_made(settings, tmp_path):
    outcome = learn(settings(features="full", transitions="observed", min_freq=2, seed=7, passes=3))
    facts = load(tmp_path / "model.bin").facts
    expected = {"algorithm": "lbfgs", "options": {"memory": 10}, "lambda": 1 / 40, "l1": 0, "seed": 7, "min_freq": 2}
    expected |= {"features": "full", "transitions": "observed", "n_sequences": 40, "n_labels": 3, "iteration": 3, "passes": outcome.passes}
    expected |= {"reason": "limit of 3 iterations", "converged": False, "objective": outcome.objective, "gap": outcome.gap}
    assert {key: facts[key] for key in expected} == expected
    assert outcome.bound == facts["bound"]
    assert "seconds" not in facts  # which would differ from run to run
    assert learn(settings()).converged is load(tmp_path / "model.bin").facts["converged"] is True


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_command_gives_the_same_bytes(settings, tmp_path, threads):
    models = []
    for _ in range(2):
        learn(settings(threads=threads))
        models.append((tmp_path / "model.bin").read_bytes())
    assert models[0] == models[1]


def test_threads_meet_at_one_optimum(settings):
    one, two = (learn(settings(threads=threads, tol=1e-8)).objective for threads in (1, 2))
    assert one == pytest.approx(two, rel=1e-10)


def test_several_files_are_one_corpus(settings, tmp_path, train_file):
    blocks = train_file.read_text(encoding="utf-8").split("\n\n")
    for name, part in (("a.txt", blocks[:7]), ("b.txt", blocks[7:30]), ("c.txt", blocks[30:])):
        (tmp_path / name).write_text("\n\n".join(part), encoding="utf-8")  # a sentence ends with its file
    learn(settings())
    whole = (tmp_path / "model.bin").read_bytes()
    learn(settings(paths=tuple(str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt"))))
    assert (tmp_path / "model.bin").read_bytes() == whole


def test_sequences_are_counted_as_they_are(settings, tmp_path):
    """CRFsuite says one too many (peers, 8)."""
    said = []
    for end in ("", "\n", "\n\n", "\n\n\n \n"):
        (tmp_path / "some.txt").write_text("\n\n".join(["a x B-X\nb y O"] * 7) + end, encoding="utf-8")
        learn(settings(paths=(str(tmp_path / "some.txt"),), passes=1), Hearing(said))
    assert [line for line in said if "7 sequences, 14 tokens, 2 labels" in line] == said[1::3]


def test_a_pair_attribute_that_always_fires_is_the_plain_b_line(settings, tmp_path):
    lines = [f"{line.rsplit(' ', 1)[0]} same {line.rsplit(' ', 1)[1]}" if line else "" for line in problems.text(4).split("\n")]
    (tmp_path / "same.txt").write_text("\n".join(lines), encoding="utf-8")
    outcomes = []
    for b_line in ("B", "B:%x[0,2]"):
        (tmp_path / "template").write_text(f"U0:%x[0,0]\nU1:%x[0,1]\n{b_line}\n", encoding="utf-8")
        chosen = {"template": str(tmp_path / "template"), "paths": (str(tmp_path / "same.txt"),), "transitions": "full", "features": "full"}
        outcomes.append(learn(settings(**chosen, tol=1e-7)))
    assert outcomes[0].objective == pytest.approx(outcomes[1].objective, rel=1e-9)
    assert len(outcomes[0].w) == len(outcomes[1].w)


def test_a_sentence_of_200_000_tokens(settings, tmp_path):
    """Learnt from and tagged, in seconds."""
    words = np.random.default_rng(0).integers(0, 9, 200_000)
    text = "\n".join(f"w{word} {'XYZ'[word % 3]}" for word in words.tolist()) + "\n"
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n", encoding="utf-8")
    outcome = learn(settings(paths=(str(tmp_path / "long.txt"),), template=str(tmp_path / "template"), passes=4))
    assert math.isfinite(outcome.objective)
    tagged = Tagger(load(tmp_path / "model.bin")).tag(next(sentences(str(tmp_path / "long.txt"))))
    rows = [line.split() for line in tagged.decode().split("\n")[:-2]]
    assert len(rows) == 200_000
    assert sum(gold == predicted for _, gold, predicted in rows) == 200_000


# ---- data that others fail on


def test_values_in_the_thousands_are_learnt_from(settings, tmp_path):
    """CRFsuite's line search gives up, and it writes a model without features and exits 0 (peers, 3)."""
    rng = np.random.default_rng(0)
    value = rng.uniform(1000, 4000, 300)
    lines = [f"{'high' if x + rng.normal(0, 300) > 2500 else 'low'}\tx:{x:.1f}\tbias" for x in value]
    (tmp_path / "items").write_text("\n".join("\n".join(lines[k : k + 5]) + "\n" for k in range(0, 300, 5)), encoding="utf-8")
    outcome = learn(settings(paths=(str(tmp_path / "items"),), format="items", tol=1e-9))
    at_zero = 5 * math.log(2)
    assert outcome.objective < 0.8 * at_zero
    assert load(tmp_path / "model.bin").active == outcome.active > 4


def test_mostly_one_label_does_not_stop_training(settings, tmp_path):
    """Wapiti stops after five iterations with a flat error and tags everything O (peers, 12)."""
    rng = np.random.default_rng(0)
    blocks = ["\n".join(f"w{w} x {'B-RARE' if w in (3, 77, 150) else 'O'}" for w in rng.integers(0, 200, 8)) for _ in range(150)]
    (tmp_path / "rare.txt").write_text("\n\n".join(blocks), encoding="utf-8")
    outcome = learn(settings(paths=(str(tmp_path / "rare.txt"),), dev=str(tmp_path / "rare.txt"), lambdas=lambdas("0.1/n")))
    assert outcome.reason == "converged"
    assert outcome.dev["f1"] > 90


@pytest.mark.parametrize("init", [False, True])
def test_a_new_label_is_learnt_over_the_model_of_before(settings, tmp_path, init):
    """Wapiti crashes where the old model, which it goes on with, lacks a label (peers, 13)."""
    learn(settings(passes=2))
    (tmp_path / "new.txt").write_text("w0 c0 NEW\nw1 c1 B-X\n\n", encoding="utf-8")
    old = {"init": str(tmp_path / "model.bin")} if init else {}
    outcome = learn(settings(paths=(str(tmp_path / "new.txt"),), tol=1e-6, **old))
    model = load(tmp_path / "model.bin")
    assert model.vocabulary.labels == ["NEW", "B-X"]
    assert outcome.converged
    assert tag_lines(model, "w0 c0\nw1 c1") == ["w0 c0 NEW", "w1 c1 B-X"]


def tag_lines(model, text):
    return Tagger(model).tag(Sentence([line.encode() for line in text.split("\n")], "text", 1)).decode().split("\n")[:-2]


@pytest.mark.parametrize(
    "text", ["w0 c0 O\n", "w0 c0 O\n\nw0 c0 O\n\n", "w0 c0 B-X\n\nw1 c1 O\n"], ids=["one token", "one label", "length 1"]
)
def test_the_smallest_corpora(settings, tmp_path, text):
    (tmp_path / "tiny.txt").write_text(text, encoding="utf-8")
    for transitions in ("full", "observed"):
        outcome = learn(settings(paths=(str(tmp_path / "tiny.txt"),), transitions=transitions))
        assert outcome.converged
        assert math.isfinite(outcome.objective)
        load(tmp_path / "model.bin")


# ---- failures leave the model that was there


def test_a_model_that_cannot_be_written_is_found_before_anything_is_read(settings, tmp_path):
    """CRF++ finds out after training, and crashes (peers, 10)."""
    for place in (tmp_path / "none" / "model.bin", tmp_path):
        with pytest.raises(ModelError):
            learn(settings(model=str(place), paths=("no-such-file",)))


@pytest.mark.parametrize("text", ["w0 c0 O\nw1 O\n", "", "w0\n", "a\0b c O\n"], ids=["ragged", "empty", "one column", "NUL"])
def test_bad_data_leave_the_model_untouched(settings, tmp_path, text):
    (tmp_path / "bad.txt").write_text(text, encoding="utf-8")
    (tmp_path / "model.bin").write_bytes(b"precious")
    with pytest.raises(DataError, match=r"bad\.txt"):
        learn(settings(paths=(str(tmp_path / "bad.txt"),)))
    assert (tmp_path / "model.bin").read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "model.bin", "train.txt"]


def test_training_that_fails_leaves_the_model_untouched(settings, tmp_path):
    class Failing(Wanderer):
        def step(self):
            self.w[:] = np.nan
            return Step(self.objective.value(self.w))

    (tmp_path / "model.bin").write_bytes(b"precious")
    with pytest.raises(TrainingError):
        learn(settings(replace(wanderer(), optimiser=Failing)))
    assert (tmp_path / "model.bin").read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "train.txt"]


def test_more_memory_than_there_is_is_refused(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "free_memory", lambda: 10_000)
    with pytest.raises(TrainingError, match=r"lbfgs: [0-9,]+ features take \d+ MB \(.*\), and 0 MB are free, expected less: "):
        learn(settings())
    assert not (tmp_path / "model.bin").exists()
    monkeypatch.setattr(train, "free_memory", lambda: None)  # a system that does not say
    learn(settings(passes=1))


def test_features_and_memory_are_said_before_training(settings):
    said = []
    learn(settings(passes=1), Hearing(said))
    training = prepare(settings())
    counted = next(text for text in said if "features;" in text)
    assert f"{training.layout.n_features:,} features; memory: " in counted
    assert " MB, corpus " in counted
    assert any("template: chunk" in text for text in said)
    assert said.index(counted) < next(k for k, text in enumerate(said) if "limit of 1 iteration" in text)
    assert "not converged" in said[-1]


def test_a_signal_saves_what_there_is(settings, tmp_path):
    outcome = learn(settings(lambdas=lambdas("10/n,1/n"), log=str(tmp_path / "log")), InterruptedAt(1))
    assert (outcome.reason, outcome.iteration) == ("interrupted by SIGINT", 1)
    assert load(tmp_path / "model.bin").facts["reason"] == "interrupted by SIGINT"
    assert load(tmp_path / "model.bin").facts["lambda"] == 10 / 40  # and no second point
    assert {event.get("path") for event in events(tmp_path / "log")} <= {0, None}


def test_options_of_the_layout_reach_it(settings):
    def count(**changes):
        return prepare(settings(**changes)).layout.n_features

    observed = count()
    assert count(features="full") > observed
    assert count(transitions="observed") <= observed
    assert count(min_freq=3) < observed
    assert prepare(settings(features="full")).layout.n_features == 3 * prepare(settings()).layout.n_attributes + 9
