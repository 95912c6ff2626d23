"""The measures of a setting: each a column of figures for all systems, or for all alphas × systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot.analysis.design import Setting
from surefoot.risk.statistics import Comparison, Moments
from surefoot.risk.values import Linear
from surefoot.scores import FloatArray
from surefoot.stats.inference import t_inference_of

Columns = dict[str, npt.NDArray[Any]]


def against_one(setting: Setting, alphas: FloatArray) -> Columns:
    """The measures against each system's own baseline; none without a baseline."""
    if setting.baselines is None:
        return {}
    rows, baselines = setting.rows, setting.baselines
    compared = risk.compare(rows, baselines)
    linear = setting.family is Linear
    moments = compared.at(alphas) if linear else risk.value_moments(rows, baselines, alphas, setting.family)
    return columns_of(compared, moments)


def columns_of(compared: Comparison, moments: Moments) -> Columns:
    """The measures against a baseline, of a comparison and the moments of its values at each alpha."""
    found = t_inference_of(moments)
    return {
        "urisk": found.urisk,
        "frisk": risk.loss_share(compared),
        "freward": risk.gain_share(compared),
        "trisk": found.trisk,
        "se": found.se,
        "p": found.p,
        "wins": compared.wins.astype(np.int64),
        "losses": compared.losses.n.astype(np.int64),
        "ties": (compared.topics - compared.wins - compared.losses.n).astype(np.int64),
        "loss20": compared.loss20.astype(np.int64),
        "urisk_low": found.low,
        "urisk_high": found.high,
    }


def against_many(setting: Setting, alphas: FloatArray) -> Columns:
    """The measures against the whole population; NaN for systems outside it, and where a score is below 0."""
    z, geo, published = (np.full((len(alphas), len(setting.systems)), np.nan) for _ in range(3))
    if setting.scores.values.min() >= 0:
        for matrix, rows, places in setting.matrices():
            found = risk.zrisk(matrix, alphas, setting.family)
            z[:, places] = found[:, rows]
            geo[:, places] = risk.geo(matrix, found)[:, rows]
            published[:, places] = -risk.geo(matrix, -found)[:, rows]
    return {"zrisk": z, "georisk": geo, "geominus_published": published}
