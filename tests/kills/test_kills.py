"""What was killed goes on to the same bytes; a second process in one folder is told so."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_killed_trainings_go_on_to_the_same_bytes():
    """In a process of its own: the tests' has threads, which a fork does not copy."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.kills.killer", "4", "train, LightGBM"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert found.returncode == 0, found.stderr
    assert "| train, LightGBM | 4 | 4 | 0 |" in found.stdout
