"""A trained ranker: a plain model of its engine, and a card that says what it was trained for.

In a folder they are two files: ``model.txt`` (LightGBM) or ``model.json`` (XGBoost), which serve in whatever reads
such models, and ``card.json``, where also stands what a model that leans adds to their scores. Neither is a pickle,
so loading a model runs no code of its maker.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.atomic import digest_of, write_text
from surefoot.learn.data import RankingData, as_matrix
from surefoot.learn.leaning import added
from surefoot.results import plain
from surefoot.scores import FloatArray

CARD = "card.json"
FILES = {"lightgbm": "model.txt", "xgboost": "model.json"}
NEEDS_QUERIES = "the model leans on its baseline's ranking, so it must know which documents are of one query"
INSTALL = "learning needs more packages: pip install 'surefoot[learn]'"


def engine_of(name: str) -> Any:
    """The module that trains by an engine and reads its models."""
    try:
        import_module(name)
        return import_module(f"surefoot.learn.engines.{name}")
    except ModuleNotFoundError as error:
        raise SurefootError(f"{INSTALL} (no {error.name})") from None


@dataclass(frozen=True, eq=False)
class Model:
    """A trained ranker. ``text`` is the engine's own form of it."""

    engine: str
    text: str
    card: Mapping[str, Any]

    def predict(self, data: Any) -> FloatArray:
        """The score of each document: of `RankingData`, or of a matrix of features."""
        matrix = data.features if isinstance(data, RankingData) else as_matrix(data)
        self._check_names(_names_of(data))
        expected = self.card["data"]["features"]
        if matrix.shape[1] != expected:
            raise SurefootError(f"the model was trained on {expected} features; got {matrix.shape[1]}")
        first = self.card["data"]["first_feature"]
        if isinstance(data, RankingData) and first not in (None, data.first_feature):
            raise SurefootError(
                f"{data.source}: features are numbered from {data.first_feature}, in training from {first}"
            )
        own = np.asarray(engine_of(self.engine).predict(self.booster, matrix), dtype=np.float64)
        if "lean" not in self.card:
            return own
        if not isinstance(data, RankingData):
            raise SurefootError(NEEDS_QUERIES)
        return own + added(self.card["lean"], data)

    def by_place(self) -> Model:
        """The same model for features that are known by their place in a matrix, not by a number in a file."""
        return replace(self, card={**self.card, "data": {**self.card["data"], "first_feature": None}})

    def _check_names(self, names: Sequence[str] | None) -> None:
        """Columns in another order than in training would give scores that mean nothing."""
        trained = self.card["data"]["feature_names"]
        if names and trained and list(names) != list(trained):
            raise SurefootError(
                f"the model was trained on the features {listed(trained)}, in this order; got {listed(names)}"
            )

    @cached_property
    def booster(self) -> Any:
        """The engine's own object."""
        return engine_of(self.engine).loaded(self.text)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card to a folder; the card last, so that a folder with a card is complete."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / CARD).unlink(missing_ok=True)
        write_text(place / FILES[self.engine], self.text)
        card = {**self.card, "model": {"file": FILES[self.engine], "blake2b": digest_of(self.text)}}
        write_text(place / CARD, json.dumps(plain(card), indent=2, ensure_ascii=False) + "\n")

    def __getstate__(self) -> dict[str, Any]:
        return {"engine": self.engine, "text": self.text, "card": self.card}


def _names_of(data: Any) -> Sequence[str] | None:
    if isinstance(data, RankingData):
        return data.feature_names
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def _check_lean(card: Mapping[str, Any]) -> None:
    """Raises a KeyError, TypeError or ValueError if what the model adds to its scores can't be told from the card."""
    if "lean" in card:
        place, floor, weight = (card["lean"][key] for key in ("place", "floor", "weight"))
        if place not in range(card["data"]["features"]) or not math.isfinite(floor) or not math.isfinite(weight):
            raise ValueError


def load_model(folder: str | os.PathLike[str]) -> Model:
    """The model of a folder that `surefoot train` or `RiskRanker.save` wrote."""
    place = Path(folder)
    try:
        card = json.loads((place / CARD).read_text("utf-8"))
        engine, digest, data = card["engine"]["name"], card["model"]["blake2b"], card["data"]
        if not isinstance(data["features"], int) or not isinstance(data["first_feature"], int | None):
            raise ValueError
        _ = data["feature_names"]
        _check_lean(card)
        file = place / FILES[engine]
        text = file.read_text("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(place, f"is no folder of a trained model: no {Path(error.filename).name} in it") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(place / CARD, "is not the card of a trained model; train it again") from None
    if digest_of(text) != digest:  # the engines trust what they read: a damaged file can end the process
        raise InputError(file, f"is not the model of {CARD} beside it, or damaged; train it again")
    return Model(engine, text, card)
