"""The embedded demo: a search task made of the standard library's docstrings, real rankers over it, their story.

Names are loaded when they are first used, as in the package above.
"""

from surefoot._lazy import lazy

_HOME = {
    "collection": "task",
    "DemoFiles": "files",
    "write": "files",
    "candidate_of": "story",
    "tell": "story",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
