"""A few runs of kills.py; it takes --runs 500."""

import os

import kills
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


def test_runs_ended_at_random_moments(tmp_path):
    ends, faults = kills.attack(tmp_path, 5)
    assert not faults, "\n".join(faults)
    assert sum(ends.values()) == 5


def test_a_run_without_memory(tmp_path):
    assert kills.Place(tmp_path, 200).starved(("learn", "sag"), 150) in ("done", "refused")
