"""A test collection: documents, queries and relevance grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Collection:
    """Documents by id, queries by topic, and for each topic the grades of the relevant documents.

    In a ``named`` collection the id of a document is its name, whose words can be searched like its text.
    """

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    named: bool = True
