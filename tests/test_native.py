"""In a command, what native code prints to standard error is dropped if it fails, and printed if it doesn't."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

from surefoot import _process
from surefoot._process import STDERR, quiet_failures


@pytest.fixture(autouse=True)
def in_command(monkeypatch):
    monkeypatch.setattr(_process, "in_command", True)


def test_the_library_leaves_standard_error_alone(capfd, monkeypatch):
    monkeypatch.setattr(_process, "in_command", False)
    with suppress(ValueError), quiet_failures():
        os.write(STDERR, b"thread panicked\n")
        raise ValueError("damaged")
    assert capfd.readouterr().err == "thread panicked\n"


def test_what_is_printed_before_a_failure_is_dropped(capfd):
    with suppress(ValueError), quiet_failures():
        os.write(STDERR, b"thread panicked\n")
        raise ValueError("damaged")
    os.write(STDERR, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_what_is_printed_without_a_failure_is_printed(capfd):
    with quiet_failures():
        os.write(STDERR, b"a message\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "a message\n"


def test_blocks_of_several_threads_restore_standard_error(capfd):
    both = Barrier(2)

    def work(fails: bool) -> None:
        with quiet_failures():
            os.write(STDERR, b"inside\n")
            both.wait()
            if fails:
                raise ValueError

    before = os.fstat(STDERR)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(50):
            jobs = [pool.submit(work, fails) for fails in (True, False)]
            assert sum(job.exception() is not None for job in jobs) == 1
    assert os.path.samestat(os.fstat(STDERR), before)
    os.write(STDERR, b"after\n")
    assert capfd.readouterr().err.endswith("after\n")


@pytest.mark.skipif(sys.platform == "win32", reason="closes a descriptor in a shell")
def test_a_closed_standard_error_stays_closed():
    code = "from surefoot import _process as n\nn.in_command = True\nwith n.quiet_failures():\n    print('inside')"
    found = subprocess.run(f'{sys.executable} -c "{code}" 2>&-', shell=True, stdout=-1, check=True)
    assert found.stdout.strip() == b"inside"
