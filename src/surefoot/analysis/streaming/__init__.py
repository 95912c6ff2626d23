"""Very large logs of scores per topic: evaluated file by file, by sufficient statistics, in bounded memory."""

from surefoot.analysis.streaming.evaluation import evaluate_logs

__all__ = ["evaluate_logs"]
