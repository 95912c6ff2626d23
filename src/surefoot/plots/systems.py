"""Systems as curves: scores over the topics, distributions of scores, and risk over alpha."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from surefoot._typing import FloatArray
from surefoot.analysis.evaluate import Evaluation, evaluate
from surefoot.errors import SurefootError, choose
from surefoot.plots import style
from surefoot.results import Result
from surefoot.risk import get_risk
from surefoot.risk.measures import evaluated
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import critical_value

FEW_SHAPES = 8
"""Up to this number of shapes, all are named."""
FEW_TOPICS = 15
"""Up to this number of topics, one column is wide enough."""
STEPS = 101
"""Points of a curve over alpha."""


def score_shapes(
    scores: ScoresLike,
    *,
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    order: str = "table",
    axes: Axes | None = None,
) -> Axes:
    """The shape of each system, its scores over the topics, beside the MEAN of the systems drawn.

    A system with the shape of the mean (*concordant* with it) does as expected on every topic. A system that rises
    where the mean falls takes risks, even if its own mean is high. Dinçer, Macdonald and Ounis, SIGIR 2016, figure 1,
    shows monotone, alternating and concordant systems of the same mean.

    Parameters
    ----------
    scores
        The scores of all systems.
    systems
        The systems to draw, whose MEAN is drawn too; all by default.
    label
        The systems to name; by default all up to 8, else the best, the median and the worst by mean. Others are grey.
    order
        The order of topics: ``"table"``, as in the scores, or ``"mean"``, the easiest first by the MEAN.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> axes = score_shapes(Scores([[0.2, 0.4], [0.3, 0.1]], ["a", "b"], ["q1", "q2"]), order="mean")
    >>> [text.get_text() for text in axes.get_xticklabels()], [line.get_label() for line in axes.lines]
    (['q1', 'q2'], ['a', 'b', 'MEAN'])
    """
    scores = Scores.of(scores)
    shown = scores.select(systems)
    mean = shown.values.mean(axis=0)
    by_mean = choose(order, ("table", "mean"), "order") == "mean"
    topics = np.argsort(-mean, kind="stable") if by_mean else np.arange(len(mean))
    few = label is None and len(shown.systems) <= FEW_SHAPES
    named = list(shown.systems) if few else _named(shown, label)
    with style.canvas(axes, style.COLUMN if len(topics) <= FEW_TOPICS else style.PAGE, 2.5) as axes:
        x = np.arange(len(topics))
        marker: dict[str, Any] = {"marker": ".", "markersize": 3} if len(topics) <= FEW_TOPICS else {}
        curves = {name: (x, row[topics]) for name, row in zip(shown.systems, shown.values, strict=True)}
        lines = _draw(axes, curves, named, **marker)
        lines += axes.plot(x, mean[topics], color=style.BLACK, linewidth=2, label="MEAN", zorder=4)
        style.label_ticks(axes, "x", x.tolist(), [shown.topics[index] for index in topics], rotation=90, fontsize=5)
        axes.set(xlim=(-0.5, len(topics) - 0.5), ylabel=style.label_text(scores.measure, 40))
        axes.set_xlabel("topic, the easiest first" if by_mean else "topic")
        style.legend(axes, lines, [*named, "MEAN"], loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def profile(
    scores: ScoresLike,
    *,
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """The fraction of topics on which a system scores at least x, for every x: the survival function of the scores.

    A curve above another is better at every level. If two curves cross, one system has more good topics, the other
    fewer bad ones. The area under a curve is the mean of the system.

    Parameters
    ----------
    scores
        The scores of all systems.
    systems
        The systems to draw; all by default.
    label
        The systems to name; by default the best, the median and the worst by mean. Others are grey.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> profile(Scores([[0.2, 0.4], [0.3, 0.1]], ["a", "b"], [1, 2])).get_ylabel()
    'share of topics scoring that or more'
    """
    scores = Scores.of(scores)
    shown = scores.select(systems)
    named = _named(shown, label)
    with style.canvas(axes) as axes:
        levels = np.sort(shown.values, axis=1)
        low, top = min(0.0, float(levels.min())), float(levels.max())
        share = [1.0, *(1 - np.arange(levels.shape[1]) / levels.shape[1]), 0.0]
        # A curve holds its height up to each score and falls right after it.
        curves = {name: ([low, *row, row[-1]], share) for name, row in zip(shown.systems, levels, strict=True)}
        lines = _draw(axes, curves, named, drawstyle="steps-pre")
        axes.set(xlim=(low, top if top > low else low + 1), ylim=(0, 1.02))
        axes.set(xlabel=style.label_text(scores.measure, 40), ylabel="share of topics scoring that or more")
        style.legend(axes, lines, named, loc="upper right", frameon=True, framealpha=0.8, edgecolor="none")
    return axes


def _named(scores: Scores, label: Sequence[str] | None) -> list[str]:
    """The systems to name; by default the best, the median and the worst by mean."""
    means = scores.values.mean(axis=1)
    if label is not None:
        return style.names_to_show(scores.systems, means, label)
    order = np.argsort(-means, kind="stable")
    return [scores.systems[i] for i in (order if len(order) <= 4 else order[[0, len(order) // 2, len(order) - 1]])]


def alpha_curves(
    scores: ScoresLike | Evaluation,
    baseline: str | None = None,
    *,
    of: str = "trisk",
    alpha: Sequence[float] = (0, 10),
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """T_Risk, U_Risk, Z_Risk, GeoRisk or a registered measure of every system over a range of alpha.

    Dashed lines show the critical values of T_Risk: beyond them it is significant. On curves of U_Risk, a triangle
    marks where T_Risk falls below the lower critical value. After Dinçer, Macdonald and Ounis, SIGIR 2014, figure 1
    (T_Risk) and SIGIR 2016, figures 2 and 3 (GeoRisk).

    Parameters
    ----------
    scores
        The scores, or an `Evaluation` of them at several alphas.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    of
        The measure.
    alpha
        The ends of the range.
    systems
        The systems to draw; all by default.
    label
        The systems to name; by default the two largest and the two smallest at the right end. Others are grey.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.6]], ["a", "b"], [1, 2, 3])
    >>> [line.get_label() for line in alpha_curves(scores, "a", of="urisk").lines][:2]
    ['a', 'b']
    """
    found = scores if isinstance(scores, Evaluation) else _over_alpha(scores, baseline, of, alpha, systems)
    grid, curves = _curves(found, of)
    names = list(curves)
    # The curve of the baseline itself says nothing, so it is named only on request.
    own = set(found["baseline"].tolist()) if "baseline" in found.columns else set()
    last = [np.nan if name in own else curves[name][-1] for name in names]
    named = [name for name in style.names_to_show(names, last, label) if np.isfinite(curves[name]).any()]
    with style.canvas(axes, height=2.5) as axes:
        _draw(axes, {name: (grid, curve) for name, curve in curves.items()}, named)
        axes.set(xlim=(grid[0], grid[-1]), xlabel="risk sensitivity α", ylabel=style.measure_label(of))
        reference = get_risk(of).reference
        if reference is not None:
            axes.axhline(reference, color=style.QUIET, linewidth=0.5, zorder=1)
        if of == "trisk":
            _critical_lines(axes, _topics(found))
        if of == "urisk":
            _mark_significant(axes, grid, curves, found, named)
        looks = [_look(name, named) for name in named]
        if named:
            style.label_ends(axes, float(grid[-1]), [curves[name][-1] for name in named], named, looks)
    return axes


def _measures() -> list[str]:
    """The measures of an evaluation that depend on alpha."""
    return [one.name for one in evaluated(has_baseline=True) if one.uses_alpha and one.higher_is_better is not None]


def _over_alpha(
    scores: Scores, baseline: str | None, of: str, alpha: Sequence[float], systems: Sequence[str] | None
) -> Evaluation:
    if baseline is None and get_risk(of).needs == "baseline":
        raise SurefootError(f"{of} needs a baseline; name one")
    return evaluate(scores, baseline, np.linspace(np.min(alpha), np.max(alpha), STEPS), systems=systems)


def _curves(found: Result, of: str) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The alphas, and the values of each system at them."""
    choose(of, [name for name in _measures() if name in found.columns], "of")
    if "measure" in found.columns:
        raise SurefootError("curves over alpha show one effectiveness measure; evaluate one at a time")
    grid = np.unique(found["alpha"])
    names = dict.fromkeys(found["system"].tolist())
    if grid.size < 2:
        raise SurefootError("a curve over alpha needs a range: give two or more alphas, such as 0,10")
    curves = {}
    for name in names:
        rows = np.flatnonzero(found["system"] == name)
        curves[name] = found[of][rows[np.argsort(found["alpha"][rows])]]
    return grid, curves


