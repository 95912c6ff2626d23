"""New judgments put together with those there are."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.errors import InputError, listed
from surefoot.io.document_lists import Qrels
from surefoot.io.trec_writer import ScoredTopics

Grades = dict[str, dict[str, float]]


def merge_qrels(qrels: Qrels, added: Iterable[Qrels]) -> ScoredTopics:
    """All judgments, topic by topic; a document with two different grades is an error.

    Parameters
    ----------
    qrels
        The judgments there are.
    added
        New ones.

    Returns
    -------
    iterable
        Each topic with its documents and their grades, for `surefoot.io.trec_writer.qrels_lines`.

    Examples
    --------
    >>> from surefoot.effectiveness.sources import load_qrels
    >>> merge_qrels(load_qrels({"q": {"d1": 1}}), [load_qrels({"q": {"d2": 0}})])
    [('q', [('d1', 1.0), ('d2', 0.0)])]
    """
    merged = _grades(qrels)
    for new in added:
        for topic, documents in _grades(new).items():
            own = merged.setdefault(topic, {})
            changed = [document for document, grade in documents.items() if own.get(document, grade) != grade]
            if changed:
                raise InputError(
                    new.path,
                    f"topic {topic}: {listed(changed, most=5)} has another grade in {qrels.path}; decide for one",
                )
            own.update(documents)
    return [(topic, list(own.items())) for topic, own in merged.items()]


def _grades(qrels: Qrels) -> Grades:
    return {topic: dict(zip(own, grades.tolist(), strict=True)) for topic, own, grades in qrels.by_topic()}
