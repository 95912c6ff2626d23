"""All tables of a trade-off, by name."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.results import Result, signature
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.churn import BINS, churn_counts
from surefoot_lab.tradeoff.selector import selector_table
from surefoot_lab.tradeoff.sweep import Sweep
from surefoot_lab.tradeoff.table import tradeoff_table
from surefoot_lab.tradeoff.thresholds import threshold_table


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
