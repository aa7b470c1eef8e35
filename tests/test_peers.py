"""The peers' own tests, on the drop-ins: from their source distributions, fetched into a cache outside of the repository.

Where a distribution can be neither found nor fetched, or scikit-learn is missing, its tests are skipped with the reason. Nothing of
theirs is kept here. CRFTRAIN_PEERS names the folder of the cache.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("CRFTRAIN_PEERS") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crftrain-peers")
PLUGIN = """
import importlib, sys, types, functools
def alias(name, home):
    sys.modules[name] = importlib.import_module(home)
alias("pycrfsuite", "crftrain.compat.pycrfsuite")
alias("pycrfsuite._logparser", "crftrain.compat.pycrfsuite._logparser")
alias("sklearn_crfsuite", "crftrain.compat.sklearn_crfsuite")
for part in ("metrics", "utils", "scorers"):
    alias("sklearn_crfsuite." + part, "crftrain.compat.sklearn_crfsuite." + part)
from crftrain import metrics
for name in ("seqeval", "seqeval.metrics", "seqeval.metrics.v1", "seqeval.metrics.sequence_labeling", "seqeval.scheme"):
    sys.modules[name] = types.ModuleType(name)
vars(sys.modules["seqeval.metrics"]).update(vars(metrics))
vars(sys.modules["seqeval.metrics.sequence_labeling"]).update(vars(metrics))
vars(sys.modules["seqeval.metrics.v1"]).update(vars(metrics))
for name in ("classification_report", "precision_recall_fscore_support"):  # v1 is the strict one
    setattr(sys.modules["seqeval.metrics.v1"], name, functools.partial(getattr(metrics, name), mode="strict"))
for name in metrics.SCHEMES:
    setattr(sys.modules["seqeval.scheme"], name, type(name, (), {}))
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_statistical_tests":  # 20,000 runs of conlleval: 20 of them
            own = range
            item.module.range = lambda n: own(10) if n == 10000 else own(n)
"""

ELI5_UTILS = """
from eli5.formatters import format_as_html, format_as_text
def format_as_all(explanation, estimator, **how):  # the distribution lacks this helper of its tests
    return format_as_text(explanation, **how), format_as_html(explanation, **how)
"""


def own_tests(name, version):
    """The folder of a distribution's tests, fetched if it is not there."""
    stem = f"{name.replace('-', '_')}-{version}"
    place = CACHE / stem
    if not (place / "tests").is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--timeout", "10", "--no-deps"]
        fetch += ["--no-binary", ":all:"]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run([*fetch, "--dest", str(CACHE), f"{name}=={version}"], capture_output=True, timeout=120, check=False)
        archive = next(iter(CACHE.glob(f"{stem}.tar.gz")), None) or next(iter(CACHE.glob(f"{name}-{version}.tar.gz")), None)
        if archive is None:
            pytest.skip(f"no source distribution of {name} {version} in {CACHE}, and none could be fetched")
        with tarfile.open(archive) as file:
            file.extractall(CACHE, filter="data") if hasattr(tarfile, "data_filter") else file.extractall(CACHE)
    return place / "tests"


def judged(folder, tmp_path, *arguments, modules=()):
    """(passed, failed, ...) of a run of pytest with the drop-ins in their places; nothing is written into the cache."""
    (tmp_path / "drop_ins.py").write_text(PLUGIN)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-p", "drop_ins", "-p", "no:cacheprovider", "-o", "addopts=", "-q", "-rf", "-W", "ignore::UserWarning"]
    options += ["--rootdir", str(folder)]
    asked = [str(folder / f"{module}.py") for module in modules] or [str(folder)]
    command = [sys.executable, "-m", "pytest", *options, *arguments, *asked]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    words = last.replace(",", "").split()
    counts = {word.rstrip("s"): int(number) for number, word in zip(words, words[1:], strict=False) if number.isdigit() and word.isalpha()}
    return counts, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def with_scikit_learn():
    pytest.importorskip("sklearn", reason="the peers' tests need scikit-learn")


def test_sklearn_crfsuites_own_tests(tmp_path):
    counts, told = judged(own_tests("sklearn-crfsuite", "0.5.0"), tmp_path)
    assert not counts.get("failed") and not counts.get("error"), told
    assert counts["passed"] + counts.get("xpassed", 0) + counts.get("xfailed", 0) == 45


def test_python_crfsuites_own_tests(tmp_path):
    counts, told = judged(own_tests("python-crfsuite", "0.9.12"), tmp_path)
    assert not counts.get("failed") and not counts.get("error"), told
    assert counts["passed"] >= 45


def test_seqevals_own_tests_of_its_metrics(tmp_path):
    folder = own_tests("seqeval", "1.2.2")
    without = [] if shutil.which("perl") else ["-k", "not ground_truth and not statistical"]
    counts, told = judged(Path(shutil.copytree(folder, tmp_path / "tests")), tmp_path, *without, modules=("test_metrics", "test_v1"))
    assert not counts.get("failed") and not counts.get("error"), told
    assert counts["passed"] >= 40


def test_eli5s_own_tests_of_crfs(tmp_path):
    pytest.importorskip("eli5", reason="eli5 is not installed")
    copied = Path(shutil.copytree(own_tests("eli5", "0.16.0"), tmp_path / "tests"))
    (copied / "__init__.py").touch()
    (copied / "utils.py").write_text(ELI5_UTILS)
    counts, told = judged(copied, tmp_path, modules=("test_sklearn_crfsuite",))
    assert not counts.get("failed") and not counts.get("error"), told
    assert counts["passed"] == 4
