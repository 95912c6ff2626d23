"""One system against its baseline, topic by topic: scores, values, T_J, and counts of helped and hurt topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from surefoot._names import as_names
from surefoot._typing import BoolArray, FloatArray
from surefoot.analysis.explore import change_counts, change_labels
from surefoot.errors import SurefootError, counted
from surefoot.plots import style
from surefoot.risk import normalise_alphas
from surefoot.risk.values import Linear
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.inference import critical_value, topic_inference

MOST_TOPICS = 80
"""The most topics drawn as bars; of more, only the worst and the best are drawn."""
NAMED_TOPICS = 5


def topic_bars(
    scores: ScoresLike,
    system: str | Sequence[str],
    baseline: str,
    *,
    alpha: npt.ArrayLike = (0, 1, 5),
    axes: Axes | None = None,
) -> Axes:
    """T_J of each topic at several alphas, with the critical values.

    A bar below the lower dashed line is a topic that loses significantly; as alpha grows, losses stand out more and
    gains less. The topics of one system are ordered by T_J at the first alpha, the worst first. Several systems have a
    panel each, with the topics in the order of the scores, to compare a topic across systems. Of more than 80 topics
    only the 40 worst and the 40 best (of the first system) are drawn. Dinçer, Macdonald and Ounis, SIGIR 2014, figure
    2, where the critical value is rounded to 2.

    Parameters
    ----------
    scores
        The scores of all systems.
    system
        The system to explore, or several.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        Up to five risk sensitivities.
    axes
        Where to draw one system; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.6]], ["a", "b"], [1, 2, 3])
    >>> [text.get_text() for text in topic_bars(scores, "b", "a", alpha=0).get_xticklabels()]
    ['2', '1', '3']
    """
    scores = Scores.of(scores)
    alphas = normalise_alphas(alpha)
    if len(alphas) > len(style.SHADES):
        raise SurefootError(f"bars can show up to {len(style.SHADES)} alphas; got {len(alphas)}")
    names = as_names(system)
    if not names or (axes is not None and len(names) > 1):
        raise SurefootError("name one system to draw on the given axes, or leave out the axes to draw several")
    tj = {name: _tj(scores[name], scores.baseline(baseline), alphas) for name in names}
    order = _topic_order(tj[names[0]][0], by_value=len(names) == 1)
    width = 0.84 / len(alphas)
    with style.canvas(axes, style.PAGE, 2.4 if len(names) == 1 else 0.5 + 1.35 * len(names)) as first:
        panels = _stacked(first, len(names))
        for panel, name in zip(panels, names, strict=True):
            for index, (one, row) in enumerate(zip(alphas, tj[name][:, order], strict=True)):
                left = np.arange(len(row)) + (index - (len(alphas) - 1) / 2) * width
                panel.bar(left, row, width, color=style.SHADES[index], label=f"α = {one:g}", linewidth=0)
            panel.axhline(0, color="black", linewidth=0.5)
            critical = critical_value(tj[name].shape[1])
            look = {"xytext": (2, 0), "va": "center", "annotation_clip": False}
            style.critical_lines(panel, critical, f"±{critical:.2f}", "_critical", 2, **look)
            panel.set(xlim=(-0.7, len(order) - 0.3), ylabel=r"$T_J$")
            panel.set_title(f"{style.label_text(name)} against {style.label_text(baseline)}", loc="left")
        last = panels[-1]
        style.label_ticks(
            last, "x", range(len(order)), [scores.topics[index] for index in order], rotation=90, fontsize=5
        )
        half = f": the {len(order) // 2} worst and the {len(order) // 2} best of {len(scores.topics):,}"
        last.set_xlabel("topic" + (half if len(order) < len(scores.topics) else ""))
        first.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(alphas), borderpad=0, handlelength=1.5)
    return first


def _tj(own: FloatArray, base: FloatArray, alphas: FloatArray) -> FloatArray:
    """T_J of each topic, alphas × topics."""
    tj = np.stack([topic_inference(own, base, float(one)).tj for one in alphas])
    if np.isnan(tj).any():
        raise SurefootError("T_J is undefined: all topics differ alike, or there is only one")
    return tj


def _topic_order(tj: FloatArray, by_value: bool) -> npt.NDArray[np.intp]:
    """The topics to draw, the worst first or in the order of the scores; of too many only both ends."""
    order = np.argsort(tj, kind="stable")
    half = MOST_TOPICS // 2
    order = order if len(order) <= MOST_TOPICS else np.concatenate([order[:half], order[-half:]])
    return order if by_value else np.sort(order)


def _stacked(first: Axes, count: int) -> list[Axes]:
    """The first Axes, and below it further Axes that share its topics."""
    if count == 1:
        return [first]
    figure: Any = first.get_figure(root=True)
    grid = figure.add_gridspec(count, 1)
    first.set_subplotspec(grid[0])
    panels = [first, *(figure.add_subplot(grid[row], sharex=first) for row in range(1, count))]
    for panel in panels[:-1]:
        panel.tick_params(axis="x", labelbottom=False, length=0)
    return panels


def paired_scores(scores: ScoresLike, system: str, baseline: str, *, axes: Axes | None = None) -> Axes:
    """A system's score against the baseline's, one point for each topic; below the diagonal the system is worse.

    The topics that lose most are named. Points far from the diagonal on both sides show that the two systems do well on
    different topics; a baseline similar to the system would hide that. After Dinçer, Ounis and Macdonald, ECIR 2014,
    figure 3.

    Parameters
    ----------
    scores
        The scores of all systems.
    system
        The system to explore.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.6]], ["a", "b"], [1, 2, 3])
    >>> paired_scores(scores, "b", "a").get_xlabel()
    'score: a'
    """
    scores = Scores.of(scores)
    own, base = scores[system], scores.baseline(baseline)
    d = own - base
    with style.canvas(axes, height=3.35) as axes:
        low, high = min(0.0, own.min(), base.min()), max(own.max(), base.max(), 1e-9)
        margin = 0.03 * (high - low)
        limits = (low - margin, high + margin)
        axes.plot(limits, limits, color=style.QUIET, linewidth=0.6, zorder=1)
        groups: dict[str, tuple[BoolArray, dict[str, Any]]] = {
            "better": (d > 0, {"marker": "o", "facecolor": style.GAIN, "edgecolor": "white"}),
            "worse": (d < 0, {"marker": "v", "facecolor": "white", "edgecolor": style.LOSS}),
            "equal": (d == 0, {"marker": "s", "facecolor": style.FAINT, "edgecolor": style.QUIET}),
        }
        for word, (which, look) in groups.items():
            if which.any():
                count = counted(int(which.sum()), "topic")
                axes.scatter(base[which], own[which], s=14, linewidth=0.7, label=f"{count} {word}", zorder=3, **look)
        axes.set(xlim=limits, ylim=limits, aspect="equal")
        measure = f"{style.label_text(scores.measure)}:"
        axes.set(xlabel=style.against(measure, baseline, word=""), ylabel=style.against(measure, system, word=""))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, handlelength=1, columnspacing=1)
        worst = [int(index) for index in np.argsort(d, kind="stable")[:NAMED_TOPICS] if d[index] < 0]
        style.label_points(axes, np.column_stack([base, own]), scores.topics, worst, style.LOSS)
    return axes


def sorted_values(
    scores: ScoresLike,
    baseline: str,
    *,
    systems: Sequence[str],
    alpha: npt.ArrayLike = 1.0,
    mutual: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """The value x = v(d) of each topic, from the worst to the best, with a curve for each system and alpha.

    The mean height of a curve is the U_Risk of the system. A deep left end shows that the risk comes from a few topics,
    a long shallow one that it comes from many. After Dinçer, Ounis and Macdonald, ECIR 2014, figures 3 (b) and (c),
    with each run as the baseline of the other, and figure 4, with several alphas.

    Parameters
    ----------
    scores
        The scores of all systems.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    systems
        The systems to draw.
    alpha
        Risk sensitivity, or several.
    mutual
        Whether to draw the baseline against each system too.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.6]], ["a", "b"], [1, 2, 3])
    >>> sorted_values(scores, "a", systems=["b"]).lines[0].get_ydata().round(2)
    array([-0.6,  0.1,  0.1])
    >>> [line.get_label() for line in sorted_values(scores, "a", systems=["b"], mutual=True).lines[:2]]
    ['b against a', 'a against b']
    """
    scores = Scores.of(scores)
    base, names, alphas = scores.baseline(baseline), as_names(systems), normalise_alphas(alpha)
    if not names:
        raise SurefootError("name the systems to draw")
    differences = {name: scores[name] - base for name in names}
    if mutual:
        differences = {f"{name} against {baseline}": d for name, d in differences.items()}
        differences |= {f"{baseline} against {name}": base - scores[name] for name in names}
    several = len(alphas) > 1
    curves = {
        f"{name}, α = {one:g}" if several else name: np.sort(Linear(float(one))(d))
        for name, d in differences.items()
        for one in alphas
    }
    positions = np.arange(1, len(base) + 1)
    with style.canvas(axes) as axes:
        lines = [
            axes.plot(positions, curve, label=name, drawstyle="steps-mid", **style.line_look(index))[0]
            for index, (name, curve) in enumerate(curves.items())
        ]
        axes.axhline(0, color=style.QUIET, linewidth=0.5, zorder=1)
        axes.set(xlim=(0.5, len(base) + 0.5), xlabel="topics, each curve's worst first")
        at = "" if several else f" at α = {alphas[0]:g}"
        words = f"x = v(d){at}"
        axes.set_ylabel(words if mutual else style.against(f"{words},", baseline))
        style.legend(axes, lines, list(curves), loc="lower right")
    return axes


def helped_hurt(
    scores: ScoresLike,
    system: str,
    baseline: str,
    *,
    change: str = "relative",
    axes: Axes | None = None,
) -> Axes:
    """How many topics the system hurts and helps, by the size of the change.

    Unchanged topics have a bar of their own. After Wang, Bennett and Collins-Thompson, SIGIR 2012, figure 1.

    Parameters
    ----------
    scores
        The scores of all systems.
    system
        The system to explore.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    change
        ``"relative"`` to the baseline's score (a gain over 0 counts as more than 100 %), or ``"absolute"``.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.5], [0.3, 0.1, 0.5]], ["a", "b"], [1, 2, 3])
    >>> [int(bar.get_height()) for bar in helped_hurt(scores, "b", "a").patches]
    [0, 1, 0, 0, 1, 0, 1, 0, 0, 0]
    """
    scores = Scores.of(scores)
    counts = change_counts(scores[system], scores.baseline(baseline), change).tolist()
    names = change_labels(change)
    losses = names.index("0")
    positions = np.arange(len(counts)) - losses
    with style.canvas(axes, height=2.4) as axes:
        bars = axes.bar(positions, counts, 0.85, color=style.GAIN, edgecolor="white", linewidth=0)
        for index, bar in zip(positions, bars, strict=True):
            if index <= 0:
                face, edge = ("white", style.LOSS) if index else (style.FAINT, style.FAINT)
                bar.set(facecolor=face, edgecolor=edge, linewidth=0.7)
            if index < 0:
                bar.set_hatch(style.LOSS_HATCH)
        axes.bar_label(bars, [count or "" for count in counts], fontsize=6, padding=1)
        axes.set_xticks(positions, names, rotation=45, ha="right", rotation_mode="anchor")
        axes.set(ylabel="topics", ylim=(0, 1.12 * max(counts)))
        unit = "change in %" if change == "relative" else f"change in {style.label_text(scores.measure)}"
        pair = f"{style.label_text(system, 20)} against {style.label_text(baseline, 20)}"
        axes.set_xlabel(style.phrase(f"{unit},", pair))
        look: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom"}
        axes.text(0, 1.0, f"{sum(counts[:losses]):,} hurt", ha="left", color=style.LOSS, **look)
        axes.text(1, 1.0, f"{sum(counts[losses + 1 :]):,} helped", ha="right", color=style.GAIN, **look)
    return axes
