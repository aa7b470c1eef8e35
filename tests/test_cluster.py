"""Training on workers: the same bytes as in one process, whatever happens to the workers."""

import asyncio
import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems import larger

from crftrain import CRF
from crftrain.chain.sharded import sharded
from crftrain.cluster import worker
from crftrain.cluster.engine import Engine
from crftrain.cluster.watch import Watch
from crftrain.errors import CrftrainError, DataError, SettingsError
from crftrain.training.events import Observer
from crftrain.training.learn import learn
from crftrain.training.settings import Settings

distributed = pytest.importorskip("distributed", reason="workers need distributed (pip install distributed)")

from crftrain.cluster.cluster import Cluster, connect  # noqa: E402

SECONDS = 240  # for whatever has to end by itself


@pytest.fixture(scope="module")
def cluster():
    with connect(2, timeout=4) as found:
        yield found


def settings(train_file, model, **more):
    return Settings(**{"paths": (str(train_file),), "algorithm": "lbfgs", "passes": 12, "model": str(model), **more})


@pytest.fixture
def expected(train_file, tmp_path):
    learn(settings(train_file, tmp_path / "one.bin"))
    return (tmp_path / "one.bin").read_bytes()


def pids(cluster):
    return cluster.client.run(os.getpid)


class Meddler(Observer):
    """Does something in the middle of a training."""

    def __init__(self, act, at=3):
        self.act, self.at, self.seen, self.told = act, at, 0, []

    def step(self, progress):
        self.seen += 1
        if self.seen == self.at:
            self.act()

    def say(self, text):
        self.told.append(text)


@pytest.mark.parametrize(("shards", "ship"), [(None, False), (5, False), (5, True)])
@pytest.mark.parametrize("algorithm", ["lbfgs", "newton-cg"])
def test_the_model_has_the_bytes_of_one_process(cluster, train_file, tmp_path, algorithm, shards, ship):
    for name, where in (("one", None), ("two", cluster)):
        more = {"shards": shards, "workers": 2, "ship": ship} if where else {}
        learn(settings(train_file, tmp_path / name, algorithm=algorithm, passes=6, **more), cluster=where)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_shards_that_learn_alone_have_the_bytes_of_shards_here(cluster, train_file, tmp_path):
    for name, where in (("one", None), ("two", cluster)):
        learn(settings(train_file, tmp_path / name, algorithm="mixing", shards=3, passes=6), cluster=where)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_command_starts_workers_and_writes_the_same_model(train_file, tmp_path, process, expected):
    found = process("learn", "-a", "lbfgs", "--passes", 12, "--workers", 2, "--shards", 3, "-m", "two.bin", train_file)
    told = found.communicate(timeout=SECONDS)[1].decode()
    assert found.returncode == 0, told
    assert "2 workers, 3 shards, " in told and "MB, slowest " in told
    assert (tmp_path / "two.bin").read_bytes() == expected


def test_auto_on_workers_chooses_among_what_can(cluster, train_file, tmp_path):
    observer = Meddler(lambda: None)
    learn(settings(train_file, tmp_path / "auto.bin", algorithm="auto"), observer, cluster=cluster)
    assert any("algorithm: newton-cg, for data in shards" in text for text in observer.told)


def test_a_worker_that_is_killed_costs_no_bit(train_file, tmp_path, expected):
    with connect(2, timeout=10) as cluster:
        meddler = Meddler(lambda: os.kill(next(iter(pids(cluster).values())), signal.SIGKILL))
        learn(settings(train_file, tmp_path / "model.bin"), meddler, cluster=cluster)
        assert meddler.seen > 3 and cluster.engines[-1].traffic.remade >= 1
    assert (tmp_path / "model.bin").read_bytes() == expected


def test_a_worker_that_is_killed_in_the_middle_of_a_round_costs_no_bit(train_file, tmp_path):
    learn(settings(train_file, tmp_path / "one.bin", algorithm="newton-cg", passes=6))
    with connect(2, timeout=10) as cluster:
        pid = list(pids(cluster).values())[1]
        threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
        learn(settings(train_file, tmp_path / "two.bin", algorithm="newton-cg", passes=6), cluster=cluster)
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()


def test_a_worker_that_was_killed_comes_back_however_long_it_takes():
    import dask

    with dask.config.set({"distributed.deploy.lost-worker-timeout": "100 ms"}), connect(1, timeout=30) as cluster:
        os.kill(*pids(cluster).values(), signal.SIGKILL)
        for _ in range(SECONDS):
            time.sleep(0.5)
            cluster.sync(cluster.watch.look)
            if cluster.watch.living and pids(cluster):
                break
        assert pids(cluster)


