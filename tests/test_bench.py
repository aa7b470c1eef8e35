"""The benchmark runs from end to end, reads the peers' logs right, and gives everybody the same features."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import bench, items, peers, process, report, tasks  # noqa: E402

CRFSUITE = """\
***** Iteration #1 *****
Loss: 99.000000
Line search trials: 1
Line search step: 1.000000
Seconds required for this iteration: 9.000

=== measured run
Feature generation
Number of features: 49625
Seconds required: 0.039

L-BFGS optimization
***** Iteration #1 *****
Loss: 15170.196677
Feature norm: 5.000000
Error norm: 2629.498310
Active features: 49429
Line search trials: 2
Line search step: 0.000618
Seconds required for this iteration: 0.031

***** Iteration #2 *****
Loss: 10600.663207
Feature norm: 6.776270
Error norm: 1646.273018
Active features: 49625
Line search trials: 1
Line search step: 1.000000
Seconds required for this iteration: 0.012

***** Iteration #3 *****
Loss: 6580.255829
Feature norm: 10.413000
Error norm: 968.205254
Active features: 49625
Line search trials: 1
Line search step: 1.000000
Seconds required for this iteration: 0.011

L-BFGS terminated with the maximum number of iterations
Total seconds required for training: 0.054
"""

L2SGD = """\
Calibrating the learning rate (eta)
Initial loss: 39794.965930
Trial #1 (eta = 0.100000): 694363.696321 (worse)
Best learning rate (eta): 0.050000
Seconds required: 0.268

***** Epoch #1 *****
Loss: 3979.500000
Feature L2-norm: 0.003086
Seconds required for this iteration: 0.014

***** Epoch #2 *****
Loss: 1970.250000
Improvement ratio: 0.100000
Feature L2-norm: 0.006172
Seconds required for this iteration: 0.016

SGD terminated with the maximum number of iterations
Loss: 1970.250000
Total seconds required for training: 0.311
"""

WAPITI = """\
    - Build the index
      Done
  [   1] obj=24320.74   act=581356   err=29.53%/96.10% time=0.20s/0.20s
  [   2] obj=NA act=581552   err= 2.30%/23.10% time=0.07s/0.27s
  [1003] obj=7203.66    act=581552   err=16.95%/79.90% time=0.08s/10.35s
