"""Compile the native library: ``python -m surefoot.native.build``.

The build hook of the package calls `build`, and so does the first import from a source tree after a source has changed.
This module needs the standard library only. It is imported at each start from a source tree, to call `is_stale`, and
imports what compiles where it is used.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "libsurefoot.so"  # the same name on every platform: only this package loads it
FLAGS = (
    "-std=gnu11 -O3 -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra -Wno-psabi"
).split()
LEVELS = {"base": ("-march=x86-64", "-mcpu=x86_64"), "v3": ("-march=x86-64-v3", "-mcpu=x86_64_v3")}
"""Levels of x86-64 processors, and the options of gcc and clang, and of zig; other processors have the first only."""
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
"""The platforms of wheels, and their names in zig. ``$SUREFOOT_WHEEL`` names one; without it, this machine is meant."""


def compiler() -> list[str]:
    """The C compiler: ``$CC``, else cc, else zig of the package ziglang, as always on Windows; empty if none is there.

    Only zig compiles for other platforms.

    >>> bool(compiler())
    True
    """
    import shlex
    from importlib.util import find_spec
    from shutil import which

    zig = [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else []
    if "SUREFOOT_WHEEL" in os.environ:
        return zig and [*zig, "-target", _platform()]
    if named := os.environ.get("CC"):
        return shlex.split(named)
    if sys.platform != "win32" and (found := which("cc")):
        return [found]
    return zig


def build(library: Path = LIBRARY) -> None:
    """Compile every source at every level and link them; the library is replaced at once, or not at all.

    ``$CFLAGS`` come before the library's own options, which win.
    """
    import shlex
    from concurrent.futures import ThreadPoolExecutor
    from tempfile import TemporaryDirectory

    if not (cc := compiler()):
        raise RuntimeError("no C compiler; install one, or ziglang by pip")
    is_windows = _platform().endswith(("-win32", "-windows-gnu"))
    options = ["-g0", *shlex.split(os.environ.get("CFLAGS", "")), *FLAGS, *([] if is_windows else ["-fPIC"])]
    with TemporaryDirectory(dir=library.parent, prefix=".build-") as name:
        commands = [
            [
                *cc,
                *options,
                *_target(level, cc),
                f"-DSF_LEVEL={level}",
                "-c",
                str(source),
                "-o",
                f"{source.stem}-{level}.o",
            ]
            for level in levels()
            for source in sorted(FOLDER.glob("*.c"))
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda command: _run(command, Path(name)), commands))
        linked, objects = Path(name) / library.name, [command[-1] for command in commands]
        mathematics = [] if is_windows else ["-lm"]
        _run([*cc, *options, "-shared", "-o", str(linked), *objects, *mathematics], Path(name))
        linked.replace(library)


def is_stale(library: Path = LIBRARY) -> bool:
    """Whether the library is missing or older than a source."""
    sources = [*FOLDER.glob("*.[ch]"), Path(__file__)]
    return not library.exists() or library.stat().st_mtime_ns < max(file.stat().st_mtime_ns for file in sources)


def levels() -> list[str]:
    """The levels that are compiled for the kind of processor."""
    return list(LEVELS) if _is_x86() else list(LEVELS)[:1]


def _target(level: str, cc: list[str]) -> list[str]:
    """The options for a level of the processor."""
    is_zig = any(Path(word).stem in ("zig", "ziglang") for word in cc)
    return [LEVELS[level][is_zig]] if _is_x86() else []


def _is_x86() -> bool:
    return _platform().startswith(("x86_64-", "amd64-"))


def _platform() -> str:
    """The processor and the system that the library is for."""
    import platform

    if tag := os.environ.get("SUREFOOT_WHEEL"):
        return TARGETS[tag]
    return f"{platform.machine().lower()}-{sys.platform}"


def _run(command: list[str], folder: Path) -> None:
    import shlex
    import subprocess

    try:
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"the C compiler {command[0]} can't be run ({error.strerror})") from error
    if found.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{found.stderr}")
    if found.stderr:
        print(found.stderr, file=sys.stderr)


if __name__ == "__main__":
    build()
