"""How far rankings and systems agree: overlap, rank correlation, Friedman's test, principal axes."""

from surefoot.stats.agreement.correlation import (
    Friedman,
    Kendall,
    baseline_correlations,
    correlation,
    friedman,
    kendall,
)
from surefoot.stats.agreement.pca import PCA, PrincipalAxes, pca, principal_axes
from surefoot.stats.agreement.rbo import RBO, ranking, rbo

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
]