"""

LIMIT = """\
read_s 0.318 sequences 8936 tokens 211727 occurrences 4022813 labels 22 attributes 338550 full_features 7448584
dense_blocks 0 observed_features 456000 gradient_pass_s 0.1194 forward_pass_s 0.0701 lattice_only_s 0.0512
sag pass 1 evaluations_per_n 2.31 objective 1.25000000 gap 2.50e-03 seen 5600 Lmean 0.250 Lmax 2.00 seconds 0.42
"""


def test_the_log_of_crfsuite():
    """Only the run after the mark counts, and seconds add up."""
    losses = [(0.031, 15170.196677), (0.043, 10600.663207), (0.054, 6580.255829)]
    assert peers.parse_crfsuite(CRFSUITE) == [(pytest.approx(seconds), loss) for seconds, loss in losses]
    assert peers.crfsuite_iteration(CRFSUITE) == 0.011
    with pytest.raises(process.Failed, match="one trial"):
        peers.crfsuite_iteration(L2SGD)


def test_the_calibration_of_crfsuite_counts():
    assert peers.parse_crfsuite(L2SGD) == [(pytest.approx(0.282), 3979.5), (pytest.approx(0.298), 1970.25)]
    assert peers.parse_crfsuite("Feature generation\n") == []


def test_the_log_of_wapiti():
    assert peers.parse_wapiti(WAPITI) == [(0.2, 24320.74), (0.27, None), (10.35, 7203.66)]


def test_the_output_of_the_yardstick():
    read, passes, sag = peers.parse_limit(LIMIT)
    assert read["read_s"] == 0.318 and read["occurrences"] == 4022813
    assert passes["observed_features"] == 456000 and passes["gradient_pass_s"] == 0.1194
    assert sag["pass"] == 1 and sag["gap"] == 0.0025 and sag["objective"] == 1.25 and sag["seconds"] == 0.42


def test_the_mark_is_the_workers():
    assert f"MARK = {peers.MARK!r}" in (process.WORKERS / "train_crfsuite.py").read_text().replace('"', "'")


def test_seconds_to_a_target():
    run = peers.Run("x", curve=[(1.0, None), (2.0, 3.0), (3.0, 2.0), (4.0, 2.5)])
    assert [run.seconds_to(target) for target in (3.5, 3.0, 2.2, 1.0)] == [2.0, 2.0, 3.0, None]
    assert run.last == 2.5


def test_penalties_in_the_peers_scales(tmp_path):
    """n f = sum loss + n lambda/2 |w|^2: c2 is n lambda / 2, rho2 is n lambda."""
    task = tasks.Task("t", tmp_path, tmp_path, None, tmp_path)
    crfsuite, wapiti = (next(peer for peer in peers.PEERS if peer.package == package) for package in peers.MODULES)
    for l2, n_lambda in (("1/n", 1.0), ("3/n", 3.0), ("0.5", 50.0)):
        setting = tasks.Setting(task, "full", l2=l2, l1="2/n")
        params = peers._params(crfsuite, setting, 100)
        assert (params["c2"], params["c1"], params["feature.possible_states"]) == (n_lambda / 2, 2.0, 1)
        assert (peers._params(wapiti, setting, 100)["rho2"], peers._params(wapiti, setting, 100)["rho1"]) == (n_lambda, 2.0)


def test_bars():
    rows = [
        report.Row("a", 1.0, 2.0, 0.5, report.at_most(0.5)),
        report.Row("b", 3.0, 2.0, 1.5, report.at_least(1.6)),
        report.Row("c", 93.61, bar=report.near(93.7, 0.1)),
        report.Row("d", 7, bar=report.exactly(8)),
        report.Row("e", 9118.79655, bar=report.digits(9118.7962, 7)),
        report.Row("f", 9118.7970, bar=report.digits(9118.7962, 7)),
        report.Row("g", 1.0),
        report.Row("h", failed=True),
    ]
    assert [row.ok for row in rows] == ["ok", "missed", "ok", "missed", "ok", "missed", "-", "failed"]
    text = report.bars_table(rows)
    assert len(text.splitlines()) == 2 + len(rows) and "93.7 +- 0.1" in text


SENTENCE = "The DT B\ndog:s NN I\n\\ SYM O\n"


def test_items_of_crfsuites_example():
    """In 3 tokens every word and tag n-gram that fits the sentence, and the marks of its ends."""
    out = io.StringIO()
    items.convert(io.StringIO(SENTENCE + "\n\n" + "Hi UH O\n"), out)
    first, second = (block.split("\n") for block in out.getvalue().rstrip("\n").split("\n\n"))
    rows = [line.split("\t") for line in first]
    assert [row[0] for row in rows] == ["B", "I", "O"]
    assert [len(row) - 1 for row in rows] == [11, 11, 11]
    assert rows[0][1:] == [
        *("w[0]=The", "w[1]=dog\\:s", "w[2]=\\\\", "w[0]|w[1]=The|dog\\:s", "pos[0]=DT", "pos[1]=NN", "pos[2]=SYM"),
        *("pos[0]|pos[1]=DT|NN", "pos[1]|pos[2]=NN|SYM", "pos[0]|pos[1]|pos[2]=DT|NN|SYM", "__BOS__"),
    ]
    assert second == ["O\tw[0]=Hi\tpos[0]=UH\t__BOS__\t__EOS__"]


def test_items_of_conll2000(tmp_path):
    """335,674 attributes and 3,808,439 occurrences, as published."""
    if "conll2000" not in tasks.available():
        pytest.skip("no corpora beside the repository")
    attributes, occurrences = set(), 0
    with open(tasks.load("conll2000", tmp_path).train, encoding="utf-8") as lines:
        for sentence in items.sentences(lines):
            for t in range(len(sentence)):
                names = items.attributes(sentence, t)
                attributes.update(names)
                occurrences += len(names)
    assert (len(attributes), occurrences) == (335_674, 3_808_439)


def test_items_learn_the_same_weights_as_their_template(tmp_path):
    """The peers' items hold the sequences, tokens and attributes that the template makes."""
    task = tasks.load("data", tmp_path)
    as_items = tasks.Task("items", task.items("train"), task.items("test"), None, tmp_path)
    logs = [process.learn(tasks.Setting(t), tmp_path, "-a", "lbfgs", "--passes", 2)[0] for t in (task, as_items)]
    facts = [{k: log.start[k] for k in ("n_sequences", "n_tokens", "n_labels", "n_attributes", "n_features")} for log in logs]
    assert facts[0] == facts[1]
    assert logs[0].end["objective"] == pytest.approx(logs[1].end["objective"], rel=1e-12)


def test_a_failure_says_why():
    with pytest.raises(process.Failed, match="status 3: nothing works"):
        process.run([sys.executable, "-c", "import sys; print('nothing works', file=sys.stderr); sys.exit(3)"], timeout=20)
    with pytest.raises(process.Failed, match="killed after 0 s"):
        process.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.3)


def test_a_run_is_measured():
    finished = process.run([sys.executable, "-c", "x = bytearray(200_000_000); print(len(x))"], timeout=20)
    assert finished.stdout == "200000000\n" and 200 < finished.peak_mb < 400 and 0 < finished.seconds < 20


@pytest.fixture(scope="module")
def temporary(tmp_path_factory):
    """A place for optima and items that the runs share."""
    return tmp_path_factory.mktemp("bench")


@pytest.mark.parametrize("table", bench.table_names())
def test_quick_run(table, temporary):
    """Every table can be made of data/, and its rows are in the file; peers that are not installed are named, not missed."""
    results = temporary / f"{table}.tsv"
    command = ["bench/bench.py", "--quick", "--only", table, "--seconds", "0.3", "--algorithm", "lbfgs", "--results", str(results)]
    where = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=where, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(results, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert tuple(rows[0]) == ("commit", "date", "machine", "task", "features", "what", "ours", "other", "ratio", "bar", "ok")
    assert all(None not in row.values() and None not in row and row["what"] for row in rows)
    assert not [row for row in rows if row["ok"] == "failed"]
    named = {row["what"] for row in rows}
    if table == "bars":
        assert {"read + expand + encode, s", "tag, the test file, whole process, s", "peak memory of learn, MB"} <= named
    for package, module in peers.MODULES.items():
        assert peers.installed(module) != (f"{package} is not installed" in done.stdout)
        if table == "race":
            assert peers.installed(module) == any(what.startswith(package) for what in named)
            assert {"lbfgs: seconds a pass", "lbfgs: score"} <= named
