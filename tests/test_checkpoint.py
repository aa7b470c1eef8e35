"""Checkpoints: training goes on to the same bits as unbroken, or says why it cannot."""

import errno
import json
import os
import pickle
import signal
import stat
from dataclasses import replace

import numpy as np
import problems
import pytest
from observers import InterruptedAt
from problems import KINDS, instance

from crftrain import optimizers, whole
from crftrain.errors import CrftrainError, CrftrainWarning, ModelError
from crftrain.training import checkpoint
from crftrain.training.learn import learn
from crftrain.training.strength import Strength

VARIANTS = [
    ("hybrid", {}),
    ("lbfgs", {}),
    ("lbfgs", {"memory": 1}),
    ("owlqn", {"memory": 2}),
    ("mixing", {}),
    ("newton-cg", {}),
    ("newton-cg", {"hessian_share": 1.0, "pairs": 5.0}),
    ("sag", {}),
    ("sag", {"sampling": "nus2013", "table": "marginals", "first_pass": "permute"}),
    ("sag", {"sampling": "uniform", "table": "sparse", "batch": 3, "table_precision": "double"}),
    ("saga", {}),
    ("saga", {"draws": "two", "skip": False}),
    ("saga", {"sampling": "uniform", "table": "marginals"}),
    ("svrg", {}),
    ("svrg", {"mixed": True, "sampling": "nus2013"}),
    ("svrg", {"sampling": "uniform", "batch": 4}),
    ("ap", {}),
    ("pa", {"type": "2"}),
    ("arow", {}),
    ("mira", {"shrinking_size": 2, "averaging": True}),
]


def named(variants):
    return [" ".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in variants]


@pytest.fixture
def asked(settings, tmp_path):
    """asked("sag", passes=4) -> Settings with options given by name, without a stop at the optimum."""

    def make(name, options=(), **changes):
        algorithm = optimizers.get(name)
        model = tmp_path / f"model {len(list(tmp_path.iterdir()))}"
        common = {"options": {**algorithm.defaults(), **dict(options)}, "tol": 0.0, "model": str(model), "checkpoint_every": 1}
        return settings(algorithm, **{**common, **changes})

    return make


@pytest.fixture
def dev_file(tmp_path):
    path = tmp_path / "dev.txt"
    path.write_text(problems.text(1, noise=0.3), encoding="utf-8")
    return path


def model_bytes(settings, **options):
    """The model that training leaves; its facts include the objective, the gap and the passes."""
    learn(settings, **options)
    with open(settings.model, "rb") as file:
        return file.read()


# ---- the same bits


@pytest.mark.parametrize("broken_at", [1, 3])
@pytest.mark.parametrize("name, options", VARIANTS, ids=named(VARIANTS))
def test_training_goes_on_to_the_same_bits(asked, tmp_path, name, options, broken_at):
    unbroken = model_bytes(asked(name, options, passes=6))
    state = str(tmp_path / "state.npz")
    assert model_bytes(asked(name, options, passes=broken_at, checkpoint=state, checkpoint_every=broken_at)) != unbroken
    assert model_bytes(asked(name, options, passes=6, resume=state)) == unbroken


@pytest.mark.parametrize("broken_at", [2, 12])
@pytest.mark.parametrize("l1", ["0.02", "0.5/n"])
@pytest.mark.parametrize("name", ["owlqn", "saga"])
def test_training_with_l1_goes_on_to_the_same_bits(asked, tmp_path, name, l1, broken_at):
    state, penalty = str(tmp_path / "state.npz"), {"l1s": Strength.parse_list(l1)}
    unbroken = model_bytes(asked(name, passes=16, **penalty))
    model_bytes(asked(name, passes=broken_at, checkpoint=state, **penalty))
    assert model_bytes(asked(name, passes=16, resume=state, **penalty)) == unbroken


