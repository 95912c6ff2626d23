"""How far rankings and systems agree: overlap, rank correlation, Friedman's test, principal axes."""

from surefoot.agreement.axes import PCA, PrincipalAxes, pca, principal_axes
from surefoot.agreement.concordance import (
    Friedman,
    Kendall,
    baseline_correlations,
    correlation,
    friedman,
    kendall,
)
from surefoot.agreement.growing import value_agreement
from surefoot.agreement.overlap import RBO, ranking, rbo

__all__ = [
    "PCA",
    "RBO",
    "Friedman",
    "Kendall",
    "PrincipalAxes",
    "baseline_correlations",
    "correlation",
    "friedman",
    "kendall",
    "pca",
    "principal_axes",
    "ranking",
    "rbo",
    "value_agreement",
]
