"""Surefoot: which queries did the new ranker make worse, is that noise, and how to train one that doesn't.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from surefoot._lazy import lazy
from surefoot._version import __version__

TYPE_CHECKING = False  # typing's own would cost more to import than all the rest
if TYPE_CHECKING:
    from surefoot.cross_table import cross
    from surefoot.effectiveness import score_runs, score_runs_by
    from surefoot.errors import SurefootError
    from surefoot.evaluation import evaluate
    from surefoot.exploration import explore
    from surefoot.gating.rules import Rules
    from surefoot.gating.verdict import gate
    from surefoot.intervals import difference_intervals
    from surefoot.learn.rankers import RiskRanker
    from surefoot.logs import evaluate_logs
    from surefoot.ranking_data import RankingData
    from surefoot.read.letor import read_letor
    from surefoot.read.tables import read_scores, read_scores_by
    from surefoot.read.trec import read_qrels, read_run
    from surefoot.scores import Scores
    from surefoot.segments import evaluate_segments
    from surefoot.show.report import report
    from surefoot.significance import run_tests
    from surefoot.simulate import Simulator
    from surefoot.values import Linear, Smooth

_HOME = {
    "Linear": "values",
    "RankingData": "ranking_data",
    "RiskRanker": "learn.rankers",
    "Rules": "gating.rules",
    "Scores": "scores",
    "Simulator": "simulate",
    "Smooth": "values",
    "SurefootError": "errors",
    "cross": "cross_table",
    "difference_intervals": "intervals",
    "evaluate": "evaluation",
    "evaluate_logs": "logs",
    "evaluate_segments": "segments",
    "explore": "exploration",
    "gate": "gating.verdict",
    "read_letor": "read.letor",
    "read_qrels": "read.trec",
    "read_run": "read.trec",
    "read_scores": "read.tables",
    "read_scores_by": "read.tables",
    "report": "show.report",
    "run_tests": "significance",
    "score_runs": "effectiveness",
    "score_runs_by": "effectiveness",
}

__all__ = [
    "Linear",
    "RankingData",
    "RiskRanker",
    "Rules",
    "Scores",
    "Simulator",
    "Smooth",
    "SurefootError",
    "__version__",
    "cross",
    "difference_intervals",
    "evaluate",
    "evaluate_logs",
    "evaluate_segments",
    "explore",
    "gate",
    "read_letor",
    "read_qrels",
    "read_run",
    "read_scores",
    "read_scores_by",
    "report",
    "run_tests",
    "score_runs",
    "score_runs_by",
]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