@pytest.mark.parametrize(
    "name, kind_name",
    [
        (name, kind_name)
        for name in optimizers.names()
        for kind_name in ("pair attributes", "real values", "no transitions", "many labels", "one label")
        if (name, kind_name) != ("gis", "real values")  # which takes no values < 0
    ],
)
def test_state_and_restore_are_exact_for_every_kind_of_corpus(name, kind_name):
    """A new optimiser with the state of another takes the same steps, and has the same state again."""
    made = instance(2, **{**KINDS[kind_name], "sequences": 15})
    rng, another = np.random.default_rng(1), np.random.default_rng(5)
    algorithm = optimizers.get(name)
    ends = []
    problem = made.problem(l2=0.1)
    opt = algorithm.make(problem, np.zeros(problem.n_features), rng, **algorithm.defaults())
    opt.step()
    state, generator = {key: array.copy() for key, array in opt.state().items()}, rng.bit_generator.state
    other = algorithm.make(made.problem(l2=0.1), np.zeros(problem.n_features), another, **algorithm.defaults())
    other.restore(state)
    another.bit_generator.state = generator
    for key, array in other.state().items():
        assert array.tobytes() == state[key].tobytes() or key == "sampler_L", key
    for one in (opt, other):
        steps = [one.step()[:2] for _ in range(3)]
        ends.append((one.solution().tobytes(), repr(steps)))
    assert ends[0] == ends[1]


def test_what_measurements_taught_is_kept(asked, tmp_path):
    """With --tol: the measurements fall where they fall unbroken, and so does the end."""
    state = str(tmp_path / "state.npz")
    whole = asked("sag", tol=1e-5, passes=300)
    unbroken = model_bytes(whole)
    for broken_at in (5, 12, 20):
        model_bytes(asked("sag", tol=1e-5, passes=broken_at, checkpoint=state, checkpoint_every=broken_at))
        assert model_bytes(asked("sag", tol=1e-5, passes=300, resume=state)) == unbroken


@pytest.mark.parametrize("name", optimizers.names())
@pytest.mark.parametrize("patience", [None, 2, 3])
def test_held_out_scores_and_patience_are_kept(asked, tmp_path, dev_file, name, patience):
    state, dev = str(tmp_path / "state.npz"), {"dev": str(dev_file), "patience": patience}
    whole = asked(name, passes=12, **dev)
    outcome = learn(whole)
    with open(whole.model, "rb") as file:
        unbroken = file.read()
    for broken_at in {1, 2, outcome.best_iteration, outcome.best_iteration + 1} & set(range(1, outcome.iteration)):
        learn(asked(name, passes=broken_at, checkpoint=state, checkpoint_every=broken_at, **dev))
        assert model_bytes(asked(name, passes=12, resume=state, **dev)) == unbroken, broken_at


def test_iterations_passes_and_seconds_are_counted_on(asked, tmp_path):
    state, log = str(tmp_path / "state.npz"), str(tmp_path / "log")
    first = learn(asked("sag", passes=4, checkpoint=state))
    second = learn(asked("sag", passes=6, resume=state, log=log))
    with open(log, encoding="utf-8") as lines:
        steps = [json.loads(line) for line in lines if '"step"' in line]
    assert [step["iteration"] for step in steps] == [5, 6]
    assert steps[0]["passes"] > first.passes
    assert second.seconds > first.seconds
    assert second.passes == learn(asked("sag", passes=6)).passes


def test_a_resumed_run_can_be_broken_again(asked, tmp_path):
    state = str(tmp_path / "state.npz")
    unbroken = model_bytes(asked("sag", passes=7))
    model_bytes(asked("sag", passes=2, checkpoint=state))
    for passes in (3, 5):
        model_bytes(asked("sag", passes=passes, resume=state, checkpoint=state))
    assert model_bytes(asked("sag", passes=7, resume=state)) == unbroken


@pytest.mark.parametrize("before, after", [(0.0, 1e-3), (1e-3, 0.0)])
def test_the_limits_may_be_others(asked, tmp_path, before, after):
    """--tol, --passes and the like say when to stop, not what the steps are."""
    state = str(tmp_path / "state.npz")
    learn(asked("sag", passes=3, tol=before, max_passes=100.0, checkpoint=state))
    outcome = learn(asked("sag", passes=40, tol=after, resume=state))
    assert outcome.reason == ("converged" if after else "limit of 40 passes")


def test_a_checkpoint_of_another_format_is_refused(asked, tmp_path):
    """Its arrays may have the same names and another meaning."""
    state = tmp_path / "state.npz"
    learn(asked("sag", passes=2, checkpoint=str(state)))
    with np.load(state) as file:
        arrays = dict(file)
    run = json.loads(str(arrays["run"]))
    arrays["run"] = json.dumps({**run, "format": run["format"] - 1})
    np.savez(state, **arrays)
    with pytest.raises(CrftrainError, match=f"a checkpoint of format {checkpoint.FORMAT - 1}, expected {checkpoint.FORMAT}"):
        learn(asked("sag", passes=3, resume=str(state)))


