"""Selective re-ranking with thresholds that are chosen on validation queries, beside the risk-sensitive models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from surefoot._typing import FloatArray
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk import compare, urisk
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.selective import choose_threshold, selective_curve
from surefoot_lab.tradeoff.sweep import Sweep

MODEL, SELECTIVE = "model", "selective"


def threshold_table(folds: Sequence[Sweep], bootstrap: BootstrapMethod | None = None) -> Result:
    """For each alpha: re-ranking below the threshold that is best on validation queries, and the model of that alpha.

    The best threshold of a fold has the largest U_Risk at alpha on its validation queries; the test queries of all
    folds are measured together.

    Parameters
    ----------
    folds
        Trade-offs with validation queries and a selecting feature, of different test queries.
    bootstrap
        How intervals are computed; studentised with 10,000 resamples by default.

    Returns
    -------
    Result
        A row for each alpha: the threshold, the fraction of queries re-ranked, risk and gain of both, and U_Risk of
        the model minus that of selective re-ranking with its interval.
    """
    bootstrap, first = bootstrap or BootstrapMethod(), folds[0]
    rows = [_row(folds, alpha, model, bootstrap) for alpha, model in zip(first.alphas, first.models, strict=True)]
    assert first.feature is not None  # _row has said so
    stated = signature(
        "thresholds", measure=first.test.measure, objective=first.objective, baseline=first.baseline,
        select=first.feature.systems[0], folds=len(folds), topics=sum(len(fold.test.topics) for fold in folds),
        **bootstrap.signature_fields(),
    )  # fmt: skip
    note = "difference: U_Risk at this alpha, the model's minus that of selective re-ranking"
    return Result(stated, {name: [row[name] for row in rows] for name in rows[0]}, (note,))


def _row(folds: Sequence[Sweep], alpha: float, model: str, bootstrap: BootstrapMethod) -> dict[str, object]:
    chosen = [_selected(fold, alpha) for fold in folds]
    thresholds = [threshold for threshold, _, _ in chosen]
    below = np.concatenate([mask for _, mask, _ in chosen])
    rows = np.stack([
        np.concatenate([fold.test.values[0] for fold in folds]),
        np.concatenate([fold.test[model] for fold in folds]),
        np.concatenate([scores for _, _, scores in chosen]),
    ])  # fmt: skip
    topics = [f"{index}/{topic}" for index, fold in enumerate(folds, 1) for topic in fold.test.topics]
    scores = Scores(rows, [folds[0].baseline, MODEL, SELECTIVE], topics, folds[0].test.measure)
    found = difference_intervals(
        scores, MODEL, SELECTIVE, folds[0].baseline, alpha, measures=("urisk",), **asdict(bootstrap)
    )
    row: dict[str, object] = {"alpha": alpha, "threshold": _range(thresholds), "reranked": float(below.mean())}
    for name in (SELECTIVE, MODEL):
        compared = compare(scores[name], rows[0])
        row |= {f"{name}_frisk": float(compared.frisk), f"{name}_ugain": float(compared.freward - compared.frisk)}
    apart = float(urisk(rows[1], rows[0], alpha) - urisk(rows[2], rows[0], alpha))
    return row | {"difference": apart, "low": float(found["low"][0]), "high": float(found["high"][0])}


def _selected(fold: Sweep, alpha: float) -> tuple[float, FloatArray, FloatArray]:
    """The threshold of a fold, which of its test queries are below it, and their scores then."""
    valid = fold.valid
    if valid is None or valid.feature is None or fold.feature is None:
        raise SurefootError("a threshold is chosen on validation queries by a selecting feature; give both")
    curve = selective_curve(valid.scores.values[1], valid.scores.values[0], valid.feature.values[0])
    threshold = choose_threshold(curve, alpha)
    below = fold.feature.values[0] < threshold
    return threshold, below, np.where(below, fold.test.values[1], fold.test.values[0])


def _range(thresholds: Sequence[float]) -> str:
    low, high = f"{min(thresholds):.4g}", f"{max(thresholds):.4g}"
    return low if low == high else f"{low} to {high}"
