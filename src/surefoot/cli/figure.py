"""surefoot figure: the plots of the papers, made from your own data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import surefoot
from surefoot._lazy import plugins
from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.options import Command, Option, names, number, numbers, option
from surefoot.errors import SurefootError, listed

if TYPE_CHECKING:
    from surefoot.scores import Scores


@dataclass(frozen=True)
class Figure:
    """A kind of figure. ``draw`` takes the value of ``read``, and the given options as keyword arguments."""

    draw: Callable[..., Any]
    summary: str
    options: Sequence[Option]
    inputs: Sequence[Option]
    read: Callable[[argparse.Namespace], Any]

    def command(self) -> Command:
        """The command that draws the figure."""
        file = opt.OUTPUT.but(required=True, help="ends in .svg, .png or .pdf")
        return Command(self._run, (*self.inputs, file, *self.options), summary=self.summary)

    def _run(self, arguments: argparse.Namespace) -> int:
        from surefoot.plots.style import ending_of, save_plot

        ending_of(arguments.output)  # refuses an unknown ending before the work
        options = inputs.given(arguments, *(each.name for each in self.options))
        chosen = {name: value for name, value in options.items() if value is not None}
        data = self.read(arguments)
        with inputs.progress("Drawing", log="none"):
            save_plot(self.draw(data, **chosen), arguments.output)
        return 0


def _scores(arguments: argparse.Namespace) -> Scores | None:
    """The scores to draw; value functions need none."""
    given = arguments.scores or arguments.runs or arguments.repeats or arguments.baseline
    if arguments.kind == "values" and not given:
        return None
    scores = inputs.load_one(arguments)
    inputs.print_notes(scores.all_notes)
    return scores if arguments.population is None else _population(scores, arguments)


def _population(scores: Scores, arguments: argparse.Namespace) -> Scores:
    """Only the systems of the population, which must include the systems that the figure names."""
    from surefoot._names import as_names
    from surefoot.scores import VIRTUAL

    named = [as_names(getattr(arguments, option, None) or ()) for option in ("system", "systems", "baseline", "label")]
    outside = [name for names in named for name in names if name not in (*arguments.population, *VIRTUAL)]
    if outside:
        raise SurefootError(f"--population must include the systems and baselines of the figure; add {listed(outside)}")
    return scores.select(arguments.population)


def figure_of_scores(function: str, summary: str, *options: Option, package: Any = surefoot.plots) -> Figure:
    """A figure of scores, by the public name of its function, which is loaded for drawing."""
    return Figure(lambda *data, **given: getattr(package, function)(*data, **given), summary, options, SCORES, _scores)


SCORES = (
    *opt.INPUTS,
    option("--population", type=names, metavar="LIST",
           help="systems behind Z_Risk, GeoRisk, fences and virtual baselines, by comma (default: all read)"),
)  # fmt: skip
NEEDED = opt.BASELINE.but(required=True)
ONE = opt.SYSTEM.but(required=True)
ALPHA = option("--alpha", type=number, metavar="A", help="risk sensitivity: a loss weighs 1 + alpha (default: 1)")
ALPHAS = ALPHA.but(type=numbers, metavar="LIST")
DRAWN = opt.SYSTEMS.but(help="systems to draw, by comma (default: all)")
LABEL = option("--label", type=names, metavar="LIST", help="systems to name (default: all if few, else extremes)")
RESAMPLING = (
    opt.N_RESAMPLES.but(default=None, help="bootstrap resamples (default: 10000)"),
    opt.SEED.but(default=None),
)

FIGURES = {
    "shape": figure_of_scores(
        "score_shapes", "each system's score over the topics, beside the mean (SIGIR 2016, figure 1)", DRAWN, LABEL,
        option("--order", choices=("table", "mean"), help="order of topics: as read (default), or the easiest first"),
    ),
    "profile": figure_of_scores("profile", "how many topics reach each score", DRAWN, LABEL),
    "alpha": figure_of_scores(
        "alpha_curves", "a measure against alpha, with critical values (SIGIR 2014, fig. 1; 2016, figs. 2, 3)",
        opt.BASELINE, option("--of", metavar="MEASURE", help="trisk, urisk, zrisk, georisk … (default: trisk)"),
        ALPHAS.but(help="the ends of the range (default: 0,10)"), DRAWN, LABEL,
    ),
    "topics": figure_of_scores(
        "topic_bars", "T_J of each topic, of one system or several, with the threshold (SIGIR 2014, figure 2)",
        ONE.but(type=names, metavar="LIST", help="one system, or several by comma"), NEEDED,
        ALPHAS.but(help="up to five, by comma (default: 0,1,5)"),
    ),
    "pca": figure_of_scores(
        "pca_map", "a map of the systems, with virtual baselines (ECIR 2014, figures 1, 2)", DRAWN, LABEL,
        option("--include", action="store_true", help="MEAN, MEDIAN and MAX take part in the analysis"),
    ),
    "paired": figure_of_scores(
        "paired_scores", "a system's scores over the baseline's, topic by topic (ECIR 2014, figure 3a)", ONE, NEEDED
    ),
    "sorted": figure_of_scores(
        "sorted_values", "the part of each topic in U_Risk, the worst first (ECIR 2014, figures 3b, 3c, 4)",
        option("--systems", "--system", "--candidate", type=names, required=True, metavar="LIST",
               help="systems to draw, by comma"),
        NEEDED, ALPHAS.but(help="one or several, by comma (default: 1)"),
        option("--mutual", action="store_true", help="also draw the baseline against each system"),
    ),
    "differences": figure_of_scores(
        "difference_boxes", "score differences with their fences (ECIR 2020, figure 1)", NEEDED, DRAWN
    ),
    "values": figure_of_scores(
        "value_functions", "the value of a difference: linear, smooth, monotone (ECIR 2020, figure 2)", opt.BASELINE,
        ALPHA,
    ),
    "helped": figure_of_scores(
        "helped_hurt", "how many topics were helped and hurt, and how much (SIGIR 2012, figure 1)", ONE, NEEDED,
        option("--change", choices=("relative", "absolute"),
               help="relative to the baseline's score (default), or in the measure"),
    ),
    "cross": figure_of_scores("cross_map", "U_Risk of every system against every other, as a heat map", ALPHA, DRAWN),
    "plane": figure_of_scores(
        "risk_reward", "risk and reward of every system, with intervals", NEEDED, ALPHA, DRAWN, LABEL, *RESAMPLING
    ),
    "forest": figure_of_scores(
        "forest", "a measure of every system with its interval", opt.BASELINE,
        option("--of", metavar="MEASURE", help="mean, urisk, trisk, zrisk, georisk, tail_0.1 … (default: georisk)"),
        ALPHA, DRAWN,
        option("--method", choices=("studentised", "bca", "percentile", "jackknife"),
               help="method of the intervals (default: studentised)"),
        *RESAMPLING,
    ),
}  # fmt: skip
"""The kinds of figures. Options are keyword arguments of the kind's function; options not given keep its defaults."""


def _kinds() -> dict[str, Command]:
    """The figures, and those that other distributions register by the entry-point group ``surefoot.figures``."""
    found = FIGURES.copy()
    for *_, figures in plugins("surefoot.figures"):
        found |= figures
    return {name: figure.command() for name, figure in found.items()}


COMMANDS = {
    "figure": Command(
        kinds=_kinds,
    ),
}
