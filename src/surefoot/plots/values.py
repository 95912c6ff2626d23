"""Score differences: their spread, and the value functions applied to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from surefoot._typing import FloatArray
from surefoot.analysis.design import Design
from surefoot.errors import SurefootError
from surefoot.plots import style
from surefoot.risk import validate_alpha
from surefoot.risk.values import Linear, Monotone, Smooth, fences, five_points
from surefoot.scores import Scores, ScoresLike

ROW = 0.105
"""Inches of height for each system in figures with a row for each."""

MEAN_MARK = {
    "marker": "D", "markersize": 2.2, "markerfacecolor": "white", "markeredgecolor": style.VERMILION,
    "markeredgewidth": 0.6,
}  # fmt: skip
LOOKS = {
    "none": {"color": style.QUIET, "linestyle": (0, (1, 1))},
    "linear": {"color": style.VERMILION, "linestyle": (0, (5, 1.5))},
    "smooth": {"color": style.BLUE, "linestyle": "-"},
    "monotone": {"color": style.GREEN, "linestyle": (0, (5, 1.5, 1, 1.5))},
}


def difference_boxes(
    scores: ScoresLike, baseline: str, *, systems: Sequence[str] | None = None, axes: Axes | None = None
) -> Axes:
    """Box plots of each system's score differences from the baseline, the best mean on top, and of all together.

    Boxes span the middle half of the topics, whiskers reach to the last topic within 1.5 interquartile ranges, points
    lie beyond, and diamonds are means. The lowest box has the differences of *all* systems; dashed lines show its
    fences, to which the smooth value function is fitted. Benham, Moffat and Culpepper, ECIR 2020, figure 1.

    Parameters
    ----------
    scores
        The scores of all systems.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    systems
        The rows to draw; all by default.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.6]], ["a", "b"], [1, 2, 3])
    >>> difference_boxes(scores, "a").get_xlabel()
    'score difference from a'
    """
    scores = Scores.of(scores)
    base = scores.baseline(baseline)
    shown = sorted(style.systems_shown(scores, systems, baseline), key=lambda name: float(scores[name].mean()))
    style.validate_rows(len(shown))
    pooled = scores.values[[name != baseline for name in scores.systems]] - base
    with style.canvas(axes, height=max(1.2, 0.75 + ROW * (len(shown) + 1))) as axes:
        axes.axvline(0, color=style.QUIET, linewidth=0.5, zorder=1)
        axes.boxplot(
            [pooled.ravel(), *(scores[name] - base for name in shown)],
            orientation="horizontal",
            widths=0.62,
            showmeans=True,
            meanprops=MEAN_MARK,
            patch_artist=True,
            boxprops={"facecolor": "#CFE3F1", "edgecolor": style.BLUE, "linewidth": 0.5},
            medianprops={"color": style.BLACK, "linewidth": 1.1},
            whiskerprops={"color": style.BLUE, "linewidth": 0.5},
            capprops={"color": style.BLUE, "linewidth": 0.5},
            flierprops={"marker": ".", "markersize": 2, "markerfacecolor": style.QUIET, "markeredgecolor": "none"},
        )
        style.label_ticks(axes, "y", range(1, len(shown) + 2), ["All", *shown], fontsize=5.5)
        axes.axhline(1.5, color=style.FAINT, linewidth=0.5)
        axes.set(ylim=(0.3, len(shown) + 1.7))
        axes.set_xlabel(style.against(f"{style.label_text(scores.measure)} difference", baseline, 36, "from"))
        for fence, side, words in zip(fences(pooled), ("right", "left"), ("fences ", ""), strict=True):
            axes.axvline(fence, color=style.VERMILION, linewidth=0.9, linestyle=(0, (4, 2)), label="fence", zorder=4)
            look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "va": "bottom", "fontsize": 6}
            axes.text(fence, 1.005, f"{words}{style.signed(fence, 3)}", ha=side, **look)
    return axes


def value_functions(
    scores: Scores | None = None, baseline: str | None = None, *, alpha: float = 1.0, axes: Axes | None = None
) -> Axes:
    """Value functions of a difference d: v(d) = d, the linear one with a kink at 0, the smooth cubic, the monotone one.

    The smooth function is fitted to the five points drawn; without its intercept, it passes near them. The monotone
    function passes through them. The second and the fourth point are the fences. If no increasing cubic exists for this
    alpha, the plot says so and shows only the others. Benham, Moffat and Culpepper, ECIR 2020, figure 2, with
    `Monotone` added.

    Parameters
    ----------
    scores, baseline
        The scores and the baseline whose differences give the fences; by default the fences are those of the paper.
    alpha
        Risk sensitivity.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> [line.get_label() for line in value_functions(alpha=1).lines][:3]
    ['none', 'linear', 'monotone']
    """
    alpha = validate_alpha(alpha)
    lower, upper = _fences_of(scores, baseline)
    d = np.linspace(-1, 1, 201)
    curves: dict[str, FloatArray] = {
        "none": d,
        "linear": Linear(alpha)(d),
        "monotone": Monotone(alpha, lower, upper)(d),
    }
    try:
        curves["smooth"] = Smooth(alpha, lower, upper)(d)
    except SurefootError:
        refused = f"no smooth v: the cubic\nwould not increase at α = {alpha:g}"
    else:
        refused = ""
    words = {kind: "v(d) = d" if kind == "none" else f"{kind}, α = {alpha:g}" for kind in curves}
    with style.canvas(axes) as axes:
        lines = [axes.plot(d, curve, label=kind, **LOOKS[kind])[0] for kind, curve in curves.items()]  # type: ignore[arg-type]
        axes.axhline(0, color=style.FAINT, linewidth=0.5, zorder=1)
        axes.axvline(0, color=style.FAINT, linewidth=0.5, zorder=1)
        points = np.transpose(five_points(alpha, lower, upper))
        axes.plot(*points, "o", color=style.BLUE, markerfacecolor="white", markersize=3.5, label="fit")
        lines, words = [*lines, axes.lines[-1]], {**words, "fit": "points of the fit"}
        axes.set(xlim=(-1.03, 1.03), xlabel="score difference d", ylabel="its value v(d)")
        axes.legend(
            lines, [words[str(line.get_label())] for line in lines], loc="lower right", title=refused, title_fontsize=6
        )
    return axes


def _fences_of(scores: Scores | None, baseline: str | None) -> tuple[float, float]:
    if scores is None:
        return Smooth.lower, Smooth.upper
    if baseline is None:
        raise SurefootError("value functions fitted to scores need a baseline; name one")
    family = Design.of(scores, baseline, value="smooth").family
    return family.keywords["lower"], family.keywords["upper"]  # type: ignore[attr-defined]
