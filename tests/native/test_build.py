"""The build of the native library from its sources, which a wheel has not."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot import native
from surefoot.native import kernel
from tests.native.test_binding import CALL

build = pytest.importorskip("surefoot.native.build", reason="a wheel has no sources to build")


def test_every_declared_kernel_is_in_the_library_at_every_level():
    names = build.kernels()
    assert {"measure_ranking", "lambda_gradients", "normal_cdf"} <= set(names) <= set(native._declarations()[0])
    for name in names:
        for level in build.levels(build.target([])):
            assert kernel(name, level)._function is not None
        assert kernel(name).layout.inputs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package's sources, without a library."""
    package = tmp_path / "surefoot"
    shutil.copytree(native.FOLDER, package / "native", ignore=shutil.ignore_patterns("*surefoot.so", ".build-*"))
    shutil.copy(native.FOLDER.parent / "errors.py", package)
    (package / "__init__.py").touch()
    return package / "native"


@pytest.mark.parametrize("target", ["", "aarch64-linux-gnu.2.17", "aarch64-macos.11.0", "x86_64-windows-gnu"])
def test_two_builds_have_the_same_bytes(target, tmp_path, monkeypatch):
    if target:
        pytest.importorskip("ziglang", reason="without zig no library of another platform can be built")
        monkeypatch.setenv("CC", shlex.join([sys.executable, "-m", "ziglang", "cc", "-target", target]))
    libraries = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        libraries.append(tmp_path / name / build.LIBRARY.name)
        build.build(libraries[-1])
    assert libraries[0].read_bytes() == libraries[1].read_bytes()


def call_in(tree: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CALL],
        env={**os.environ, "PYTHONPATH": str(tree.parents[1]), **environment},
        capture_output=True,
        text=True,
    )


def test_a_source_tree_compiles_the_library_when_a_source_is_newer(tree):
    assert call_in(tree).stdout == "[[2.0, 0.0]]\n"
    source = tree / "risk.c"
    source.write_text(source.read_text().replace("+= 1.0", "+= 3.0"))
    os.utime(tree / build.LIBRARY.name, (0, 0))
    assert call_in(tree).stdout == "[[6.0, 0.0]]\n"
    assert not list(tree.glob(".build-*"))


def test_an_installed_library_is_not_compiled(tree):
    (tree / "build.py").unlink()
    found = call_in(tree)
    assert "SurefootError: the native library can't be loaded" in found.stderr


def test_no_compiler_is_one_line(tree):
    found = call_in(tree, CC="no-such-compiler")
    error = found.stderr.splitlines()[-1]
    assert error.endswith("the native library can't be loaded: the C compiler no-such-compiler can't be run "
                          "(No such file or directory)")  # fmt: skip


def test_a_source_that_does_not_compile_keeps_the_old_library(tree):
    assert call_in(tree).returncode == 0
    before = (tree / build.LIBRARY.name).read_bytes()
    (tree / "risk.c").write_text("int x = ;")
    os.utime(tree / build.LIBRARY.name, (0, 0))
    assert "error" in call_in(tree).stderr
    assert (tree / build.LIBRARY.name).read_bytes() == before
