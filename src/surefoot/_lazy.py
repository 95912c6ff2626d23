"""Names that are loaded when they are first used, so that importing a package costs nothing."""

from collections.abc import Callable


def lazy(package: str, homes: dict[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package whose names live in the modules that ``homes`` gives.

    >>> lazy("surefoot", {"Scores": "scores"})("Scores").__name__
    'Scores'
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
