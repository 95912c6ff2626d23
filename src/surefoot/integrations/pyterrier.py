"""PyTerrier: the risk of pipelines beside ``pt.Experiment``, and guards and rankers as transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyterrier as pt

from surefoot.analysis.evaluate import Evaluation, evaluate
from surefoot.effectiveness import score_runs
from surefoot.errors import SurefootError, listed
from surefoot.guard.guard import Guard
from surefoot.scores import Scores

Systems = Mapping[str, Any] | Sequence[Any]


def pipeline_scores(
    systems: Systems, topics: Any, qrels: Any, measure: object = "nDCG@10", names: Sequence[str] | None = None
) -> Scores:
    """Score pipelines query by query.

    Parameters
    ----------
    systems
        Pipelines, or frames of results, by name; or a list of them, as in ``pt.Experiment``.
    topics
        The topics, a frame with ``qid`` and ``query``.
    qrels
        The judgments, a frame with ``qid``, ``docno`` and ``label``; or anything that `surefoot.score_runs` takes.
    measure
        The effectiveness measure.
    names
        The names of a list of pipelines; by default the text of each.

    Returns
    -------
    Scores
        Pipelines × topics.
    """
    if not isinstance(systems, Mapping):
        names = [str(system) for system in systems] if names is None else names
        if len(names) != len(systems) or len(set(names)) < len(names):
            raise SurefootError(f"{len(systems)} pipelines need as many different names; got {listed(names)}")
        systems = dict(zip(names, systems, strict=True))
    runs = {name: system(topics) if callable(system) else system for name, system in systems.items()}
    return score_runs(runs, qrels, measure)


def risk(
    systems: Systems,
    topics: Any,
    qrels: Any,
    measure: object = "nDCG@10",
    *,
    baseline: str | Sequence[str],
    alpha: Any = 1.0,
    names: Sequence[str] | None = None,
    **options: Any,
) -> Evaluation:
    """The risk of pipelines against one of them, beside the output of ``pt.Experiment``.

    Parameters
    ----------
    systems, topics, qrels, measure, names
        As in `pipeline_scores`.
    baseline
        The name of the pipeline to compare with, or MEAN, MEDIAN or MAX; or several.
    alpha, **options
        As in `surefoot.evaluate`.

    Returns
    -------
    Evaluation
        One row for each pipeline and alpha.
    """
    return evaluate(pipeline_scores(systems, topics, qrels, measure, names), baseline, alpha, **options)


class GuardTransformer(pt.Transformer):  # type: ignore[misc]
    """A candidate pipeline with a guard: both pipelines retrieve, and the guard blends their rankings.

    Parameters
    ----------
    guard
        The guard, such as ``fit_guard(...).guard``.
    baseline, candidate
        The two pipelines.
    """

    def __init__(self, guard: Guard, baseline: Any, candidate: Any) -> None:
        self.guard, self.baseline, self.candidate = guard, baseline, candidate

    def transform(self, topics: Any) -> Any:
        """The guarded results of the topics."""
        run = self.guard.apply(self.baseline(topics), self.candidate(topics))
        found = run.to_frame().rename({"topic": "qid", "document": "docno"})
        results = topics[["qid", "query"]].drop_duplicates().merge(found.to_pandas(), on="qid")
        return pt.model.add_ranks(results)


class RankerTransformer(pt.Transformer):  # type: ignore[misc]
    """A trained ranker of results with a column ``features``, as in ``pt.ltr``.

    Parameters
    ----------
    ranker
        A fitted `RiskRanker`, or a model with ``predict``.
    """

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, results: Any, qrels: Any, **options: Any) -> RankerTransformer:
        """Fit the ranker on results with features; ``options``, such as ``baseline``, are those of `RiskRanker.fit`."""
        labelled = results.merge(qrels[["qid", "docno", "label"]], on=["qid", "docno"], how="left")
        labels = labelled["label"].fillna(0).clip(lower=0).to_numpy()
        self.ranker.fit(np.stack(labelled["features"]), labels, qid=labelled["qid"].to_numpy(), **options)
        return self

    def transform(self, results: Any) -> Any:
        """The results with the ranker's scores and ranks."""
        scored = results.copy()
        features, queries = np.stack(scored["features"]), scored["qid"].to_numpy()
        is_ranker = hasattr(self.ranker, "model_")
        scored["score"] = self.ranker.predict(features, queries) if is_ranker else self.ranker.predict(features)
        return pt.model.add_ranks(scored)
