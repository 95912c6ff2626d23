"""The path of a guard: from the baseline's ranking by way of the guard to the candidate left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from surefoot.show.plots.style import BLACK, BLUE, FAINT, QUIET, VERMILION, canvas

if TYPE_CHECKING:
    from surefoot._typing import FloatArray
    from surefoot.guard.certificate import Certificate
    from surefoot.guard.fitting import GuardFit


def guard_path(fit: GuardFit, *, axes: Axes | None = None) -> Axes:
    """Mean against F_Risk of each step from the baseline to the guard, and of the candidate left alone.

    With a certificate the steps that it covers are filled, and a line marks the budget if that is one of F_Risk.

    Parameters
    ----------
    fit
        What `fit_guard` or `fit_guard_to_runs` returned.
    axes
        Where to draw; a new figure if None.

    Returns
    -------
    Axes
        The Axes, to be changed further or written by `save_plot`.

    Examples
    --------
    >>> from surefoot import fit_guard
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=600)
    >>> old, new = truth + rng.normal(size=600), truth + rng.normal(size=600)
    >>> fit = fit_guard(old, new, truth > 1, np.arange(0, 601, 10), kinds=["z"])
    >>> guard_path(fit).get_xlabel()
    'F_Risk: mean loss against the baseline'
    """
    frisk, mean = np.array(fit.path["frisk"]), np.array(fit.path["mean"])
    points = (
        (0, "baseline", "s", BLACK),
        (-2, f"guard: {fit.guard.towards_baseline(0.0)}", "o", BLUE),
        (-1, "candidate left alone", "D", VERMILION),
    )
    with canvas(axes, height=2.4) as axes:
        axes.plot(frisk[:-1], mean[:-1], color=FAINT, zorder=1)
        axes.plot(frisk[-2:], mean[-2:], color=FAINT, linestyle=(0, (2, 2)), zorder=1)
        filled = np.zeros(frisk.size - 3, np.bool_) if fit.certificate is None else fit.certificate["certified"][:-1]
        for which, face in ((filled, BLUE), (~filled, "white")):
            axes.scatter(frisk[1:-2][which], mean[1:-2][which], 9, face, edgecolor=BLUE, linewidth=0.6, zorder=2)
        for index, name, marker, color in points:
            axes.scatter(frisk[index], mean[index], 26, color, marker=marker, label=name, zorder=3)
        if fit.certificate is not None:
            _promise(axes, frisk, mean, fit.certificate)
        axes.set(xlabel="F_Risk: mean loss against the baseline", ylabel=f"mean {fit.guard.card.get('measure', '')}")
        axes.set_xlim(left=-0.03 * max(frisk.max(), 1e-9))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return axes


def _promise(axes: Axes, frisk: FloatArray, mean: FloatArray, certificate: Certificate) -> None:
    """A ring around the step that is promised, and the budget."""
    taken = 0 if certificate.safety == 1 else 1 + list(certificate["safety"]).index(certificate.safety)
    axes.scatter(frisk[taken], mean[taken], 70, "none", edgecolor=BLACK, linewidth=0.9, label="promised", zorder=4)
    if certificate.budget.of == "frisk":
        limit = certificate.budget.limit
        axes.axvline(limit, color=QUIET, linewidth=0.8, linestyle=(0, (4, 2)), label=f"budget {limit:g}")
