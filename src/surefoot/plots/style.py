"""The style of all plots, and the placement of labels.

Plots are one column wide, legible for colour-blind readers and in greyscale, and reproducible to the byte.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from surefoot._names import as_names, one_line
from surefoot._typing import FloatArray, PathLike
from surefoot.errors import SurefootError, listed
from surefoot.io.atomic import write_bytes
from surefoot.risk import get_risk
from surefoot.scores import Scores

COLUMN, PAGE = 3.3, 6.9
"""Inches: the width of one column of a two-column page, and of the page."""

SCREEN_DPI = 160
"""Dots per inch at which a notebook shows a plot, so that its 7 points are easy to read."""

ENDINGS = ("svg", "png", "pdf")

# The colours of Okabe and Ito (2008), which people with any colour vision can distinguish.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#000000 #E69F00 #56B4E9 #009E73 #0072B2 #D55E00 #CC79A7".split()
GAIN, LOSS, QUIET, FAINT = BLUE, VERMILION, "#666666", "#BBBBBB"
SHADES = (SKY, BLUE, BLACK, ORANGE, VERMILION)
"""Colours of adjacent bars; the first three go from light to dark."""
LOSS_HATCH = "//////"

_COLOURS = (BLUE, VERMILION, GREEN, BLACK, PURPLE, ORANGE, SKY)
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.labelsize": 7,
    "axes.titlesize": 7,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "legend.fontsize": 6,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.1,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 300,
    "svg.hashsalt": "surefoot",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
FEW = 6
"""Up to this number of points, all are named."""
MOST_ROWS = 80
"""The most rows that fit on a page."""

_REACHES, _CLEAR = (4.0, 11.0, 20.0, 36.0), 5.0
"""Distances in points between a name and its own point, and between a name and other points."""
_HAIR: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.4, "shrinkA": 0}
_BESIDE, _DIAGONAL = ((1, 0), (-1, 0), (0, 1), (0, -1)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def line_look(number: int) -> dict[str, Any]:
    """The colour and dashes of a line; 42 lines differ, since the numbers of colours and dashes are coprime."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


@contextmanager
def paper_style() -> Iterator[None]:
    """A context with matplotlib's defaults and the style of Surefoot, independent of the user's settings.

    Examples
    --------
    >>> with paper_style():
    ...     mpl.rcParams["font.size"]
    7.0
    """
    with mpl.rc_context(), warnings.catch_warnings():
        # The font draws missing characters as boxes; a warning for each would not help.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        matplotlib.style.use(["default", _STYLE])
        yield


@contextmanager
def canvas(axes: Axes | None, width: float = COLUMN, height: float = 2.3) -> Iterator[Axes]:
    """The Axes to draw on, in the style of Surefoot: those given, or those of a new figure of this size."""
    with paper_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        yield axes if axes is not None else figure.add_subplot(axes_class=NotebookAxes)


class NotebookAxes(Axes):
    """Axes that a notebook shows as their figure, without pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        data = _drawn(self, "png")
        figure = self.get_figure(root=True)
        width, height = figure.get_size_inches() if figure is not None else (COLUMN, COLUMN)
        return data, {"width": round(width * SCREEN_DPI), "height": round(height * SCREEN_DPI)}


def save_plot(axes: Axes, path: PathLike) -> None:
    """Write the figure of these Axes to a file, atomically; the same plot gives the same bytes.

    Parameters
    ----------
    axes
        The result of a plot function.
    path
        A file that ends in .svg, .png or .pdf.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from surefoot import Scores
    >>> from surefoot.plots import profile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "profile.svg")
    >>> save_plot(profile(Scores([[0.2, 0.4]], ["a"], [1, 2])), file)
    >>> file.stat().st_size > 1000
    True
    """
    write_bytes(path, _drawn(axes, ending_of(path)))


def _drawn(axes: Axes, ending: str) -> bytes:
    """The figure of these Axes as the content of a file."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise SurefootError("these axes belong to no figure")
    data = BytesIO()
    with paper_style():
        figure.savefig(data, format=ending, metadata=_UNDATED[ending])
    return data.getvalue()