@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_a_checkpoint_is_written_every_so_many_steps(asked, tmp_path, every):
    state = tmp_path / "state.npz"
    learn(asked("sag", passes=7, checkpoint=str(state), checkpoint_every=every))
    with np.load(state) as file:
        assert json.loads(str(file["counters"]))["iteration"] == 7  # after the last step in any case
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_an_interrupted_run_leaves_a_checkpoint_to_go_on_from(asked, tmp_path):
    """Whatever --checkpoint-every says."""
    state = str(tmp_path / "state.npz")
    unbroken = model_bytes(asked("sag", passes=6))
    broken = asked("sag", passes=6, checkpoint=state, checkpoint_every=100)
    outcome = learn(broken, InterruptedAt(3))
    assert outcome.reason.startswith("interrupted")
    assert outcome.iteration == 3
    assert model_bytes(asked("sag", passes=6, resume=state)) == unbroken


def test_the_last_strength_of_a_path_goes_on_to_the_same_bits(asked, tmp_path):
    state = str(tmp_path / "state.npz")
    path = {"lambdas": Strength.parse_list("10/n,1/n"), "checkpoint": state, "checkpoint_every": 4}
    unbroken = model_bytes(asked("sag", passes=6, **path))
    resumed = asked("sag", passes=6, resume=state)
    assert model_bytes(resumed)[-200:] == unbroken[-200:]
    assert model_bytes(resumed) == unbroken


# ---- by the command line


@pytest.mark.parametrize("name", optimizers.names())
def test_by_the_command_line(crftrain, train_file, tmp_path, name):
    def run(model, passes, *options):
        ended = crftrain("learn", "-q", "-a", name, "--passes", passes, "--tol", 0, "-m", model, *options, "train.txt")
        assert (ended.status, ended.err) == (0, "")
        return (tmp_path / model).read_bytes()

    unbroken = run("whole", 5)
    run("part", 3, "--checkpoint", "state", "--checkpoint-every", 3)
    assert run("resumed", 5, "--resume", "state") == unbroken


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_terminated_process_can_be_resumed(process, crftrain, tmp_path):
    (tmp_path / "train.txt").write_text(problems.text(sentences=1500), encoding="utf-8")
    arguments = ["learn", "--tol", "0", "-a", "sag", "--checkpoint", "state", "--checkpoint-every", "1000000", "train.txt"]
    child = process(*arguments, "-m", "part", "--passes", "100000")
    for line in iter(child.stderr.readline, b""):
        if line.startswith(b"pass 2"):
            break
    child.send_signal(signal.SIGTERM)
    child.stderr.read()
    assert child.wait(60) == 143
    with np.load(tmp_path / "state") as file:
        reached = json.loads(str(file["counters"]))["iteration"]
    assert reached >= 2
    for model, options in (("whole", ()), ("resumed", ("--resume", "state"))):
        assert crftrain("learn", "-q", "-a", "sag", "--tol", 0, "--passes", reached + 2, "-m", model, *options, "train.txt").status == 0
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("name", optimizers.names())
def test_a_run_that_had_ended_ends_again_at_once(asked, name):
    """Killed between its last checkpoint and its model: no step more, the same bytes."""
    common = {"passes": 3, "tol": 1e-9}
    if name == "sgd-l1":
        common["l1s"] = Strength.parse_list("1/n")
    state = asked(name).model + ".npz"
    unbroken = model_bytes(asked(name, checkpoint=state, **common))
    assert model_bytes(asked(name, resume=state, **common)) == unbroken


@pytest.mark.parametrize("changes", [{"tol": 1e-2, "passes": 200}, {"max_passes": 3.5, "passes": 200}, {"passes": 200, "patience": 2}])
def test_whatever_the_reason_was(asked, dev_file, changes):
    dev = {"dev": str(dev_file)} if "patience" in changes else {}
    state = asked("sag").model + ".npz"
    settings = asked("sag", checkpoint=state, **changes, **dev)
    outcome = learn(settings)
    assert outcome.iteration < 200
    again = asked("sag", resume=state, **changes, **dev)
    resumed = learn(again)
    assert (resumed.iteration, resumed.reason) == (outcome.iteration, outcome.reason)
    with open(settings.model, "rb") as one, open(again.model, "rb") as other:
        assert one.read() == other.read()


@pytest.mark.parametrize("extra", [("--lambda", "1/n,2/n"), ("--init", "m"), ("--folds", "2")])
def test_resume_is_of_one_training_from_its_own_start(crftrain, train_file, extra):
    crftrain("learn", "-q", "-a", "sag", "--passes", 1, "--checkpoint", "state", "--checkpoint-every", 1, "-m", "m", "train.txt")
    ended = crftrain("learn", "-a", "sag", "--resume", "state", *extra, "train.txt")
    assert ended.status == 2
    assert "--resume" in ended.err


