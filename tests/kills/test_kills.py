"""A command that was killed, or whose disk was full, ends with the same bytes when it is run again."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_attacked_commands_go_on_to_the_same_bytes():
    """In a process of its own: the tests' has threads, which a fork does not copy."""
    names = ["train, LightGBM", "evaluate", "collect", "gate, ratchet", "gate, accepted losses"]
    command = [sys.executable, "-W", "ignore", "-m", "tests.kills.killer", "2", *names]
    found = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert found.returncode == 0, found.stderr
    for name in names:
        assert f"| {name} | 2 | 1 | 3 | 0 |" in found.stdout
