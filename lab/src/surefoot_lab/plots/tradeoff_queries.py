"""Figures of a trade-off by query and by iteration, for each alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.explore import change_counts, change_labels
from surefoot.errors import SurefootError, choose, listed
from surefoot.plots import style
from surefoot.scores import Scores
from surefoot_lab.learners.inputs import validate_count
from surefoot_lab.tradeoff.churn import BINS, churn_counts, reward_by_churn
from surefoot_lab.tradeoff.sweep import FRACTION, Sweep

CELL = 0.21
"""Inches that a row of a map takes."""


_RAMP = LinearSegmentedColormap.from_list("alphas", ["#9CCBEA", style.BLUE, style.BLACK])


def alpha_looks(alphas: FloatArray) -> list[dict[str, Any]]:
    """Lines of rising alpha: from light to dark, the gain-only model apart."""
    count = int(np.count_nonzero(alphas))
    rest = iter(_RAMP(np.linspace(0, 1, count) if count > 2 else [0.3, 0.9]))
    return [
        {"color": style.ORANGE, "linestyle": (0, (4, 1.2))} if alpha == 0 else {"color": next(rest)} for alpha in alphas
    ]


def convergence_curves(
    sweep: Sweep, *, of: str = "mean", alpha: Sequence[float] | None = None, axes: Axes | None = None
) -> Axes:
    """A measure of the validation queries after each iteration, with a line for each alpha chosen.

    On lines of the mean a dot marks where 95 % of the last iteration's gain over the baseline is reached. After Wang,
    Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweep
        A sweep over alphas, as `sweep_alphas` or `read_sweep` gives it.
    of
        The mean (of the metric that is reported), or another measure of the history, such as frisk.
    alpha
        One to five of the sweep's alphas; the first, the middle and the last if None.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    choose(of, [name for name in sweep.histories[0][0] if np.isfinite(sweep.histories[0][0][name])], "of")
    rows = _rows(sweep, alpha)
    with style.canvas(axes, style.PAGE if len(rows) > 3 else style.COLUMN, 2.5) as axes:
        looks = dict(zip(rows, alpha_looks(sweep.alphas[rows]), strict=True))
        for row, look in looks.items():
            curve = [values[of] for values in sweep.histories[row]]
            axes.plot(np.arange(1, len(curve) + 1), curve, label=f"α = {sweep.alphas[row]:g}", **look)
        if of == "mean":
            converged = list(sweep.converged())
            for row, look in looks.items():
                reached, means = converged[row], [values["mean"] for values in sweep.histories[row]]
                height = np.interp(reached, np.arange(1, len(means) + 1), means)
                axes.plot(reached, height, "o", color=look["color"], markersize=4, markeredgecolor="white",
                          markeredgewidth=0.6, clip_on=False, zorder=5)  # fmt: skip
            axes.plot([], [], "o", color=style.QUIET, markersize=3, label=f"{100 * FRACTION:g} % of\nthe gain")
        axes.set(xlim=(1, None), xlabel="iteration")
        queries = "validation" if sweep.validated else "training"
        name = style.label_text(sweep.test.measure) if of == "mean" else style.measure_label(of)
        axes.set_ylabel(style.phrase(f"{name},", f"{queries} queries", most=40))
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1.8)
    return axes


def churn_map(sweep: Sweep, *, bins: int = BINS, axes: Axes | None = None) -> Axes:
    """How many test queries lie how far from the baseline's ranking, in bins, with a row for each alpha.

    The distance is Kendall's: the fraction of pairs of documents that change order. After Wang, Bennett and
    Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweep
        A sweep over alphas, as `sweep_alphas` or `read_sweep` gives it.
    bins
        Number of bins of the distance.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    counts = np.stack([churn_counts(row, validate_count("bins", bins)) for row in _churn(sweep).values])
    with style.canvas(axes, height=0.85 + CELL * len(counts)) as axes:
        _map(axes, counts, [style.BLUE] * bins)
        _alpha_rows(axes, sweep.alphas)
        _bin_ticks(axes, bins)
        axes.set_xlabel(f"Kendall distance to the ranking of {style.label_text(sweep.baseline)}\n(queries in each bin)")
    return axes


def _bin_ticks(axes: Axes, bins: int) -> None:
    axes.set_xticks(np.arange(bins + 1) - 0.5, [f"{index / bins:.2g}" for index in range(bins + 1)])


def change_map(sweep: Sweep, *, axes: Axes | None = None) -> Axes:
    """How many test queries are hurt and helped, by relative change, with a row for each alpha.

    A gain over 0 lies beyond 100 %; a bin includes its outer end. After Wang, Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweep
        A sweep over alphas, as `sweep_alphas` or `read_sweep` gives it.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    counts = np.stack([change_counts(row, sweep.test.values[0]) for row in sweep.test.values[1:]])
    names = change_labels()
    same = names.index("0")
    tints = [
        style.LOSS if index < same else style.QUIET if index == same else style.GAIN for index in range(len(names))
    ]
    with style.canvas(axes, height=1.15 + CELL * len(counts)) as axes:
        _map(axes, counts, tints)
        _alpha_rows(axes, sweep.alphas)
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(
            f"change of {style.label_text(sweep.test.measure)} in %, against {style.label_text(sweep.baseline, 20)}"
        )
        totals = zip(counts[:, :same].sum(axis=1), counts[:, same + 1 :].sum(axis=1), strict=True)
        for row, (hurt, helped) in enumerate(totals):
            axes.text(len(names) - 0.3, row, f"{hurt} hurt, {helped} helped", va="center", fontsize=6)
    return axes


