"""Figures of agreement: systems and their baseline, rankings by two values, means and the normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from surefoot._names import as_names
from surefoot.errors import SurefootError, choose
from surefoot.plots import style
from surefoot.plots.agreement import corners
from surefoot.plots.values import LOOKS
from surefoot.results import Result
from surefoot.scores import Scores, ScoresLike
from surefoot_lab.agreement.normality import Normality, normality
from surefoot_lab.agreement.rankings import value_agreement
from surefoot_lab.agreement.systems import baseline_bias, partial_correlation


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

    Among points of the same shade, those to the right fail where the baseline fails. They lie higher: they look safer
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
    with style.canvas(axes, height=2.8) as axes:
        shade = axes.scatter(
            points[:, 0], points[:, 1], 16, found["mean"], cmap="cividis", edgecolor="white", linewidth=0.4, zorder=3
        )
        axes.figure.colorbar(shade, ax=axes, fraction=0.05, pad=0.02, label=f"mean {style.label_text(scores.measure)}")
        axes.margins(0.1)
        axes.axhline(0, color=style.QUIET, linewidth=0.5, zorder=1)
        axes.set(xlabel=f"correlation with {style.label_text(baseline)} over topics")
        axes.set_ylabel(f"{style.measure_label('urisk')} at α = {alpha:g}")
        partial = partial_correlation(found["correlation"], found["urisk"], found["mean"])
        axes.set_title(f"partial correlation, given the mean: {partial:.2f}", loc="left")
        named = corners(names, points) if label is None else style.names_to_show(names, np.zeros(len(names)), label)
        style.label_points(axes, points, names, [names.index(name) for name in named])
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
    with style.canvas(axes, style.COLUMN if len(sizes) * len(of) <= 36 else style.PAGE) as axes:
        for number, measure in enumerate(of):
            rows = scores["measure"] == measure
            left = np.arange(len(sizes)) + (number - (len(of) - 1) / 2) * width
            bars: dict[str, Any] = {"width": width * 0.9, "linewidth": 0.5, "edgecolor": style.SHADES[number]}
            axes.bar(
                left, scores["minimum"][rows], color=style.SHADES[number], label=style.measure_label(measure), **bars
            )
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
    except SurefootError:  # monotone values raise any other error again
        return value_agreement(scores, baseline, alpha, value="monotone"), "monotone"


def qq_lines(
    scores: ScoresLike | Normality,
    system: str | None = None,
    baseline: str | None = None,
    *,
    alpha: float = 1.0,
    n_resamples: int = 10_000,
    seed: int = 0,
    axes: Axes | None = None,
) -> Axes:
    """Bootstrap means of U_Risk against normal quantiles: by plain differences, linear and smooth values.

    Means are standardised, so a normal distribution lies on the diagonal. An end below it on the left is a heavier
    tail of losses than T_Risk assumes. Benham, Moffat and Culpepper, ECIR 2020, figure 3.

    Parameters
    ----------
    scores
        The scores, or a `Normality`.
    system, baseline
        The pair to compare.
    alpha
        Risk sensitivity.
    n_resamples, seed
        Number of bootstrap resamples, and the seed of the random numbers.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((2, 40)) ** 3, ["old", "new"], range(40))
    >>> [line.get_label() for line in qq_lines(scores, "new", "old", n_resamples=500).lines[:2]]
    ['none', 'linear']
    """
    if isinstance(scores, Normality):
        found = scores
    elif system is None or baseline is None:
        raise SurefootError("a Q-Q plot needs a system and a baseline; name both")
    else:
        found = normality(scores, system, baseline, alpha, n_resamples, seed)
    with style.canvas(axes, height=3.2) as axes:
        lines, words, reach = [], [], 1.0
        for kind, plot in found.plots.items():
            if np.isfinite(plot.ppcc):
                seen = _worth_drawing(len(plot.ordered))
                z = (plot.ordered - plot.ordered.mean()) / plot.ordered.std(ddof=1)
                lines += axes.plot(plot.theoretical[seen], z[seen], label=kind, **LOOKS[kind])  # type: ignore[arg-type]
                words.append(f"{kind}: correlation {plot.ppcc:.4f}")
                reach = 1.05 * max(reach / 1.05, float(np.abs(z).max()), float(plot.theoretical[-1]))
        axes.axline((0, 0), slope=1, color=style.FAINT, linewidth=0.7, zorder=1)
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.set(xlabel="normal quantile", ylabel="standardised bootstrap mean")
        axes.legend(lines, words, loc="upper left")
    return axes


def _worth_drawing(n: int) -> slice | list[int]:
    """All of a small sample; of a large one both ends, and enough between them for a line."""
    if n <= 600:
        return slice(None)
    return [*range(100), *range(100, n - 100, max(1, n // 400)), *range(n - 100, n)]