def ending_of(path: PathLike) -> str:
    """The format of a file, by its suffix.

    >>> ending_of("alpha.SVG")
    'svg'
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise SurefootError(f"{path}: the name of a figure must end in {', '.join(ENDINGS)}")
    return ending


def label_text(name: str, most: int = 24) -> str:
    r"""A name as a label: no mathematics, no control characters, long names cut in the middle.

    >>> label_text("$x_1$"), label_text("a-run-whose-name-has-no-end-v2")
    ('\\$x_1\\$', 'a-run-whose-nam…o-end-v2')
    """
    visible = one_line(name)
    if len(visible) > most:
        visible = f"{visible[: most - 9]}…{visible[-8:]}"
    return visible.replace("$", r"\$")


def label_ticks(
    axes: Axes, which: Literal["x", "y"], positions: Sequence[float], names: Sequence[str], **look: Any
) -> None:
    """Names as tick labels of the axis ``which``."""
    (axes.set_xticks if which == "x" else axes.set_yticks)(positions, [label_text(name) for name in names], **look)
    axes.tick_params(axis=which, length=0)


def phrase(first: str, second: str, most: int = 48) -> str:
    r"""Two parts of an axis label, on one line if it is shorter than ``most``.

    >>> phrase("loss", "against bm25"), phrase("nDCG@10 difference", "from a-run-of-an-uncommonly-long-name")
    ('loss against bm25', 'nDCG@10 difference\nfrom a-run-of-an-uncommonly-long-name')
    """
    return f"{first} {second}" if len(first) + len(second) < most else f"{first}\n{second}"


def against(words: str, baseline: str, most: int = 48, word: str = "against") -> str:
    """The label of an axis that names a baseline."""
    return phrase(words, f"{word} {label_text(baseline)}".strip(), most)


def signed(number: float, digits: int) -> str:
    """A number with a minus sign instead of a hyphen.

    >>> signed(-0.25, 1)
    '−0.2'
    """
    return f"{number:.{digits}f}".replace("-", "−")


def legend(axes: Axes, handles: Sequence[Any], names: Sequence[str], **look: Any) -> None:
    """A legend of names, each after a thin space: matplotlib omits names that begin with an underscore."""
    axes.legend(handles, [f"\u2009{label_text(name)}" for name in names], **look)


def measure_label(name: str) -> str:
    r"""The label of a risk measure, with an index; other names stay as they are.

    >>> measure_label("urisk"), measure_label("georisk"), measure_label("tail_0.1"), measure_label("AP")
    ('$U_{\\mathrm{Risk}}$', 'GeoRisk', 'tail risk, worst 10 %', 'AP')
    """
    try:
        label = get_risk(name).math_label
    except SurefootError:
        return label_text(name)
    return label if label.startswith("$") else label_text(label)


def critical_lines(
    axes: Axes, critical: float, words: str, label: str = "critical", zorder: float = 4, **place: Any
) -> None:
    """Dashed lines at both critical values, with a label at the right end of the upper one."""
    for side in (-critical, critical):
        axes.axhline(side, color="black", linewidth=0.7, linestyle=(0, (4, 2)), label=label, zorder=zorder)
    place |= {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(words, (1, critical), fontsize=6, **place)


def names_to_show(names: Sequence[str], values: npt.ArrayLike, wanted: Sequence[str] | None) -> list[str]:
    """The names to show: those wanted, or all if few, or those of the two largest and two smallest values.

    >>> names_to_show("abcdefg", [3, 1, 2, 7, 6, 5, 4], None)
    ['d', 'e', 'c', 'b']
    """
    if wanted is not None:
        absent = [name for name in as_names(wanted) if name not in names]
        if absent:
            raise SurefootError(f"can't name {listed(absent)}, not among the systems shown: {listed(names)}")
        return list(dict.fromkeys(as_names(wanted)))
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable")
    ordered = [names[index] for index in order if np.isfinite(np.asarray(values)[index])]
    return ordered if len(ordered) <= FEW else ordered[:2] + ordered[-2:]


def validate_rows(count: int) -> None:
    """Raise if there are too many rows to read."""
    if count > MOST_ROWS:
        raise SurefootError(f"a figure can show {MOST_ROWS} systems, not {count}; choose some with systems")


def systems_shown(scores: Scores, systems: Sequence[str] | None, baseline: str) -> list[str]:
    """The systems to draw besides the baseline."""
    shown = [name for name in scores.select(systems).systems if name != baseline]
    if not shown:
        raise SurefootError("there is no system to show besides the baseline")
    return shown


def label_ends(axes: Axes, x: float, heights: Sequence[float], names: Sequence[str], looks: Sequence[Any]) -> None:
    """Names to the right of the ends of lines, as close to the ends as possible without overlaps."""
    figure: Any = axes.get_figure(root=True)
    figure.draw_without_rendering()  # computes the layout
    size = 6.0 * figure.dpi / 72
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
    """The positions nearest to the wanted ones with this gap: isotonic regression of y_i - i gap.

    >>> spread([0.0, 1.0, 1.0, 9.0], 1.0, 0.0, 10.0).round(2)
    array([0., 1., 2., 9.])
    """
    values = np.asarray(wanted, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    inside = np.clip(_isotonic(values[order] - steps), low, max(low, high - steps[-1]))
    positions = np.empty_like(values)
    positions[order] = inside + steps
    return positions


def _isotonic(values: FloatArray) -> FloatArray:
    """Isotonic regression: the nearest non-decreasing sequence, by pooling adjacent violators.

    >>> _isotonic(np.array([1.0, 3.0, 2.0, 4.0]))
    array([1. , 2.5, 2.5, 4. ])
    """
    pools: list[tuple[float, int]] = []  # mean and size
    for mean, size in ((float(value), 1) for value in values):
        while pools and pools[-1][0] > mean:
            before, more = pools.pop()
            mean, size = (before * more + mean * size) / (more + size), more + size
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


def label_points(
    axes: Axes, points: FloatArray, names: Sequence[str], which: Sequence[int], color: str = "k", crossed: bool = False
) -> None:
    """Names beside some of the points, each on the side where it hides the fewest points and names.

    If the points are ``crossed`` by error bars, diagonal positions come first.
    """
    axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    at = axes.transData.transform(points)
    sides = _DIAGONAL + _BESIDE if crossed else _BESIDE + _DIAGONAL
    offsets = [(side, reach) for reach in _REACHES for side in sides]
    frame, taken = axes.get_window_extent(), list[Bbox]()
    for index in which:
        note = axes.annotate(
            label_text(names[index]), points[index], (0, 0), textcoords="offset points", fontsize=6, color=color
        )
        note.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
        others = np.delete(at, index, axis=0)
        costs = [_cost(_put(note, side, reach), others, taken, frame) + reach**3 / 1e4 for side, reach in offsets]
        side, reach = offsets[int(np.argmin(costs))]
        taken.append(_put(note, side, reach))
        if reach > _REACHES[0]:  # a thin line from the name to its point
            line = {**_HAIR, "color": QUIET, "shrinkB": 1}
            axes.annotate("", note.xy, note.get_position(), textcoords="offset points", arrowprops=line)


def _put(note: Annotation, side: tuple[int, int], reach: float) -> Bbox:
    """Move a note beside its point, and return the box that it covers."""
    step = (0.7 if all(side) else 1.0) * reach
    note.set_position((step * side[0], step * side[1]))
    note.set_horizontalalignment(("right", "center", "left")[side[0] + 1])
    note.set_verticalalignment(("top", "center", "bottom")[side[1] + 1])
    return note.get_window_extent()


def _cost(box: Bbox, points: FloatArray, taken: Sequence[Bbox], frame: Bbox) -> float:
    """How much a note at this position hides; covering another note or leaving the frame costs most."""
    inside = frame.containsx(box.x0) and frame.containsx(box.x1) and frame.containsy(box.y0) and frame.containsy(box.y1)
    return float(box.padded(_CLEAR).count_contains(points) + 50 * (box.padded(2).count_overlaps(taken) + (not inside)))
