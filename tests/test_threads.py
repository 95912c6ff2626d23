"""The cores of this process, not of the machine."""

import os
import subprocess
import sys

import pytest

from surefoot._process import MOST_WORKERS, available_cores, default_workers


def test_there_is_one_at_least() -> None:
    assert 1 <= default_workers() <= min(available_cores(), MOST_WORKERS)
    assert available_cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process to cores")
def test_a_process_that_is_pinned_to_one_core_has_one() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from surefoot._process import *; "
    found = subprocess.run(
        [sys.executable, "-c", f"{code}print(available_cores())"], capture_output=True, text=True, check=True
    )
    assert found.stdout == "1\n"
