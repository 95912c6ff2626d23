"""How well runs rank: effectiveness measures per topic, over whole sets of runs."""

from surefoot.effectiveness.measures import Measure, parse_measure
from surefoot.effectiveness.scoring import score_runs, score_runs_by

__all__ = ["Measure", "parse_measure", "score_runs", "score_runs_by"]
