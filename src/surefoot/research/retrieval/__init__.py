"""Retrieval: an index of a collection, models that search it, and the features that rankers learn from.

Names are loaded when they are first used, as in the package above.
"""

from surefoot._lazy import lazy

_HOME = {
    "Collection": "collection",
    "Index": "index",
    "MODELS": "models",
    "Ranking": "ranking",
    "rank": "ranking",
    "ranking_data": "features",
    "nfcorpus": "corpora",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
