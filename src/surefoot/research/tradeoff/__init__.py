"""Risk against reward: a model for each alpha, the plane they span, and which to choose."""

from surefoot._lazy import lazy

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from surefoot.research.tradeoff.changes import best_shares, change_counts, change_names, relative_change
    from surefoot.research.tradeoff.churn import churn_counts, kendall_distance, reward_by_churn
    from surefoot.research.tradeoff.convergence import iterations_to, iterations_to_share
    from surefoot.research.tradeoff.curve import Points, alpha_limit, break_even, points, proportional_reduction
    from surefoot.research.tradeoff.files import read_choice, read_sweep, write_choice, write_sweep
    from surefoot.research.tradeoff.hull import Area, area_between, near_optimal, upper_hull
    from surefoot.research.tradeoff.search import choose_alpha
    from surefoot.research.tradeoff.selective import query_feature, selective_curve
    from surefoot.research.tradeoff.sweep import Sweep, sweep_alphas
    from surefoot.research.tradeoff.table import tradeoff_table

_HOME = {
    "Area": "hull",
    "Points": "curve",
    "Sweep": "sweep",
    "alpha_limit": "curve",
    "area_between": "hull",
    "best_shares": "changes",
    "break_even": "curve",
    "change_counts": "changes",
    "change_names": "changes",
    "choose_alpha": "search",
    "churn_counts": "churn",
    "iterations_to": "convergence",
    "iterations_to_share": "convergence",
    "kendall_distance": "churn",
    "near_optimal": "hull",
    "points": "curve",
    "proportional_reduction": "curve",
    "query_feature": "selective",
    "read_choice": "files",
    "read_sweep": "files",
    "relative_change": "changes",
    "reward_by_churn": "churn",
    "selective_curve": "selective",
    "sweep_alphas": "sweep",
    "tradeoff_table": "table",
    "upper_hull": "hull",
    "write_choice": "files",
    "write_sweep": "files",
}

__all__ = [
    "Area",
    "Points",
    "Sweep",
    "alpha_limit",
    "area_between",
    "best_shares",
    "break_even",
    "change_counts",
    "change_names",
    "choose_alpha",
    "churn_counts",
    "iterations_to",
    "iterations_to_share",
    "kendall_distance",
    "near_optimal",
    "points",
    "proportional_reduction",
    "query_feature",
    "read_choice",
    "read_sweep",
    "relative_change",
    "reward_by_churn",
    "selective_curve",
    "sweep_alphas",
    "tradeoff_table",
    "upper_hull",
    "write_choice",
    "write_sweep",
]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
