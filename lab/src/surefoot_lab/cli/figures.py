"""Figures of agreement, and of the folders of `surefoot tradeoff`; the entry-point group is ``surefoot.figures``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import surefoot_lab
from surefoot.cli.figure import ALPHA, DRAWN, LABEL, NEEDED, ONE, RESAMPLING, Figure, figure_of_scores
from surefoot.cli.options import Option, names, numbers, option
from surefoot.errors import SurefootError, did_you_mean

if TYPE_CHECKING:
    from surefoot_lab.tradeoff.search import Choice
    from surefoot_lab.tradeoff.sweep import Sweep

FOLDER = option("folders", metavar="DIR", help="the folder that surefoot tradeoff -o wrote")
ALPHAS = option("--alpha", type=numbers, metavar="LIST", help="one to five of the folder's (default: three)")

BINS = option("--bins", type=int, metavar="N", help="bins of the Kendall distance (default: 10)")


def _sweep(arguments: Namespace) -> Sweep:
    return surefoot_lab.read_sweep(arguments.folders)


def _sweeps(arguments: Namespace) -> list[Sweep]:
    return [surefoot_lab.read_sweep(folder) for folder in arguments.folders]


def _choice(arguments: Namespace) -> Choice:
    return surefoot_lab.read_choice(arguments.folders)


def _figure(
    function: str, summary: str, *options: Option, folder: Option = FOLDER, read: Callable[[Namespace], Any] = _sweep
) -> Figure:
    return Figure(
        lambda *data, **given: getattr(surefoot_lab, function)(*data, **given), summary, options, (folder,), read
    )


def _paper(name: str) -> Any:
    from surefoot_lab.plots.presets import paper_figure

    return paper_figure(name)


def _preset(arguments: Namespace) -> str:
    from surefoot_lab.plots.presets import PRESETS

    name: str = arguments.figure
    if name not in PRESETS:
        raise SurefootError(f"no figure {name!r}{did_you_mean(name, PRESETS)}; there are {', '.join(PRESETS)}")
    return name


AGREEMENT = {
    "correlation": figure_of_scores(
        "correlation_map", "which systems look safe because they resemble the baseline (ECIR 2014)",
        NEEDED, ALPHA, DRAWN, LABEL, package=surefoot_lab,
    ),
    "qq": figure_of_scores(
        "qq_lines", "is the mean close to normal? Q-Q of bootstrap means (ECIR 2020, figure 3)", ONE, NEEDED, ALPHA,
        *RESAMPLING, package=surefoot_lab,
    ),
    "rbo": figure_of_scores(
        "rbo_bars", "do linear and smooth values rank alike? RBO with residuals (ECIR 2020, figure 4)", NEEDED,
        option("--of", type=names, metavar="LIST", help="measures (default: urisk,zrisk,georisk)"), ALPHA,
        package=surefoot_lab,
    ),
}  # fmt: skip
FIGURES = {
    **AGREEMENT,
    "paper": Figure(
        _paper, "a figure of a paper, with its runs, baseline and alphas", (),
        (option("figure", metavar="FIGURE", help="such as ecir2014-fig3a (an unknown name lists all)"),),
        _preset,
    ),
    "tradeoff": _figure(
        "tradeoff_curves", "gain over risk as alpha grows, beside coins and thresholds (SIGIR 2012)",
        ALPHAS.but(help="alphas of the break-even lines (default: 1)"), *RESAMPLING,
        folder=FOLDER.but(nargs="+"), read=_sweeps,
    ),
    "convergence": _figure(
        "convergence_curves", "effectiveness by iteration, a line for each alpha (SIGIR 2012)",
        option("--of", metavar="FIGURE", help="mean, urisk, frisk, freward, losses … (default: mean)"), ALPHAS,
    ),
    "churn": _figure("churn_map", "how far rankings move from the baseline's, by alpha (SIGIR 2012)", BINS),
    "changes": _figure("change_map", "how many queries are helped and hurt, and how much, by alpha (SIGIR 2012)"),
    "reward-by-churn": _figure(
        "reward_bars", "gains and losses of queries, by how far their ranking moves (SIGIR 2012)", ALPHAS, BINS
    ),
    "best-alpha": _figure("best_alpha_bars", "on how many queries each alpha does best (SIGIR 2012)"),
    "front": _figure("search_front", "the trials of a search for alpha, and its recommendation", read=_choice),
}  # fmt: skip
