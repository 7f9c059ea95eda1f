"""A few faults of each kind, on purpose; `make faults` tries thousands."""

import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[1] / "faults" / "run.py"


@pytest.mark.skipif(sys.platform != "linux", reason="forks and kills")
def test_nothing_is_lost_when_processes_are_killed_and_files_damaged():
    done = subprocess.run([sys.executable, FAULTS, "--quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == 7
    assert all(int(row[-4]) > 0 and row[-2] == "0" for row in rows), done.stdout