class Looked:
    """A client whose scheduler answers at once that it has these workers, or does not answer."""

    status = "running"

    def __init__(self, *workers):
        self.scheduler, self.workers = self, workers
        self.address = "tcp://nowhere:1"

    async def identity(self, n_workers):
        if self.workers is None:
            raise ConnectionError("nobody there")
        return {"workers": {address: {"last_seen": time.monotonic()} for address in self.workers}}


@pytest.mark.parametrize("workers", [(), None])
def test_time_in_which_nobody_looked_is_no_time_without_workers_or_an_answer(monkeypatch, workers):
    async def looks(pauses):
        watch = Watch(client, timeout=8.0)
        for pause in pauses:
            now[0] += pause
            await watch.look()
            if watch.deserted > watch.timeout:
                raise CrftrainError("nowhere", "no worker")

    client, now = Looked(), [100.0]
    client.workers = workers
    monkeypatch.setattr("crftrain.cluster.watch.time.monotonic", lambda: now[0])
    asyncio.run(looks([1.0, 3600.0, 1.0]))
    with pytest.raises(CrftrainError):
        asyncio.run(looks([1.0] * 10))


def test_a_worker_that_hangs_counts_as_dead_after_the_time_out(train_file, tmp_path, expected):
    with connect(2, timeout=2) as cluster:
        hung = next(iter(pids(cluster).values()))
        meddler = Meddler(lambda: os.kill(hung, signal.SIGSTOP))
        try:
            learn(settings(train_file, tmp_path / "model.bin"), meddler, cluster=cluster)
            assert len(cluster.watch.living) == 1
        finally:
            os.kill(hung, signal.SIGCONT)
    assert (tmp_path / "model.bin").read_bytes() == expected


def scheduler_of(tmp_path, workers):
    """Processes of a scheduler and its workers, as Dask's own commands start them; the first is the scheduler."""
    where = str(tmp_path / "scheduler.json")
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", where]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    started = [subprocess.Popen(program, **quiet)]
    program = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--no-nanny", "--nthreads", "1"]
    started += [subprocess.Popen([*program, "--scheduler-file", where], **quiet) for _ in range(workers)]
    return where, started


