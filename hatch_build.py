"""The build hook: compiles the native library into the wheel."""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path(__file__).parent / "src" / "surefoot" / "native"


def build_module() -> Any:
    """The module that compiles, loaded without the package, which needs numpy."""
    spec = spec_from_file_location("surefoot_native_build", NATIVE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class NativeLibrary(BuildHookInterface):  # type: ignore[type-arg]
    """Compile the library, and name the platform in the wheel's tag: one wheel serves every Python 3."""

    def dependencies(self) -> list[str]:
        """A compiler from PyPI where there is no other."""
        return [] if build_module().compiler() else ["ziglang>=0.14"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files are collected; an editable install has the library beside its sources."""
        if self.target_name != "wheel":
            return
        build = build_module()
        tag = os.environ.get("SUREFOOT_WHEEL") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        library = build.LIBRARY
        if version != "editable":
            library = Path(self.root, "build", tag, library.name)
            library.parent.mkdir(parents=True, exist_ok=True)
            build_data["force_include"][str(library)] = f"surefoot/native/{library.name}"
        try:
            build.build(library)
        except RuntimeError as error:
            sys.exit(f"surefoot: {error}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
