"""The columns of an evaluation, out of the statistics of a log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surefoot import risk
from surefoot.analysis import figures
from surefoot.analysis.figures import Columns
from surefoot.analysis.streaming.statistics import Expectations, Totals
from surefoot.scores import FloatArray


def columns_of(
    systems: Sequence[str], baseline: str | None, alphas: FloatArray, totals: Totals, found: Expectations | None
) -> Columns:
    """The columns of `surefoot.evaluate`, a row for each system and alpha; no Z_Risk where ``found`` is None."""
    shape = (len(alphas), len(systems))
    mean = totals.sums / totals.topics
    z = np.full(shape, np.nan) if found is None else found.at(alphas)
    geo = risk.geo_of(mean, z, totals.topics)
    one = {} if totals.compared is None else figures.columns_of(totals.compared, totals.compared.at(alphas))
    table: Columns = {"system": np.array(systems)}
    if baseline is not None:
        table["baseline"] = np.array(baseline)
    table |= {"alpha": alphas[:, np.newaxis], "mean": mean}
    table |= {name: one[name] for name in ("urisk", "frisk", "freward", "trisk", "se", "p") if one}
    table |= {"zrisk": z, "georisk": geo}
    table |= {name: one[name] for name in ("wins", "losses", "ties", "loss20") if one}
    return {name: np.broadcast_to(column, shape).T.ravel() for name, column in table.items()}
