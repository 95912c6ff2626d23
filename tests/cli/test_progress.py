import io
import sys

import pytest

from surefoot.cli import inputs as module
from surefoot.cli.inputs import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets, in seconds."""
    times = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: times[0])
    return times


@pytest.fixture
def log(monkeypatch):
    def make(stream: io.StringIO) -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return make


def test_a_terminal_has_one_line_that_is_erased(log, clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = log(Terminal())
    with progress("Training") as show:
        clock[0] = 101
        show(10, 40, "step 10")
        show(11, 40, "too soon to be shown")
        clock[0] = 111
        show(20, 40, "step 20 \x1b[31m" + "x" * 50)
    shown = screen.getvalue().split("\r\x1b[K")
    assert shown == ["", "Training", " 25 %  step 10, 3 s left", " 50 %  step 20 �[31m" + "x" * 9, ""]


def test_a_log_has_a_line_now_and_then(log, clock):
    lines = log(io.StringIO())
    with progress("Training") as show:
        for step in range(101):
            clock[0] = 100 + step / 2
            show(step, 200, f"step {step}")
    assert lines.getvalue() == "step 40, 1 min left\nstep 80, 1 min left\n"


def test_a_log_of_each_message_has_each_once(log):
    lines = log(io.StringIO())
    with progress("Training", log="each") as show:
        for message in ("a", "a", "b", "a"):
            show(1, 2, message)
    assert lines.getvalue() == "a\nb\n"
