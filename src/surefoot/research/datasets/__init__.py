"""Public collections: the registry, where a collection is on this machine, and downloading it."""

from surefoot.research.datasets.registry import Collection, Source, collection, collections
from surefoot.research.datasets.store import fetch, locate

__all__ = ["Collection", "Source", "collection", "collections", "fetch", "locate"]
