"""Choosing alpha on validation queries: the safest ranker whose mean is as good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.learn.bagging import of_all, part_checkpoint, train_bags
from surefoot.learn.judging import MEAN
from surefoot.learn.training import Settings, Trained
from surefoot.learn.watching import Report
from surefoot.ranking_data import RankingData

GIVE_UP = 0.005
"""The share of the best mean on validation queries that a safer ranker may cost."""


def train_choosing(
    settings: Settings,
    alphas: Sequence[float],
    bags: int,
    data: RankingData,
    baseline: Any = None,
    valid: RankingData | None = None,
    valid_baseline: Any = None,
    *,
    checkpoint: Path | None = None,
    report: Report | None = None,
    **more: Any,
) -> Trained:
    """Train for each of several alphas, and keep the one with the least F_Risk on validation queries.

    Those whose mean is more than `GIVE_UP` below the best are not chosen. ``more`` is what `train` takes.
    """
    if len(alphas) == 1:
        only = replace(settings, alpha=alphas[0])
        return train_bags(
            only, bags, data, baseline, valid, valid_baseline, checkpoint=checkpoint, report=report, **more
        )
    if valid is None or baseline is None or not alphas:
        raise SurefootError("choosing among alphas needs validation queries and a baseline; give them, or one alpha")
    found = []
    for place, alpha in enumerate(alphas):
        part = None if checkpoint is None else part_checkpoint(checkpoint, place * bags)
        tell = None if report is None else partial(of_all, report, place, len(alphas))
        mine = replace(settings, alpha=alpha)
        found.append(
            train_bags(
                mine, bags, data, baseline, valid, valid_baseline, checkpoint=part, report=tell, keep=True, **more
            )
        )
    figures = [trained.model.card["validation"] for trained in found]
    best = found[safest(figures)]
    tried = [{"alpha": alpha, **own} for alpha, own in zip(alphas, figures, strict=True)]
    return replace(best, model=replace(best.model, card={**best.model.card, "chosen from": tried}))


def safest(figures: Sequence[Mapping[str, float]]) -> int:
    """The place of the least F_Risk among those whose mean is close to the best; the first of equal ones.

    >>> safest([{"mean": 0.5, "frisk": 0.03}, {"mean": 0.499, "frisk": 0.02}, {"mean": 0.47, "frisk": 0.01}])
    1
    """
    enough = (1 - GIVE_UP) * max(own[MEAN] for own in figures)
    return min((own["frisk"], place) for place, own in enumerate(figures) if own[MEAN] >= enough)[1]
