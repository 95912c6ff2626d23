"""Evaluation of Parquet files of scores: file by file, by sufficient statistics, in bounded memory."""

from surefoot.analysis.streaming.evaluation import evaluate_parquet

__all__ = ["evaluate_parquet"]
