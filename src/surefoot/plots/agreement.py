"""How systems and rankings agree: the map of systems, the overlap of rankings, every system as the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from surefoot._names import as_names
from surefoot._typing import FloatArray
from surefoot.analysis.agreement import baseline_bias, partial_correlation, value_agreement
from surefoot.analysis.cross import CrossTable, cross
from surefoot.errors import SurefootError, choose
from surefoot.plots.style import (
    BLUE,
    COLUMN,
    PAGE,
    QUIET,
    SHADES,
    VERMILION,
    canvas,
    label_points,
    label_text,
    measure_label,
    names_on,
    signed,
    to_name,
    validate_rows,
)
from surefoot.results import Result
from surefoot.scores import VIRTUAL, Scores, ScoresLike
from surefoot.stats.agreement import PCA, pca

FEW_CELLS = 12
"""Up to this number of systems, a matrix has room for numbers."""


def pca_map(
    scores: ScoresLike | PCA,
    *,
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    include: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """The systems on their first two principal axes, with MEAN, MEDIAN and MAX.

    Systems that do well on the same topics lie close together; a baseline close to a system makes it look safe. The
    scores are not centred, as in the paper, so the first axis is mostly the level of effectiveness. Dinçer, Ounis and
    Macdonald, ECIR 2014, figures 1 and 2.

    Parameters
    ----------
    scores
        The scores, or a `PCA` of them.
    systems
        The systems to draw; all if None.
    label
        The systems to name; if None all up to 12, else the extremes of both axes.
    include
        Whether MEAN, MEDIAN and MAX take part in the analysis, as in the paper's figure 2, or are only placed on its
        axes.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.3, 0.1], [0.6, 0.2], [0.1, 0.4]], ["a", "b", "c"], ["q1", "q2"])
    >>> pca_map(scores).get_ylabel()
    'axis 2 (16.1 % of the variance)'
    """
    found = scores if isinstance(scores, PCA) else pca(scores, systems=systems, include=include)
    points = found.coordinates[:, :2]
    if points.shape[1] < 2:
        raise SurefootError("a map needs two principal axes: at least two systems and two topics")
    virtual = np.array([name in VIRTUAL for name in found.names])
    real = [name for name in found.names if name not in VIRTUAL]
    with canvas(axes, height=2.8) as axes:
        x, y = points[~virtual].T
        axes.scatter(x, y, 12, BLUE, edgecolor="white", linewidth=0.4, label="systems", zorder=3)
        if virtual.any():
            x, y = points[virtual].T
            axes.scatter(x, y, 18, "white", marker="D", edgecolor=VERMILION, linewidth=1, label="virtual", zorder=4)
        axes.margins(0.13)
        first, second = (f"axis {n + 1} ({100 * found.shares[n]:.1f} % of the variance)" for n in (0, 1))
        axes.set(xlabel=first, ylabel=second)
        named = _corners(real, points[~virtual]) if label is None else to_name(real, np.zeros(len(real)), label)
        which = [*np.flatnonzero(virtual).tolist(), *(found.names.index(name) for name in named)]
        label_points(axes, points, found.names, which)
    return axes


def _corners(names: Sequence[str], points: FloatArray) -> list[str]:
    """All names if they are few, else the two least and the two greatest along each axis."""
    if len(names) <= FEW_CELLS:
        return list(names)
    order = np.argsort(points, axis=0, kind="stable")
    return list(dict.fromkeys(names[index] for index in np.concatenate([order[:2], order[-2:]]).T.ravel()))


def correlation_map(
    scores: ScoresLike,
    baseline: str,
    *,
    alpha: float = 1.0,
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """U_Risk of each system over its correlation with the baseline; the darker a point, the smaller the mean.

    Of points of the same shade those to the right, which fail where the baseline fails, lie higher: they look safer
    without being better. The title has the partial correlation, the mean held fixed (`baseline_bias`). After Dinçer,
    Ounis and Macdonald, ECIR 2014, who say so in words.

    Parameters
    ----------
    scores
        The scores of all systems.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        Risk sensitivity.
    systems
        The systems to draw; all but the baseline if None.
    label
        The systems to name; if None all up to 12, else the extremes of both axes.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((6, 30)), "abcdef", range(30))
    >>> correlation_map(scores, "a", alpha=5).get_title(loc="left")
    'partial correlation, given the mean: 0.94'
    """
    scores = Scores.of(scores)
    found = baseline_bias(scores, baseline, alpha, systems=systems)
    names = [str(name) for name in found["system"]]
    points = np.column_stack([found["correlation"], found["urisk"]])
    if np.isnan(points).any() or len(names) < 4:
        raise SurefootError("the map needs 4 systems or more whose scores vary over the topics")
    with canvas(axes, height=2.8) as axes:
        shade = axes.scatter(
            points[:, 0], points[:, 1], 16, found["mean"], cmap="cividis", edgecolor="white", linewidth=0.4, zorder=3
        )
        axes.figure.colorbar(shade, ax=axes, fraction=0.05, pad=0.02, label=f"mean {label_text(scores.measure)}")
        axes.margins(0.1)
        axes.axhline(0, color=QUIET, linewidth=0.5, zorder=1)
        axes.set(xlabel=f"correlation with {label_text(baseline)} over topics")
        axes.set_ylabel(f"{measure_label('urisk')} at α = {alpha:g}")
        partial = partial_correlation(found["correlation"], found["urisk"], found["mean"])
        axes.set_title(f"partial correlation, given the mean: {partial:.2f}", loc="left")
        named = _corners(names, points) if label is None else to_name(names, np.zeros(len(names)), label)
        label_points(axes, points, names, [names.index(name) for name in named])
    return axes


def rbo_bars(
    scores: ScoresLike | Result,
    baseline: str | None = None,
    *,
    of: Sequence[str] | None = None,
    alpha: float = 1.0,
    axes: Axes | None = None,
) -> Axes:
    """Whether linear and smooth values rank the systems alike: RBO of the first 5, 10, 15 … systems of each ranking.

    Where smooth values are undefined, since the differences are too far apart, monotone ones take their place.
    A bar is the minimum of RBO, the open part above it the residual, which the rest of the rankings could still add.
    Benham, Moffat and Culpepper, ECIR 2020, figure 4; their Geo− is ``geominus_published``.

    Parameters
    ----------
    scores
        The scores, or the result of `value_agreement`.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    of
        The measures to draw; U_Risk, Z_Risk and GeoRisk if None.
    alpha
        Risk sensitivity.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> from surefoot.risk.values import Smooth
    >>> scores = Scores(np.random.default_rng(4).random((7, 20)), "abcdefg", range(20))
    >>> found = value_agreement(scores, "a", value=Smooth)
    >>> [text.get_text() for text in rbo_bars(found).get_xticklabels()]
    ['5', '7']
    """
    scores, value = scores if isinstance(scores, Result) else Scores.of(scores), "smooth"
    if isinstance(scores, Scores):
        if baseline is None:
            raise SurefootError("the agreement of values needs a baseline; name one")
        scores, value = _agreement_of_values(scores, baseline, alpha)
    there = list(dict.fromkeys(scores["measure"].tolist()))
    usual = [word for word in there if word != "geominus_published"]
    of = usual if of is None else [choose(word, there, "of") for word in as_names(of)]
    sizes = np.unique(scores["systems"])
    width = 0.84 / len(of)
    with canvas(axes, COLUMN if len(sizes) * len(of) <= 36 else PAGE) as axes:
        for number, measure in enumerate(of):
            rows = scores["measure"] == measure
            left = np.arange(len(sizes)) + (number - (len(of) - 1) / 2) * width
            bars: dict[str, Any] = {"width": width * 0.9, "linewidth": 0.5, "edgecolor": SHADES[number]}
            axes.bar(left, scores["minimum"][rows], color=SHADES[number], label=measure_label(measure), **bars)
            axes.bar(left, scores["residual"][rows], bottom=scores["minimum"][rows], color="white", **bars)
        axes.set(ylim=(0, 1), xlabel="systems in the head of each ranking", ylabel=f"RBO, linear against {value}")
        axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
        axes.tick_params(axis="x", length=0)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(of), handlelength=1)
    return axes


def _agreement_of_values(scores: Scores, baseline: str, alpha: float) -> tuple[Result, str]:
    """The agreement of linear and smooth values, or of linear and monotone ones where smooth ones are undefined."""
    try:
        return value_agreement(scores, baseline, alpha), "smooth"
    except SurefootError:  # any other error comes again
        return value_agreement(scores, baseline, alpha, value="monotone"), "monotone"


def cross_map(
    scores: ScoresLike | CrossTable,
    *,
    alpha: float = 1.0,
    systems: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """U_Risk of every system (rows) against every other as the baseline (columns), the safest row on top.

    A row that is light throughout is safe against every baseline; a column that is dark throughout is a baseline that
    makes all systems look risky. Light and dark differ in greyscale too. The matrix is table 2 of Dinçer, Ounis and
    Macdonald, ECIR 2014.

    Parameters
    ----------
    scores
        The scores, or the `CrossTable` of them.
    alpha
        Risk sensitivity.
    systems
        The systems to draw; all if None.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1], [0.3, 0.5]], ["a", "b", "c"], ["q1", "q2"])
    >>> [text.get_text() for text in cross_map(scores).get_yticklabels()]
    ['c', 'a', 'b']
    """
    found = scores if isinstance(scores, CrossTable) else cross(scores, alpha, systems=systems)
    validate_rows(len(found.systems))
    order = np.argsort(-found.urisk.mean(axis=1), kind="stable")
    names = [found.systems[index] for index in order]
    matrix = found.urisk[np.ix_(order, order)]
    wide = len(names) > FEW_CELLS
    with canvas(axes, PAGE if wide else COLUMN, 6.2 if wide else 2.9) as axes:
        image = axes.imshow(matrix, cmap="cividis", aspect="auto", interpolation="nearest")
        size = 5.5 if len(names) > 20 else 6
        names_on(axes, "x", range(len(names)), names, rotation=90, fontsize=size)
        names_on(axes, "y", range(len(names)), names, fontsize=size)
        axes.set(xlabel="baseline", ylabel="system, the safest on top")
        axes.spines[["left", "bottom"]].set_visible(False)
        title = f"{measure_label('urisk')} at α = {found['alpha'][0]:g}"
        if wide:
            axes.figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label=title).outline.set_visible(False)
        else:
            _numbers(axes, matrix)
            axes.set_title(title, loc="left")
    return axes


def _numbers(axes: Axes, matrix: FloatArray) -> None:
    """The numbers in their cells, light on dark and dark on light; the diagonal is 0 by definition."""
    middle = (matrix.min() + matrix.max()) / 2
    for (row, column), value in np.ndenumerate(matrix):
        color = "white" if value < middle else "black"
        text = signed(value, 2) if row != column else "0"
        axes.text(column, row, text, ha="center", va="center", fontsize=5, color=color)
