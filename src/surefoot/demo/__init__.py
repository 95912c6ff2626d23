"""The embedded demo: a search task made of the standard library's docstrings, real rankers over it, their story.

Names are loaded when they are first used, as in the package above.
"""

from typing import Any

_HOME = {
    "Collection": "task",
    "collection": "task",
    "Index": "index",
    "MODELS": "models",
    "Ranking": "ranking",
    "rank": "ranking",
    "DemoFiles": "files",
    "write": "files",
    "candidate_of": "story",
    "tell": "story",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surefoot.demo' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"surefoot.demo.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
