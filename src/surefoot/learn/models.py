"""A trained ranker: a plain model of its engine, and a card that says what it was trained for.

In a folder they are two files: ``model.txt`` (LightGBM) or ``model.json`` (XGBoost), which work in whatever reads
such models, and ``card.json``. Neither is a pickle, so loading a model runs no code of its maker.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.atomic import digest_of, write_text
from surefoot.learn.data import RankingData, as_matrix
from surefoot.learn.engines import INSTALL, MODEL_FILES, engine_of
from surefoot.learn.feature_alignment import widened
from surefoot.learn.interpolation import BaselineTerm
from surefoot.results import plain
from surefoot.scores import FloatArray

CARD = "card.json"
INTERPOLATION = "interpolation"
NEEDS_QUERIES = (
    "the model is interpolated with its baseline's ranking, so it must know which documents are of one query"
)

__all__ = ["CARD", "INSTALL", "InterpolatedModel", "Model", "load_model", "model_of"]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained ranker.

    Parameters
    ----------
    engine : str
        "lightgbm" or "xgboost".
    text : str
        The model as its engine writes it.
    card : mapping
        What the model was trained for, and from what.

    Examples
    --------
    >>> from surefoot.learn import Settings, train
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> model = train(data, settings=Settings("lambdamart", n_estimators=2, min_child_samples=1)).model
    >>> model.predict(data).shape, model.card["trees"]
    ((4,), 2)
    """

    engine: str
    text: str
    card: Mapping[str, Any]
    needs_queries: ClassVar[bool] = False
    """Whether a document's score depends on the other documents of its query."""

    def predict(self, data: Any) -> FloatArray:
        """The score of each document.

        Parameters
        ----------
        data : RankingData or array
            The documents; `RankingData` that end before the model's last feature are filled up with zeros.

        Returns
        -------
        array
            A score for each row.
        """
        return self._trees(data)

    def _trees(self, data: Any) -> FloatArray:
        trained = self.card["data"]
        if (
            isinstance(data, RankingData)
            and data.feature_names is None
            and data.features.shape[1] < trained["features"]
        ):
            data = self.align(data)
        matrix = data.features if isinstance(data, RankingData) else as_matrix(data)
        self._validate_names(_names_of(data))
        if matrix.shape[1] != trained["features"]:
            raise SurefootError(f"the model was trained on {trained['features']} features; got {matrix.shape[1]}")
        first = trained["first_feature"]
        if isinstance(data, RankingData) and first not in (None, data.first_feature):
            raise SurefootError(
                f"{data.source}: features are numbered from {data.first_feature}, in training from {first}"
            )
        return np.asarray(engine_of(self.engine).predict(self.booster, matrix), dtype=np.float64)

    def align(self, data: RankingData) -> RankingData:
        """The data with the model's features: those that it lacks are 0; more than the model has is an error."""
        first = self.card["data"]["first_feature"]
        return widened(data, data.first_feature if first is None else first, self.card["data"]["features"])

    def by_index(self) -> Model:
        """The same model for features that are known by their column of a matrix, not by a number in a file."""
        return replace(self, card={**self.card, "data": {**self.card["data"], "first_feature": None}})

    def interpolate(self, baseline_weight: float, baseline: Any, data: RankingData) -> InterpolatedModel:
        """The model interpolated with a baseline that is a feature, on the scale of these queries.

        Parameters
        ----------
        baseline_weight : float
            What the baseline's first document gets, on average, in standard deviations of the model's scores.
        baseline : str
            ``feature:NAME``.
        data : RankingData
            Queries to find the weight on: validation queries, if there are any.

        Returns
        -------
        InterpolatedModel
        """
        term = BaselineTerm.fit(self.predict(data), baseline_weight, baseline, data)
        card = {**self.card, INTERPOLATION: {"baseline_weight": baseline_weight, **asdict(term)}}
        return InterpolatedModel(self.engine, self.text, card)

    def _validate_names(self, names: Sequence[str] | None) -> None:
        """Columns in another order than in training would give meaningless scores."""
        trained = self.card["data"]["feature_names"]
        if names and trained and list(names) != list(trained):
            raise SurefootError(
                f"the model was trained on the features {listed(trained)}, in this order; got {listed(names)}"
            )

    @cached_property
    def booster(self) -> Any:
        """The engine's own object."""
        return engine_of(self.engine).load(self.text)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card to a folder; the card last, so that a folder with a card is complete."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / CARD).unlink(missing_ok=True)
        write_text(path / MODEL_FILES[self.engine], self.text)
        card = {**self.card, "model": {"file": MODEL_FILES[self.engine], "blake2b": digest_of(self.text)}}
        write_text(path / CARD, json.dumps(plain(card), indent=2, ensure_ascii=False) + "\n")

    def __getstate__(self) -> dict[str, Any]:
        return {"engine": self.engine, "text": self.text, "card": self.card}


