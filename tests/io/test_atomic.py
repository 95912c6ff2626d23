"""Files are written whole or not at all, whoever else writes, and whenever the process is killed."""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from surefoot.errors import SurefootError
from surefoot.io.atomic import make_folder, replacing, write_text


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_writers_in_threads_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    texts = [character * 200_000 for character in "abcdefgh"]
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(write_text, target, text) for text in texts * 10]
        seen = {target.read_text() for _ in range(200) if target.exists()}
        for one in done:
            one.result()
    assert seen | {target.read_text()} <= set(texts)
    assert names(tmp_path) == ["result.json"]


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "run.txt"
    target.write_text("old")

    def fail() -> None:
        with replacing(target) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (target.read_text(), names(tmp_path)) == ("old", ["run.txt"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks that end with their process")
def test_the_draft_of_a_killed_process_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    target = tmp_path / "model.txt"
    code = (
        "import os, signal, sys; from pathlib import Path; from surefoot.io.atomic import replacing\n"
        "with replacing(Path(sys.argv[1])) as draft:\n"
        "    draft.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1
    with replacing(target) as draft:
        draft.write_text("first")
        write_text(target, "second")  # does not take the draft above, which is being written, for an abandoned one
    assert (target.read_text(), names(tmp_path)) == ("first", ["model.txt"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks that end with their process")
def test_the_trial_file_of_a_killed_process_is_removed_with_the_next_one(tmp_path: Path) -> None:
    (tmp_path / ".test.0123456789abcdef.part").touch()
    make_folder(tmp_path)
    assert names(tmp_path) == []


def test_files_have_the_mode_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    write_text(tmp_path / "new", "again")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_a_link_is_written_through_and_a_long_name_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "new"
    write_text(tmp_path / ("ä" * 127), "new")
    with pytest.raises(SurefootError, match="can't be written: File name too long"):
        write_text(tmp_path / ("a" * 300), "new")


def test_standard_output_that_is_a_pipe_is_written_to() -> None:
    code = "from surefoot.io.atomic import write_bytes; write_bytes('/dev/stdout', b'through a pipe')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout == b"through a pipe"
