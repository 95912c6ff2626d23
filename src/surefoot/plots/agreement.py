"""Agreement of systems: a map of systems, and every system as the baseline in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from surefoot._typing import FloatArray
from surefoot.analysis.cross import CrossTable, cross
from surefoot.errors import SurefootError
from surefoot.plots import style
from surefoot.scores import VIRTUAL, ScoresLike
from surefoot.stats.principal_axes import PCA, pca

FEW_CELLS = 12
"""Up to this number of systems, a map names all, and a matrix has room for numbers."""


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
        The systems to draw; all by default.
    label
        The systems to name; by default all up to 12, else the extremes of both axes.
    include
        Whether MEAN, MEDIAN and MAX take part in the analysis, as in the paper's figure 2; else they are only projected
        on its axes.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> from surefoot import Scores
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
    with style.canvas(axes, height=2.8) as axes:
        x, y = points[~virtual].T
        axes.scatter(x, y, 12, style.BLUE, edgecolor="white", linewidth=0.4, label="systems", zorder=3)
        if virtual.any():
            x, y = points[virtual].T
            axes.scatter(
                x, y, 18, "white", marker="D", edgecolor=style.VERMILION, linewidth=1, label="virtual", zorder=4
            )
        axes.margins(0.13)
        first, second = (f"axis {n + 1} ({100 * found.shares[n]:.1f} % of the variance)" for n in (0, 1))
        axes.set(xlabel=first, ylabel=second)
        named = (
            corners(real, points[~virtual]) if label is None else style.names_to_show(real, np.zeros(len(real)), label)
        )
        which = [*np.flatnonzero(virtual).tolist(), *(found.names.index(name) for name in named)]
        style.label_points(axes, points, found.names, which)
    return axes


def corners(names: Sequence[str], points: FloatArray) -> list[str]:
    """All names if they are few, else the two least and the two greatest along each axis."""
    if len(names) <= FEW_CELLS:
        return list(names)
    order = np.argsort(points, axis=0, kind="stable")
    return list(dict.fromkeys(names[index] for index in np.concatenate([order[:2], order[-2:]]).T.ravel()))


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
        The systems to draw; all by default.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> from surefoot import Scores
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1], [0.3, 0.5]], ["a", "b", "c"], ["q1", "q2"])
    >>> [text.get_text() for text in cross_map(scores).get_yticklabels()]
    ['c', 'a', 'b']
    """
    found = scores if isinstance(scores, CrossTable) else cross(scores, alpha, systems=systems)
    style.validate_rows(len(found.systems))
    order = np.argsort(-found.urisk.mean(axis=1), kind="stable")
    names = [found.systems[index] for index in order]
    matrix = found.urisk[np.ix_(order, order)]
    wide = len(names) > FEW_CELLS
    with style.canvas(axes, style.PAGE if wide else style.COLUMN, 6.2 if wide else 2.9) as axes:
        image = axes.imshow(matrix, cmap="cividis", aspect="auto", interpolation="nearest")
        size = 5.5 if len(names) > 20 else 6
        style.label_ticks(axes, "x", range(len(names)), names, rotation=90, fontsize=size)
        style.label_ticks(axes, "y", range(len(names)), names, fontsize=size)
        axes.set(xlabel="baseline", ylabel="system, the safest on top")
        axes.spines[["left", "bottom"]].set_visible(False)
        title = f"{style.measure_label('urisk')} at α = {found['alpha'][0]:g}"
        if wide:
            axes.figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, label=title).outline.set_visible(False)
        else:
            middle = (matrix.min() + matrix.max()) / 2
            for (row, column), value in np.ndenumerate(matrix):  # the diagonal is 0 by definition
                text = style.signed(value, 2) if row != column else "0"
                color = "white" if value < middle else "black"
                axes.text(column, row, text, ha="center", va="center", fontsize=5, color=color)
            axes.set_title(title, loc="left")
    return axes