@dataclass(frozen=True, eq=False)
class InterpolatedModel(Model):
    """A model whose scores are those of its trees plus a term of the baseline, which is in its card."""

    needs_queries: ClassVar[bool] = True

    def predict(self, data: Any) -> FloatArray:
        """The score of each document of `RankingData`."""
        if not isinstance(data, RankingData):
            raise SurefootError(f"{NEEDS_QUERIES}; give RankingData, or qid")
        return self._trees(data) + self.term(data)

    @cached_property
    def term(self) -> BaselineTerm:
        """What is added to the scores of the trees."""
        kept = self.card[INTERPOLATION]
        return BaselineTerm(kept["feature"], kept["column"], kept["floor"], kept["weight"])


def model_of(engine: str, text: str, card: Mapping[str, Any]) -> Model:
    """A model with what its card says."""
    return (InterpolatedModel if INTERPOLATION in card else Model)(engine, text, card)


def _names_of(data: Any) -> Sequence[str] | None:
    if isinstance(data, RankingData):
        return data.feature_names
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def load_model(folder: str | os.PathLike[str]) -> Model:
    """The model of a folder that `train` or `RiskRanker.save` wrote.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    Model

    Examples
    --------
    >>> load_model("nowhere")
    Traceback (most recent call last):
    surefoot.errors.InputError: nowhere: is no folder of a trained model: no card.json in it
    """
    path = Path(folder)
    try:
        card = _read_card(path / CARD)
        engine, digest = card["engine"]["name"], card["model"]["blake2b"]
        file = path / MODEL_FILES[engine]
        text = file.read_text("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(path, f"is no folder of a trained model: no {Path(error.filename).name} in it") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(path / CARD, "is not the card of a trained model; train it again") from None
    if digest_of(text) != digest:  # the engines trust what they read: a damaged file can end the process
        raise InputError(file, f"is not the model of {CARD} beside it, or damaged; train it again")
    return model_of(engine, text, card)


def _read_card(path: Path) -> dict[str, Any]:
    """The card of a model; raises a KeyError, TypeError or ValueError if it lacks what a model needs."""
    card: dict[str, Any] = json.loads(path.read_text("utf-8"))
    _upgrade(card)
    data = card["data"]
    if not isinstance(data["features"], int) or not isinstance(data["first_feature"], int | None):
        raise ValueError
    _ = data["feature_names"]
    if INTERPOLATION in card:
        column, floor, weight = (card[INTERPOLATION][key] for key in ("column", "floor", "weight"))
        if column not in range(data["features"]) or not math.isfinite(floor) or not math.isfinite(weight):
            raise ValueError
    return card


def _upgrade(card: dict[str, Any]) -> None:
    """Bring a card of an older model, which has no key ``settings``, to the present keys."""
    if "settings" not in card:
        pairs = dict(card.pop("lambda"))
        named = {"max_label": pairs.pop("top"), "objective_options": card.pop("options")}
        own = {key: card.pop(key) for key in ("objective", "alpha", "params")}
        cutoff = card["metric"].partition("@")[2]
        card["settings"] = {**own, **pairs, **named, **({"cutoff": int(cutoff)} if cutoff else {})}
    if "lean" in card:
        lean = card.pop("lean")
        kept = {key: lean[key] for key in ("feature", "floor", "weight")}
        card[INTERPOLATION] = {"baseline_weight": lean["share"], "column": lean["place"], **kept}