# ---- what is refused


@pytest.fixture
def written(asked, tmp_path):
    """(path of a checkpoint, the settings to go on with)"""
    state = tmp_path / "state.npz"
    learn(asked("sag", passes=2, checkpoint=str(state)))
    return state, asked("sag", passes=4, resume=str(state))


def refused(settings):
    """The error's text."""
    with pytest.raises(CrftrainError) as error:
        learn(settings)
    assert not os.path.exists(settings.model)
    return str(error.value)


OTHERS = [
    ({"seed": 2}, "seed 1"),
    ({"lambdas": Strength.parse_list("2/n")}, "lambda 0.025"),
    ({"options": {**optimizers.get("sag").defaults(), "batch": 2}}, "'batch': 1"),
    ({"options": {**optimizers.get("sag").defaults(), "table_precision": "double"}}, "'table_precision': 'single'"),
    ({"algorithm": optimizers.get("saga"), "options": optimizers.get("saga").defaults()}, "algorithm sag"),
    ({"features": "full"}, "n_features"),
    ({"min_freq": 3}, "n_attributes"),
]


@pytest.mark.parametrize("changes, said", OTHERS, ids=[" ".join(changes) for changes, _ in OTHERS])
def test_a_checkpoint_of_other_options_is_refused(written, changes, said):
    state, settings = written
    text = refused(replace(settings, **changes))
    assert text.startswith(f"{state}: made with ")
    assert said in text
    assert "as asked for now" in text


@pytest.mark.parametrize("change", ["a label", "a word", "one sentence less", "the order"])
def test_a_checkpoint_of_other_data_is_refused(written, train_file, change):
    """Also where all the numbers of sequences, tokens, labels and features agree."""
    state, settings = written
    sentences = train_file.read_text().strip().split("\n\n")
    if change == "a label":
        lines = sentences[0].split("\n")
        word, column, label = lines[0].split()
        sentences[0] = "\n".join([f"{word} {column} {'O' if label != 'O' else 'B-X'}", *lines[1:]])
    elif change == "a word":
        sentences[0] = sentences[0].replace(sentences[0].split()[0], sentences[1].split()[0], 1)
        if sentences[0].split()[0] == train_file.read_text().split()[0]:
            sentences[0] = sentences[0].replace(sentences[0].split()[0], "w29", 1)
    elif change == "one sentence less":
        sentences.pop()
    else:
        sentences[3], sentences[4] = sentences[4], sentences[3]
    train_file.write_text("\n\n".join(sentences) + "\n")
    assert refused(settings).startswith(f"{state}: made with ")


def test_a_checkpoint_of_other_held_out_data_is_refused(asked, tmp_path, dev_file):
    state = str(tmp_path / "state.npz")
    learn(asked("sag", passes=2, checkpoint=state, dev=str(dev_file)))
    assert "dev" in refused(asked("sag", passes=4, resume=state))


def test_what_is_no_checkpoint_is_refused(written, tmp_path, train_file):
    state, settings = written
    impostors = {"text": train_file.read_bytes(), "empty": b"", "model": None, "zip": b"PK\x05\x06" + bytes(18)}
    impostors["pickle"] = pickle.dumps({"a": 1})
    learn(replace(settings, resume=None, model=str(tmp_path / "model")))
    for name, content in impostors.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        assert name in refused(replace(settings, resume=str(tmp_path / name), model=str(tmp_path / "none")))
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    np.savez(tmp_path / "objects.npz", run=np.array([{"a": 1}], dtype=object), counters="{}")
    for name in ("array.npy", "arrays.npz", "objects.npz", "absent.npz", "."):
        refused(replace(settings, resume=str(tmp_path / name), model=str(tmp_path / "none")))


