"""A few seconds of fuzz.py in each class; `make fuzz MINUTES=60` goes on."""

import subprocess
import sys
from pathlib import Path

import fuzz
import pytest

SHORT = {"models": 250, "foreign": 250, "texts": 40, "checkpoints": 80}


@pytest.mark.parametrize("name", SHORT)
def test_spoilt(name, tmp_path):
    ends, faults = fuzz.run(name, range(SHORT[name]), tmp_path)
    assert not faults, "\n".join(faults.values())
    assert ends["refused"] > 0
    assert len(ends) > 1


def test_options_of_all_commands_where_only_one_folder_can_be_written(tmp_path):
    inside = fuzz.confined(tmp_path)
    if inside is None:
        pytest.skip("unshare is not permitted")
    command = [*inside, sys.executable, str(Path(fuzz.__file__)), "options", "--first", "0", "--batch", "4", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "status 2" in done.stdout
