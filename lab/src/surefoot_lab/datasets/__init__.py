"""Public collections: the registry, where a collection is on this machine, and downloading it."""

from surefoot_lab.datasets.registry import Collection, Source, collection, collections
from surefoot_lab.datasets.store import fetch, locate

__all__ = ["Collection", "Source", "collection", "collections", "fetch", "locate"]
