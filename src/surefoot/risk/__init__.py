"""Risk measures: value functions, sufficient statistics, the registry of measures, and pure functions of arrays."""

from surefoot.risk.alphas import LARGEST_ALPHA, normalise_alphas, validate_alpha, validate_alphas
from surefoot.risk.functions import (
    compare,
    freward,
    frisk,
    gmean,
    reward_risk,
    tail,
    trisk,
    ugain,
    urisk,
    value_moments,
    win_loss,
)
from surefoot.risk.measures import Risk, get_risk, register, registered, tail_risk, unregister
from surefoot.risk.population import expected, g_squared, geominus_published, georisk, zrisk, zscores
from surefoot.risk.statistics import Comparison, Expectation, tail_count
from surefoot.risk.values import Custom

__all__ = [
    "LARGEST_ALPHA",
    "Comparison",
    "Custom",
    "Expectation",
    "Risk",
    "compare",
    "expected",
    "freward",
    "frisk",
    "g_squared",
    "geominus_published",
    "georisk",
    "get_risk",
    "gmean",
    "normalise_alphas",
    "register",
    "registered",
    "reward_risk",
    "tail",
    "tail_count",
    "tail_risk",
    "trisk",
    "ugain",
    "unregister",
    "urisk",
    "validate_alpha",
    "validate_alphas",
    "value_moments",
    "win_loss",
    "zrisk",
    "zscores",
]
