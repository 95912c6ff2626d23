"""Run kernels of other platforms on recorded calls: ``python -m tools.replay [PYTEST ARGUMENTS]``.

The tests (by default those of the kernels) run here, and each kernel's first calls are recorded. zig compiles kernels
for ARM, for the oldest x86-64 and for Windows; qemu and Wine replay the calls, and every bit that a kernel fills in or
returns is compared. Calls whose arrays hold pointers are left out. Needs qemu-user-static and wine, and ziglang and
pytest by pip.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from surefoot import native
from surefoot.native.build import FLAGS

MOST_CALLS, MOST_BYTES = 200, 1_000_000
PLATFORMS = {
    "aarch64-linux-musl": (["qemu-aarch64-static"], []),
    "x86_64-linux-musl": (["qemu-x86_64-static", "-cpu", "core2duo"], ["-mcpu=x86_64"]),
    "x86_64-windows-gnu": (["wine"], ["-mcpu=x86_64"]),
}
recorded: dict[str, list[bytes]] = {}


def call(self: native.Kernel, *arguments: Any) -> int:
    """Call a kernel as `surefoot.native.Kernel` does, and record the call."""
    leaves = list(native._leaves(arguments))
    arrays = [one for one in leaves if isinstance(one, np.ndarray)]
    own = recorded.setdefault(self.name, [])
    packed = self.pack(arguments)
    holds_pointers = any(one.dtype.kind == "V" for one in arrays)
    if holds_pointers or len(own) >= MOST_CALLS or sum(one.nbytes for one in arrays) > MOST_BYTES:
        return original(self, *arguments)
    words = list(struct.unpack(f"={len(packed) // 8}q", packed))
    places: list[int] = []
    for one in arrays:  # an array may be given twice
        places.append(next(i for i, word in enumerate(words) if word == one.ctypes.data and i not in places))
    before = [one.tobytes() for one in arrays]
    returned = original(self, *arguments)
    parts = [struct.pack("=3q", returned, len(words), len(arrays)), packed]
    for place, array, content in zip(places, arrays, before, strict=True):
        parts += [struct.pack("=2q", place, len(content)), content, array.tobytes()]
    own.append(b"".join(parts))
    return returned


original = native.Kernel.__call__


def replay(target: str, emulator: list[str], options: list[str], folder: Path) -> int:
    """Compile the kernels for a platform, and replay the recorded calls on it."""
    sources = [*native.FOLDER.glob("*.c"), Path(__file__).with_suffix(".c")]
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-static", "-DSF_LEVEL=base", f"-I{folder}"]
    subprocess.run([*zig, *options, *FLAGS, *sources, "-lm", "-o", folder / target], check=True)
    print(f"\n{target} on {' '.join(emulator)}", flush=True)
    return subprocess.run([*emulator, folder / target, folder / "calls"]).returncode


def main() -> int:
    native.Kernel.__call__ = call  # type: ignore[method-assign]
    tests = sys.argv[1:] or ["tests/native", "tests/risk/test_distributions.py"]
    pytest.main(["-q", "--assert=plain", "-p", "no:cacheprovider", *tests])
    names = sorted(name for name, calls in recorded.items() if calls)
    calls = [struct.pack("=q", index) + one for index, name in enumerate(names) for one in recorded[name]]
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "replay.inc").write_text("".join(f"K({name})\n" for name in names))
        (folder / "calls").write_bytes(struct.pack("=q", len(calls)) + b"".join(calls))
        return max(replay(target, *processor, folder) for target, processor in PLATFORMS.items())


if __name__ == "__main__":
    sys.exit(main())
