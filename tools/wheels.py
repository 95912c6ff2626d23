"""Build the wheels of every platform into a folder, and check each library: ``python -m tools.wheels FOLDER``."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from surefoot.native import FOLDER
from surefoot.native.build import LEVELS, TARGETS

MAGIC = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"MZ"}


def build(tag: str, folder: Path) -> Path:
    """The wheel of a platform."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, "."], env={**os.environ, "SUREFOOT_WHEEL": tag}, check=True)
    return next(folder.glob(f"*-py3-none-{tag}.whl"))


def check(wheel: Path, target: str) -> None:
    """Fail unless the wheel holds a library of the platform that names every kernel at every level, and no source."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("surefoot/native/")]
        library = archive.read("surefoot/native/libsurefoot.so")
    sources = "".join(file.read_text() for file in FOLDER.glob("*.c"))
    kernels = re.findall(r"^(?:SF_KERNEL|SF_KERNEL_OF|ELEMENTWISE)\((?:\w+, )?(\w+)\)", sources, re.MULTILINE)
    levels = LEVELS if target.startswith("x86_64") else ["base"]
    missing = [name for name in kernels for level in levels if f"sf_{name}_{level}\0".encode() not in library]
    if missing or any(name.endswith(".c") for name in names):
        sys.exit(f"{wheel.name}: lacks {missing}, has {names}")
    if not library.startswith(MAGIC[target.split("-")[1].split(".")[0]]):
        sys.exit(f"{wheel.name}: its library is of another platform")
    print(f"{wheel.name}: {len(kernels)} kernels, {len(library) // 1000} kB")


if __name__ == "__main__":
    for tag, target in TARGETS.items():
        check(build(tag, Path(sys.argv[1])), target)
