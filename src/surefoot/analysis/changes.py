"""How many queries a system helps and hurts, in bins of the size of the change (SIGIR 2012, figure 1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose
from surefoot.scores import FloatArray

BIN_ENDS = {"relative": (0.25, 0.5, 0.75, 1.0), "absolute": (0.1, 0.2, 0.3, 0.4, 0.5)}
"""Where bins end on both sides of 0, by kind of change."""


def score_changes(system: npt.ArrayLike, baseline: npt.ArrayLike, change: str = "relative") -> FloatArray:
    """The change of each query's score: relative, (s - b) / b, or absolute, s - b.

    Rounded to nine decimals, so that a change of a whole bin falls into the bin that ends there. A relative change is 0
    where both scores are 0, and infinite where only the baseline's is.

    >>> score_changes([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([-0.5,  0.5,  0. ,  inf])
    """
    s, b = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    d = s - b
    if choose(change, BIN_ENDS, "change") == "absolute":
        return np.asarray(d.round(9))
    if not (s >= 0).all() or not (b >= 0).all():
        raise SurefootError("a relative change is undefined for scores below 0; show the absolute change")
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(b > 0, d / b, np.where(d > 0, np.inf, 0.0)).round(9)
    return np.asarray(np.where((d != 0) & (relative == 0), np.sign(d) * 1e-9, relative))  # tiny, but not a tie


def change_counts(system: npt.ArrayLike, baseline: npt.ArrayLike, change: str = "relative") -> npt.NDArray[np.int64]:
    """How many queries are hurt, unchanged and helped, by size of the change, the largest loss first.

    For relative changes the bins are [-100 %, -75 %), [-75 %, -50 %), [-50 %, -25 %), [-25 %, 0), 0 alone, (0, 25 %],
    (25 %, 50 %], (50 %, 75 %], (75 %, 100 %] and beyond; a gain over 0 lies beyond. Absolute losses have a bin beyond
    too.

    >>> change_counts([0.2, 0.3, 0.0, 0.1], [0.4, 0.2, 0.0, 0.0])
    array([0, 0, 1, 0, 1, 0, 1, 0, 0, 1])
    """
    d, ends = score_changes(system, baseline, change), BIN_ENDS[change]
    helped = np.bincount(np.searchsorted(ends, d[d > 0], side="left"), minlength=len(ends) + 1)
    hurt = np.bincount(np.searchsorted(ends, -d[d < 0], side="left"), minlength=len(ends) + (change == "absolute"))
    return np.concatenate([hurt[::-1], [np.count_nonzero(d == 0)], helped])


def change_labels() -> list[str]:
    """Labels of the bins of relative changes, in percent.

    >>> change_labels()[3:6]
    ['−25 to 0', '0', '0 to 25']
    """
    ends = ["0", *(f"{100 * end:g}" for end in BIN_ENDS["relative"])]
    hurt = [f"−{high} to {'−' if low != '0' else ''}{low}" for low, high in pairwise(ends)]
    helped = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [*hurt[::-1], "0", *helped, f"beyond {ends[-1]}"]
