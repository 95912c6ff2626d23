"""Ranking and evaluating on the workers: what comes back is one number per system and query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.cluster.columns import Shard
from surefoot.errors import SurefootError, listed
from surefoot.learn.metrics import is_empty
from surefoot.learn.models import NEEDS_QUERIES, Model
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray, Scores


def features_of(model: Model) -> list[str]:
    """The columns that a model uses; features without names are called by their numbers."""
    data = model.card["data"]
    first = data["first_feature"] or 0
    return list(data["feature_names"] or [str(first + index) for index in range(data["features"])])


def validate_by_row(model: Model) -> Model:
    """The model, if it scores a document without the others of its query."""
    if model.guard is not None:
        raise SurefootError(f"{NEEDS_QUERIES}; take scores, or a model without a guard")
    return model


def predict_rows(model: Model, frame: Any) -> FloatArray:
    """The score of each row of a pandas frame; see `validate_by_row`."""
    missing = [name for name in features_of(model) if name not in frame.columns]
    if missing:
        raise SurefootError(f"the table lacks the model's features {listed(missing)}; name its columns so")
    return model.predict(frame[features_of(model)].to_numpy(dtype=np.float32, na_value=np.nan))


def evaluate_shard(shard: Shard, model: Model, name: str) -> Scores | None:
    """The model beside its baselines on the queries of one shard; None if none of them counts."""
    settings, data = Settings(**model.card["settings"]), shard.data
    if not len(data) or (settings.empty == "drop" and is_empty(data.labels, data.bounds).all()):
        return None
    scores = model.by_index().predict(data, baseline=shard.baselines)
    return Validation.of(settings, data, shard.baselines).scores(name, scores)


def concat_scores(parts: Iterable[Scores | None]) -> Scores:
    """The scores of all shards, in their order."""
    known = [part for part in parts if part is not None]
    if not known:
        raise SurefootError("no query has a relevant document")
    values = np.hstack([part.values for part in known])
    topics = tuple(topic for part in known for topic in part.topics)
    return replace(known[0], values=values, topics=topics) if len(known) > 1 else known[0]
