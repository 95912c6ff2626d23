"""Build the wheels of every platform into a folder, and check each library: ``python -m tools.wheels FOLDER``.

zig, of the package ziglang, compiles for all of them.
"""

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

from surefoot.native.build import kernels, levels

TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
"""The platforms of wheels, and their names in zig."""
MAGIC = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"MZ"}


def build(tag: str, target: str, folder: Path) -> Path:
    """The wheel of a platform."""
    compiler = shlex.join([sys.executable, "-m", "ziglang", "cc", "-target", target])
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "CC": compiler, "SUREFOOT_WHEEL": tag}
    subprocess.run([*command, "--wheel-dir", folder, "."], env=environment, check=True)
    return next(folder.glob(f"*-py3-none-{tag}.whl"))


def check(wheel: Path, target: str) -> None:
    """Fail unless the wheel holds a library of the platform that names every kernel at every level, and no source."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("surefoot/native/")]
        library = archive.read("surefoot/native/libsurefoot.so")
    missing = [name for name in kernels() for level in levels(target) if f"sf_{name}_{level}\0".encode() not in library]
    if missing or any(name.endswith(".c") for name in names):
        sys.exit(f"{wheel.name}: lacks {missing}, has {names}")
    if not library.startswith(MAGIC[target.split("-")[1].split(".")[0]]):
        sys.exit(f"{wheel.name}: its library is of another platform")
    print(f"{wheel.name}: {len(kernels())} kernels, {len(library) // 1000} kB")


if __name__ == "__main__":
    for tag, target in TARGETS.items():
        check(build(tag, target, Path(sys.argv[1])), target)
