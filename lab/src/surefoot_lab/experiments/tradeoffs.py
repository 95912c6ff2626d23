"""The trade-off of an experiment, over the test queries of all folds, and the claims of SIGIR 2012 in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from surefoot._typing import BoolArray, FloatArray, IntArray
from surefoot.io.atomic import write_text
from surefoot.learn.data import RankingData
from surefoot.learn.queries import query_feature
from surefoot.results import Result, by_column, signature
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.experiments.jobs import CURVE, TEST_SCORES, TRAIN_VALUES, TREES_KEPT, VALID_SCORES
from surefoot_lab.experiments.plan import label
from surefoot_lab.tradeoff.churn import disagreement, kendall_distance
from surefoot_lab.tradeoff.files import write_sweep
from surefoot_lab.tradeoff.store import HISTORY as HISTORY_FILE
from surefoot_lab.tradeoff.store import history_csv
from surefoot_lab.tradeoff.sweep import QueryScores, Sweep, iterations_to, iterations_to_fraction
from surefoot_lab.tradeoff.tables import tradeoff_tables

if TYPE_CHECKING:
    from surefoot_lab.experiments.jobs import Context, JobResult

TARGET = 0.42
"""The NDCG@10 whose iterations the paper counts."""
NOT_PUBLIC = "needs the Location data of a commercial search engine, which are not public"


def claims_table(sweep: Sweep, curves: Mapping[float, Sequence[FloatArray]], data: str, is_mslr: bool) -> Result:
    """Each claim of the paper, its value there and here; the data differ unless these are MSLR-WEB10K.

    ``curves`` has the mean metric of validation queries after each iteration, for each alpha and fold.
    """
    from surefoot_lab.reproduce.cells import printed

    ours = {
        "mslr_bm25_ndcg10": float(sweep.test.values[0].mean()),
        "alpha_limit_mslr": sweep.limit,
        "iterations_to_042_mslr_alpha5": _mean_iterations(curves.get(5.0, ())),
        "iterations_to_042_mslr_alpha0": _mean_iterations(curves.get(0.0, ())),
    }
    rows = []
    for line in printed("claims"):
        if line["paper"] != "sigir2012":
            continue
        claim = line["claim"]
        known = ours.get(claim)
        note = NOT_PUBLIC if claim not in ours else "" if is_mslr else f"published of MSLR-WEB10K, here {data}"
        if claim in ours and known is None:
            note = f"some fold never reaches {TARGET}; {note}".removesuffix("; ")
        rows.append({"claim": claim, "published": float(line["value"]), "ours": known, "note": note})
    stated = signature("sigir2012-claims", data=data, topics=len(sweep.test.topics), alpha=sweep.alphas.tolist())
    return Result(stated, by_column(rows))


def _mean_iterations(curves: Sequence[FloatArray]) -> float | None:
    """The iterations to the target, averaged over folds; None if a fold never reaches it."""
    reached = [iterations_to(curve, TARGET) for curve in curves]
    known = [one for one in reached if one is not None]
    return float(np.mean(known)) if known and len(known) == len(reached) else None


RESAMPLES = 2000
ALPHA = "alpha={:g}"


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """The models of one objective: the test queries of all folds, and the tables made of them."""

    sweep: Sweep
    tables: Mapping[str, Result]


def tradeoffs_of(context: Context, results: Mapping[str, Sequence[JobResult]]) -> dict[str, Tradeoff]:
    """The trade-off of each objective, from the results of each learner in each fold."""
    bootstrap, found = BootstrapMethod(n_resamples=RESAMPLES, seed=context.plan.seed), {}
    for objective in context.plan.objectives:
        learners = {0.0: label("lambdamart", 0.0), **{alpha: label(objective, alpha) for alpha in context.plan.alphas}}
        own = {alpha: results[name] for alpha, name in sorted(learners.items()) if name in results}
        folds = [_fold_sweep(context, objective, index, own) for index in range(len(context.split.folds))]
        sweep = pool(folds)
        tables = tradeoff_tables(sweep, folds, bootstrap)
        if context.plan.name == "sigir2012":
            curves = {alpha: [fold[CURVE] for fold in parts] for alpha, parts in own.items()}
            tables["claims"] = claims_table(sweep, curves, context.dataset.name, context.dataset.is_mslr)
        found[objective] = Tradeoff(sweep, tables)
    return found


def _fold_sweep(context: Context, objective: str, index: int, results: Mapping[float, Sequence[JobResult]]) -> Sweep:
    """The trade-off of one fold."""
    plan, data, fold = context.plan, context.dataset.data, context.split.folds[index]
    parts = {ALPHA.format(alpha): folds[index] for alpha, folds in results.items()}
    test, churn = _query_scores(context, fold.test, {name: part[TEST_SCORES] for name, part in parts.items()})
    valid, _ = _query_scores(context, fold.valid, {name: part[VALID_SCORES] for name, part in parts.items()})
    train_data = data.select(fold.train)
    bound = next(iter(context.metrics.values())).bind(train_data.labels, train_data.bounds, plan.empty)
    base = context.baseline_scores[data.rows(fold.train)]
    rows = np.stack([bound(base), *(bound.fill_empty(part[TRAIN_VALUES]) for part in parts.values())])
    names = [f"fold {index + 1}/{query}" for query in train_data.queries]
    trained = _scores(rows, [context.baseline, *parts], names, bound.counted, test.scores.measure)
    start = float(valid.scores.values[0].mean())
    to95 = [iterations_to_fraction(part[CURVE] - start) for part in parts.values()]
    return Sweep(
        objective, np.array(list(results)), tuple(int(part[TREES_KEPT][0]) for part in parts.values()), test.scores,
        trained, tuple([{"mean": float(mean)} for mean in part[CURVE]] for part in parts.values()), True, churn,
        test.feature, (), test.disagreement, valid, tuple(np.nan if one is None else float(one) for one in to95),
    )  # fmt: skip


def _query_scores(context: Context, queries: IntArray, scores: Mapping[str, FloatArray]) -> tuple[QueryScores, Scores]:
    """Scores, selecting feature and disagreement of some queries; the distance of each ranking to the baseline's."""
    data: RankingData = context.dataset.data.select(queries)
    bound = next(iter(context.metrics.values())).bind(data.labels, data.bounds, context.plan.empty)
    base = context.baseline_scores[context.dataset.data.rows(queries)]
    rows = np.stack([bound(base), *(bound(own) for own in scores.values())])
    counted, measure = bound.counted, str(bound.metric)
    feature = None
    if context.query_feature is not None:
        values = query_feature(data, context.query_feature)[None]
        feature = _scores(values, [context.query_feature], data.queries, counted, "value")
    apart = disagreement(list(scores.values()), data.bounds)[None]
    churn = np.stack([kendall_distance(base, own, data.bounds) for own in scores.values()])
    found = QueryScores(
        _scores(rows, [context.baseline, *scores], data.queries, counted, measure), feature,
        _scores(apart, ["disagreement"], data.queries, counted, "value"),
    )  # fmt: skip
    return found, _scores(churn, list(scores), data.queries, counted, "value")


