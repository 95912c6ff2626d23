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
"""Levels of x86-64 processors: the option of gcc and clang, and that of zig. Other processors have only the first."""


def compiler() -> list[str]:
    """The C compiler: ``$CC``, else cc, else zig of the package ziglang, as always on Windows; empty if none is there.

    >>> bool(compiler())
    True
    """
    import shlex
    from importlib.util import find_spec
    from shutil import which

    if named := os.environ.get("CC"):
        return shlex.split(named)
    if sys.platform != "win32" and (found := which("cc")):
        return [found]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else []


def build(library: Path = LIBRARY) -> None:
    """Compile every source at every level and link them; the library is replaced at once, or not at all.

    ``$CFLAGS`` come before the library's own options, which win.
    """
    import shlex
    from concurrent.futures import ThreadPoolExecutor
    from tempfile import TemporaryDirectory

    if not (cc := compiler()):
        raise RuntimeError("no C compiler; install one, or ziglang by pip")
    is_windows, is_zig = "-win" in target(cc), any(Path(word).stem in ("zig", "ziglang") for word in cc)
    options = ["-g0", *shlex.split(os.environ.get("CFLAGS", "")), *FLAGS, *([] if is_windows else ["-fPIC"])]
    commands = []
    for level in levels(target(cc)):
        processor = [LEVELS[level][is_zig]] if _is_x86(target(cc)) else []
        for source in sorted(FOLDER.glob("*.c")):
            output = ["-c", str(source), "-o", f"{source.stem}-{level}.o"]
            commands.append([*cc, *options, *processor, f"-DSF_LEVEL={level}", *output])
    with TemporaryDirectory(dir=library.parent, prefix=".build-") as name:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda command: _run(command, Path(name)), commands))
        # A Mach-O library holds the path that it is written to; a Windows library names a debug file, but for -s.
        objects, last = [command[-1] for command in commands], ["-s"] if is_windows else ["-lm"]
        _run([*cc, *options, "-shared", "-o", library.name, *objects, *last], Path(name))
        (Path(name) / library.name).replace(library)


def is_stale(library: Path = LIBRARY) -> bool:
    """Whether the library is missing or older than a source."""
    sources = [*FOLDER.glob("*.[ch]"), Path(__file__)]
    return not library.exists() or library.stat().st_mtime_ns < max(file.stat().st_mtime_ns for file in sources)


def target(cc: list[str]) -> str:
    """The processor and the system that a compiler compiles for: its ``-target``, or this machine."""
    import platform

    return cc[cc.index("-target") + 1] if "-target" in cc else f"{platform.machine().lower()}-{sys.platform}"


def levels(target: str) -> list[str]:
    """The levels that are compiled for a processor."""
    return list(LEVELS) if _is_x86(target) else list(LEVELS)[:1]


def kernels() -> list[str]:
    """The names of the kernels that the sources define."""
    import re

    sources = "".join(file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.c")))
    return re.findall(r"^(?:SF_KERNEL|SF_KERNEL_OF|EACH)\((?:\w+, )?(\w+)", sources, re.MULTILINE)


def _is_x86(target: str) -> bool:
    return target.startswith(("x86_64-", "amd64-"))


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
