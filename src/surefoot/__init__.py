"""Surefoot: which queries did the new ranker make worse, is that noise, and how to train one that doesn't.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from surefoot._lazy import lazy
from surefoot._version import __version__

TYPE_CHECKING = False  # typing's own would cost more to import than all the rest
if TYPE_CHECKING:
    from surefoot.analysis.cross import cross
    from surefoot.analysis.evaluate import evaluate
    from surefoot.analysis.explore import explore
    from surefoot.analysis.segments import evaluate_segments
    from surefoot.analysis.streaming import evaluate_logs
    from surefoot.effectiveness import score_runs, score_runs_by
    from surefoot.errors import SurefootError
    from surefoot.io.letor import read_letor
    from surefoot.io.tables import read_scores, read_scores_by
    from surefoot.io.trec import read_qrels, read_run
    from surefoot.learn.data import RankingData
    from surefoot.learn.rankers import RiskRanker
    from surefoot.release_gate.rules import Rules
    from surefoot.release_gate.verdict import gate
    from surefoot.risk.values import Linear, Smooth
    from surefoot.scores import Scores
    from surefoot.show.report import report
    from surefoot.stats.intervals import difference_intervals
    from surefoot.stats.permutation import run_tests
    from surefoot.stats.simulator import Simulator

_HOME = {
    "Linear": "risk.values",
    "RankingData": "learn.data",
    "RiskRanker": "learn.rankers",
    "Rules": "release_gate.rules",
    "Scores": "scores",
    "Simulator": "stats.simulator",
    "Smooth": "risk.values",
    "SurefootError": "errors",
    "cross": "analysis.cross",
    "difference_intervals": "stats.intervals",
    "evaluate": "analysis.evaluate",
    "evaluate_logs": "analysis.streaming",
    "evaluate_segments": "analysis.segments",
    "explore": "analysis.explore",
    "gate": "release_gate.verdict",
    "read_letor": "io.letor",
    "read_qrels": "io.trec",
    "read_run": "io.trec",
    "read_scores": "io.tables",
    "read_scores_by": "io.tables",
    "report": "show.report",
    "run_tests": "stats.permutation",
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
