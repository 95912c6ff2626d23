"""Every measure on resampled topics: one function of topic weights serves the bootstrap and the jackknife.

A resample is a row of weights: how often each topic counts. Topics are drawn once and shared by all systems, alphas and
measures, so that differences between systems are resampled in pairs. Leaving one topic out is a row of ones with a 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtr

from surefoot.analysis.design import Setting
from surefoot.analysis.figures import Columns, against_many, against_one
from surefoot.errors import SurefootError
from surefoot.risk import GMEAN_FLOOR, gmean, tail, tail_count
from surefoot.risk.statistics import CHUNK
from surefoot.risk.values import Family, Linear
from surefoot.scores import FloatArray

SINGLE = ("urisk", "trisk", "frisk", "freward")
MANY = ("zrisk", "georisk")
MEASURES = ("mean", *SINGLE, *MANY)
"""What can be resampled, beside ``tail_SHARE`` and ``gmean``."""


def bootstrap_weights(topics: int, n_resamples: int, seed: int) -> Iterator[FloatArray]:
    """Rows of weights, as many as there are resamples, in chunks of bounded size.

    >>> sum(len(rows) for rows in bootstrap_weights(50, 1000, seed=0))
    1000
    """
    if n_resamples < 1:
        raise SurefootError(f"n_resamples must be at least 1; got {n_resamples}")
    random = np.random.default_rng(seed)
    at_once = max(1, CHUNK // topics)
    for start in range(0, n_resamples, at_once):
        rows = min(at_once, n_resamples - start)
        drawn = random.integers(0, topics, (rows, topics)) + topics * np.arange(rows)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=rows * topics).reshape(rows, topics).astype(np.float64)


def jackknife_weights(topics: int) -> Iterator[FloatArray]:
    """Rows that leave out each topic in turn, in chunks of bounded size."""
    at_once = max(1, CHUNK // topics)
    for start in range(0, topics, at_once):
        left_out = np.arange(start, min(start + at_once, topics))
        rows = np.ones((len(left_out), topics))
        rows[np.arange(len(left_out)), left_out] = 0.0
        yield rows


class Resampler:
    """The measures of a setting, as functions of topic weights.

    What the weights do is summed up once for all systems (`sums`); the figures of a system follow from its sums, for
    every alpha (`of_system`), one system at a time, so that memory stays small and threads can share the work.
    """

    def __init__(self, setting: Setting, alphas: FloatArray, measures: Sequence[str]) -> None:
        self._setting, self._alphas, self.measures = setting, alphas, tuple(measures)
        for name in measures:
            if name not in MEASURES and name != "gmean" and not name.startswith("tail_"):
                raise SurefootError(f"no measure {name!r}; there are {', '.join(MEASURES)}, gmean and tail_SHARE")
            if setting.baselines is None and (name in SINGLE or name.startswith("tail_")):
                raise SurefootError(f"{name} needs a baseline; name one")

    @property
    def topics(self) -> int:
        """How many topics there are to resample."""
        return len(self._setting.scores.topics)

    @property
    def systems(self) -> int:
        """How many systems have figures."""
        return len(self._setting.systems)

    def estimates(self) -> Columns:
        """The measures on the topics as they are, alphas × systems."""
        setting = self._setting
        found: Columns = {"mean": setting.rows.mean(axis=1), "gmean": gmean(setting.rows)}
        found |= against_one(setting, self._alphas) | against_many(setting, self._alphas)
        for name in self._tails():
            found[name] = tail(setting.rows, self._baselines(), _share(name))
        shape = (len(self._alphas), len(setting.systems))
        return {name: np.broadcast_to(found[name], shape) for name in self.measures}

    def replicates(self, weights: Iterator[FloatArray]) -> Columns:
        """The measures on each resample: resamples × alphas × systems."""
        sums = self.sums(weights)
        systems = [self.of_system(sums, place) for place in range(self.systems)]
        return {name: np.moveaxis(np.stack([own[name] for own in systems]), (0, 2), (2, 0)) for name in self.measures}

    def sums(self, weights: Iterator[FloatArray]) -> Columns:
        """What the figures are made of, systems first and resamples last; ``n`` is the number of topics drawn."""
        parts = [self._sums_on(rows) for rows in weights]
        return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}

    def of_system(self, sums: Columns, place: int) -> Columns:
        """The figures of one system, alphas × resamples."""
        n = sums["n"]
        own = {name: column[place] for name, column in sums.items() if name != "n"}
        found: Columns = {name: own[name] for name in self._tails()}
        if "mean" in own:
            found["mean"] = own["mean"]
        if "logs" in own:
            found["gmean"] = np.exp(own["logs"] / n)
        if "won" in own:
            found |= {"frisk": -own["lost"] / n, "freward": own["won"] / n, **self._t(own, n)}
        if "z" in own or "z_lost" in own:
            z = own["z"] if "z" in own else own["z_won"] + self._factor() * own["z_lost"]
            found |= {"zrisk": z, "georisk": np.sqrt(own["mean"] * ndtr(z / n))}
        shape = (len(self._alphas), len(n))
        return {name: np.broadcast_to(found[name], shape) for name in self.measures}

    def _t(self, own: Columns, n: FloatArray) -> Columns:
        if "values" in own:
            total, squares = own["values"], own["value_squares"]
        else:
            factor = self._factor()
            total = own["won"] + factor * own["lost"]
            squares = own["won_squares"] + factor**2 * own["lost_squares"]
        mean = total / n
        variance = np.maximum(squares - total * mean, 0.0) / (n - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.where(variance > 1e-26 * mean**2, mean / np.sqrt(variance / n), np.nan)
        return {"urisk": mean, "trisk": t}

    def _factor(self) -> FloatArray:
        return (1 + self._alphas)[:, np.newaxis]

    def _sums_on(self, weights: FloatArray) -> Columns:
        wanted, rows = set(self.measures), self._setting.rows
        found: Columns = {"n": weights.sum(axis=1)}
        if wanted & {"mean", *MANY}:
            found["mean"] = rows @ weights.T / found["n"]
        if "gmean" in wanted:
            found["logs"] = np.log(np.maximum(rows, GMEAN_FLOOR)) @ weights.T
        if wanted & set(SINGLE):
            found |= self._single(weights)
        if wanted & set(MANY):
            found |= self._many(weights)
        for name in self._tails():
            found[name] = _tails_of(rows - self._baselines(), weights, _share(name))
        return found

    def _single(self, weights: FloatArray) -> Columns:
        d = self._setting.rows - self._baselines()
        gains, losses = np.maximum(d, 0.0), np.minimum(d, 0.0)
        found: Columns = {"won": gains @ weights.T, "lost": losses @ weights.T}
        if self._setting.family is Linear:
            return found | {"won_squares": gains**2 @ weights.T, "lost_squares": losses**2 @ weights.T}
        values = np.stack([self._setting.family(float(alpha))(d) for alpha in self._alphas], axis=1)
        return found | {"values": values @ weights.T, "value_squares": values**2 @ weights.T}

    def _many(self, weights: FloatArray) -> Columns:
        linear = self._setting.family is Linear
        count = len(self._setting.systems)
        shape = (count, len(weights)) if linear else (count, len(self._alphas), len(weights))
        found: Columns = {name: np.full(shape, np.nan) for name in (("z_won", "z_lost") if linear else ("z",))}
        for matrix, rows, places in self._setting.matrices():
            for name, column in _z_sums(matrix, rows, weights, self._alphas, self._setting.family).items():
                found[name][places] = column
        return found

    def _tails(self) -> list[str]:
        return [name for name in self.measures if name.startswith("tail_")]

    def _baselines(self) -> FloatArray:
        if self._setting.baselines is None:
            raise SurefootError("a baseline is needed; name one")
        return self._setting.baselines


def _share(name: str) -> float:
    return float(name.removeprefix("tail_"))


def _tails_of(d: FloatArray, weights: FloatArray, share: float) -> FloatArray:
    """The mean of the worst share of each resample: topics in order, as many as still have room."""
    count = tail_count(weights.sum(axis=1), share)[:, np.newaxis]
    result = np.empty((len(d), len(weights)))
    for place, row in enumerate(d):
        order = np.argsort(row, kind="stable")
        own = weights[:, order]
        room = count - (np.cumsum(own, axis=1) - own)
        result[place] = np.clip(room, 0, own) @ row[order] / count[:, 0]
    return result


def _z_sums(matrix: FloatArray, rows: list[int], weights: FloatArray, alphas: FloatArray, family: Family) -> Columns:
    """The sums behind Z_Risk of some rows: a column's total stays, a row's and the grand total are weighed."""
    column_totals = matrix.sum(axis=0)
    grand = weights @ column_totals
    share = matrix[rows] @ weights.T / np.where(grand > 0, grand, 1.0)
    if family is Linear:
        from surefoot.stats.resampling_kernels import weighted_z

        root = np.sqrt(column_totals)
        scaled = matrix[rows] / np.where(root > 0, root, 1.0)
        won, lost = weighted_z(weights, scaled, root, np.sqrt(share))
        return {"z_won": won, "z_lost": lost}
    z = np.empty((len(rows), len(alphas), len(weights)))
    for place, alpha in enumerate(alphas):
        worth = family(float(alpha))
        for resample, own_weights in enumerate(weights):
            expected = share[:, resample, np.newaxis] * column_totals
            some = expected > 0
            values = np.where(some, worth(matrix[rows] - expected) / np.sqrt(np.where(some, expected, 1.0)), 0.0)
            z[:, place, resample] = values @ own_weights
    return {"z": z}
