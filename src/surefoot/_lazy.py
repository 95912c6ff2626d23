"""Names that are loaded when they are first used, so that importing a package costs nothing.

The public names of a package are listed once, in its ``__init__.pyi``: type checkers read the list as a stub, and
`attach` reads it when the first name is asked for.
"""

import sys
from collections.abc import Callable


class LazyModule:
    """A module that is imported when something of it is first used.

    >>> LazyModule("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        from importlib import import_module

        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


def attach(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package that has its names in ``__init__.pyi``.

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
        if name == "__all__":
            return names()
        if name not in names():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(homes[name]), name)

    return load, names


def _read_stub(package: str) -> dict[str, str]:
    """The module of each name that the stub imports; the stub is read through the package's loader, as from a zip."""
    import ast

    module = sys.modules[package]
    text = module.__loader__.get_data(f"{module.__file__}i").decode()  # type: ignore[union-attr]
    imports = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}