def reward_bars(
    sweep: Sweep, *, alpha: Sequence[float] | None = None, bins: int = BINS, axes: Axes | None = None
) -> Axes:
    """Mean gains and losses of queries, by the distance of their ranking from the baseline's.

    Bars up are mean gains, hatched bars down mean losses. After Wang, Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweep
        A sweep over alphas, as `sweep_alphas` or `read_sweep` gives it.
    alpha
        One to five alphas of the sweep; if None the least (the gain-only model), the middle and the largest.
    bins
        Number of bins of the distance.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    churn, rows, bins = _churn(sweep), _rows(sweep, alpha), validate_count("bins", bins)
    width = 0.84 / len(rows)
    with style.canvas(axes, height=2.4) as axes:
        for index, (row, look) in enumerate(zip(rows, alpha_looks(sweep.alphas[rows]), strict=True)):
            found = reward_by_churn(churn.values[row], sweep.test.values[row + 1], sweep.test.values[0], bins)
            left = np.arange(bins) + (index - (len(rows) - 1) / 2) * width
            axes.bar(left, np.nan_to_num(found.reward), width, color=look["color"], label=f"α = {sweep.alphas[row]:g}")
            axes.bar(left, -np.nan_to_num(found.risk), width, facecolor="white", edgecolor=look["color"],
                     hatch=style.LOSS_HATCH, linewidth=0.6)  # fmt: skip
        axes.axhline(0, color=style.BLACK, linewidth=0.5)
        _bin_ticks(axes, bins)
        axes.set(xlim=(-0.6, bins - 0.4))
        axes.set_xlabel(f"Kendall distance to the ranking of {style.label_text(sweep.baseline)}")
        axes.set_ylabel(f"mean loss and gain, {style.label_text(sweep.test.measure)}")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(rows), handlelength=1.5)
    return axes


def best_alpha_bars(sweep: Sweep, *, axes: Axes | None = None) -> Axes:
    """The fraction of the test queries on which each alpha does best; ties, hatched, are divided evenly.

    If one alpha served all queries, its bar would reach 100 %. After Wang, Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    sweep
        A sweep over alphas, as `sweep_alphas` or `read_sweep` gives it.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.
    """
    values = sweep.test.values[1:]
    best = values == values.max(axis=0)
    many = best.sum(axis=0)
    alone, tied = 100 * (best & (many == 1)).mean(axis=1), 100 * np.where(many > 1, best / many, 0).mean(axis=1)
    with style.canvas(axes) as axes:
        positions = np.arange(len(alone))
        axes.bar(positions, alone, 0.7, color=style.BLUE, label="alone")
        look = {"facecolor": "white", "edgecolor": style.QUIET, "hatch": style.LOSS_HATCH, "linewidth": 0.6}
        bars = axes.bar(positions, tied, 0.7, alone, label="tied, shared evenly", **look)  # type: ignore[arg-type]
        axes.bar_label(bars, [f"{total:.0f} %" for total in alone + tied], fontsize=6, padding=1)
        axes.set_xticks(positions, [f"{alpha:g}" for alpha in sweep.alphas])
        axes.set(xlabel="α of the best model", ylabel="% of the queries", ylim=(0, 1.12 * max(alone + tied)))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, handlelength=1.5)
    return axes


def _churn(sweep: Sweep) -> Scores:
    if sweep.churn is None:
        raise SurefootError("churn needs one baseline that ranks documents: a feature, a run, scores or a model")
    return sweep.churn


def _rows(sweep: Sweep, alpha: Sequence[float] | None) -> list[int]:
    """The rows of the alphas to draw."""
    known = sweep.alphas.tolist()
    if alpha is None:
        return sorted({0, len(known) // 2, len(known) - 1})
    absent = [f"{one:g}" for one in alpha if one not in known]
    if absent or not 0 < len(alpha) <= 5:
        raise SurefootError(f"one to five alphas of {listed(f'{one:g}' for one in known)} can be drawn; got "
                            f"{listed(f'{one:g}' for one in alpha)}")  # fmt: skip
    return [known.index(one) for one in dict.fromkeys(alpha)]


def _map(axes: Axes, counts: IntArray, tints: Sequence[str]) -> None:
    """Counts as cells: the more, the stronger the colour of their column."""
    share = (counts / counts.sum(axis=1, keepdims=True)) ** 0.6
    strength = (0.85 * share / share.max())[..., np.newaxis]
    colours = np.array([to_rgb(tint) for tint in tints])
    axes.imshow(1 - strength * (1 - colours), aspect="auto", interpolation="nearest")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if strength[row, column, 0] > 0.55 else style.BLACK if count else style.FAINT
        axes.text(column, row, str(count), ha="center", va="center", fontsize=6, color=color)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _alpha_rows(axes: Axes, alphas: FloatArray) -> None:
    axes.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel("α")
