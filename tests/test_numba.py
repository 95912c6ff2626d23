"""Compiled code is cached; a damaged or full cache costs time, never a result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
import sys
from surefoot._numba import kernel

@kernel
def twice(x):
    return 2 * x

print(twice(21), sum(twice.dispatcher.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SOURCE)
    folder = tmp_path / "cache"
    folder.mkdir()

    def run():
        found = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": str(folder)}
        )
        assert found.returncode == 0, found.stderr
        return found.stdout.split(), found.stderr

    run.files = lambda ending: list(folder.rglob(f"*{ending}"))
    run.folder = folder
    return run


def test_code_is_compiled_once(run):
    assert run() == (["42", "0"], "")
    assert run() == (["42", "1"], "")


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "flipped", "cut"])
def test_damaged_code_is_compiled_anew(run, ending, damage):
    run()
    (file,) = run.files(ending)
    content = bytearray(file.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    else:
        del content[0 if damage == "empty" else len(content) // 2 :]
    file.write_bytes(content)
    assert run()[0][0] == "42"
    assert run() == (["42", "1"], "")


def test_a_folder_that_turns_into_a_file_is_said(run):
    run()
    (index,) = run.files(".nbi")
    for file in [*run.files(".nbc"), index]:
        file.unlink()
    index.mkdir()
    (index / "in the way").touch()
    found, errors = run()
    assert found == ["42", "0"]
    assert "compiled code can't be kept in" in errors
    assert Path(index).is_dir()
