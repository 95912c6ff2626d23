"""The tables of a trade-off: risk and gain by alpha, thresholds and rankers chosen on validation queries, churn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.design import Design
from surefoot.analysis.intervals import difference_intervals, interval_columns
from surefoot.errors import SurefootError
from surefoot.guard.trial import best_threshold
from surefoot.results import Column, Result, by_column, signature
from surefoot.risk import compare, get_risk, urisk
from surefoot.risk.values import Linear
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.churn import BINS, churn_counts
from surefoot_lab.tradeoff.plane import (
    ORIGIN,
    Points,
    area_between,
    concatenate,
    nearest_alpha,
)
from surefoot_lab.tradeoff.sweep import Sweep

MEASURES = ("urisk", "frisk", "freward", "wins", "losses", "loss20")
WITH_INTERVAL = ("ugain", "frisk")
"""Columns that a terminal table shows with intervals; CSV and JSON have those of U_Risk too."""


@dataclass(frozen=True, eq=False)
class TradeoffTable(Result):
    """One row for each alpha; see `tradeoff_table` for the columns."""

    def readable(self) -> Result:
        """Each interval in one column, and only those of gain and risk."""
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if name in WITH_INTERVAL:
                ends = zip(self[f"{name}_low"], self[f"{name}_high"], strict=True)
                columns |= {name: column, f"{name} 95 %": [f"{low:z.3f} to {high:z.3f}" for low, high in ends]}
            elif not name.endswith(("_low", "_high")):
                columns[name] = column
        return Result(self.signature, columns, self.notes)


def tradeoff_table(sweep: Sweep, bootstrap: BootstrapMethod | None = None) -> TradeoffTable:
    """The risk and the gain of each alpha, one row for each.

    Parameters
    ----------
    sweep
        The models of a trade-off.
    bootstrap
        How intervals are computed; studentised with 10,000 resamples by default.

    Returns
    -------
    TradeoffTable
        The columns explained below.

    Notes
    -----
    ``mean`` is the model's effectiveness, ``ugain`` how much that is above the baseline's, ``frisk`` and ``freward``
    the mean loss and the mean gain, ``urisk`` U_Gain - alpha F_Risk at the row's own alpha. ``churn`` is the mean
    Kendall distance to the baseline's ranking, ``best`` the fraction of queries on which no other alpha does better
    (tied alphas divide a query), ``to95`` the iterations to 95 % of the last one's gain. Bounds are those of
    bootstrap intervals.

    """
    bootstrap = bootstrap or BootstrapMethod()
    design = Design.of(sweep.test, sweep.baseline, sweep.models)
    found = design.values(map(get_risk, MEASURES), sweep.alphas)
    bounds = interval_columns(design, sweep.alphas, ("urisk", "frisk"), bootstrap)
    own = np.arange(len(sweep.alphas))
    columns: dict[str, Column] = {
        "alpha": sweep.alphas,
        "trees": np.array(sweep.trees),
        "mean": sweep.test.values[1:].mean(axis=1),
        "ugain": found["urisk"][0],
        "ugain_low": bounds["urisk_low"][0],
        "ugain_high": bounds["urisk_high"][0],
        "frisk": found["frisk"][0],
        "frisk_low": bounds["frisk_low"][0],
        "frisk_high": bounds["frisk_high"][0],
        "freward": found["freward"][0],
        "urisk": found["urisk"][own, own],
        "urisk_low": bounds["urisk_low"][own, own],
        "urisk_high": bounds["urisk_high"][own, own],
        **{name: found[name][0].astype(np.int64) for name in ("wins", "losses", "loss20")},
        "churn": np.full(own.size, np.nan) if sweep.churn is None else sweep.churn.values.mean(axis=1),
        "best": best_fractions(sweep.test.values[1:]),
        "to95": np.array(sweep.converged()),
    }
    stated = signature(
        "tradeoff", measure=sweep.test.measure, objective=sweep.objective, baseline=sweep.baseline,
        alpha=sweep.alphas.tolist(), topics=len(sweep.test.topics), **bootstrap.signature_fields(),
    )  # fmt: skip
    return TradeoffTable(stated, columns, (*sweep.notes, *_notes(sweep)))


def _notes(sweep: Sweep) -> list[str]:
    """The baseline's own mean, the limit of alpha, and how far the curve lies above simpler methods."""
    mean = float(sweep.test.values[0].mean())
    notes = [f"{sweep.baseline} itself: {sweep.test.measure} {mean:.4f} over {len(sweep.test.topics):,} test queries"]
    nearest = nearest_alpha(sweep.alphas, sweep.limit)
    gains = f"gains {sweep.limit:.3g} times what it risks, alpha's limit"
    if np.isinf(sweep.limit):
        gains = "risks nothing, so that alpha's limit is infinite"
    notes.append(
        f"on the training queries the gain-only model {gains}; for less risk than "
        f"alpha = {nearest:g} has, the nearest one computed, flip a coin between it and the baseline"
    )
    gain_only = concatenate(ORIGIN, sweep.curve[:1])
    notes.append(_compared(sweep.curve, gain_only, "flipping a coin between the gain-only model and the baseline"))
    if sweep.selective is not None and sweep.feature is not None:
        notes.append(_compared(sweep.curve, sweep.selective.points, f"re-ranking only where {sweep.feature.systems[0]} "
                               "is below a threshold"))  # fmt: skip
    return notes


