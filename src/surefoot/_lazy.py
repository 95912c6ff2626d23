"""Names that are loaded when they are first used, so that importing a package costs nothing.

The public names of a package are listed once, in its ``__init__.pyi``: type checkers read the list as a stub, and
`attach` reads it when the first name is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

TYPE_CHECKING = False  # so that typing is not imported
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


EXTRAS = {
    "compression": "lz4 zstandard",
    "frames": "polars",
    "learn": "lightgbm scipy sklearn",
    "measures": "ir_measures",
    "plots": "matplotlib",
    "cluster": "dask distributed pyspark",
    "torch": "torch",
    "xgboost": "xgboost",
}
"""The optional packages of each extra, by the names they are imported under."""
WITHOUT_EXTRA = {
    "ir_datasets": "ir-datasets",
    "fsspec": "fsspec",
    "onnxmltools": "onnxmltools",
    "pandas": "pandas",
    "ray": "'ray[data]'",
    "sentence_transformers": "sentence-transformers",
    "treelite": "treelite",
}
"""The distributions of optional packages that no extra installs."""
LAB = "surefoot_lab"
"""The distribution for the papers; its names were public names of `surefoot` in version 0.2."""


class LazyModule:
    """A module that is imported when one of its names is first used.

    >>> LazyModule("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        if name == "__wrapped__":  # doctest asks every object for it, which must import nothing
            raise AttributeError(name)
        value = getattr(optional(self._name), name)
        setattr(self, name, value)
        return value


def optional(name: str, extra: str = "") -> ModuleType:
    """Import a module; if an optional package is missing, the error says how to install it, or all of an extra."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        from surefoot.errors import SurefootError

        if hint := install_hint(error, extra):
            raise SurefootError(hint) from None
        raise


def install_hint(error: ModuleNotFoundError, extra: str = "") -> str | None:
    """How to install the optional package that is missing, or an extra that needs it; None for other packages.

    >>> install_hint(ModuleNotFoundError(name="polars"))
    "polars is not installed; pip install 'surefoot[frames]'"
    """
    extras = {package: f"'surefoot[{extra}]'" for extra, packages in EXTRAS.items() for package in packages.split()}
    source = (extras | WITHOUT_EXTRA).get(error.name or "")
    source = f"'surefoot[{extra}]'" if extra and source else source
    return source and f"{error.name} is not installed; pip install {source}"


def plugins(group: str) -> list[tuple[str, str, Any]]:
    """Name, module and value of the entry points of a group that can be imported; other distributions register them."""
    from contextlib import suppress
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group=group):
        with suppress(ModuleNotFoundError):
            found.append((point.name, point.module, point.load()))
    return found


def attach(
    package: str, moved: bool = False, needs: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package that has its names in ``__init__.pyi``.

    ``needs`` maps a module to the optional package that it needs; ``import *`` leaves out its names if that is missing.
    ``moved`` forwards names that version 0.2 had here, and that a group or the lab has now, with a DeprecationWarning;
    ``dir()`` does not list them.

    >>> load, names = attach("surefoot")
    >>> load("Scores").__name__, "evaluate" in names()
    ('Scores', True)
    """
    homes: dict[str, str] = {}

    def names() -> list[str]:
        if not homes:
            homes.update(_read_stub(package))
        return sorted(homes)

    def load(name: str) -> object:
        if name.startswith("_") and name != "__all__":  # `from surefoot import _process` asks for it first
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name == "__all__":
            return [one for one in names() if _is_installed((needs or {}).get(homes[one]))]
        if name in names():  # a module of the same name keeps its place
            value = _load(package, homes[name], name)
            vars(sys.modules[package]).setdefault(name, value)
            return value
        if moved and (home := _moved_to(name)):
            from warnings import warn

            warn(f"{package}.{name} is now {home}.{name}", DeprecationWarning, stacklevel=2)
            return getattr(optional(home), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}{lab_hint() if moved else ''}")

    return load, names


def lab_hint() -> str:
    """How to install the lab, for errors about unknown names and commands; empty if the lab is installed."""
    return "" if _is_installed(LAB) else "; those for papers need pip install surefoot-lab"


def _moved_to(name: str) -> str | None:
    """The group of Surefoot that has a name, or the lab, if it is installed."""
    groups = [f"{home}.{group}" for group, home in _read_stub("surefoot").items() if home == "surefoot"]
    homes = [*groups, *([LAB] if _is_installed(LAB) else [])]
    return next((home for home in homes if name in dir(optional(home))), None)


def _load(package: str, home: str, name: str) -> object:
    """A public name of a package, or a group of names: a package within it."""
    return optional(f"{package}.{name}") if home == package else getattr(optional(home), name)


def _is_installed(package: str | None) -> bool:
    from importlib.util import find_spec

    return package is None or find_spec(package) is not None


def _read_stub(package: str) -> dict[str, str]:
    """The module of each name that the stub imports; the stub is read through the package's loader, as from a zip."""
    import ast

    module = sys.modules[package]
    text = module.__loader__.get_data(f"{module.__file__}i").decode()  # type: ignore[union-attr]
    imports = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}
