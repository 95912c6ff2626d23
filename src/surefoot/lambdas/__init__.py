"""LambdaMART's numerics on score arrays, below `guard` and `learn`: metrics of queries, and gradients of their pairs.

This module has the names and options only, and imports nothing heavy.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

MetricName = Literal["ndcg", "map", "mrr", "err"]
Empty = Literal["zero", "one", "drop"]

METRICS = ("ndcg", "map", "mrr", "err")
EMPTY = ("zero", "one", "drop")


class PairLoop(NamedTuple):
    """Which pairs of documents count, and how; the defaults are LightGBM's.

    A pair needs a document above the rank ``truncation``; None: all pairs count. ``sigmoid`` is the steepness of the
    logistic function of score differences. ``norm`` normalises by score differences and per query.
    """

    truncation: int | None = 30
    sigmoid: float = 1.0
    norm: bool = True