def _compared(curve: Points, other: Points, what: str) -> str:
    found = area_between(concatenate(ORIGIN, curve), other)
    side = "above" if found.height >= 0 else "below"
    return (
        f"the curve lies {abs(found.height):.4f} {side} {what}, on average over risks from {found.low:.4f} to "
        f"{found.high:.4f}"
    )


def best_fractions(systems: npt.ArrayLike) -> FloatArray:
    """The fraction of queries on which each system (row) is the best; tied systems divide a query evenly.

    >>> best_fractions([[0.2, 0.5, 0.3], [0.4, 0.5, 0.1]])
    array([0.5, 0.5])
    """
    x = np.asarray(systems, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise SurefootError(f"the best system needs a matrix of systems × queries; got shape {x.shape}")
    best = x == x.max(axis=0)
    return np.asarray((best / best.sum(axis=0)).mean(axis=1))


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
    assert first.feature is not None  # _row has checked it
    stated = signature(
        "thresholds", measure=first.test.measure, objective=first.objective, baseline=first.baseline,
        select=first.feature.systems[0], folds=len(folds), topics=sum(len(fold.test.topics) for fold in folds),
        **bootstrap.signature_fields(),
    )  # fmt: skip
    note = "difference: U_Risk at this alpha, the model's minus that of selective re-ranking"
    return Result(stated, by_column(rows), (note,))


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
    gains = Linear(alpha)(valid.scores.values[1] - valid.scores.values[0])
    threshold = best_threshold(gains, valid.feature.values[0])
    below = fold.feature.values[0] < threshold
    return threshold, below, np.where(below, fold.test.values[1], fold.test.values[0])


def _range(thresholds: Sequence[float]) -> str:
    low, high = f"{min(thresholds):.4g}", f"{max(thresholds):.4g}"
    return low if low == high else f"{low} to {high}"


SINGLE, PICKED, ORACLE = "best ranker of validation", "picked by agreement", "oracle"


def selector_table(folds: Sequence[Sweep], bootstrap: BootstrapMethod | None = None) -> Result:
    """The selector against the single ranker that is best on validation queries, and against the oracle.

    Rankers are the baseline and the models of all alphas. In each fold its validation queries choose the single
    ranker, the bins and the ranker of each bin; the test queries of all folds are measured together. The oracle takes
    the best ranker of each test query.

    Parameters
    ----------
    folds
        Trade-offs with validation queries, of different test queries.
    bootstrap
        How intervals are computed; studentised with 10,000 resamples by default.

    Returns
    -------
    Result
        A row for each: effectiveness, risk against the baseline, and the difference to the single ranker.
    """
    bootstrap, first = bootstrap or BootstrapMethod(), folds[0]
    parts = [_chosen(fold) for fold in folds]
    names = [first.baseline, SINGLE, PICKED, ORACLE]
    topics = [f"{index}/{topic}" for index, fold in enumerate(folds, 1) for topic in fold.test.topics]
    scores = Scores(np.concatenate(parts, axis=1), names, topics, first.test.measure)
    rows = []
    for name in names[1:]:
        compared, mean = compare(scores[name], scores[first.baseline]), float(scores[name].mean())
        row = {"ranker": name, "mean": mean, "frisk": float(compared.frisk), "losses": int(compared.losses.n),
               "loss20": int(compared.loss20), "difference": mean - float(scores[SINGLE].mean())}  # fmt: skip
        low = high = np.zeros(2)
        if name != SINGLE:
            found = difference_intervals(
                scores, name, SINGLE, first.baseline, 0.0, measures=("mean", "frisk"), **asdict(bootstrap)
            )
            low, high = found["low"], found["high"]
        rows.append(row | {"low": float(low[0]), "high": float(high[0]), "frisk_low": float(low[1]),
                           "frisk_high": float(high[1])})  # fmt: skip
    return Result(_signature("selector", folds, bootstrap), by_column(rows),
                  (_headroom(rows),))  # fmt: skip


def best_by_bin(values: FloatArray, numbers: FloatArray, bins: int = 4) -> tuple[FloatArray, IntArray]:
    """The inner edges of bins of as many queries, by a number of each, and the ranker (row) that is best in each bin.

    >>> edges, best = best_by_bin(np.array([[0.9, 0.8, 0.1, 0.2], [0.5] * 4]), np.array([0.0, 0.1, 0.3, 0.4]), bins=2)
    >>> edges, best
    (array([0.2]), array([0, 1]))
    """
    edges = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1])
    bin_of_query = np.searchsorted(edges, numbers, side="right")
    inside = [bin_of_query == each for each in range(bins)]
    means = [values[:, own if own.any() else slice(None)].mean(axis=1) for own in inside]
    return edges, np.argmax(means, axis=1)


