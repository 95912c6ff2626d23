"""Labels of points and lines, moved apart where they would overlap; and which of many to label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from surefoot._names import as_names
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, listed
from surefoot.show.plots.style import QUIET, label_text

FEW = 6
"""Up to this number all are named."""
MOST_ROWS = 80
"""More rows do not fit on a page."""

_CLOSE, _FAR, _FARTHER, _CLEAR = 4.0, 11.0, 20.0, 5.0
"""Points between a name and its own point, and between a name and the points of others."""
_HAIR: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.4, "shrinkA": 0}
_ASIDE, _ASKEW = ((1, 0), (-1, 0), (0, 1), (0, -1)), ((1, 1), (1, -1), (-1, 1), (-1, -1))


def to_name(names: Sequence[str], values: npt.ArrayLike, wanted: Sequence[str] | None, each: int = 2) -> list[str]:
    """The names to show: the wanted ones; else all if they are few, else those of the largest and smallest values.

    >>> to_name("abcdefg", [3, 1, 2, 7, 6, 5, 4], None, each=1)
    ['d', 'b']
    """
    if wanted is not None:
        absent = [name for name in as_names(wanted) if name not in names]
        if absent:
            raise SurefootError(f"can't name {listed(absent)}, not among the systems shown: {listed(names)}")
        return list(dict.fromkeys(as_names(wanted)))
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")
    ordered = [names[index] for index in order if np.isfinite(np.asarray(values)[index])]
    return ordered if len(ordered) <= max(FEW, 2 * each) else ordered[:each] + ordered[-each:]


def validate_rows(count: int) -> None:
    """Raise if there are no rows, or more than can be read."""
    if count > MOST_ROWS:
        raise SurefootError(f"{count} systems would not be legible, {MOST_ROWS} are; choose those to show (systems)")
    if count < 1:
        raise SurefootError("there is no system to show besides the baseline")


def label_ends(axes: Axes, x: float, heights: Sequence[float], names: Sequence[str], looks: Sequence[Any]) -> None:
    """Names to the right of the ends of lines, as close to their heights as possible without overlapping."""
    size = float(_points(axes, 6.0))
    wanted = axes.transData.transform([(x, height) for height in heights])[:, 1]
    low, high = axes.get_window_extent().intervaly
    for height, moved, own, name, look in zip(
        heights, spread(wanted, 1.25 * size, low, high), wanted, names, looks, strict=True
    ):
        shift = (moved - own) / size * 6.0
        axes.annotate(
            label_text(name),
            (x, height),
            (9, shift),
            textcoords="offset points",
            va="center",
            fontsize=6,
            color=look["color"],
            annotation_clip=False,
            arrowprops={**_HAIR, "color": look["color"], "relpos": (0, 0.5), "shrinkB": 0},
        )


def spread(wanted: npt.ArrayLike, gap: float, low: float, high: float) -> FloatArray:
    """The positions nearest to those wanted that are a gap apart: y_i - i gap must not fall, so isotonic regression.

    >>> spread([0.0, 1.0, 1.0, 9.0], 1.0, 0.0, 10.0).round(2)
    array([0., 1., 2., 9.])
    """
    from scipy.optimize import isotonic_regression

    values = np.asarray(wanted, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    inside = np.clip(isotonic_regression(values[order] - steps).x, low, max(low, high - steps[-1]))
    positions = np.empty_like(values)
    positions[order] = inside + steps
    return positions


def label_points(
    axes: Axes, points: FloatArray, names: Sequence[str], which: Sequence[int], color: str = "k", crossed: bool = False
) -> None:
    """Names beside some of the points, each on the side where it covers least of the points and of other names.

    Names of points that are ``crossed`` by error bars go askew rather than beside them.
    """
    axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    at = axes.transData.transform(points)
    sides = _ASKEW + _ASIDE if crossed else _ASIDE + _ASKEW
    offsets = [(side, reach) for reach in (_CLOSE, _FAR, _FARTHER) for side in sides]
    frame, taken = axes.get_window_extent(), list[Bbox]()
    for index in which:
        note = axes.annotate(
            label_text(names[index]), points[index], (0, 0), textcoords="offset points", fontsize=6, color=color
        )
        note.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
        others = np.delete(at, index, axis=0)
        costs = [_cost(_put(note, side, reach), others, taken, frame) + reach / 100 for side, reach in offsets]
        side, reach = offsets[int(np.argmin(costs))]
        taken.append(_put(note, side, reach))
        if reach > _CLOSE:
            _lead(axes, note)


def _put(note: Annotation, side: tuple[int, int], reach: float) -> Bbox:
    """Move a note beside its point; returns the box that it covers there."""
    askew = 0.7 if all(side) else 1.0
    note.set_position((askew * side[0] * reach, askew * side[1] * reach))
    note.set_horizontalalignment(("right", "center", "left")[side[0] + 1])
    note.set_verticalalignment(("top", "center", "bottom")[side[1] + 1])
    return note.get_window_extent()


def _cost(box: Bbox, points: FloatArray, taken: Sequence[Bbox], frame: Bbox) -> float:
    """How much a note at this position hides; leaving the frame costs most."""
    inside = frame.containsx(box.x0) and frame.containsx(box.x1) and frame.containsy(box.y0) and frame.containsy(box.y1)
    return float(
        box.padded(_CLEAR).count_contains(points) + 5 * box.padded(2).count_overlaps(taken) + 10 * (not inside)
    )


def _lead(axes: Axes, note: Annotation) -> None:
    """A thin line from a name to its point, which is not next to it."""
    axes.annotate(
        "",
        note.xy,
        note.get_position(),
        textcoords="offset points",
        arrowprops={**_HAIR, "color": QUIET, "shrinkB": 1},
    )


def _points(axes: Axes, points: float) -> float:
    """Printer's points as pixels, once the figure has been laid out."""
    figure = axes.get_figure(root=True)
    figure.draw_without_rendering()  # type: ignore[union-attr]
    return points * figure.dpi / 72  # type: ignore[union-attr]
