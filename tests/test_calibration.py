"""One temperature for probabilities, and how far they can be believed."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from crftrain.chain._problem import Problem
from crftrain.cli.main import commands
from crftrain.errors import DataError
from crftrain.model.model import load
from crftrain.tagging.calibration import Calibration, Reliability
from crftrain.text.read import Sentence
from crftrain.training.heldout import HeldOutData
from crftrain.training.temperature import fitted

DATA = Path(__file__).parent.parent / "data"


def run(*arguments):
    result = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The same model without and with a temperature: averaged perceptrons are far too sure of themselves."""
    folder = tmp_path_factory.mktemp("calibration")
    how = ["learn", "-q", "-a", "ap", "--passes", 3, "-t", "chunk"]
    run(*how, "-m", folder / "plain", DATA / "train.txt")
    run(*how, "-m", folder / "warm", "--calibrate", DATA / "dev.txt", DATA / "train.txt")
    return load(folder / "plain"), load(folder / "warm"), folder


def test_the_temperature_is_the_best_of_a_fine_grid(models):
    plain, warm, _ = models
    heldout = HeldOutData.read(DATA / "dev.txt", plain.vocabulary)
    problem = Problem(heldout.corpus.take(np.flatnonzero(heldout.possible(plain.layout))), plain.layout)
    found, before, after = fitted(plain, heldout)
    grid = found * np.linspace(0.8, 1.25, 19)
    losses = [problem.value(plain.w / t) for t in grid]
    assert after <= min(losses) + 1e-9 and after < before == pytest.approx(problem.value(plain.w))
    assert warm.temperature == pytest.approx(found, rel=1e-9) and plain.temperature == 1


def test_the_best_labels_stay_and_probabilities_are_those_of_the_divided_weights(models):
    plain, warm, folder = models
    first, second = (run("tag", "--labels-only", folder / name, DATA / "test.txt") for name in ("plain", "warm"))
    assert first == second
    sure = [json.loads(line) for line in run("tag", "--json", "--score", folder / "warm", DATA / "test.txt").splitlines()]
    heldout = HeldOutData.read(DATA / "test.txt", plain.vocabulary)
    from crftrain.chain._sequences import Sequences
    from crftrain.tagging._decoder import Decoder
    from crftrain.tagging.query import Query

    decoded = Decoder(plain.layout, plain.w / warm.temperature).decode(Sequences(heldout.corpus, plain.layout), Query(probabilities=True))
    np.testing.assert_allclose([one["probability"] for one in sure], np.exp(decoded.log_p), rtol=1e-5)


def test_a_temperature_makes_probabilities_more_believable(models):
    errors = {}
    for name in ("plain", "warm"):
        tagged = models[2] / f"{name}.jsonl"
        tagged.write_text(run("tag", "--json", "--score", "--marginals", "best", models[2] / name, DATA / "test.txt"), encoding="utf-8")
        errors[name] = json.loads(run("eval", "--calibration", "--json", tagged))
        assert "expected calibration error" in run("eval", "--calibration", tagged)
    for what in ("tokens", "spans"):
        assert errors["warm"][what]["ece"] < 0.6 * errors["plain"][what]["ece"]


def test_tokens_of_columns_and_of_objects_are_counted_alike(models):
    columns = run("tag", "--marginals", "best", models[2] / "warm", DATA / "test.txt")
    objects = run("tag", "--json", "--score", "--marginals", "best", models[2] / "warm", DATA / "test.txt")
    (models[2] / "columns").write_text(columns, encoding="utf-8")
    (models[2] / "objects").write_text(objects, encoding="utf-8")
    first, second = (json.loads(run("eval", "--calibration", "--json", models[2] / name)) for name in ("columns", "objects"))
    assert first["tokens"] == second["tokens"] and "spans" not in first


def test_the_error_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    right = rng.random(500) < p**2
    total = 0
    for k in range(10):
        inside = (p >= k / 10) & (p < (k + 1) / 10)
        total += inside.sum() * abs(p[inside].mean() - right[inside].mean())
    found = Reliability(p, right)
    assert found.error == pytest.approx(total / 500, rel=1e-12)
    assert sum(row[2] for row in found.rows()) == 500
    assert Reliability([1.0, 1.0], [True, True]).error == 0


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b"the DT B-X", "no LABEL:PROBABILITY"),
        (b"B-X:0.500000", "1 columns"),
        (b'{"labels": []}', "no 'gold'"),
        (b'{"gold": ["O"], "labels": ["O"], "probabilities": [2]}', "does not write"),
        (b"{", "does not write"),
    ],
)
def test_what_has_no_probabilities_is_an_error_at_its_line(line, wanted):
    with pytest.raises(DataError, match=f"x.txt:7: .*{wanted}"):
        Calibration().read([Sentence([line], "x.txt", 7)])


def test_a_picture_is_written_where_matplotlib_is(models):
    pytest.importorskip("matplotlib")
    (models[2] / "columns").write_text(run("tag", "--marginals", "best", models[2] / "warm", DATA / "test.txt"), encoding="utf-8")
    run("eval", "--calibration", "--picture", models[2] / "x.png", models[2] / "columns")
    assert (models[2] / "x.png").read_bytes()[:4] == b"\x89PNG"
