"""Roles of columns: what a column holds, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Role = Literal["topic", "system", "measure", "value", "trial"]

# Where a table has two names of one role (qid beside the text of the query), the earlier in the list is taken.
NAMES: dict[Role, tuple[str, ...]] = {
    "topic": ("topic", "topics", "topic_id", "topicid", "qid", "q_id", "query_id", "queryid", "query"),
    "system": ("system", "systems", "system_id", "run", "runs", "runid", "run_id", "run_name", "name", "tag"),
    "measure": ("measure", "measures", "metric", "metrics"),
    "value": ("value", "score"),
    "trial": ("trial", "epoch", "seed", "repeat", "replicate"),
}
DOCUMENTS = ("document", "docno", "doc_id", "corpus_id", "document_id", "docid", "did", "pid", "passage_id", "_id")
RETRIEVED = ("score", "similarity", "value")
GRADES = ("grade", "relevance", "rel", "label", "rating", "judgment", "judgement", "score", "value")
_ROLES = {name: role for role, names in NAMES.items() for name in names}


def role_of(name: str) -> Role | None:
    """The role of a column of that name.

    >>> role_of("Query ID"), role_of("runid"), role_of("bm25")
    ('topic', 'system', None)
    """
    return _ROLES.get(normalise_name(name))


def find_column(columns: Sequence[str], known: Sequence[str]) -> int | None:
    """The column that has one of the known names, the earlier name before the later.

    >>> find_column(["query", "docid", "QID"], NAMES["topic"])
    2
    """
    normalised = [normalise_name(name) for name in columns]
    return next((normalised.index(name) for name in known if name in normalised), None)


def normalise_name(name: str) -> str:
    """The name of a column as lists of known names write it.

    >>> normalise_name("Query-ID ")
    'query_id'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")