def test_nothing_is_pickled(written):
    state, _ = written
    with np.load(state, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiuU" for name in file.files)


def test_a_damaged_checkpoint_is_refused(written, tmp_path):
    """Cut anywhere, or with a byte changed: CrftrainError, or all is as it was (a byte that nothing depends on)."""
    state, settings = written
    content, run = state.read_bytes(), None
    with np.load(state) as file:
        run = json.loads(str(file["run"]))
    del run["format"]
    good, counters = checkpoint.load(str(state), run)
    broken, rng = tmp_path / "broken.npz", np.random.default_rng(0)

    def same_or_refused(damaged):
        broken.write_bytes(damaged)
        try:
            arrays, counted = checkpoint.load(str(broken), run)
        except CrftrainError:
            return False
        assert counted == counters
        assert {name: array.tobytes() for name, array in arrays.items() if name in good} == {
            name: array.tobytes() for name, array in good.items() if name in arrays
        }
        return True

    for size in [*range(0, len(content), len(content) // 60), len(content) - 1]:
        assert not same_or_refused(content[:size])
    heads = [at for at in range(len(content)) if content[at : at + 2] == b"PK"]  # of the archive's members
    near_heads = [at + k for at in heads for k in range(60) if at + k < len(content)]
    for at in [*rng.choice(near_heads, 300, replace=False), *rng.integers(0, len(content), 100)]:
        same_or_refused(content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :])


def rewritten(state, settings, tmp_path, **arrays):
    """Settings to go on with a checkpoint that has other arrays (None: none of that name)."""
    with np.load(state) as file:
        kept = {name: file[name] for name in file.files}
    kept = {name: array for name, array in {**kept, **arrays}.items() if array is not None}
    np.savez(tmp_path / "rewritten.npz", **kept)
    return replace(settings, resume=str(tmp_path / "rewritten.npz"))


ARRAYS = ["w", "d", "losses", "satisfied", "skip", "drawn", "order", "table_nodes", "table_edges", "sampler_L", "sampler_visited"]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_missing_or_do_not_fit_are_refused(written, tmp_path, name):
    state, settings = written
    for array in (None, np.zeros(0), np.zeros((2, 2)), np.array("text")):
        if name in ("order", "drawn") and array is not None:
            continue
        refused(rewritten(state, settings, tmp_path, **{f"optimiser_{name}": array}))


def test_counters_that_do_not_fit_are_refused(asked, tmp_path):
    state = tmp_path / "state.npz"
    learn(asked("sag", passes=2, tol=1e-9, checkpoint=str(state)))
    settings = asked("sag", passes=4, tol=1e-9)
    with np.load(state) as file:
        counters = json.loads(str(file["counters"]))
    for changes in ({"rng": None}, {"rng": {"bit_generator": "MT19937"}}, {"monitors": None}):
        refused(rewritten(state, settings, tmp_path, counters=json.dumps({**counters, **changes})))
    for name in counters:
        refused(rewritten(state, settings, tmp_path, counters=json.dumps({k: v for k, v in counters.items() if k != name})))
    for text in ("", "[]", "{", "null", "3"):
        refused(rewritten(state, settings, tmp_path, counters=text))


def test_a_place_that_cannot_be_written_is_an_error(asked, tmp_path):
    for place in (tmp_path / "none" / "state.npz", tmp_path):
        with pytest.raises(CrftrainError, match="cannot be written"):
            learn(asked("sag", passes=2, checkpoint=str(place)))
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_a_checkpoint_goes_where_a_link_leads_and_nowhere_but_into_a_file(asked, tmp_path):
    (tmp_path / "link.npz").symlink_to("state.npz")
    learn(asked("sag", passes=2, checkpoint=str(tmp_path / "link.npz")))
    assert (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "state.npz").stat().st_size > 0
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CrftrainError, match="pipe: the checkpoint cannot be written: Not a regular file"):
        learn(asked("sag", passes=2, checkpoint=str(tmp_path / "pipe")))
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_checkpoint_that_cannot_be_written_later_is_a_warning(asked, tmp_path, monkeypatch):
    """Told three times and once more at the end; the model is there."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole.os, "fsync", full)
    settings = asked("sag", passes=6, checkpoint=str(tmp_path / "state.npz"), checkpoint_every=1)
    with pytest.warns(CrftrainWarning) as told, pytest.raises(ModelError):  # which cannot be written either
        learn(settings)
    texts = [str(warning.message) for warning in told]
    assert len(texts) == checkpoint.WARNINGS + 1
    assert "step 1 cannot be written: No space left on device; training goes on" in texts[0]
    assert texts[-1].endswith("could not be written 7 times")
    assert not [name for name in os.listdir(tmp_path) if name.endswith((".tmp", ".npz"))]


def misfits(array):
    """Arrays that a checkpoint must not hold in its place."""
    flat = array.ravel()
    yield array.astype(np.float32 if array.dtype == np.float64 else np.float64)
    yield array[None]
    yield np.append(flat, flat[:1]) if len(flat) else np.zeros(1, array.dtype)
    yield array.astype(str)
    if array.dtype.kind == "f" and len(flat):
        yield np.full_like(array, np.nan)
    if array.dtype.kind in "iu" and len(flat):
        for number in (-1, -(2**62), 2**63 - 1, 2**40):
            yield np.full_like(array, np.array(number).astype(array.dtype))


def misfit(settings):
    """Whether the checkpoint is refused because it does not fit; training may also go on, or end in another error."""
    try:
        learn(settings)
    except CrftrainError as error:
        return "does not fit" in str(error)
    return False


@pytest.mark.parametrize("name", optimizers.names())
def test_no_array_of_a_checkpoint_is_believed(asked, tmp_path, name):
    """A type, a shape or a number that the algorithm has not: refused, or harmless. Nothing else, and never a wild pointer."""
    more = {"l1s": Strength.parse_list("1/n")} if name == "sgd-l1" else {}
    state = tmp_path / "state.npz"
    learn(asked(name, passes=2, checkpoint=str(state), **more))
    settings = asked(name, passes=3, resume=str(state), **more)
    with np.load(state) as file:
        arrays = {key: file[key] for key in file.files if key.startswith("optimiser_")}
    others = [(key, other) for key, array in arrays.items() for other in misfits(array)]
    refusals = sum(misfit(rewritten(state, settings, tmp_path, **{key: other})) for key, other in others)
    assert refusals >= 3 * len(arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"iteration": 0},
        {"iteration": -1},
        {"iteration": 1.5},
        {"iteration": "1"},
        {"iteration": 10**400},
        {"iteration": True},
        {"passes": "1"},
        {"passes": float("nan")},
        {"passes": -1.0},
        {"seconds": None},
        {"seconds": float("inf")},
        {"step": None},
        {"step": {}},
        {"step": {"objective": "0", "gap": 0.0, "exact": True, "note": "", "done": ""}},
        {"step": {"objective": 0.0, "gap": 0.0, "exact": 1, "note": "", "done": ""}},
        {"step": {"objective": 0.0, "gap": 0.0, "exact": True, "note": [], "done": ""}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": -1, "inc": 3}, "has_uint32": 0, "uinteger": 0}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": 10**400, "inc": 3}, "has_uint32": 0, "uinteger": 0}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": 1.5, "inc": 3}, "has_uint32": 0, "uinteger": 0}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": 1, "inc": 3}, "has_uint32": 0, "uinteger": 10**30}},
        {"monitors": {"Plateau": [1.0, "2"]}},
        {"monitors": {"Plateau": {"a": 1}}},
        {"monitors": [1]},
        {"monitors": {"Prover": [0.0, 0.5, 1.0, 10**400, 1, None, None]}},
        {"monitors": {"HeldOut": {}}},
        {"monitors": {"HeldOut": {"best_iteration": 1, "best_dev": None, "best_score": 1.0}}},
        {"monitors": {"HeldOut": {"best_iteration": "1", "best_dev": {"f1": 1.0}, "best_score": 1.0}}},
        {"monitors": {"HeldOut": {"best_iteration": 1, "best_dev": {"f1": "x"}, "best_score": 1.0}}},
    ],
)
def test_no_counter_of_a_checkpoint_is_believed(asked, tmp_path, dev_file, changes):
    state = tmp_path / "state.npz"
    common = {"dev": str(dev_file), "tol": 1e-9}
    learn(asked("sag", passes=2, checkpoint=str(state), **common))
    with np.load(state) as file:
        counters = json.loads(str(file["counters"]))
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(counters[name], dict) and name == "monitors":
            value = {**counters[name], **value}
        counters[name] = value
    text = refused(rewritten(state, asked("sag", passes=3, **common), tmp_path, counters=json.dumps(counters)))
    assert "does not fit" in text


@pytest.mark.parametrize("best", [np.zeros(3), np.array("text"), None, np.zeros((1, 1))])
def test_nor_are_its_best_weights(asked, tmp_path, dev_file, best):
    state = tmp_path / "state.npz"
    learn(asked("sag", passes=2, checkpoint=str(state), dev=str(dev_file)))
    refused(rewritten(state, asked("sag", passes=3, dev=str(dev_file)), tmp_path, best=best))


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(written, tmp_path):
    state, settings = written
    with np.load(state) as file:
        np.savez_compressed(tmp_path / "packed.npz", bomb=np.zeros(10**7), **file)
    assert "not a checkpoint" in refused(replace(settings, resume=str(tmp_path / "packed.npz")))
