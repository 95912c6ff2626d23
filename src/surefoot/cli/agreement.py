"""surefoot agreement: how far rankings, systems and assumptions agree, in numbers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surefoot.cli import inputs

if TYPE_CHECKING:
    from surefoot.results import Result
    from surefoot.scores import Scores

EXAMPLES = """examples:
  surefoot agreement measures --scores err20.csv --baseline indriCASP --alpha 5
  surefoot agreement correlation --scores err20.csv --baseline indriCASP --alpha 10
  surefoot agreement pca --scores err20.csv --systems a,b,c --include
  surefoot agreement normality --scores err20.csv --system new --baseline old

`surefoot agreement KIND --help` has the options of each."""

KINDS = {
    "measures": "Kendall's tau and RBO between the orders by each two measures",
    "values": "RBO between the orders by linear and by smooth or monotone values (ECIR 2020, figure 4)",
    "correlation": "each system's correlation with the baseline, and what it does to U_Risk (ECIR 2014)",
    "pca": "the systems on principal axes, with virtual baselines (ECIR 2014, figures 1, 2)",
    "normality": "is the mean close to normal? (ECIR 2020, figure 3)",
    "g2": "do systems and topics interact? G², its degrees of freedom and p (SIGIR 2016)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A parser for each kind, with its own options."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True)
    for kind, summary in KINDS.items():
        own = kinds.add_parser(kind, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        inputs.add_inputs(own)
        if kind in ("pca", "g2", "correlation"):
            own.add_argument("--systems", type=inputs.names, metavar="LIST", help="by comma (default: all)")
        if kind not in ("pca", "g2"):
            about = "a system, or MEAN, MEDIAN, MAX of each topic"
            own.add_argument("--baseline", required=kind != "measures", metavar="NAME", help=about)
            inputs.add_alpha(own, several=False)
        _ADD.get(kind, lambda _: None)(own)
        inputs.add_output(own)


def _add_measures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--of", type=inputs.names, default=[], metavar="LIST", help="measures (default: mean,urisk,trisk,zrisk,georisk)"
    )


def _add_values(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--value", choices=("smooth", "monotone"), default="smooth", help="(default: smooth)")
    parser.add_argument("--fences", nargs=2, type=float, metavar=("LOW", "HIGH"), help="(default: those of the data)")


def _add_correlation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--method", choices=("pearson", "spearman"), default="pearson", help="(default: pearson)")


def _add_pca(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--include", action="store_true", help="MEAN, MEDIAN and MAX take part in the analysis")
    parser.add_argument("--centred", action="store_true", help="subtract each topic's mean first")
    parser.add_argument("--axes", type=int, default=2, metavar="N", help="how many (default: 2)")


def _add_normality(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", required=True, metavar="NAME", help="the system to look into")
    inputs.add_resampling(parser)


_ADD = {
    "measures": _add_measures,
    "values": _add_values,
    "correlation": _add_correlation,
    "pca": _add_pca,
    "normality": _add_normality,
}


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, print."""
    inputs.show(_found(inputs.load_one(arguments), arguments), arguments)
    return 0


def _found(scores: Scores, arguments: argparse.Namespace) -> Result:
    import surefoot

    kind = arguments.kind
    if kind == "pca":
        wanted = {"include": arguments.include, "centred": arguments.centred, "axes": arguments.axes}
        return surefoot.pca(scores, systems=arguments.systems, **wanted)
    if kind == "g2":
        return surefoot.independence(scores, systems=arguments.systems)
    baseline, alpha = arguments.baseline, arguments.alpha
    if kind == "measures":
        return surefoot.rank_agreement(scores, baseline, alpha, measures=arguments.of)
    if kind == "values":
        return surefoot.value_agreement(scores, baseline, alpha, value=inputs.value_function(arguments))
    if kind == "correlation":
        return surefoot.baseline_bias(scores, baseline, alpha, systems=arguments.systems, method=arguments.method)
    drawn = (arguments.n_resamples, arguments.seed)
    return surefoot.normality(scores, arguments.system, baseline, alpha, *drawn)
