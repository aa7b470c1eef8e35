"""Comparisons: stated schema, curves that obey their laws, failures as rows, pictures that show something."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from observers import Hearing

from crftrain import optimizers
from crftrain.cli.main import commands
from crftrain.errors import CrftrainError, TrainingError
from crftrain.report import plot
from crftrain.training import race as compare
from crftrain.training.learn import prepare
from crftrain.training.settings import Settings
from crftrain.training.strength import Strength

TEMPLATE = "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,1]/%x[0,1]\nB\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder with a little of the repository's own data."""
    from pathlib import Path

    folder = tmp_path_factory.mktemp("small")
    data = Path(__file__).parent.parent / "data"
    for name, count in (("train", 120), ("test", 40)):
        parts = (data / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")[:count]
        (folder / f"{name}.txt").write_text("\n\n".join(parts) + "\n\n", encoding="utf-8")
    (folder / "template.txt").write_text(TEMPLATE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def raced(small):
    """One race by the command, and its folder."""
    out = small / "race"
    flags = ["--out", str(out), "--test", str(small / "test.txt"), "-t", str(small / "template.txt"), "--max-passes", "12", "--repeat", "2"]
    result = CliRunner().invoke(commands, ["compare", *flags, "-a", "lbfgs", "-a", "sag:sampling=uniform", str(small / "train.txt")])
    assert result.exit_code == 0, result.output
    return out, result


def settings(small, **changes):
    lbfgs = optimizers.get("lbfgs")
    base = Settings(
        paths=(str(small / "train.txt"),),
        algorithm=lbfgs,
        options=lbfgs.defaults(),
        template=str(small / "template.txt"),
        lambdas=(Strength(1.0, True),),
        l1s=(Strength(0.0),),
        passes=5,
        tol=0.0,
    )
    return replace(base, **changes)


def test_the_summary_has_a_row_for_each_run_in_the_stated_columns_and_reads_back(raced):
    rows = compare.read_summary(raced[0] / "summary.tsv")
    assert [(row["run"], row["seed"]) for row in rows] == [(n, s) for n in ("lbfgs", "sag:sampling=uniform") for s in ("1", "2")]
    assert all(tuple(row) == compare.SUMMARY and float(row["distance"]) > 0 and 0 < float(row["error"]) < 100 for row in rows)


def test_the_log_has_a_start_and_an_end_for_each_run_and_exact_steps_between(raced):
    events = [json.loads(line) for line in (raced[0] / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event["event"] for event in events].count("start") == [event["event"] for event in events].count("end") == 4
    steps = [event for event in events if event["event"] == "step"]
    assert all(event["exact"] and event["test"]["accuracy"] > 0 for event in steps)
    lbfgs = [event["objective"] for event in steps if event["run"] == "lbfgs" and event["seed"] == 1]
    assert all(later < earlier for earlier, later in zip(lbfgs, lbfgs[1:], strict=False))


def test_no_run_gets_below_the_optimum_whose_certificate_is_kept(raced):
    (path,) = raced[0].glob("optimum-*.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert 0 <= found["bound"] < 1e-6 * found["objective"]
    rows = compare.read_summary(raced[0] / "summary.tsv")
    assert min(float(row["objective"]) for row in rows) >= found["objective"] - found["bound"]


def test_an_optimum_once_found_is_not_looked_for_again(raced, small):
    said = []
    training = prepare(settings(small))
    compare.optimum(settings(small), training, raced[0], Hearing(said))
    assert not any("looking" in text for text in said)
    compare.optimum(settings(small, lambdas=(Strength(2.0, True),)), training, raced[0], Hearing(said))
    assert any("looking" in text for text in said)


def test_the_terminal_shows_who_leads(raced):
    lines = raced[1].stdout.splitlines()
    assert lines[0].split() == ["passes", *map(str, compare.MARKS)]
    assert "*" in lines[1] + lines[2]


def test_a_run_that_fails_is_a_row_and_the_others_go_on(small, monkeypatch, tmp_path):
    def broken(problem, w, rng, **options):
        raise TrainingError("sgd", "weights of 1e300", "numbers")

    real = optimizers.get

    def get(name):
        algorithm = real(name)
        return replace(algorithm, build=broken) if name == "svrg" else algorithm

    monkeypatch.setattr(optimizers, "get", get)
    entrants = [compare.Entrant.parse(text) for text in ("svrg", "lbfgs")]
    runs, _ = compare.compare(settings(small, out=str(tmp_path)), entrants)
    assert runs[0].error.startswith("failed: sgd: weights of 1e300") and len(runs[1].curve) == 5
    assert [row["reason"][:6] for row in compare.read_summary(tmp_path / "summary.tsv")] == ["failed", "limit "]


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_all_algorithms_with_a_penalty_race_each_other(penalty, small, tmp_path):
    names = [name for name in optimizers.names() if penalty in optimizers.get(name).solves]
    entrants = [word for name in names for word in ("-a", name)]
    strength = ["--l1", "0.01"] if penalty == "l1" else ["--lambda", "0.01"]
    told = ["--out", str(tmp_path), "--max-passes", "2", "-t", str(small / "template.txt"), str(small / "train.txt")]
    result = CliRunner().invoke(commands, ["compare", *entrants, *strength, *told])
    assert result.exit_code == 0, result.output
    assert all(any(line.startswith(name) for line in result.stdout.splitlines()) for name in names)


def test_runs_in_two_processes_are_the_same_runs(small, tmp_path):
    entrants = [compare.Entrant.parse("lbfgs"), compare.Entrant.parse("sag")]
    together, _ = compare.compare(settings(small, out=str(tmp_path / "a")), entrants)
    apart, _ = compare.compare(settings(small, out=str(tmp_path / "b")), entrants, jobs=2)
    assert [[point[2] for point in run.curve] for run in together] == [[point[2] for point in run.curve] for run in apart]
    assert len((tmp_path / "b" / "runs.jsonl").read_text(encoding="utf-8").splitlines()) == 14


@pytest.mark.parametrize("text", ["nosuch", "sag:nosuch=1", "sag:sampling=never", "lbfgs:memory=0"])
def test_an_entrant_that_does_not_exist_is_a_usage_error(text, small):
    result = CliRunner().invoke(commands, ["compare", "--out", str(small / "x"), "-a", text, str(small / "train.txt")])
    assert result.exit_code == 2


def test_a_folder_that_cannot_be_made_is_named(small):
    out = small / "train.txt" / "race"
    with pytest.raises(CrftrainError, match="race: the folder cannot be made: "):
        compare.compare(settings(small, out=out), [compare.Entrant.parse("lbfgs")])


def test_a_band_is_the_least_the_median_and_the_greatest_of_its_curves():
    x, low, middle, high = plot.band([([0, 1, 2], [1.0, 2.0, 3.0]), ([0, 2], [3.0, 5.0])], log=False)
    assert list(x) == [0, 1, 2]
    assert np.allclose(low, [1, 2, 3]) and np.allclose(high, [3, 4, 5]) and np.allclose(middle, [2, 3, 4])


def test_the_pictures_are_there_and_not_blank(raced):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    for name in ("objective-passes", "objective-seconds", "error-passes", "error-seconds"):
        pixels = imread(raced[0] / f"{name}.png")[..., :3]
        share = float((pixels.min(axis=2) < 0.95).mean())
        assert 0.01 < share < 0.5, f"{name}: {share:.1%} of the pixels are not white"
        assert "sag:sampling=uniform" in (raced[0] / f"{name}.svg").read_text(encoding="utf-8")
    assert not math.isnan(share)


@pytest.mark.parametrize(
    "longest, marks", [(0.47, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]), (50, list(compare.MARKS)), (51, [2, 5, 10, 20, 50, 100])]
)
def test_the_seconds_of_the_table_end_just_past_the_longest_run(longest, marks):
    runs = [compare.Run("a", 1, [(1.0, longest / 2, 1.0, None)]), compare.Run("b", 1, [(9.0, longest, 1.0, None)]), compare.Run("c", 1)]
    assert compare.second_marks(runs) == pytest.approx(marks)
