"""Columns that an evaluation adds when asked: other measures, ranks, and the jackknife's standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from surefoot._typing import Columns, FloatArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.risk.measures import Risk, compute_all, get_risk, registered
from surefoot.stats.bootstrap import jackknife_error, jackknife_weights

RANK, JACKKNIFE = "rank_", "se_jackknife_"


def needs_all_systems(names: Sequence[str]) -> bool:
    """Whether a column depends on all systems, whichever are shown."""
    return any(name.startswith(RANK) for name in names)


def is_extra(name: str) -> bool:
    """Whether an evaluation has this column only if asked for it.

    >>> [is_extra(name) for name in ("rank_urisk", "correlation", "tail_0.1", "urisk", "urisk_low")]
    [True, True, True, False, False]
    """
    if name.startswith((RANK, JACKKNIFE, "tail_")):
        return True
    return any(measure.name == name and not measure.in_evaluate for measure in registered())


def behind(names: Sequence[str]) -> Iterator[Risk]:
    """The measures that columns are made of."""
    return (get_risk(name.removeprefix(RANK).removeprefix(JACKKNIFE)) for name in names)


def derived(names: Sequence[str], design: Design, alphas: FloatArray, table: Columns) -> Columns:
    """The columns that no measure has by itself, each broadcast to alphas × systems."""
    shape = (len(alphas), len(design.systems))
    own = np.array([name == base for name, base in zip(design.systems, design.baseline_names, strict=True)])
    found: Columns = {}
    for name in names:
        if name.startswith(JACKKNIFE):
            found[name] = _jackknife_error(design, alphas, get_risk(name.removeprefix(JACKKNIFE)))
        elif name.startswith(RANK):
            measure = get_risk(name.removeprefix(RANK))
            if measure.higher_is_better is None:
                raise SurefootError(f"{measure.name} has no better and worse, so there is no {name}")
            values = np.broadcast_to(table[measure.name], shape) * (1 if measure.higher_is_better else -1)
            found[name] = _ranks(np.where(own & (measure.needs == "baseline"), np.nan, values))
    return found


def _ranks(values: FloatArray) -> npt.NDArray[np.object_]:
    """1 for the largest of each row, equals sharing the better rank; None where there is no value."""
    ahead = np.count_nonzero(values[:, np.newaxis, :] > values[:, :, np.newaxis], axis=2)
    ranks: npt.NDArray[np.object_] = np.asarray(1 + ahead, dtype=np.object_)
    ranks[np.isnan(values)] = None
    return ranks


def _jackknife_error(design: Design, alphas: FloatArray, measure: Risk) -> FloatArray:
    """SE_J of a measure, alphas × systems."""
    topics = len(design.scores.topics)
    if topics < 2:
        raise SurefootError("the jackknife needs at least two topics")
    left_out = np.concatenate(
        [
            compute_all([measure], design.statistics([measure], alphas, weights), alphas)[measure.name]
            for weights in jackknife_weights(topics)
        ],
        axis=-1,
    )
    return jackknife_error(left_out)