@pytest.mark.parametrize("algorithm", ["newton-cg", "lbfgs", "mixing"])
def test_a_lost_scheduler_is_status_1_and_the_checkpoint_leads_to_the_same_bytes(cluster, train_file, tmp_path, process, algorithm):
    where, started = scheduler_of(tmp_path, 1)
    try:
        until = time.monotonic() + 30
        while not os.path.exists(where) and time.monotonic() < until:
            time.sleep(0.1)
        own = ["learn", "-a", algorithm, "--checkpoint", "state", "--checkpoint-every", 1, "-m", "two.bin", train_file]
        own += ["--workers", "scheduler.json", "--shards", 2, "--worker-timeout", 3]
        found = process(*own, "-v", "--passes", 1000, "--tol", 0)
        for line in found.stderr:
            if b"iteration 2 " in line:
                started[0].kill()
                break
        told = found.communicate(timeout=SECONDS)[1].decode()
        assert found.returncode == 1 and "the scheduler is lost" in told, told
        assert not (tmp_path / "two.bin").exists()
    finally:
        for child in started:
            child.kill()
            child.wait()
    whole = settings(train_file, tmp_path / "whole.bin", algorithm=algorithm, tol=0.0, passes=15)
    there = {}
    if algorithm == "mixing":  # whose bytes are those of the same cuts
        whole, there = replace(whole, workers=2, shards=2), {"cluster": cluster}
    learn(whole, **there)
    assert json.loads(np.load(tmp_path / "state")["counters"].item())["iteration"] < 15
    learn(replace(whole, model=str(tmp_path / "two.bin"), resume=str(tmp_path / "state")), **there)
    assert (tmp_path / "two.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_nothing_stays_on_the_workers(cluster, train_file, tmp_path):
    with Cluster(cluster.client) as mine:
        learn(settings(train_file, tmp_path / "model.bin", passes=2), cluster=mine)
        (engine,) = mine.engines
        assert all(mine.client.run(lambda run: any(name[0] == run for name in worker.KEPT), engine.run).values())
    assert not any(cluster.client.run(lambda run: any(name[0] == run for name in worker.KEPT), engine.run).values())
    assert not any(cluster.client.processing().values())


def test_a_shard_that_was_told_less_is_never_asked(cluster):
    """As when a worker wakes up that counted as dead."""
    made = larger()
    n = made.corpus.n_sequences
    objective = sharded(made.corpus, made.layout, np.array([0, 40, n]), l2=1 / n, cluster=cluster)
    w, g, h = made.weights(1), *np.empty((2, made.layout.n_features))
    objective.value_and_gradient(w, g)
    engine = objective.engine
    engine.version[0] += 1  # another one was made elsewhere meanwhile
    objective.value_and_gradient(w, h)
    np.testing.assert_array_equal(g, h)
    assert engine.traffic.remade == 1


def test_bytes_a_round_are_the_weights_and_gradients_of_the_shards(cluster):
    made = larger(features="full", attributes=3000)
    n = made.corpus.n_sequences
    objective = sharded(made.corpus, made.layout, np.array([0, 40, n]), l2=1 / n, cluster=cluster)
    w, g = made.weights(1), np.empty(made.layout.n_features)
    objective.value_and_gradient(w, g)
    before = objective.traffic.bytes
    objective.value_and_gradient(w, g)
    own = 16 * sum(share.layout.n_features for share in objective.shares)
    assert own <= objective.traffic.bytes - before <= 1.1 * own


def test_an_error_of_a_worker_is_the_error(cluster):
    made = larger()
    n = made.corpus.n_sequences
    objective = sharded(made.corpus, made.layout, np.array([0, 40, n]), l2=1 / n, cluster=cluster)
    with pytest.raises(TypeError):
        objective.engine.map("losses", [("no weights",)] * 2)
    assert np.isfinite(objective.value(made.weights(1)))


def test_several_files_and_compressed_ones_are_read_by_the_workers(cluster, train_file, tmp_path):
    packed, text = tmp_path / "more.txt.gz", train_file.read_bytes()
    packed.write_bytes(gzip.compress(text.replace(b"a", b"x")))
    for name, where in (("one", None), ("two", cluster)):
        learn(settings(train_file, tmp_path / name, paths=(str(train_file), str(packed)), min_freq=2), cluster=where)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("odd", [b"one\n", b"a b \xff c\n", b"a b\0 c\n"])
def test_odd_data_on_a_worker_are_the_same_error_with_file_and_line(cluster, train_file, tmp_path, odd):
    train_file.write_bytes(train_file.read_bytes() + b"\n" + odd)
    told = []
    for where in (None, cluster):
        with pytest.raises(DataError) as error:
            learn(settings(train_file, tmp_path / "model.bin"), cluster=where)
        told.append(str(error.value))
    assert told[0] == told[1] and "train.txt:" in told[0]


def test_a_worker_that_is_killed_while_it_reads_costs_no_bit(train_file, tmp_path, expected):
    with connect(2, timeout=10) as cluster:
        pid = list(pids(cluster).values())[1]
        place = cluster.place

        def killing(*what):
            os.kill(pid, signal.SIGKILL)
            return place(*what)

        cluster.place = killing
        learn(settings(train_file, tmp_path / "model.bin"), cluster=cluster)
    assert (tmp_path / "model.bin").read_bytes() == expected


def test_a_worker_of_another_kind_is_named(cluster):
    with pytest.raises(CrftrainError, match=r"worker tcp://.*: numpy 1.0, expected .*where training was started"):
        worker.misfit("tcp://h:1", {**worker.facts(), "numpy": "1.0"}, worker.facts())
    mine = Cluster(cluster.client)
    mine.facts = {**mine.facts, "SIMD level": "of tomorrow"}
    with pytest.raises(CrftrainError, match=r"worker tcp://.*: SIMD level .*, expected of tomorrow"), mine:
        pass


def test_folds_are_trained_apart_to_the_same_model(train_file, tmp_path, process):
    for name, more in (("one.bin", []), ("two.bin", ["--workers", 2])):
        found = process("learn", "-q", "-a", "lbfgs", "--folds", 2, "--lambda", "3/n,1/n", "--passes", 5, "-m", name, *more, train_file)
        told = found.communicate(timeout=SECONDS)[1].decode()
        assert found.returncode == 0, told
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()


def test_a_folder_is_tagged_file_by_file(train_file, tmp_path, process, crftrain):
    learn(settings(train_file, tmp_path / "model.bin", passes=3))
    names = [os.path.join("folder", name) for name in ("a.txt", "b.txt", os.path.join("inner", "a.txt"))]
    for k, name in enumerate(names):
        os.makedirs((tmp_path / name).parent, exist_ok=True)
        (tmp_path / name).write_bytes(b"\n\n".join(train_file.read_bytes().split(b"\n\n")[k : k + 3]) + b"\n")
    (tmp_path / "folder" / "odd.txt").write_bytes(b"one\n")
    found = process("tag", "--workers", 2, "--out", "tagged", "--marginals", "best", "--score", "model.bin", "folder")
    told = found.communicate(timeout=SECONDS)[1].decode()
    assert found.returncode == 1 and "odd.txt:1: 1 column" in told and "3 of 4 files" in told
    for name in names:
        alone = crftrain("tag", "--marginals", "best", "--score", "model.bin", name)
        assert (tmp_path / name.replace("folder", "tagged", 1)).read_bytes() == alone.out
    assert not (tmp_path / "tagged" / "odd.txt").exists()


def test_an_estimator_fits_on_the_workers_of_a_client(cluster):
    X = [[{"w": f"{(i * j) % 7}", "k": str(j % 3)} for i in range(4)] for j in range(40)]
    y = [["A" if (i * j) % 3 else "B" for i in range(4)] for j in range(40)]
    one, two = CRF("lbfgs", max_iter=5).fit(X, y), CRF("lbfgs", max_iter=5, engine=cluster.client).fit(X, y)
    np.testing.assert_array_equal(one.model_.w, two.model_.w)
    with pytest.raises(SettingsError, match="psa looks at single sequences"):
        CRF("psa", engine=cluster.client).fit(X, y)


def test_machines_that_lack_the_memory_are_named(cluster):
    made = larger()
    objective = sharded(made.corpus, made.layout, np.array([0, 40, made.corpus.n_sequences]), cluster=cluster)
    with pytest.raises(CrftrainError, match=r"worker at 127.0.0.1: .* MB are free, expected .* MB for its shards"):
        objective.engine.check_room([10**15, 10])


def test_an_interrupted_training_leaves_no_task_behind(train_file, tmp_path, process):
    where, started = scheduler_of(tmp_path, 1)
    try:
        until = time.monotonic() + 30
        while not os.path.exists(where) and time.monotonic() < until:
            time.sleep(0.1)
        own = ["learn", "-a", "lbfgs", "--tol", 0, "--passes", 100000, "-v", "-m", "two.bin", train_file]
        found = process(*own, "--workers", "scheduler.json")
        for line in found.stderr:
            if b"iteration 3 " in line:
                found.send_signal(signal.SIGINT)
                break
        told = found.communicate(timeout=SECONDS)[1].decode()
        assert found.returncode == 130 and "saving" in told and (tmp_path / "two.bin").exists()
        with distributed.Client(scheduler_file=where) as client:
            assert not any(client.processing().values())
            assert not any(client.run(lambda: len(worker.KEPT)).values())
    finally:
        for child in started:
            child.kill()
            child.wait()


def test_a_round_ends_though_the_watch_missed_its_cancellation(monkeypatch):
    """asyncio.wait_for of Python 3.11, cancelled at the moment of its answer, gives the answer and nobody is cancelled."""
    answer = ("tcp://here", 0.1, "result")

    async def look_on():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(SECONDS)
        await asyncio.sleep(SECONDS)

    async def ask(k, method, own):
        await asyncio.sleep(0.01)
        return answer

    engine = Engine(SimpleNamespace(watch=SimpleNamespace(until_lost=look_on)), None, [()])
    monkeypatch.setattr(engine, "_ask", ask)
    assert asyncio.run(asyncio.wait_for(engine._together("read", {0: ()}), 10)) == ["result"]


@pytest.mark.parametrize("value", ["0", "-1", "head:8786", "http://head", "2000"])
def test_workers_that_are_nowhere_are_wrong_usage(crftrain, value):
    ended = crftrain("learn", "-a", "lbfgs", "--workers", value, "absent.txt")
    assert ended.status == 2 and "--workers" in ended.err and "absent" not in ended.err


@pytest.mark.parametrize("name", ["sag", "psa", "hybrid"])
def test_who_looks_at_single_sequences_refuses_workers_by_name(crftrain, name):
    ended = crftrain("learn", "-a", name, "--workers", 2, "absent.txt")
    assert ended.status == 2 and f"{name} looks at single sequences" in ended.err and "newton-cg" in ended.err


def test_a_scheduler_out_of_reach_is_status_1(crftrain, train_file):
    ended = crftrain("learn", "-a", "lbfgs", "--workers", "tcp://127.0.0.1:1", "--worker-timeout", 1, train_file)
    assert ended.status == 1 and "no scheduler can be reached" in ended.err


def test_what_is_for_workers_needs_workers():
    for name in ("worker_timeout", "ship"):
        with pytest.raises(SettingsError, match=f"{name} needs workers"):
            Settings(paths=("a",), algorithm="lbfgs", **{name: 3}).check()
    with pytest.raises(SettingsError, match="standard input needs ship"):
        Settings(paths=("-",), algorithm="lbfgs", workers=2).check()
