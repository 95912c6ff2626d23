"""sentence-transformers: an evaluator that reports which queries a checkpoint made worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers.evaluation import SentenceEvaluator
from sentence_transformers.util import semantic_search

from surefoot.analysis.evaluate import evaluate
from surefoot.effectiveness import score_runs
from surefoot.io.atomic import write_text
from surefoot.io.tables import scores_csv
from surefoot.risk.moments import Moments
from surefoot.scores import Scores
from surefoot.stats.inference import t_inference_of

PREVIOUS = "previous"


class RiskEvaluator(SentenceEvaluator):  # type: ignore[misc]
    """Scores of a model, query by query, with intervals and groups, compared with the previous checkpoint.

    Parameters
    ----------
    queries, corpus
        Texts by id.
    relevant_docs
        ``{query: {document: grade}}``, or ``{query: set of relevant documents}`` as in InformationRetrievalEvaluator.
    measure
        The effectiveness measure.
    baseline
        The run to compare with, ``{query: {document: score}}``; None compares with the checkpoint evaluated before. The
        attribute ``scores`` keeps the scores of all checkpoints.
    groups
        The group of each query; the mean of each group is reported.
    alpha
        The additional weight of losses in U_Risk.
    top_k
        The documents to retrieve for each query.
    name
        A prefix of the names of metrics.

    Examples
    --------
    ``evaluator = RiskEvaluator(queries, corpus, relevant); evaluator(model)`` returns ``nDCG@10``, ``nDCG@10_low``,
    ``nDCG@10_high`` and, from the second call on, ``urisk``, ``trisk``, ``wins`` and ``losses``.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        corpus: Mapping[str, str],
        relevant_docs: Mapping[str, Mapping[str, float] | Iterable[str]],
        measure: str = "nDCG@10",
        *,
        baseline: Mapping[str, Mapping[str, float]] | None = None,
        groups: Mapping[str, str] | None = None,
        alpha: float = 1.0,
        top_k: int = 100,
        name: str = "",
    ) -> None:
        super().__init__()
        self.queries, self.corpus, self.measure = dict(queries), dict(corpus), measure
        self.qrels = {
            query: dict(found) if isinstance(found, Mapping) else dict.fromkeys(found, 1)
            for query, found in relevant_docs.items()
        }
        self.groups, self.alpha, self.top_k, self.name = groups or {}, alpha, top_k, name
        self.primary_metric = measure
        self.baseline = None if baseline is None else self._scores(baseline, "baseline")
        self.scores: list[Scores] = []

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1, **_: Any
    ) -> dict[str, float]:
        """Encode, retrieve, score; with ``output_path`` the scores of each query are written there."""
        label = "model" if epoch < 0 else f"epoch{epoch:g}-step{steps}"
        own = self._scores(self.retrieve(model), label)
        base = self.baseline
        if base is None and self.scores:
            base = self.scores[-1].rename({self.scores[-1].systems[0]: PREVIOUS})
        self.scores.append(own)
        if output_path is not None:
            write_text(Path(output_path) / f"surefoot_{self.name}{label}.csv", scores_csv(own))
        return dict(self.prefix_name_to_metrics(self._metrics(own, base), self.name))

    def retrieve(self, model: Any) -> dict[str, dict[str, float]]:
        """The run of a model: the ``top_k`` documents of each query."""
        ids = list(self.corpus)
        documents = model.encode([self.corpus[one] for one in ids], convert_to_tensor=True)
        queries = model.encode(list(self.queries.values()), convert_to_tensor=True)
        found = semantic_search(queries, documents, top_k=self.top_k, score_function=model.similarity)
        return {
            query: {ids[hit["corpus_id"]]: float(hit["score"]) for hit in hits}
            for query, hits in zip(self.queries, found, strict=True)
        }

    def _scores(self, run: Mapping[str, Mapping[str, float]], name: str) -> Scores:
        return score_runs({name: run}, self.qrels, self.measure)

    def _metrics(self, own: Scores, base: Scores | None) -> dict[str, float]:
        found = t_inference_of(Moments.of(own.values[0]))
        mean = float(found.urisk)
        low, high = np.nan_to_num([found.low, found.high], nan=mean).tolist()
        metrics = {self.measure: mean, f"{self.measure}_low": low, f"{self.measure}_high": high}
        for group in dict.fromkeys(self.groups.values()):
            members = [topic for topic in own.topics if self.groups.get(topic) == group]
            if members:
                metrics[f"{self.measure}_{group}"] = float(own.select(topics=members).values.mean())
        if base is not None:
            both = Scores.concat([own, base])
            (row,) = evaluate(both, base.systems[0], self.alpha, systems=own.systems)
            metrics |= {name: float(row[name] or 0) for name in ("urisk", "trisk", "wins", "losses")}
        return metrics