def _topics(found: Result) -> int:
    return int(found["wins"][0] + found["losses"][0] + found["ties"][0])


def _critical_lines(axes: Axes, topics: int) -> None:
    """Lines where T_Risk becomes significant, and a label with the critical value."""
    critical = critical_value(topics)
    if not np.isfinite(critical):
        return
    words = f"significant beyond ±{critical:.2f}"
    style.critical_lines(axes, critical, words, xytext=(-2, 2), ha="right")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -1.3 * critical), max(high, 1.3 * critical))


def _mark_significant(
    axes: Axes, grid: FloatArray, curves: dict[str, FloatArray], found: Result, named: Sequence[str]
) -> None:
    """A triangle where a named curve of U_Risk begins to be significantly below 0."""
    tests, critical = _curves(found, "trisk")[1], critical_value(_topics(found))
    marked = False
    for name in named:
        beyond = np.flatnonzero(tests[name] < -critical)
        if beyond.size:
            marked = True
            color = _look(name, named)["color"]
            axes.plot(grid[beyond[0]], curves[name][beyond[0]], "v", color=color, markersize=4.5, clip_on=False)
    if marked:
        axes.plot([], [], "v", color=style.QUIET, markersize=4.5, label="significantly below 0 from here on")
        handle = axes.lines[-1]
        axes.legend([handle], [str(handle.get_label())], loc="lower left", handlelength=1)


def _draw(
    axes: Axes, curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]], named: Sequence[str], **look: Any
) -> list[Line2D]:
    """Draw the curves, the named ones on top, and return the lines of the named ones."""
    order = [*(name for name in curves if name not in named), *named]
    lines = [axes.plot(*curves[name], label=name, **_look(name, named), **look)[0] for name in order]
    return lines[len(lines) - len(named) :]


def _look(name: str, named: Sequence[str]) -> dict[str, Any]:
    if name not in named:
        return {"color": style.FAINT, "linewidth": 0.5, "zorder": 1.5}
    return {**style.line_look(named.index(name)), "zorder": 3}