def _chosen(fold: Sweep) -> FloatArray:
    """The test scores of the baseline, the single ranker, the selector's and the oracle's picks."""
    if fold.valid is None or fold.valid.disagreement is None or fold.disagreement is None:
        raise SurefootError("a selector is chosen on validation queries; give some")
    known, tested = fold.valid.scores.values, fold.test.values
    edges, best = best_by_bin(known, fold.valid.disagreement.values[0])
    picked = best[np.searchsorted(edges, fold.disagreement.values[0], side="right")]
    queries = np.arange(tested.shape[1])
    single = tested[np.argmax(known.mean(axis=1))]
    return np.stack([tested[0], single, tested[picked, queries], tested.max(axis=0)])


def _headroom(rows: Sequence[dict[str, object]]) -> str:
    picked, oracle = (float(row["difference"]) for row in rows[1:])  # type: ignore[arg-type]
    share = f"{100 * picked / oracle:.0f} %" if oracle > 0 else "none"
    return (
        f"the selector takes {share} of what the oracle gains over the best ranker of validation; low and high are "
        "intervals of the difference in mean, frisk_low and frisk_high of that in F_Risk"
    )


def _signature(kind: str, folds: Sequence[Sweep], bootstrap: BootstrapMethod) -> str:
    first = folds[0]
    return signature(
        kind, measure=first.test.measure, objective=first.objective, baseline=first.baseline,
        alpha=first.alphas.tolist(), folds=len(folds), topics=sum(len(fold.test.topics) for fold in folds),
        **bootstrap.signature_fields(),
    )  # fmt: skip


def tradeoff_tables(sweep: Sweep, folds: Sequence[Sweep], bootstrap: BootstrapMethod) -> dict[str, Result]:
    """The trade-off of all test queries and, where there are the data for them, what validation queries choose.

    Parameters
    ----------
    sweep
        All test queries.
    folds
        The same by fold: the choice on validation queries is made in each.
    bootstrap
        How intervals are computed.

    Returns
    -------
    dict
        ``tradeoff``; ``churn-bins`` if the baseline ranks documents; with validation queries ``selector`` and, with a
        selecting feature, ``thresholds``.
    """
    found: dict[str, Result] = {"tradeoff": tradeoff_table(sweep, bootstrap)}
    if sweep.churn is not None:
        found["churn-bins"] = churn_table(sweep)
    if all(fold.valid is not None for fold in folds):
        if sweep.feature is not None:
            found["thresholds"] = threshold_table(folds, bootstrap)
        found["selector"] = selector_table(folds, bootstrap)
    return found


def churn_table(sweep: Sweep) -> Result:
    """How many test queries lie in each bin of Kendall distance to the baseline's ranking, for each alpha."""
    assert sweep.churn is not None
    counts = [churn_counts(row) for row in sweep.churn.values]
    bins = {f"below {(index + 1) / BINS:g}": [int(own[index]) for own in counts] for index in range(BINS)}
    stated = signature("churn-bins", objective=sweep.objective, baseline=sweep.baseline, topics=len(sweep.test.topics))
    return Result(stated, {"alpha": sweep.alphas, **bins})