def _scores(rows: FloatArray, names: Sequence[str], queries: Sequence[str], counted: BoolArray, measure: str) -> Scores:
    topics = [query for query, counts in zip(queries, counted, strict=True) if counts]
    return Scores(rows[:, counted], list(names), topics, measure)


def pool(folds: Sequence[Sweep]) -> Sweep:
    """The queries of all folds as one trade-off; histories and iterations are means over folds, trees the median.

    In histories a fold that stopped early counts by its last iteration.
    """
    first = folds[0]
    histories = tuple(
        [{"mean": float(np.mean([own[min(at, len(own) - 1)]["mean"] for own in of_model]))}
         for at in range(max(map(len, of_model)))]
        for of_model in zip(*(fold.histories for fold in folds), strict=True)
    )  # fmt: skip
    converged = np.array([fold.to95 for fold in folds], dtype=np.float64)
    known = ~np.isnan(converged)
    means = np.where(known, converged, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return replace(
        first,
        trees=tuple(round(median(fold.trees[model] for fold in folds)) for model in range(len(first.models))),
        test=_joined([fold.test for fold in folds]),
        train=_joined([fold.train for fold in folds]),
        histories=histories,
        churn=_joined([fold.churn for fold in folds if fold.churn is not None]),
        feature=_joined([fold.feature for fold in folds if fold.feature is not None]) if first.feature else None,
        disagreement=_joined([fold.disagreement for fold in folds if fold.disagreement is not None]),
        valid=None,
        to95=tuple(np.where(known.any(axis=0), means, np.nan).tolist()),
    )


def _joined(parts: Sequence[Scores]) -> Scores:
    topics = [topic for part in parts for topic in part.topics]
    return Scores(np.concatenate([part.values for part in parts], axis=1), parts[0].systems, topics, parts[0].measure)


def write_tradeoff(sweep: Sweep, folder: Path) -> None:
    """Write a trade-off as `surefoot tradeoff` does, without models, so that `surefoot figure` draws it."""
    write_sweep(sweep, folder)
    for alpha, history in zip(sweep.alphas, sweep.histories, strict=True):
        own = folder / f"alpha-{alpha:g}"
        own.mkdir(exist_ok=True)
        write_text(own / HISTORY_FILE, history_csv(history))
