"""The style of all plots: one column wide, safe for colour-blind readers and greyscale, the same bytes each time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.io.atomic import write_bytes
from surefoot.io.text import one_line
from surefoot.risk import get_risk

COLUMN, PAGE = 3.3, 6.9
"""Inches: the width of one column of a two-column page, and of the page."""

SCREEN_DPI = 160
"""Dots per inch at which a notebook shows a plot, so that its 7 points are easy to read."""

ENDINGS = ("svg", "png", "pdf")

# The colours of Okabe and Ito (2008), which people with any colour vision tell apart.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#000000 #E69F00 #56B4E9 #009E73 #0072B2 #D55E00 #CC79A7".split()
GAIN, LOSS, QUIET, FAINT = BLUE, VERMILION, "#666666", "#BBBBBB"
SHADES = (SKY, BLUE, BLACK, ORANGE, VERMILION)
"""For adjacent bars; the first three go from light to dark."""
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
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


def line_look(number: int) -> dict[str, Any]:
    """Colour and dashes of a line; their numbers have no common factor, so 42 lines differ."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


@contextmanager
def paper_style() -> Iterator[None]:
    """A context in which matplotlib has its defaults and the style of Surefoot, whatever the user's settings are.

    Examples
    --------
    >>> with paper_style():
    ...     mpl.rcParams["font.size"]
    7.0
    """
    with mpl.rc_context(), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes, without a warning.
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
    """Axes that a notebook shows as their figure; without pyplot nothing else would."""

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
        What a function for plots returned.
    path
        A file that ends in .svg, .png or .pdf.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from surefoot import Scores, profile
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
        raise SurefootError("these axes belong to no figure, so there is nothing to draw")
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
        raise SurefootError(f"{path}: figures are written as {', '.join(ENDINGS)}; name a file with one of these")
    return ending


def label_text(name: str, most: int = 24) -> str:
    r"""A name as a label: not parsed as mathematics, without control characters, and cut in the middle if it is long.

    >>> label_text("$x_1$"), label_text("a-run-whose-name-has-no-end-v2")
    ('\\$x_1\\$', 'a-run-whose-nam…o-end-v2')
    """
    visible = one_line(name)
    if len(visible) > most:
        visible = f"{visible[: most - 9]}…{visible[-8:]}"
    return visible.replace("$", r"\$")


def names_on(
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


def signed(number: float, digits: int) -> str:
    """A number with a minus sign instead of a hyphen.

    >>> signed(-0.25, 1)
    '−0.2'
    """
    return f"{number:.{digits}f}".replace("-", "−")


def legend(axes: Axes, handles: Sequence[Any], names: Sequence[str], **look: Any) -> None:
    """A legend of names; a thin space keeps matplotlib from leaving out those that begin with an underscore."""
    axes.legend(handles, [f"\u2009{label_text(name)}" for name in names], **look)


def measure_label(name: str) -> str:
    r"""The label of a risk measure, X_Word with an index; another name stays as it is.

    >>> measure_label("urisk"), measure_label("georisk"), measure_label("tail_0.1"), measure_label("AP")
    ('$U_{\\mathrm{Risk}}$', 'GeoRisk', 'tail risk, worst 10 %', 'AP')
    """
    try:
        label = get_risk(name).math_label
    except SurefootError:
        return label_text(name)
    return label if label.startswith("$") else label_text(label)
