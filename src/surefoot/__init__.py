"""Surefoot: which queries did the new ranker make worse, is that noise, and how to train one that doesn't.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from typing import Any

from surefoot._version import __version__

_HOME = {
    "Scores": "scores",
    "SurefootError": "errors",
    "Linear": "values",
    "Smooth": "values",
    "read_scores": "read.tables",
    "read_qrels": "read.trec",
    "read_run": "read.trec",
    "score_runs": "effectiveness",
    "evaluate": "evaluation",
    "explore": "exploration",
    "cross": "cross_table",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"surefoot.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
