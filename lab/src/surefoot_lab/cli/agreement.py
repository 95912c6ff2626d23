"""The kinds of `surefoot agreement` that the papers need: measures, values, correlation, normality, G²."""

from __future__ import annotations

from surefoot.cli import options as opt
from surefoot.cli.evaluate import kind_of_agreement
from surefoot.cli.options import names, option

NEEDED = opt.BASELINE.but(required=True)
COMMANDS = {
    "agreement measures": kind_of_agreement(
        "surefoot_lab.rank_agreement", "Kendall's tau and RBO between the orders by each two measures",
        opt.BASELINE, opt.ALPHA,
        option("--of", dest="measures", type=names, default=[], metavar="LIST",
               help="measures (default: mean,urisk,trisk,zrisk,georisk)"),
    ),
    "agreement values": kind_of_agreement(
        "surefoot_lab.value_agreement",
        "RBO between the orders by linear and by smooth or monotone values (ECIR 2020, figure 4)",
        NEEDED, opt.ALPHA,
        opt.VALUE[0].but(choices=("smooth", "monotone"), default="smooth", help="(default: smooth)"), opt.VALUE[1],
    ),
    "agreement correlation": kind_of_agreement(
        "surefoot_lab.baseline_bias",
        "each system's correlation with the baseline, and its effect on U_Risk (ECIR 2014)",
        opt.SYSTEMS, NEEDED, opt.ALPHA,
        option("--method", choices=("pearson", "spearman"), default="pearson", help="(default: pearson)"),
    ),
    "agreement normality": kind_of_agreement(
        "surefoot_lab.normality", "is the mean close to normal? (ECIR 2020, figure 3)",
        opt.SYSTEM.but(required=True), NEEDED, opt.ALPHA, *opt.RESAMPLING,
    ),
    "agreement g2": kind_of_agreement(
        "surefoot_lab.independence", "do systems and topics interact? G², its degrees of freedom and p (SIGIR 2016)",
        opt.SYSTEMS,
    ),
}  # fmt: skip
