"""Risk against reward: of every system, of one measure with intervals, and along the path of a guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from surefoot._typing import FloatArray
from surefoot.analysis.intervals import intervals
from surefoot.errors import SurefootError
from surefoot.plots import style
from surefoot.plots.values import ROW
from surefoot.results import Result
from surefoot.risk import Risk, get_risk, validate_alpha
from surefoot.risk.measures import MEAN
from surefoot.scores import Scores, ScoresLike

if TYPE_CHECKING:
    from surefoot.guard.certificate import Certificate
    from surefoot.guard.fitting import GuardFit


def risk_reward(
    scores: ScoresLike,
    baseline: str,
    *,
    alpha: float = 1.0,
    systems: Sequence[str] | None = None,
    label: Sequence[str] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    axes: Axes | None = None,
) -> Axes:
    """The mean loss (F_Risk) and the mean gain (F_Reward) of each system, with 95 % bootstrap intervals.

    The baseline is the origin. Above the solid line a system gains more than it loses. Above the dashed line it does so
    even if losses weigh 1 + alpha: its U_Risk is positive. Measures: Wang, Bennett and Collins-Thompson, SIGIR 2012.

    Parameters
    ----------
    scores
        The scores of all systems.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        Risk sensitivity of the dashed line.
    systems
        The systems to draw; all by default.
    label
        The systems to name, with darker intervals; by default those with the largest and the smallest U_Risk.
    n_resamples, seed
        The number of bootstrap resamples, and the random seed.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> risk_reward(scores, "a", n_resamples=100).get_xlabel()
    'risk: mean loss against a'
    """
    scores = Scores.of(scores)
    alpha = validate_alpha(alpha)
    shown = style.systems_shown(scores, systems, baseline)
    found = intervals(
        scores, baseline, alpha, measures=("frisk", "freward"), systems=shown, n_resamples=n_resamples, seed=seed
    )
    points = found["estimate"].reshape(-1, 2)
    low, high = (np.where(np.isnan(end), points, end) for end in (found[c].reshape(-1, 2) for c in ("low", "high")))
    named = style.names_to_show(shown, points[:, 1] - (1 + alpha) * points[:, 0], label)
    chosen = np.isin(shown, named)
    with style.canvas(axes, height=2.8) as axes:
        x, y = points.T
        for which, color, width, order in ((~chosen, style.FAINT, 0.4, 1.5), (chosen, style.BLACK, 0.8, 2)):
            look: dict[str, Any] = {"color": color, "linewidth": width, "zorder": order}
            axes.hlines(y[which], low[which, 0], high[which, 0], **look)
            axes.vlines(x[which], low[which, 1], high[which, 1], **look)
        axes.scatter(x, y, 12, style.BLUE, edgecolor="white", linewidth=0.4, label="systems", zorder=3)
        axes.set(xlim=(0, 1.05 * max(high[:, 0].max(), 1e-9)), ylim=(0, 1.08 * max(high[:, 1].max(), 1e-9)))
        axes.axline((0, 0), slope=1, color=style.QUIET, linewidth=0.8, label="even")
        dashed: dict[str, Any] = {"linestyle": (0, (4, 2)), "label": "even at alpha"}
        axes.axline((0, 0), slope=1 + alpha, color=style.QUIET, linewidth=0.8, **dashed)
        axes.set(xlabel=style.against("risk: mean loss", baseline), ylabel="reward: mean gain")
        texts = [r"$U_{\mathrm{Gain}}$ = 0", rf"$U_{{\mathrm{{Risk}}}}$ = 0 at α = {alpha:g}"]
        axes.legend(axes.lines[-2:], texts, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
        style.label_points(axes, points, shown, [shown.index(name) for name in named], crossed=True)
    return axes


def forest(
    scores: ScoresLike | Result,
    baseline: str | None = None,
    *,
    of: str = "georisk",
    alpha: float = 1.0,
    systems: Sequence[str] | None = None,
    method: str = "studentised",
    n_resamples: int = 10_000,
    seed: int = 0,
    axes: Axes | None = None,
) -> Axes:
    """A measure of every system with its 95 % interval, the largest on top.

    For measures whose sign matters, a line marks 0, and intervals beyond it are blue with a triangle up, or vermilion
    with a triangle down. Intervals of two systems may overlap although the difference is significant, since both have
    the same topics: see `difference_intervals`.

    Parameters
    ----------
    scores
        The scores, or the result of `intervals` at one alpha.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    of
        A measure of `intervals`.
    alpha
        Risk sensitivity.
    systems
        The systems to draw; all by default.
    method
        The kind of interval: ``studentised``, ``bca``, ``percentile`` or ``jackknife``.
    n_resamples, seed
        The number of bootstrap resamples, and the random seed.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(0).random((3, 20)), ["a", "b", "c"], range(20))
    >>> [text.get_text() for text in forest(scores, "a", of="urisk", n_resamples=100).get_yticklabels()]
    ['c', 'b', 'a']
    """
    scores = scores if isinstance(scores, Result) else Scores.of(scores)
    if isinstance(scores, Scores):
        words = {"method": method, "n_resamples": n_resamples, "seed": seed}
        found = intervals(scores, baseline, validate_alpha(alpha), measures=[of], systems=systems, **words)  # type: ignore[arg-type]
    else:
        found = scores
    measure = get_risk(of)
    names, rows = _rows(found, measure.name)
    style.validate_rows(len(names))
    with style.canvas(axes, height=max(1.0, 0.55 + ROW * len(names))) as axes:
        zero = measure.reference
        for index, (estimate, low, high) in enumerate(rows):
            beyond = 0 if zero is None else int(low > zero) - int(high < zero)
            color, marker = {0: (style.BLACK, "o"), 1: (style.GAIN, "^"), -1: (style.LOSS, "v")}[beyond]
            axes.hlines(index, low, high, color=color, linewidth=0.8)
            axes.plot(estimate, index, marker, color=color, markersize=3, label=names[index])
        if zero is not None:
            axes.axvline(zero, color=style.QUIET, linewidth=0.6, zorder=1)
        style.label_ticks(axes, "y", range(len(names)), names, fontsize=5.5)
        axes.set(ylim=(-0.7, len(names) - 0.3))
        axes.set_xlabel(_title(scores, baseline, measure, found))
        axes.grid(axis="x", color="#E5E5E5", linewidth=0.4)
        axes.set_axisbelow(True)
    return axes


def _rows(found: Result, of: str) -> tuple[list[str], FloatArray]:
    """The systems with an interval, the smallest estimate first, and estimate, low and high of each."""
    if not {"estimate", "low", "high", "measure"} <= set(found.columns) or np.unique(found["alpha"]).size != 1:
        raise SurefootError("a forest plot draws intervals at one alpha, as surefoot.intervals gives them")
    values = np.column_stack([found[column] for column in ("estimate", "low", "high")])
    kept = np.flatnonzero((found["measure"] == of) & np.isfinite(values).all(axis=1))
    if not kept.size:
        raise SurefootError(f"no system has an interval of {of}")
    order = kept[np.argsort(values[kept, 0], kind="stable")]
    return found["system"][order].tolist(), values[order]


def _title(scores: Scores | Result, baseline: str | None, measure: Risk, found: Result) -> str:
    alpha = f" at α = {found['alpha'][0]:g}" if measure.uses_alpha else ""
    name = style.measure_label(measure.name)
    if measure is MEAN and isinstance(scores, Scores):
        name = style.label_text(scores.measure)
    against = f"\nagainst {style.label_text(baseline)}" if baseline and measure.needs == "baseline" else ""
    return f"{name}{alpha}, 95 % intervals{against}"


def guard_path(fit: GuardFit, *, axes: Axes | None = None) -> Axes:
    """The mean and F_Risk of each step from the baseline to the guard, and of the unguarded candidate.

    If there is a certificate, the certified steps are filled, and a line marks a budget of F_Risk.

    Parameters
    ----------
    fit
        The result of `fit_guard` or `fit_guard_to_runs`.
    axes
        Where to draw; by default a new figure.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> from surefoot import fit_guard
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=600)
    >>> old, new = truth + rng.normal(size=600), truth + 0.6 * rng.normal(size=600)
    >>> fit = fit_guard(old, new, truth > 1, np.arange(0, 601, 10), kinds=["z"])
    >>> guard_path(fit).get_xlabel()
    'F_Risk: mean loss against the baseline'
    """
    frisk, mean = np.array(fit.path["frisk"]), np.array(fit.path["mean"])
    points = (
        (0, "baseline", "s", style.BLACK),
        (-2, f"guard: {fit.guard.towards_baseline(0.0)}", "o", style.BLUE),
        (-1, "candidate, unguarded", "D", style.VERMILION),
    )
    with style.canvas(axes, height=2.4) as axes:
        axes.plot(frisk[:-1], mean[:-1], color=style.FAINT, zorder=1)
        axes.plot(frisk[-2:], mean[-2:], color=style.FAINT, linestyle=(0, (2, 2)), zorder=1)
        filled = np.zeros(frisk.size - 3, np.bool_) if fit.certificate is None else fit.certificate["certified"][:-1]
        for which, face in ((filled, style.BLUE), (~filled, "white")):
            axes.scatter(frisk[1:-2][which], mean[1:-2][which], 9, face, edgecolor=style.BLUE, linewidth=0.6, zorder=2)
        for index, name, marker, color in points:
            axes.scatter(frisk[index], mean[index], 26, color, marker=marker, label=name, zorder=3)
        if fit.certificate is not None:
            _mark_certificate(axes, frisk, mean, fit.certificate)
        axes.set(xlabel="F_Risk: mean loss against the baseline", ylabel=f"mean {fit.guard.card.get('measure', '')}")
        axes.set_xlim(left=-0.03 * max(frisk.max(), 1e-9))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return axes


def _mark_certificate(axes: Axes, frisk: FloatArray, mean: FloatArray, certificate: Certificate) -> None:
    """Mark the certified step by a ring, and the budget by a line."""
    chosen = 0 if certificate.safety == 1 else 1 + list(certificate["safety"]).index(certificate.safety)
    axes.scatter(frisk[chosen], mean[chosen], 70, "none", edgecolor="black", linewidth=0.9, label="promised", zorder=4)
    if certificate.budget.of == "frisk":
        limit = certificate.budget.limit
        axes.axvline(limit, color=style.QUIET, linewidth=0.8, linestyle=(0, (4, 2)), label=f"budget {limit:g}")
