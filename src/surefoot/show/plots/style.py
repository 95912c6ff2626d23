"""How all figures look: one column wide, colour-blind safe, readable in grey, the same bytes each time."""

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

COLUMN, PAGE = 3.3, 6.9
"""Inches: the width of one column of a two-column page, and of both."""

ENDINGS = ("svg", "png", "pdf")

# The colours of Okabe and Ito (2008), which people with any colour vision tell apart.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#000000 #E69F00 #56B4E9 #009E73 #0072B2 #D55E00 #CC79A7".split()
GAIN, LOSS, QUIET, FAINT = BLUE, VERMILION, "#666666", "#BBBBBB"
SHADES = (SKY, BLUE, BLACK, ORANGE, VERMILION)
"""For bars side by side; the first three also go from light to dark."""
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
    """Colour and dashes of a line; the counts have no common factor, so that 42 lines differ."""
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


@contextmanager
def paper_style() -> Iterator[None]:
    """Matplotlib's own defaults and ours on top, whatever the user's settings are; those come back afterwards."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A name may have letters that the font lacks; they become boxes, which says it well enough.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        matplotlib.style.use(["default", _STYLE])
        yield


@contextmanager
def canvas(axes: Axes | None, width: float = COLUMN, height: float = 2.3) -> Iterator[Axes]:
    """The Axes to draw on, in our style: those given, or those of a new figure of this size."""
    with paper_style():
        yield axes if axes is not None else Figure(figsize=(width, height), layout="constrained").add_subplot()


def save_plot(axes: Axes, path: PathLike) -> None:
    """Write the figure of these Axes as svg, png or pdf, by the ending; whole or not at all."""
    ending, figure = ending_of(path), axes.get_figure(root=True)
    if figure is None:
        raise SurefootError("these axes belong to no figure, so there is nothing to write")
    data = BytesIO()
    with paper_style():
        figure.savefig(data, format=ending, metadata=_UNDATED[ending])
    write_bytes(path, data.getvalue())


def ending_of(path: PathLike) -> str:
    """The format that a file's ending names.

    >>> ending_of("alpha.SVG")
    'svg'
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise SurefootError(f"{path}: figures are written as {', '.join(ENDINGS)}; name a file with one of these")
    return ending


def plain(name: str, most: int = 24) -> str:
    r"""A name as a label: never read as mathematics, no control characters, and cut in the middle if it is long.

    >>> plain("$x_1$"), plain("a-run-whose-name-has-no-end-v2")
    ('\\$x_1\\$', 'a-run-whose-nam…o-end-v2')
    """
    visible = "".join(letter if letter.isprintable() else "?" for letter in name)
    if len(visible) > most:
        visible = f"{visible[: most - 9]}…{visible[-8:]}"
    return visible.replace("$", r"\$")


def names_on(axes: Axes, which: Literal["x", "y"], places: Sequence[float], names: Sequence[str], **look: Any) -> None:
    """Names as tick labels of the axis ``which``."""
    (axes.set_xticks if which == "x" else axes.set_yticks)(places, [plain(name) for name in names], **look)
    axes.tick_params(axis=which, length=0)


def phrase(first: str, second: str, most: int = 48) -> str:
    r"""Two parts of an axis label, on one line if it is shorter than ``most``.

    >>> phrase("loss", "against bm25"), phrase("nDCG@10 difference", "from a-run-of-an-uncommonly-long-name")
    ('loss against bm25', 'nDCG@10 difference\nfrom a-run-of-an-uncommonly-long-name')
    """
    return f"{first} {second}" if len(first) + len(second) < most else f"{first}\n{second}"


def signed(number: float, digits: int) -> str:
    """A number with a true minus sign.

    >>> signed(-0.25, 1)
    '−0.2'
    """
    return f"{number:.{digits}f}".replace("-", "−")


def legend(axes: Axes, handles: Sequence[Any], names: Sequence[str], **look: Any) -> None:
    """A legend of names; a thin space keeps matplotlib from leaving out those that begin with an underscore."""
    axes.legend(handles, [f"\u2009{plain(name)}" for name in names], **look)


MEASURES = {
    "urisk": r"$U_{\mathrm{Risk}}$",
    "trisk": r"$T_{\mathrm{Risk}}$",
    "zrisk": r"$Z_{\mathrm{Risk}}$",
    "georisk": "GeoRisk",
    "frisk": r"$F_{\mathrm{Risk}}$",
    "freward": r"$F_{\mathrm{Reward}}$",
    "geominus_published": "Geo− as printed",
    "gmean": "geometric mean",
}


def measure_label(word: str) -> str:
    """A risk measure as print shows it; a word without a form of its own stays."""
    if word.startswith("tail_"):
        return f"tail risk, worst {100 * float(word[5:]):g} %"
    return MEASURES.get(word, plain(word))
