"""Measures that ir_measures computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from surefoot._lazy import optional
from surefoot._typing import FloatArray
from surefoot.effectiveness.measures import NATIVE, Measure
from surefoot.errors import SurefootError, listed
from surefoot.io.document_lists import Qrels, Run


class ForeignMeasures:
    """Measures of ir_measures over one set of qrels; a lock lets in one run at a time."""

    def __init__(self, measures: Sequence[Measure], qrels: Qrels, skip: bool = False) -> None:
        self._measures = measures
        self._topics = {topic: index for index, topic in enumerate(qrels.topics)}
        self._rows = {measure.origin: row for row, measure in enumerate(measures)}
        self._lock = Lock()
        self._kept = {topic: set(own) for topic, own, _ in qrels.by_topic()} if skip else None
        self._evaluator = self._make_evaluator(qrels)

    def _make_evaluator(self, qrels: Qrels) -> Any:
        ir_measures = optional("ir_measures")
        if not qrels.are_whole:
            raise self._refusal(ValueError("its measures need whole numbers as grades"))
        try:
            return ir_measures.evaluator(list(self._rows), list(_judgments(qrels)))
        except Exception as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> SurefootError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return SurefootError(
            f"ir_measures can't compute {listed(self._measures)}: {reason}; Surefoot itself has {', '.join(NATIVE)}"
        )

    def values(self, run: Run) -> FloatArray:
        """Measures × topics of a run; topics that were not retrieved have the value that ir_measures gives."""
        values = np.zeros((len(self._measures), len(self._topics)))
        with self._lock:
            try:
                for metric in self._evaluator.iter_calc(list(_ranking(run, self._kept))):
                    if metric.query_id in self._topics:
                        values[self._rows[metric.measure], self._topics[metric.query_id]] = metric.value
            except Exception as error:
                raise self._refusal(error) from error
        return values


def _judgments(qrels: Qrels) -> Iterator[Any]:
    Qrel = optional("ir_measures").Qrel
    for topic, documents, grades in qrels.by_topic():
        for document, grade in zip(documents, grades, strict=True):
            yield Qrel(topic, document, int(grade))
        if grades[0] < 0:  # pytrec_eval crashes on a topic that has only negative grades
            yield Qrel(topic, "no document", 0)


def _ranking(run: Run, kept: Mapping[str, set[str]] | None) -> Iterator[Any]:
    """The run's documents with falling whole numbers for scores, which every provider of ir_measures sorts alike.

    Where ``kept`` names documents of the topics, the others are left out.
    """
    ScoredDoc = optional("ir_measures").ScoredDoc
    for topic, documents, _ in run.by_topic():
        ranked = documents if kept is None else [document for document in documents if document in kept.get(topic, ())]
        for rank, document in enumerate(ranked):
            yield ScoredDoc(topic, document, float(len(ranked) - rank))
