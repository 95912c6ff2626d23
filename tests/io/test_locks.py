"""The lock of a file: one holder at a time, among processes and threads; a killed holder blocks nobody."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from threading import Event

import pytest

from surefoot.errors import SurefootError
from surefoot.io import atomic
from surefoot.io.atomic import exclusive

HOLD = """
import sys
from surefoot.io.atomic import exclusive
with exclusive(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""

COUNT = """
import sys
from pathlib import Path
from threading import Event
from surefoot.io.atomic import exclusive
for _ in range(25):
    with exclusive(sys.argv[1]):
        Path(sys.argv[1]).write_text(str(int(Path(sys.argv[1]).read_text()) + 1))
"""


def started(code: str, path: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=pipe, stdout=pipe, text=True)


def add_one(path: Path) -> None:
    with exclusive(path):
        path.write_text(str(int(path.read_text()) + 1))


def test_threads_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_one, [path] * 200))
    assert path.read_text() == "200"


def test_processes_take_turns_and_leave_no_lock_file(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    others = [started(COUNT, path) for _ in range(4)]
    for other in others:
        other.communicate()
        assert other.returncode == 0
    assert path.read_text() == "100"
    assert sys.platform == "win32" or list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_the_lock_of_a_killed_process_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with started(HOLD, path) as other:
        assert other.stdout is not None
        other.stdout.readline()
        os.kill(other.pid, signal.SIGKILL)
    assert [file.name for file in tmp_path.iterdir()] == [".file.lock"]
    with exclusive(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_long_wait_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = Event()

    class Said(StringIO):
        def flush(self) -> None:
            printed.set()

    said = Said()
    monkeypatch.setattr(atomic, "PATIENCE", 0)
    monkeypatch.setattr(sys, "stderr", said)
    path = tmp_path / "count"
    path.write_text("0")
    with ThreadPoolExecutor(1) as pool:
        with exclusive(path):
            assert said.getvalue() == ""
            waiting = pool.submit(add_one, path)
            assert printed.wait(timeout=60)
            assert path.read_text() == "0"
        waiting.result()
    assert said.getvalue() == f"surefoot: waiting for another process that uses {path}\n"
    assert path.read_text() == "1"


def test_an_error_releases_the_lock(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), exclusive(tmp_path / "file"):
            raise KeyboardInterrupt
    assert sys.platform == "win32" or list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_a_link_and_its_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    with exclusive(tmp_path / "link"):
        assert [file.name for file in (tmp_path / "folder").iterdir()] == [".file.lock"]


@pytest.mark.parametrize("name", ["x" * 250, "名" * 80, "none/file", "a\0b"])
def test_long_names_are_locked_and_impossible_ones_are_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if len(name) > 50:
        with exclusive(path):
            assert len(list(tmp_path.iterdir())) == 1
    else:
        with pytest.raises(SurefootError, match="can't be written: ") as caught, exclusive(path):
            pass
        assert "\n" not in str(caught.value)
