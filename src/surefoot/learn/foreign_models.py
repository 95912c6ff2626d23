"""Models that others trained: a plain file of LightGBM or XGBoost, a Booster, or anything else that predicts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError, SurefootError, listed
from surefoot.learn.data import RankingData
from surefoot.learn.engines import engine_of
from surefoot.learn.feature_alignment import widened
from surefoot.learn.model_texts import validate_text
from surefoot.scores import FloatArray

DEFAULT_NAME = re.compile(r"(Column_|f)?\d+")
"""How the engines name the features of a matrix."""


def is_model(given: Any) -> bool:
    """Whether something scores documents."""
    return callable(getattr(given, "predict", None))


def read_model(path: str) -> Any:
    """The model of a folder that `train` wrote, or of a file that LightGBM or XGBoost wrote."""
    from surefoot.learn.models import load_model

    return _read_booster(Path(path)) if Path(path).is_file() else load_model(path)


def _read_booster(path: Path) -> Any:
    """A Booster of a plain model file: LightGBM's begins with "tree", XGBoost's is JSON.

    XGBoost's binary form is not validated, and a damaged one ends the process.
    """
    with path.open("rb") as file:
        head = file.read(5)
    name = "lightgbm" if head[:4] == b"tree" else "xgboost" if head[:1] == b"{" else None
    if name is None:
        raise InputError(path, "is not a model of LightGBM (text) or XGBoost (.json)")
    if name == "xgboost" and head[1:2] not in b'" \t\r\n}':
        raise InputError(path, "is XGBoost's binary form; save it as JSON: booster.save_model('model.json')")
    engine = engine_of(name)
    try:
        text = path.read_text("utf-8", errors="replace")
        validate_text(name, text, path)
        return engine.load(text)
    except (engine.error, ValueError):
        raise InputError(path, f"begins like a model of {name} but is not one, or is damaged") from None


def model_scores(model: Any, data: RankingData) -> FloatArray:
    """The score that a model gives to each document."""
    name = type(model).__module__.partition(".")[0]
    if type(model).__name__ == "Booster" and name in ("lightgbm", "xgboost"):
        scores = engine_of(name).predict(model, _features(model, name, data))
    elif hasattr(model, "card"):  # a model of ours checks the features itself
        scores = model.predict(data)
    else:
        scores = model.predict(data.features)
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != data.labels.shape or not np.isfinite(found).all():
        raise SurefootError(f"a baseline model must give each document one finite score; got an array {found.shape}")
    return found


def _features(booster: Any, engine: str, data: RankingData) -> Any:
    """The data's features as a Booster knows them: trailing ones that are 0 are added, as in LETOR files."""
    lightgbm = engine == "lightgbm"
    width = booster.num_feature() if lightgbm else booster.num_features()
    names = list((booster.feature_name() if lightgbm else booster.feature_names) or ())
    named = bool(names) and not all(DEFAULT_NAME.fullmatch(name) for name in names)
    if named and data.feature_names and names != list(data.feature_names):
        raise SurefootError(
            f"the baseline model knows the features {listed(names)}, in this order; got {listed(data.feature_names)}"
        )
    if data.features.shape[1] > width:
        raise SurefootError(
            f"{data.source}: {data.features.shape[1]} features, but the baseline model was trained on {width}"
        )
    return widened(data, data.first_feature, width).features
