"""The plane of risk and gain: models over alphas, coins and thresholds, and the trials of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.plots import style
from surefoot.results import Result
from surefoot.risk import normalise_alphas
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff.plane import break_even
from surefoot_lab.tradeoff.search import Choice
from surefoot_lab.tradeoff.sweep import Sweep
from surefoot_lab.tradeoff.tables import tradeoff_table

MARKERS = "osD^vP*"
DOT: dict[str, Any] = {"markersize": 3.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
DOTS, SHORT = (0, (1, 1.2)), (0, (4, 2))


def tradeoff_curves(
    sweeps: Sweep | Sequence[Sweep],
    *,
    alpha: npt.ArrayLike = 1.0,
    n_resamples: int = 10_000,
    seed: int = 0,
    axes: Axes | None = None,
) -> Axes:
    """Gain against risk of the model of each alpha, on test queries; the baseline is the origin.

    The dotted line is proportional reduction: the gain-only model for a random fraction of the queries. The grey band
    is the near-optimal hull, the dashed line selective re-ranking by a query feature, if there is one; both are those
    of the first sweep. The thin lines are break-even: above them U_Risk is positive. A single sweep comes with 95 %
    intervals. After Wang, Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweeps
        One or more sweeps with the same baseline, measure and test queries.
    alpha
        Risk sensitivities of the break-even lines.
    n_resamples, seed
        Number of bootstrap resamples, and the seed of the random numbers.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    several = [sweeps] if isinstance(sweeps, Sweep) else list(sweeps)
    lines = normalise_alphas(alpha)
    _check(several)
    first = several[0]
    with style.canvas(axes, height=3.0) as axes:
        hull, chosen = first.hull, first.selective
        axes.plot(hull.risk, hull.gain, color="#DDDDDD", linewidth=6, solid_capstyle="round", label="near-optimal hull",
                  zorder=1)  # fmt: skip
        axes.plot([0, first.curve.risk[0]], [0, first.curve.gain[0]], color=style.BLACK, linestyle=DOTS, linewidth=1,
                  label="coin flip from α = 0")  # fmt: skip
        if chosen is not None and first.feature is not None:
            axes.plot(chosen.points.risk, chosen.points.gain, color=style.GREEN, linestyle=SHORT, linewidth=0.9,
                      label=f"selective: {style.label_text(first.feature.systems[0])}")  # fmt: skip
        if len(several) == 1:
            table = tradeoff_table(first, BootstrapMethod(n_resamples=n_resamples, seed=seed))
            _crosses(axes, table, "ugain", np.arange(len(table)))
        for index, sweep in enumerate(several):
            look = {**style.line_look(index), **DOT, "marker": MARKERS[index % len(MARKERS)]}
            axes.plot(
                sweep.curve.risk, sweep.curve.gain, label=f"{style.label_text(sweep.objective)}, by α", zorder=3, **look
            )
        _frame(axes, several, lines)
        names = [f"{alpha:g}" for alpha in first.alphas]
        points = np.concatenate([np.column_stack([sweep.curve.risk, sweep.curve.gain]) for sweep in several])
        style.label_points(axes, points, names, range(len(names)), crossed=True)
    return axes


def _check(sweeps: Sequence[Sweep]) -> None:
    if not sweeps:
        raise SurefootError("name at least one trade-off to draw")
    for other in sweeps[1:]:
        if (other.baseline, other.test.measure, other.test.topics) != (
            sweeps[0].baseline, sweeps[0].test.measure, sweeps[0].test.topics,
        ):  # fmt: skip
            raise SurefootError("curves in one plane need the same baseline, measure and test queries")


def _crosses(axes: Axes, found: Result, of: str, rows: npt.NDArray[np.intp]) -> None:
    """The intervals of risk and of the measure on the other axis."""
    look: dict[str, Any] = {"color": style.FAINT, "linewidth": 0.6, "zorder": 1.5}
    axes.hlines(found[of][rows], found["frisk_low"][rows], found["frisk_high"][rows], **look)
    axes.vlines(found["frisk"][rows], found[f"{of}_low"][rows], found[f"{of}_high"][rows], **look)


def _frame(axes: Axes, sweeps: Sequence[Sweep], alphas: FloatArray) -> None:
    """Limits that hold all, the break-even lines up to them, labels and legend."""
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    low = min(0.0, *(float(sweep.curve.gain.min()) for sweep in sweeps))
    if sweeps[0].selective is not None:
        low = min(low, float(sweeps[0].selective.points.gain.min()))
    for alpha in alphas:
        end = right if alpha == 0 else min(right, top / alpha)
        axes.plot([0, end], break_even([0, end], float(alpha)), color=style.QUIET, linewidth=0.5, zorder=1.5,
                  label=f"break-even at α = {alpha:g}")  # fmt: skip
    axes.set(xlim=(0, right), ylim=(1.1 * low if low < 0 else 0, top))
    first = sweeps[0]
    axes.set_xlabel(style.against("risk: mean loss", first.baseline))
    axes.set_ylabel(f"gain: mean difference in {style.label_text(first.test.measure)}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1), ncols=2, columnspacing=1.2, handlelength=2.2)


def search_front(choice: Choice, *, axes: Axes | None = None) -> Axes:
    """Effectiveness against risk of all trials of a search, on validation queries; the front with 95 % intervals.

    No trial is both more effective and less risky than one of the front. The star is the recommended trial; the
    numbers are alphas.

    Parameters
    ----------
    choice
        The result of a search, as `choose_alpha` or `read_choice` gives it.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    risk, mean = choice["frisk"], choice["mean"]
    front = np.flatnonzero(choice["front"])
    front = front[np.argsort(risk[front], kind="stable")]
    with style.canvas(axes, height=2.7) as axes:
        others = ~choice["front"]
        axes.scatter(risk[others], mean[others], 9, style.FAINT, linewidth=0, label="other trials", zorder=2)
        _crosses(axes, choice, "mean", front)
        axes.plot(risk[front], mean[front], "-o", color=style.BLUE, label="front", zorder=3, **DOT)
        star: dict[str, Any] = {"markersize": 9, "markeredgecolor": style.BLACK, "markeredgewidth": 0.5, "zorder": 4}
        axes.plot(risk[choice.chosen], mean[choice.chosen], "*", color=style.ORANGE, label="recommended", **star)
        axes.set(xlim=(0, None), ylabel=style.label_text(choice.measure))
        axes.set_xlabel(style.against("risk: mean loss", choice.baseline))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, columnspacing=1.2, handlelength=1.6)
        names = [f"{alpha:g}" for alpha in choice["alpha"][front]]
        style.label_points(axes, np.column_stack([risk[front], mean[front]]), names, range(len(names)), crossed=True)
    return axes
