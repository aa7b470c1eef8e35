"""What a terminal shows while training: the bar, the time left, what is proved."""

import numpy as np

from crftrain.cli import progress
from crftrain.cli.bar import WIDTH, LogBar
from crftrain.optimizers.base import Step
from crftrain.training.events import distance_text, percent
from crftrain.training.loop import Progress


def test_a_line_on_a_terminal_is_broken_between_words(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_moves", lambda: True)
    monkeypatch.setattr(progress, "_columns", lambda: 20)
    progress.Console().say("converged: step 7, 10.0 effective passes\nof /a/path-that-is-longer-than-that/x\n  a  b")
    assert capsys.readouterr().err == "converged: step 7,\n  10.0 effective\n  passes\nof\n  /a/path-that-is-longer-than-that/x\n  a  b\n"


def moved(distances, *, proved=False, goal=1e-3):
    """What a bar says after each of these, a second apart."""
    bar = LogBar()
    return [
        bar.text(Progress(k, Step(1.0, exact=False), None, 1.0, float(k), distance=distance, proved=proved, goal=goal))
        for k, distance in enumerate(distances, 1)
    ]


def test_the_time_left_is_right_where_what_is_lacking_falls_by_the_same_factor():
    """What f lacks to its bound, over the bound: when hardly anything is proved yet as when hardly anything is lacking."""
    lacking = np.exp(np.linspace(np.log(900), np.log(1e-3), 41))
    said = moved(lacking / (1 + lacking), proved=True)
    left = {k: int(text.partition("~")[2].partition(" ")[0]) for k, text in enumerate(said[:-1], 1) if "left" in text}
    assert set(left) == set(range(min(left), 41)) and min(left) <= 6
    assert all(seconds == 41 - k for k, seconds in left.items())
    full = [text.count("#") for text in said]
    assert full == sorted(full) and full[0] == 0 and full[20] == WIDTH // 2 and full[-1] == WIDTH and WIDTH not in full[:-1]


def test_a_bar_is_full_when_it_is_proved_and_not_before():
    """An estimate that has passed the goal is none; nor does it say how long the proof takes."""
    waiting = [0.9, 0.1, 0.01, 0.0009, 0.0001]
    assert moved([1e-9, 1e-9]) == [f"[{'#' * (WIDTH - 1)}.]"] * 2
    assert f"[{'#' * (WIDTH - 1)}.]" in moved(waiting)[-1]
    assert moved(waiting, proved=True)[-1] == f"[{'#' * WIDTH}]"
    assert distance_text(Progress(1, None, None, 1.0, 1.0, distance=9e-4, goal=1e-3)) == "within ~0.09 %, to be proved"
    assert distance_text(Progress(1, None, None, 1.0, 1.0, distance=9e-4, goal=1e-3, proved=True)) == "within 0.09 %"


def test_nothing_is_said_of_time_where_nothing_gets_nearer():
    assert not any("left" in text or "nan" in text for text in moved([0.5, 0.5, 0.6, 0.7, 0.7, 0.8, 1.0, 1.5, 0.9]))


def test_what_is_said_to_be_proved_is_never_less_than_what_is():
    for share in [*np.exp(np.linspace(-14, 0.1, 400)).tolist(), 1e-3, 1.1e-3, 5.8e-4, 0.01, 0.99, 0.999999]:
        said = float(percent(share).removesuffix(" %")) / 100
        assert share * (1 - 1e-9) <= said <= max(share * 1.1, 1e-7)
    assert [percent(share) for share in (0, 1e-3, 5.8e-4, 1.001e-3, 0.9999, 1)] == ["0 %", "0.1 %", "0.058 %", "0.11 %", "100 %", "100 %"]


def test_what_is_read_goes_when_all_is_read_and_the_last_step_stays(monkeypatch, capsys):
    """The count of the reading is an old one by then; that of the sequences follows."""
    monkeypatch.setattr(progress, "_moves", lambda: True)
    monkeypatch.setattr(progress, "_columns", lambda: 80)
    monkeypatch.setattr(progress, "INTERVAL", -1)
    console = progress.Console()
    console.reading("train.txt", 1000)
    assert not console.bar.leave
    console.step(Progress(1, Step(1.0, 0.5), None, 1.0, 0.1))
    assert console.bar.leave
    console.say("said")
    assert console.bar is None and "reading train.txt: 1,000 sentences" in capsys.readouterr().err


def test_a_long_run_without_a_terminal_is_told_in_some_twenty_lines(capsys):
    """The first steps each, and a thousand in no more than leaves room for what is said before and after in 30 lines."""
    console = progress.Console()
    for k in range(1, 1001):
        console.step(Progress(k, Step(1.0), None, 1.0, 0.1))
    told = [int(line.split()[1]) for line in capsys.readouterr().err.splitlines()]
    assert told[:5] == [1, 2, 3, 4, 5] and len(told) <= 22
    assert all(after <= 1.5 * before for before, after in zip(told[4:], told[5:], strict=False))
