"""A ranker for each query, picked by how far models of several alphas agree on it.

Wang, Bennett and Collins-Thompson suggest it in the discussion of SIGIR 2012: where models of all alphas rank alike,
risk-taking has little to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.intervals import difference_intervals
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk import compare
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.sweep import Sweep

BINS = 4
SINGLE, PICKED, ORACLE = "best ranker of validation", "picked by agreement", "oracle"


@dataclass(frozen=True, eq=False)
class AgreementSelector:
    """Bins of disagreement by their inner edges, and the ranker that is picked in each."""

    edges: FloatArray
    rankers: IntArray

    @classmethod
    def fit(cls, scores: npt.ArrayLike, disagreement: npt.ArrayLike, bins: int = BINS) -> AgreementSelector:
        """In each of some bins of as many validation queries, the ranker (row of scores) with the best mean there.

        >>> found = AgreementSelector.fit([[0.9, 0.8, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5]], [0.0, 0.1, 0.3, 0.4], bins=2)
        >>> found.pick([0.05, 0.35])
        array([0, 1])
        """
        x, apart = np.asarray(scores, dtype=np.float64), np.asarray(disagreement, dtype=np.float64)
        if x.ndim != 2 or x.shape[1:] != apart.shape or not apart.size:
            raise SurefootError(f"a selector needs a disagreement for each query; got shapes {x.shape}, {apart.shape}")
        edges = np.quantile(apart, np.linspace(0, 1, bins + 1)[1:-1])
        bin_of_query = np.searchsorted(edges, apart, side="right")
        best = int(np.argmax(x.mean(axis=1)))
        chosen = [
            int(np.argmax(x[:, bin_of_query == index].mean(axis=1))) if (bin_of_query == index).any() else best
            for index in range(bins)
        ]
        return cls(edges, np.array(chosen))

    def pick(self, disagreement: npt.ArrayLike) -> IntArray:
        """The ranker of each query."""
        return np.asarray(self.rankers[np.searchsorted(self.edges, disagreement, side="right")])


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
    return Result(_signature("selector", folds, bootstrap), {name: [row[name] for row in rows] for name in rows[0]},
                  (_headroom(rows),))  # fmt: skip


def _chosen(fold: Sweep) -> FloatArray:
    """The test scores of the baseline, the single ranker, the selector's and the oracle's picks."""
    if fold.valid is None or fold.valid.disagreement is None or fold.disagreement is None:
        raise SurefootError("a selector is chosen on validation queries; give some")
    known, tested = fold.valid.scores.values, fold.test.values
    selector = AgreementSelector.fit(known, fold.valid.disagreement.values[0])
    picked = selector.pick(fold.disagreement.values[0])
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
