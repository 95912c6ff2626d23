"""Public collections: which there are, where one lies on this machine, and getting it there."""

from surefoot.research.datasets.registry import Collection, Source, collection, collections
from surefoot.research.datasets.store import fetch, locate

__all__ = ["Collection", "Source", "collection", "collections", "fetch", "locate"]
