"""Judging a model on held-out queries while it learns: effectiveness beside risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from surefoot import risk
from surefoot.errors import SurefootError, choose, listed
from surefoot.learn.baseline import Baselines
from surefoot.learn.data import RankingData
from surefoot.learn.metrics import Empty, Metric, is_empty
from surefoot.scores import VIRTUAL, FloatArray, Scores

MEAN = "mean"
HIGHER = {
    MEAN: True, "urisk": True, "trisk": True, "georisk": True, "tail": True, "freward": True,
    "frisk": False, "losses": False, "loss20": False,
}  # fmt: skip
"""The figures by name, and whether more is better."""


@dataclass(frozen=True, eq=False)
class Judge:
    """The figures of a ranking of these queries against their baselines.

    Several baselines are compared with as their per-query mean, except by GeoRisk, which takes them as they are.
    ``alpha`` and ``share`` are those of the risk figures, ``empty`` what a query without relevant documents counts.
    """

    data: RankingData
    metric: Metric
    baselines: Baselines
    alpha: float = 1.0
    share: float = 0.1
    empty: Empty = "zero"
    _values: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", self._settled(self.baselines.values(self.metric, self.data)))

    def values(self, scores: FloatArray) -> FloatArray:
        """The metric of each query that counts, ranked by these scores."""
        return np.asarray(self._settled(self.metric(scores, self.data.labels, self.data.bounds)[None])[0])

    def __call__(self, scores: FloatArray) -> dict[str, float]:
        """All figures of a ranking by these scores."""
        x = self.values(scores)
        figures = {MEAN: float(x.mean())}
        if not self.baselines.names:
            return figures
        b = VIRTUAL["MEAN"](self._values)
        compared = risk.compare(x, b)
        return figures | {
            "urisk": float(risk.urisk(x, b, self.alpha)),
            "trisk": float(risk.trisk(x, b, self.alpha)),
            "georisk": float(risk.georisk(np.vstack([x, self._values]), self.alpha)[0]),
            "tail": float(risk.tail(x, b, self.share)),
            "frisk": float(risk.loss_share(compared)),
            "freward": float(risk.gain_share(compared)),
            "losses": int(compared.losses.n),
            "loss20": int(compared.loss20),
        }

    def scores(self, name: str, scores: FloatArray) -> Scores:
        """The model beside its baselines, for `surefoot.evaluate` and all that follows it."""
        kept = [query for query, keep in zip(self.data.queries, self._kept(), strict=True) if keep]
        rows = np.vstack([self.values(scores)[None], self._values])
        return Scores(rows, [name, *self.baselines.names], kept, str(self.metric))

    def _kept(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        empty = is_empty(self.data.labels, self.data.bounds)
        return ~empty if self.empty == "drop" else np.ones(empty.size, np.bool_)

    def _settled(self, values: FloatArray) -> FloatArray:
        if self.empty == "one":
            values = values.copy()
            values[:, is_empty(self.data.labels, self.data.bounds)] = 1.0
        kept = values[:, self._kept()]
        if not kept.shape[1]:
            raise SurefootError(f"{self.data.source}: no query has a relevant document")
        return kept


def known_figure(name: str, has_baseline: bool) -> str:
    """A figure by name, if it can be computed."""
    choose(name, HIGHER, "stop_on")
    if name != MEAN and not has_baseline:
        raise SurefootError(f"{name} compares with a baseline; give one, or stop on {MEAN}")
    return name


def describe(figures: Mapping[str, float], metric: str) -> str:
    """Figures in one line.

    >>> describe({"mean": 0.51, "urisk": 0.02, "losses": 12}, "ndcg@10")
    'ndcg@10 0.5100, urisk +0.0200, losses 12'
    """
    shown = [f"{metric} {figures[MEAN]:.4f}"]
    if "urisk" in figures:
        shown.append(f"urisk {figures['urisk']:+.4f}")
    if "losses" in figures:
        shown.append(f"losses {int(figures['losses'])}")
    return listed(shown)
